"""The agent's own to-do list: TodoWrite of older hosts, the Task tools of newer ones."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sidecar.adapters.claude_code.lines import NOTHING, decoded
from sidecar.adapters.text import middle_out, plain
from sidecar.model.turn import Todo

TEXT_LIMIT: Final = 500
TODO_LIMIT: Final = 200
CREATED: Final = re.compile(r"Task #(\S{1,40}) created")
TOOLS: Final = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList")


class Item(msgspec.Struct, frozen=True):
    """An entry of TodoWrite's list."""

    content: str
    status: str = "pending"


class Given(msgspec.Struct, frozen=True, rename={"task_id": "taskId"}):
    """The input of any of the tools."""

    todos: tuple[Item, ...] = ()
    task_id: str = ""
    subject: str = ""
    status: str = ""


class Task(msgspec.Struct, frozen=True):
    """A task as the host returns it."""

    id: str
    subject: str = ""
    status: str = "pending"


class Result(msgspec.Struct, frozen=True):
    """The structured result of TaskCreate or TaskList."""

    task: Task | None = None
    tasks: tuple[Task, ...] | None = None
    success: bool = True


GIVEN: Final = msgspec.json.Decoder(Given)
RESULTS: Final = msgspec.json.Decoder(Result)


class Todos:
    """The list, folded from calls that succeeded."""

    def __init__(self) -> None:
        """Start with nothing to do."""
        self._tasks: dict[str, Todo] = {}

    def all(self) -> tuple[Todo, ...]:
        """Return what is on the list, in the order of its making."""
        return tuple(self._tasks.values())

    def succeeded(self, tool: str, given: msgspec.Raw, result: msgspec.Raw = NOTHING, said: str = "") -> None:
        """Take in a successful call; a call or result of an unknown shape changes nothing."""
        asked = decoded(given, GIVEN) or Given()
        answered = decoded(result, RESULTS) or Result()
        match tool:
            case "TodoWrite":
                self._replace([Task(str(n), item.content, item.status) for n, item in enumerate(asked.todos)])
            case "TaskCreate":
                self._create(asked, answered, said)
            case "TaskUpdate" if answered.success:
                self._update(asked)
            case "TaskList" if answered.tasks is not None:
                self._replace(list(answered.tasks))

    def _replace(self, tasks: list[Task]) -> None:
        self._tasks.clear()
        for task in tasks:
            self._put(task.id, task.subject, task.status)

    def _create(self, asked: Given, answered: Result, said: str) -> None:
        named = CREATED.search(said)
        if answered.task is not None:
            self._put(answered.task.id, answered.task.subject or asked.subject, "pending")
        elif named is not None:
            self._put(named[1], asked.subject, "pending")

    def _update(self, asked: Given) -> None:
        if not asked.task_id:
            return
        known = self._tasks.get(asked.task_id, Todo(f"task {asked.task_id}", done=False))
        status = asked.status or ("completed" if known.done else "pending")
        self._put(asked.task_id, asked.subject or known.text, status)

    def _put(self, name: str, text: str, status: str) -> None:
        if status == "deleted":
            self._tasks.pop(name, None)
        elif name in self._tasks or len(self._tasks) < TODO_LIMIT:
            self._tasks[name] = Todo(middle_out(plain(text), TEXT_LIMIT), done=status == "completed")
