"""Access to session journals: one change at a time, saved as a whole before anybody sees it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.journal import Author, Journal, Task, TaskStatus
from sidecar.kernel.log import JournalChanged, RunHistoryEvent
from sidecar.kernel.runs import RUN_HOST, WorkerAnswer, WorkerChange
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import Clock, EventLog, JournalStore, StaleSessionError
from sidecar.platform.services import note_event
from sidecar.systems.iteration.policy import claims
from sidecar.systems.iteration.policy import journal as rules

T = TypeVar("T")
SAVE_TRIES: Final = 8
"""How often a change is made anew, where somebody else saved one in between."""


class RunChecks(Struct, frozen=True):
    """Parameters of the sidecar's method `run_checks`, which gives MergeChecks.

    `only`: ids of checks, all that bear on the goal if empty. `asked`: words of the user's beside the goal.
    """

    session: str
    folder: str
    environment: dict[str, str]
    only: tuple[str, ...] = ()
    asked: str = ""


class RunNote(Struct, frozen=True):
    """Parameters of the sidecar's method `run_note`: what is to be kept of a session's run."""

    session: str
    project: str
    event: RunHistoryEvent


class SessionJournals:
    """Reads and changes journals; a change is made anew where somebody else saved one in between."""

    def __init__(
        self, store: JournalStore, events: EventLog | None = None, clock: Clock | None = None
    ) -> None:
        """Use this store; changes are appended to `events`."""
        self._store = store
        self._events = events
        self._clock = clock

    def of(self, key: SessionKey) -> Journal:
        """Return a session's journal, an empty one where none is saved. Raises OSError, BadInputError."""
        return self._store.load(key) or Journal()

    def change(
        self, key: SessionKey, change: Callable[[Journal], tuple[Journal, T]], *, quietly: bool = False
    ) -> T:
        """Apply `change` to a journal and return its result. Raises what `change` and `of` raise.

        `quietly`: a sign of life, which is no event and leaves the times of tasks as they are.
        """
        for left in reversed(range(SAVE_TRIES)):
            before = self.of(key)
            after, made = change(before)
            if after == before:
                break
            if self._clock is not None and after.tasks != before.tasks and not quietly:
                after = rules.stamp_tasks(before, after, self._clock.now())
            try:
                self._store.save(key, after)
            except StaleSessionError:
                if not left:
                    raise
                continue
            if not quietly:
                self.note(key, rules.journal_change(before, after))
            break
        return made

    def task(self, key: SessionKey, ident: str) -> Task:
        """Return a task; raises JournalError."""
        return rules.find_task(self.of(key), ident)

    def add_task(self, key: SessionKey, content: str, by: Author) -> Task:
        """Add a task at work; raises JournalError."""
        new = ((content, TaskStatus.IN_PROGRESS),)
        return self.change(key, lambda journal: rules.add_tasks(journal, new, by))[0]

    def put_task(self, key: SessionKey, task: Task) -> None:
        """Replace a task by its changed self; raises JournalError."""
        self.change(key, lambda journal: rules.put_task(journal, task))

    def drop_task(self, key: SessionKey, ident: str) -> None:
        """Remove a task that its person took back; the event log keeps it."""

        def drop(journal: Journal) -> tuple[Journal, None]:
            return replace(journal, tasks=tuple(one for one in journal.tasks if one.id != ident)), None

        self.change(key, drop)

    def note(self, key: SessionKey, data: JournalChanged | RunHistoryEvent, project: str = "") -> None:
        """Append an event; a log that cannot be written ends nothing."""
        if self._events is not None and self._clock is not None:
            note_event(self._events, self._clock, "iteration", data, key, project)


# --- claims of a session's agents ---------------------------------------------------------------------------


def change_workers(journals: SessionJournals, clock: Clock, asked: WorkerChange) -> WorkerAnswer:
    """Carry out a change. Raises JournalError, OSError, BadInputError."""
    key, now, renews = SessionKey(RUN_HOST, asked.session), clock.now(), asked.do == "renew"
    if asked.do == "start":
        begin = partial(
            claims.start_worker,
            now=now,
            at_work=asked.at_work,
            planning=asked.planning,
            machine=asked.machine,
        )
        return WorkerAnswer(journals.change(key, begin))

    def change(journal: Journal) -> tuple[Journal, None]:
        if renews:
            return claims.renew_claims(journal, now, asked.at_work), None
        return claims.settle_worker(journal, asked.worker, now, asked.refused, asked.files), None

    journals.change(key, change, quietly=renews)
    return WorkerAnswer()
