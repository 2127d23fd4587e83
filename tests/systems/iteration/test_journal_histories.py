"""Whatever is written into a journal, in whatever order, its laws hold."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sidecar.kernel.journal import Author, Journal, NoteKind, Priority, Task, TaskStatus, find_ready_tasks
from sidecar.systems.iteration.policy import journal as rules
from sidecar.systems.iteration.policy.journal import JournalError

statuses = st.sampled_from(TaskStatus)
ANYONE = st.integers(0, 9)
"""Stands for one of the tasks that are there."""


class Journaling(RuleBasedStateMachine):
    """Writes a journal, and keeps beside it what must be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = Journal()
        self.tasks: dict[str, tuple[str, TaskStatus, Priority, set[str]]] = {}
        self.notes: dict[str, str] = {}
        self.given: list[str] = []

    def _one(self, number: int) -> str:
        return list(self.tasks)[number % len(self.tasks)]

    def _waits(self, ident: str) -> bool:
        return any(self.tasks[on][1] is not TaskStatus.COMPLETED for on in self.tasks[ident][3])

    def _needs(self, ident: str) -> set[str]:
        """All that a task depends on, near or far."""
        reached: set[str] = set()
        waiting = [ident]
        while waiting:
            fresh = self.tasks[waiting.pop()][3] - reached
            reached |= fresh
            waiting += fresh
        return reached

    def _try(self, use: Any, *arguments: Any) -> bool:
        """Change the journal; False where it was refused, and then nothing has changed."""
        before = self.journal
        try:
            changed = use(before, *arguments)
        except JournalError:
            assert self.journal == before
            return False
        self.journal = changed[0] if isinstance(changed, tuple) else changed
        return True

    @rule(
        wanted=st.lists(st.tuples(st.sampled_from(["a", "b", " c ", ""]), statuses), max_size=3),
        by=st.sampled_from(Author),
    )
    def add(self, wanted: list[tuple[str, TaskStatus]], by: Author) -> None:
        fits = bool(wanted) and all(content for content, _ in wanted)
        before = len(self.journal.tasks)
        assert self._try(rules.add_tasks, wanted, by) == fits
        for task, (content, status) in zip(self.journal.tasks[before:], wanted if fits else (), strict=True):
            self.tasks[task.id] = (content.strip(), status, Priority.MEDIUM, set())
            self.given.append(task.id)

    @rule(kind=st.sampled_from(NoteKind), content=st.sampled_from(["a", ""]))
    def note(self, kind: NoteKind, content: str) -> None:
        assert self._try(rules.add_note, kind, content, 1.0) == bool(content)
        if content:
            self.notes[self.journal.notes[-1].id] = content
            self.given.append(self.journal.notes[-1].id)

    @precondition(lambda self: self.tasks)
    @rule(number=ANYONE, status=statuses)
    def set_status(self, number: int, status: TaskStatus) -> None:
        ident = self._one(number)
        fits = status is not TaskStatus.COMPLETED or not self._waits(ident)
        assert self._try(rules.set_task_status, ident, status) == fits
        if fits:
            content, _, priority, needs = self.tasks[ident]
            self.tasks[ident] = (content, status, priority, needs)

    @precondition(lambda self: self.tasks)
    @rule(number=ANYONE, priority=st.sampled_from(Priority))
    def prioritize(self, number: int, priority: Priority) -> None:
        ident = self._one(number)
        assert self._try(rules.set_task_priority, ident, priority)
        content, status, _, needs = self.tasks[ident]
        self.tasks[ident] = (content, status, priority, needs)

    @precondition(lambda self: self.tasks)
    @rule(number=ANYONE, other=ANYONE)
    def depend(self, number: int, other: int) -> None:
        ident, on = self._one(number), self._one(other)
        fits = ident != on and ident not in self._needs(on)
        assert self._try(rules.add_task_dependency, ident, on) == fits
        if fits:
            self.tasks[ident][3].add(on)

    @rule(summarize=st.booleans())
    def iterate(self, summarize: bool) -> None:  # noqa: FBT001 - drawn
        many = len(self.journal.summaries)
        self.journal = rules.begin_next_iteration(self.journal)
        if summarize:
            assert self._try(rules.add_iteration_summary, "did it", 1.0)
            assert len(self.journal.summaries) == many + 1

    @rule()
    def close(self) -> None:
        done = all(status is TaskStatus.COMPLETED for _, status, _, _ in self.tasks.values())
        assert self._try(rules.mark_session_complete, 1.0) == done

    @invariant()
    def nothing_is_lost(self) -> None:
        kept = {
            task.id: (task.content, task.status, task.priority, set(task.depends_on))
            for task in self.journal.tasks
        }
        assert kept == self.tasks
        assert [task.id for task in self.journal.tasks] == [one for one in self.given if one[0] == "T"]
        assert {note.id: note.content for note in self.journal.notes} == self.notes

    @invariant()
    def no_number_is_given_twice(self) -> None:
        numbers = [int(ident[1:]) for ident in self.given]
        assert numbers == sorted(set(numbers))

    @invariant()
    def no_task_depends_on_itself(self) -> None:
        assert all(ident not in self._needs(ident) for ident in self.tasks)

    @invariant()
    def the_next_task_is_the_most_urgent_that_nothing_blocks(self) -> None:
        free = [task for task in self.journal.tasks if self._is_free(task)]
        following = find_ready_tasks(self.journal)
        assert {task.id for task in following} == {task.id for task in free}
        urgency = [task.priority for task in following]
        assert urgency == sorted(urgency)

    def _is_free(self, task: Task) -> bool:
        at_hand = task.status in (TaskStatus.REMAINING, TaskStatus.IN_PROGRESS)
        return at_hand and not self._waits(task.id)

    @invariant()
    def a_complete_session_has_nothing_open(self) -> None:
        if self.journal.closed_at is not None:
            assert not any(task.open for task in self.journal.tasks)


TestJournaling = Journaling.TestCase
TestJournaling.settings = settings(stateful_step_count=25)
