"""Tools of the journal: tasks, notes, what an iteration did, and that all is done.

The rules are in sidecar/systems/iteration/policy/journal.py; this module only offers them as tools. The judge
is told how iterations ended and that a session is complete, and is not bound by either. Long lists of long
texts are shortened, since a list goes into a model's context as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from sidecar.kernel.decoding import UNLISTED
from sidecar.kernel.journal import (
    Author,
    Journal,
    Note,
    NoteKind,
    Priority,
    Task,
    TaskStatus,
    find_ready_tasks,
)
from sidecar.servers.tools.tool import (
    AgentTool,
    NoArguments,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.iteration.policy import journal as rules
from sidecar.systems.iteration.policy.claims import claimed_by

# --- entries as data and as lines ---------------------------------------------------------------------------


LIST_LENGTH: Final = 20_000
"""Characters of all texts of one list together; about as much as hosts accept from a tool."""
LEAST_LENGTH: Final = 40
"""Minimum number of characters that remain of a shortened text."""


class Brief(Struct, frozen=True, kw_only=True):
    """A task and its status."""

    id: str
    status: TaskStatus
    content: str


class Listed(Brief, frozen=True, kw_only=True):
    """All fields of a task. `depends_on`: IDs of tasks that must be completed first."""

    priority: Priority
    depends_on: tuple[str, ...]
    by: Author


def list_task(task: Task, most: int | None = None) -> Listed:
    """Return all fields of a task, its text cut to `most` characters."""
    cut = replace(task, content=cut_text(task.content, most))
    return msgspec.convert(cut, Listed, from_attributes=True)


def brief_task(task: Task) -> Brief:
    """Return a task with its whole text."""
    return msgspec.convert(task, Brief, from_attributes=True)


def task_line(task: Task | Listed, *, in_group: bool = False) -> str:
    """Format a task as one line, without default values and without what its group already says."""
    marks: list[str] = [] if in_group else [task.status]
    if task.priority != Priority.MEDIUM:
        marks.append(f"priority {task.priority}")
    if task.depends_on:
        marks.append(f"depends_on {' '.join(task.depends_on)}")
    if task.by is Author.USER:
        marks.append("by user")
    marked = f" [{', '.join(marks)}]" if marks else ""
    return f"{task.id}{marked} {flatten_text(task.content)}"


def flatten_text(text: str) -> str:
    """Return the text as one line."""
    return clip_printable(text, len(text))


def length_per_text(texts: Iterable[str]) -> int | None:
    """Return how many characters of each text fit into a list; None if all of them fit completely."""
    lengths = [len(text) for text in texts]
    return None if sum(lengths) <= LIST_LENGTH else max(LEAST_LENGTH, LIST_LENGTH // len(lengths))


def cut_text(text: str, most: int | None) -> str:
    """Return the text, cut if it is longer than `most` characters."""
    return text if most is None or len(text) <= most else f"{text[:most]}..."


# --- tasks --------------------------------------------------------------------------------------------------


NAMED_TASKS: Final = 10
"""Maximum number of open tasks that are named if none is ready."""
NAMED_LENGTH: Final = 80
"""Maximum length in characters of each of them."""

T = TypeVar("T")


class NewTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task to add."""

    content: str
    status: Annotated[TaskStatus, UNLISTED] = TaskStatus.REMAINING


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


class NewNote(Struct, frozen=True, kw_only=True):
    """A note to add."""

    content: str
    type: NoteKind


class NoteFilter(Struct, frozen=True, kw_only=True):
    """Which notes to list: those of one type, or all if it is None."""

    type: Annotated[NoteKind | None, UNLISTED] = None


class NoteShown(Struct, frozen=True, kw_only=True):
    """A note. `at` is in seconds since the epoch."""

    id: str
    type: NoteKind
    content: str
    at: float


class NoteList(Struct, frozen=True, kw_only=True):
    """Notes, oldest first."""

    notes: tuple[NoteShown, ...]


