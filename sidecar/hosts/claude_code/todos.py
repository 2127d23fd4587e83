"""Reconstructs from a transcript the agent's to-do list, and the prompts queued while it worked."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sidecar.hosts.claude_code.transcript_lines import NOTHING, try_decode
from sidecar.kernel.text import strip_control_codes, truncate_middle
from sidecar.kernel.turn import Todo

TEXT_LIMIT: Final = 500
TODO_LIMIT: Final = 200
CREATED_TASK: Final = re.compile(r"Task #(\S{1,40}) created")
TODO_TOOLS: Final = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList")


class TodoWriteItem(msgspec.Struct, frozen=True):
    """An entry of TodoWrite's list."""

    content: str
    status: str = "pending"


class TodoToolInput(msgspec.Struct, frozen=True, rename={"task_id": "taskId"}):
    """The input of any of the to-do tools."""

    todos: tuple[TodoWriteItem, ...] = ()
    task_id: str = ""
    subject: str = ""
    status: str = ""


class TaskItem(msgspec.Struct, frozen=True):
    """A task as the host returns it."""

    id: str
    subject: str = ""
    status: str = "pending"


class TaskToolResult(msgspec.Struct, frozen=True):
    """The structured result of TaskCreate or TaskList."""

    task: TaskItem | None = None
    tasks: tuple[TaskItem, ...] | None = None
    success: bool = True


TODO_INPUT_DECODER: Final = msgspec.json.Decoder(TodoToolInput)
TASK_RESULT_DECODER: Final = msgspec.json.Decoder(TaskToolResult)


class TodoList:
    """The to-do list, built from the calls that succeeded."""

    def __init__(self) -> None:
        """Start with an empty list."""
        self._tasks: dict[str, Todo] = {}

    def all(self) -> tuple[Todo, ...]:
        """Return the entries in the order of their creation."""
        return tuple(self._tasks.values())

    def succeeded(self, tool: str, given: msgspec.Raw, result: msgspec.Raw = NOTHING, said: str = "") -> None:
        """Apply a successful call; a call or result of an unknown shape changes nothing."""
        asked = try_decode(given, TODO_INPUT_DECODER) or TodoToolInput()
        answered = try_decode(result, TASK_RESULT_DECODER) or TaskToolResult()
        match tool:
            case "TodoWrite":
                self._replace(
                    [TaskItem(str(n), item.content, item.status) for n, item in enumerate(asked.todos)]
                )
            case "TaskCreate":
                self._create(asked, answered, said)
            case "TaskUpdate" if answered.success:
                self._update(asked)
            case "TaskList" if answered.tasks is not None:
                self._replace(list(answered.tasks))

    def _replace(self, tasks: list[TaskItem]) -> None:
        self._tasks.clear()
        for task in tasks:
            self._put(task.id, task.subject, task.status)

    def _create(self, asked: TodoToolInput, answered: TaskToolResult, said: str) -> None:
        named = CREATED_TASK.search(said)
        if answered.task is not None:
            self._put(answered.task.id, answered.task.subject or asked.subject, "pending")
        elif named is not None:
            self._put(named[1], asked.subject, "pending")

    def _update(self, asked: TodoToolInput) -> None:
        if not asked.task_id:
            return
        known = self._tasks.get(asked.task_id, Todo(f"task {asked.task_id}", done=False))
        status = asked.status or ("completed" if known.done else "pending")
        self._put(asked.task_id, asked.subject or known.text, status)

    def _put(self, name: str, text: str, status: str) -> None:
        if status == "deleted":
            self._tasks.pop(name, None)
        elif name in self._tasks or len(self._tasks) < TODO_LIMIT:
            self._tasks[name] = Todo(
                truncate_middle(strip_control_codes(text), TEXT_LIMIT), done=status == "completed"
            )


# --- The host's queue of prompts that were typed while the agent worked -------------------------------------
# The host records these operations: `enqueue` with the text; `dequeue` without the text, mostly for the
# oldest entry, followed by the prompt itself; `remove`, in older versions without the text but then followed
# by an attachment that repeats it if the entry was given to the agent in the middle of its turn; `popAll`
# when the user took everything back.


QUEUE_LIMIT: Final = 100
QUEUED_TEXT_LIMIT: Final = 1000
"""Characters by which entries are told apart."""
NOTICE: Final = "<task-notification>"


class PromptQueue:
    """The waiting prompts, built from the recorded operations."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: list[str] = []
        self._removed = 0

    @property
    def waiting(self) -> bool:
        """Whether a person's prompt waits. A removal without text counts as removing a person's prompt."""
        return sum(1 for text in self._entries if not text.startswith(NOTICE)) > self._removed

    def operate(self, operation: str, text: str | None) -> None:
        """Apply one operation; unknown ones change nothing."""
        match operation:
            case "enqueue":
                self._entries = [*self._entries[-QUEUE_LIMIT + 1 :], (text or "")[:QUEUED_TEXT_LIMIT]]
            case "dequeue":
                del self._entries[:1]
            case "remove" if text is None:
                self._removed += 1
            case "remove":
                self._drop(text or "")
            case "popAll":
                self.clear()
            case _:
                pass

    def absorb(self, text: str) -> None:
        """Resolve a removal without text: the agent was given this entry in the middle of its turn."""
        if self._removed:
            self._removed -= 1
            self._drop(text)

    def prompted(self, text: str, source: str | None) -> None:
        """Apply a person's prompt that opened a turn: typed at an idle agent, or taken from the queue."""
        if source == "typed":
            self.clear()
        elif source == "queued":
            self._drop(text)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self._removed = 0

    def _drop(self, text: str) -> None:
        if text[:QUEUED_TEXT_LIMIT] in self._entries:
            self._entries.remove(text[:QUEUED_TEXT_LIMIT])
