"""Tools for the tasks of a session: add, change and list them, and find the next one.

The rules are in sidecar/systems/iteration/policy/journal.py; this module only offers them as tools.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final

from msgspec import Meta, Struct

from sidecar.kernel.journal import Journal, Priority, Task, TaskStatus, find_ready_tasks
from sidecar.rubric.texts import Texts
from sidecar.servers.tools.listing import Brief, Listed, brief_task, full_task, length_per_text, task_line
from sidecar.servers.tools.tool import NoArguments, Tool, ToolAnswer, ToolContext, ToolInvocation
from sidecar.systems.iteration.policy import journal as rules
from sidecar.systems.iteration.policy.claims import claimed_by

NAMED_TASKS: Final = 10
"""Maximum number of open tasks that are named if none is ready."""
NAMED_LENGTH: Final = 80
"""Maximum length in characters of each of them."""

JournalChange = Callable[[Journal], tuple[Journal, Task]]


class NewTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task to add."""

    content: str
    status: TaskStatus = TaskStatus.REMAINING


class NewTasks(Struct, frozen=True, kw_only=True):
    """Tasks to add, in this order."""

    tasks: tuple[NewTask, ...]


class TaskStatusChange(Struct, frozen=True, kw_only=True):
    """The new status of a task."""

    id: str
    status: TaskStatus


class TaskPriorityChange(Struct, frozen=True, kw_only=True):
    """The new priority of a task; see Priority."""

    id: str
    priority: Annotated[int, Meta(ge=int(min(Priority)), le=int(max(Priority)))]


class TaskDependency(Struct, frozen=True, kw_only=True):
    """A dependency of one task on another."""

    id: str
    depends_on: str


class AddedTasks(Struct, frozen=True, kw_only=True):
    """The added tasks, in order."""

    tasks: tuple[Brief, ...]


class TaskBoard(Struct, frozen=True, kw_only=True):
    """All tasks by status, each group in the order in which they were added."""

    in_progress: tuple[Listed, ...] = ()
    remaining: tuple[Listed, ...] = ()
    blocked: tuple[Listed, ...] = ()
    failed: tuple[Listed, ...] = ()
    completed: tuple[Listed, ...] = ()


class NextTask(Struct, frozen=True, kw_only=True):
    """The task to do next, None if none is ready."""

    task: Listed | None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools whose names begin with `task_`."""
    words = context.words

    async def task_add(call: ToolInvocation, given: NewTask) -> ToolAnswer:
        (added,) = _add_tasks(context, call, (given,))
        return ToolAnswer(brief_task(added), task_line(full_task(added)))

    async def task_batch_add(call: ToolInvocation, given: NewTasks) -> ToolAnswer:
        added = _add_tasks(context, call, given.tasks)
        lines = "\n".join(task_line(full_task(task)) for task in added)
        return ToolAnswer(AddedTasks(tasks=tuple(map(brief_task, added))), lines)

    async def task_status(call: ToolInvocation, given: TaskStatusChange) -> ToolAnswer:
        context.loops.check_status(call.session, given.id, given.status, call.author)
        task = _change_task(
            context,
            call,
            partial(rules.set_task_status, ident=given.id, status=given.status, worker=call.worker),
        )
        return ToolAnswer(brief_task(task), task_line(full_task(task)))

    async def task_priority(call: ToolInvocation, given: TaskPriorityChange) -> ToolAnswer:
        urgency = Priority(given.priority)
        return _task_answer(
            _change_task(context, call, partial(rules.set_task_priority, ident=given.id, priority=urgency))
        )

    async def task_depends(call: ToolInvocation, given: TaskDependency) -> ToolAnswer:
        return _task_answer(
            _change_task(
                context, call, partial(rules.add_task_dependency, ident=given.id, on=given.depends_on)
            )
        )

    async def task_list(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        return _board_answer(context.journals.of(call.session.key), words)

    async def task_next(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        return _next_answer(context.journals.of(call.session.key), words, call.worker)

    make = partial(Tool, toolset="journal")
    return (
        make(name="task_add", takes=NewTask, gives=Brief, work=task_add),
        make(name="task_batch_add", takes=NewTasks, gives=AddedTasks, work=task_batch_add),
        make(name="task_status", takes=TaskStatusChange, gives=Brief, work=task_status, repeats=True),
        make(name="task_priority", takes=TaskPriorityChange, gives=Listed, work=task_priority, repeats=True),
        make(name="task_depends", takes=TaskDependency, gives=Listed, work=task_depends, repeats=True),
        make(name="task_list", gives=TaskBoard, work=task_list, reads=True),
        make(name="task_next", gives=NextTask, work=task_next, reads=True),
    )


def _add_tasks(context: ToolContext, call: ToolInvocation, wanted: tuple[NewTask, ...]) -> tuple[Task, ...]:
    mask = context.checks.mask(call.session)  # no secret reaches the journal's file
    pairs = [(mask(one.content), one.status) for one in wanted]
    return context.journals.change(
        call.session.key, lambda journal: rules.add_tasks(journal, pairs, call.author)
    )


def _change_task(context: ToolContext, call: ToolInvocation, change: JournalChange) -> Task:
    return context.journals.change(call.session.key, change)


def _task_answer(task: Task) -> ToolAnswer:
    found = full_task(task)
    return ToolAnswer(found, task_line(found))


def _board_answer(journal: Journal, words: Texts) -> ToolAnswer:
    if not journal.tasks:
        return ToolAnswer(TaskBoard(), words.say("no-tasks"))
    most = length_per_text(task.content for task in journal.tasks)
    groups = {
        status.value: tuple(full_task(task, most) for task in journal.tasks if task.status is status)
        for status in TaskStatus
    }
    board = TaskBoard(**groups)
    lines = [
        "\n".join((f"{name} ({len(group)}):", *(f"- {task_line(task, in_group=True)}" for task in group)))
        for name in TaskBoard.__struct_fields__
        if (group := groups[name])
    ]
    return ToolAnswer(board, "\n".join(lines))


def _next_answer(journal: Journal, words: Texts, worker: int) -> ToolAnswer:
    if ready := claimed_by(journal, worker) or find_ready_tasks(journal):
        task = full_task(ready[0])
        return ToolAnswer(NextTask(task=task), task_line(task))
    waiting = [task for task in journal.tasks if task.open]
    if not journal.tasks:
        said = words.say("no-tasks")
    elif not waiting:
        said = words.say("all-completed")
    else:
        named = "\n".join(f"- {task_line(full_task(task, NAMED_LENGTH))}" for task in waiting[:NAMED_TASKS])
        said = words.say("none-ready", number=str(len(waiting)), named=named)
    return ToolAnswer(NextTask(task=None), said)