class IterationDone(Struct, frozen=True, kw_only=True):
    """A summary of an iteration; None asks for those that are kept."""

    summary: str | None = None


class IterationSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored summary; iterations count from 1. `kept`: lines of all summaries, where none was given."""

    iteration: int
    summary: str
    kept: tuple[str, ...] = ()


class SessionClosed(Struct, frozen=True, kw_only=True):
    """A completed session: number of completed tasks, and time (`at`) in seconds since the epoch."""

    completed: int
    at: float


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools of the toolset `journal`."""
    work, make = JournalTools(context), partial(AgentTool, toolset="journal")
    return (
        make(name="iteration_summary", takes=IterationDone, gives=IterationSummary, work=work.summarize),
        make(name="session_complete", gives=SessionClosed, work=work.close, repeats=True),
        make(name="note_add", takes=NewNote, gives=NoteShown, work=work.add_note),
        make(name="note_list", takes=NoteFilter, gives=NoteList, work=work.list_notes, reads=True),
        make(name="task_add", takes=NewTask, gives=Brief, work=work.add_task),
        make(name="task_batch_add", takes=NewTasks, gives=AddedTasks, work=work.add_tasks),
        make(name="task_status", takes=TaskStatusChange, gives=Brief, work=work.set_status, repeats=True),
        make(
            name="task_priority", takes=TaskPriorityChange, gives=Listed, work=work.set_priority, repeats=True
        ),
        make(name="task_depends", takes=TaskDependency, gives=Listed, work=work.add_dependency, repeats=True),
        make(name="task_list", gives=TaskBoard, work=work.list_tasks, reads=True),
        make(name="task_next", gives=NextTask, work=work.next_task, reads=True),
    )


