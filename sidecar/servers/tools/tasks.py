"""The tasks of a session: add, change, list them, and find out which one is next.

The rules are policy's (see sidecar/policy/journal.py); here they are offered as tools.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final

from msgspec import Meta, Struct

from sidecar.model.journal import Journal, Priority, Task, TaskStatus
from sidecar.policy import journal as rules
from sidecar.servers.tools.listing import Brief, Listed, brief, line, listed, share
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, Tool, Words

NAMED: Final = 10
"""Tasks that are named where none is ready."""
NAMED_LENGTH: Final = 80
"""Characters of each of them."""

Change = Callable[[Journal], tuple[Journal, Task]]


class Wanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task to add."""

    content: str
    status: TaskStatus = TaskStatus.REMAINING


class Batch(Struct, frozen=True, kw_only=True):
    """Tasks to add, in this order."""

    tasks: tuple[Wanted, ...]


class Stands(Struct, frozen=True, kw_only=True):
    """Where a task stands."""

    id: str
    status: TaskStatus


class Urgency(Struct, frozen=True, kw_only=True):
    """How urgent a task is: see Priority."""

    id: str
    priority: Annotated[int, Meta(ge=int(min(Priority)), le=int(max(Priority)))]


class Depends(Struct, frozen=True, kw_only=True):
    """Which task waits for which."""

    id: str
    depends_on: str


class Added(Struct, frozen=True, kw_only=True):
    """Tasks that were added, in their order."""

    tasks: tuple[Brief, ...]


class Board(Struct, frozen=True, kw_only=True):
    """All tasks, by where they stand, each group in the order in which they were added."""

    in_progress: tuple[Listed, ...] = ()
    remaining: tuple[Listed, ...] = ()
    blocked: tuple[Listed, ...] = ()
    completed: tuple[Listed, ...] = ()


class Next(Struct, frozen=True, kw_only=True):
    """The task to do next, None where none is ready."""

    task: Listed | None


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tools whose names begin with `task_`."""
    words = reach.words

    async def task_add(call: Call, given: Wanted) -> Answer:
        (added,) = _add(reach, call, (given,))
        return Answer(brief(added), line(listed(added)))

    async def task_batch_add(call: Call, given: Batch) -> Answer:
        added = _add(reach, call, given.tasks)
        lines = "\n".join(line(listed(task)) for task in added)
        return Answer(Added(tasks=tuple(map(brief, added))), lines)

    async def task_status(call: Call, given: Stands) -> Answer:
        task = _change(reach, call, partial(rules.set_status, ident=given.id, status=given.status))
        return Answer(brief(task), line(listed(task)))

    async def task_priority(call: Call, given: Urgency) -> Answer:
        urgency = Priority(given.priority)
        return _whole(_change(reach, call, partial(rules.prioritize, ident=given.id, priority=urgency)))

    async def task_depends(call: Call, given: Depends) -> Answer:
        return _whole(_change(reach, call, partial(rules.depend, ident=given.id, on=given.depends_on)))

    async def task_list(call: Call, _given: Nothing) -> Answer:
        return _board(reach.journals.of(call.session.key), words)

    async def task_next(call: Call, _given: Nothing) -> Answer:
        return _next(reach.journals.of(call.session.key), words)

    make = partial(Tool, toolset="journal")
    return (
        make(name="task_add", takes=Wanted, gives=Brief, work=task_add),
        make(name="task_batch_add", takes=Batch, gives=Added, work=task_batch_add),
        make(name="task_status", takes=Stands, gives=Brief, work=task_status, repeats=True),
        make(name="task_priority", takes=Urgency, gives=Listed, work=task_priority, repeats=True),
        make(name="task_depends", takes=Depends, gives=Listed, work=task_depends, repeats=True),
        make(name="task_list", takes=Nothing, gives=Board, work=task_list, reads=True, repeats=True),
        make(name="task_next", takes=Nothing, gives=Next, work=task_next, reads=True, repeats=True),
    )


def _add(reach: Reach, call: Call, wanted: tuple[Wanted, ...]) -> tuple[Task, ...]:
    pairs = [(one.content, one.status) for one in wanted]
    return reach.journals.change(call.session.key, lambda journal: rules.add(journal, pairs, call.author))


def _change(reach: Reach, call: Call, change: Change) -> Task:
    return reach.journals.change(call.session.key, change)


def _whole(task: Task) -> Answer:
    found = listed(task)
    return Answer(found, line(found))


def _board(journal: Journal, words: Words) -> Answer:
    if not journal.tasks:
        return Answer(Board(), words.say("no-tasks"))
    most = share(task.content for task in journal.tasks)
    groups = {
        status.value: tuple(listed(task, most) for task in journal.tasks if task.status is status)
        for status in TaskStatus
    }
    board = Board(**groups)
    lines = [
        "\n".join((f"{name} ({len(group)}):", *(f"- {line(task, in_group=True)}" for task in group)))
        for name in Board.__struct_fields__
        if (group := groups[name])
    ]
    return Answer(board, "\n".join(lines))


def _next(journal: Journal, words: Words) -> Answer:
    if ready := rules.ready(journal):
        task = listed(ready[0])
        return Answer(Next(task=task), line(task))
    waiting = [task for task in journal.tasks if task.open]
    if not journal.tasks:
        said = words.say("no-tasks")
    elif not waiting:
        said = words.say("all-completed")
    else:
        named = "\n".join(f"- {line(listed(task, NAMED_LENGTH))}" for task in waiting[:NAMED])
        said = words.say("none-ready", number=str(len(waiting)), named=named)
    return Answer(Next(task=None), said)