class JournalTools:
    """What each tool does."""

    def __init__(self, context: ToolContext) -> None:
        self._context, self._say = context, context.words.say

    # --- tasks ---

    async def add_task(self, call: ToolInvocation, given: NewTask) -> ToolAnswer:
        (added,) = self._added(call, (given,))
        return ToolAnswer(brief_task(added), task_line(added))

    async def add_tasks(self, call: ToolInvocation, given: NewTasks) -> ToolAnswer:
        added = self._added(call, given.tasks)
        return ToolAnswer(AddedTasks(tasks=tuple(map(brief_task, added))), "\n".join(map(task_line, added)))

    async def set_status(self, call: ToolInvocation, given: TaskStatusChange) -> ToolAnswer:
        self._context.loops.check_status(call.session, given.id, given.status, call.author)
        change = partial(rules.set_task_status, ident=given.id, status=given.status, worker=call.worker)
        task = self._changed(call, change)
        return ToolAnswer(brief_task(task), task_line(task))

    async def set_priority(self, call: ToolInvocation, given: TaskPriorityChange) -> ToolAnswer:
        change = partial(rules.set_task_priority, ident=given.id, priority=Priority(given.priority))
        return _task_answer(self._changed(call, change))

    async def add_dependency(self, call: ToolInvocation, given: TaskDependency) -> ToolAnswer:
        change = partial(rules.add_task_dependency, ident=given.id, on=given.depends_on)
        return _task_answer(self._changed(call, change))

    async def list_tasks(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        journal = self._context.journals.of(call.session.key)
        return _board_answer(journal) if journal.tasks else ToolAnswer(TaskBoard(), self._say("no-tasks"))

    async def next_task(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        journal = self._context.journals.of(call.session.key)
        if ready := claimed_by(journal, call.worker) or find_ready_tasks(journal):
            return ToolAnswer(NextTask(task=list_task(ready[0])), task_line(ready[0]))
        waiting = [task for task in journal.tasks if task.open]
        if waiting:
            named = "\n".join(
                f"- {task_line(list_task(task, NAMED_LENGTH))}" for task in waiting[:NAMED_TASKS]
            )
            said = self._say("none-ready", number=len(waiting), named=named)
        else:
            said = self._say("all-completed" if journal.tasks else "no-tasks")
        return ToolAnswer(NextTask(task=None), said)

    def _added(self, call: ToolInvocation, wanted: tuple[NewTask, ...]) -> tuple[Task, ...]:
        mask = self._context.checks.mask(call.session)  # no secret reaches the journal's file
        pairs = [(mask(one.content), one.status) for one in wanted]
        return self._changed(call, lambda journal: rules.add_tasks(journal, pairs, call.author))

    def _changed(self, call: ToolInvocation, change: Callable[[Journal], tuple[Journal, T]]) -> T:
        return self._context.journals.change(call.session.key, change)

    # --- notes ---

    async def add_note(self, call: ToolInvocation, given: NewNote) -> ToolAnswer:
        now, content = self._context.clock.now(), self._context.checks.mask(call.session)(given.content)
        made = self._changed(
            call, lambda journal: rules.add_note(journal, given.type, content, now, call.author)
        )
        return ToolAnswer(_show_note(made), _note_line(_show_note(made)))

    async def list_notes(self, call: ToolInvocation, given: NoteFilter) -> ToolAnswer:
        journal = self._context.journals.of(call.session.key)
        notes = [one for one in journal.notes if given.type in (None, one.kind)]
        most = length_per_text(one.content for one in notes)
        found = tuple(_show_note(one, most) for one in notes)
        return ToolAnswer(NoteList(notes=found), "\n".join(map(_note_line, found)) or self._say("no-notes"))

    # --- iterations, and the end ---

    async def summarize(self, call: ToolInvocation, given: IterationDone) -> ToolAnswer:
        if given.summary is None:
            return _list_summaries(self._context.journals.of(call.session.key))
        now, text = self._context.clock.now(), self._context.checks.mask(call.session)(given.summary)
        made = self._changed(
            call, lambda journal: rules.add_iteration_summary(journal, text, now, call.worker)
        )
        data = IterationSummary(iteration=made.iteration, summary=made.content)
        said = self._say("summarized", iteration=made.iteration, summary=flatten_text(made.content))
        return ToolAnswer(data, said)

    async def close(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        now = self._context.clock.now()
        made = self._changed(call, lambda journal: _close_journal(journal, now))
        return ToolAnswer(made, self._say("closed", completed=made.completed))


def _task_answer(task: Task) -> ToolAnswer:
    return ToolAnswer(list_task(task), task_line(task))


def _board_answer(journal: Journal) -> ToolAnswer:
    most = length_per_text(task.content for task in journal.tasks)
    groups = {
        status.value: tuple(list_task(task, most) for task in journal.tasks if task.status is status)
        for status in TaskStatus
    }
    board = TaskBoard(**groups)
    lines = [
        "\n".join((f"{name} ({len(group)}):", *(f"- {task_line(task, in_group=True)}" for task in group)))
        for name in TaskBoard.__struct_fields__
        if (group := groups[name])
    ]
    return ToolAnswer(board, "\n".join(lines))


def _show_note(made: Note, most: int | None = None) -> NoteShown:
    return NoteShown(id=made.id, type=made.kind, content=cut_text(made.content, most), at=made.at)


def _note_line(made: NoteShown) -> str:
    return f"{made.id} [{made.type}] {flatten_text(made.content)}"


def _list_summaries(journal: Journal) -> ToolAnswer:
    most = length_per_text(one.content for one in journal.summaries)
    kept = tuple(f"{one.iteration}: {flatten_text(cut_text(one.content, most))}" for one in journal.summaries)
    return ToolAnswer(IterationSummary(iteration=journal.iteration, summary="", kept=kept), "\n".join(kept))


def _close_journal(journal: Journal, now: float) -> tuple[Journal, SessionClosed]:
    """Mark the session as complete; a session that is already complete keeps its time."""
    at = now if journal.closed_at is None else journal.closed_at
    return rules.mark_session_complete(journal, at), SessionClosed(completed=len(journal.tasks), at=at)
