"""Ports held in memory: they move only when told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.kernel.goal import Spending, add_spending
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import LoadedStops
from sidecar.platform.session_documents import file_stem
from sidecar.platform.steering import UnheldFiles
from sidecar.rubric.reader import LAST_RESORT
from sidecar.systems.supervision.messages import plain_continuation, plain_goal_context

if TYPE_CHECKING:
    from collections.abc import Collection

    from sidecar.kernel.effects import Feedback
    from sidecar.kernel.held_edits import AgentWrites, HeldEdit
    from sidecar.kernel.journal import Journal
    from sidecar.kernel.origin import Ancestry, Process
    from sidecar.kernel.rubric import Rubric
    from sidecar.kernel.session import Environment, Session, SessionKey
    from sidecar.kernel.stop_history import RecordedStop
    from sidecar.platform.ports import RecordEntry


class MemorySessionStore:
    """A SessionStore that nobody can edit by hand. It refuses the same names as the one in files."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def load(self, key: SessionKey) -> Session | None:
        return self._sessions.get(file_stem(key))

    def save(self, session: Session) -> None:
        self._sessions[file_stem(session.key)] = session

    def forget(self, key: SessionKey) -> None:
        self._sessions.pop(file_stem(key), None)

    def known(self) -> tuple[SessionKey, ...]:
        seen = sorted(self._sessions.values(), key=lambda session: (-session.seen_at, session.key.id))
        return tuple(session.key for session in seen)


# --- Journals that end with the process. --------------------------------------------------------------------


class MemoryJournals:
    """A JournalStore that nobody can edit by hand. It refuses the same names as the one in files."""

    def __init__(self) -> None:
        self._journals: dict[str, Journal] = {}

    def load(self, key: SessionKey) -> Journal | None:
        return self._journals.get(file_stem(key))

    def save(self, key: SessionKey, journal: Journal) -> None:
        self._journals[file_stem(key)] = journal

    def forget(self, key: SessionKey) -> None:
        self._journals.pop(file_stem(key), None)


# --- Kept stops that go with the process. -------------------------------------------------------------------


STOPS: Final = 20
"""Stops that are kept of a project, as many as in files."""


class MemoryStopHistory:
    """A KeptStops in memory."""

    def __init__(self) -> None:
        self._stops: dict[str, list[RecordedStop]] = {}

    def keep(self, stop: RecordedStop) -> None:
        every = sorted([*self._stops.get(stop.project, []), stop], key=lambda one: one.at)
        self._stops[stop.project] = every[-STOPS:]

    def forget(self, project: str, key: SessionKey) -> None:
        others = [one for one in self._stops.get(project, []) if one.inquiry.stop.key != key]
        self._stops[project] = others

    def last(self, project: str, number: int) -> LoadedStops:
        return LoadedStops(tuple(self._stops.get(project, [])[-number:] if number > 0 else ()))


# --- The story of each session, as long as the process lives. -----------------------------------------------


class MemoryRecord:
    """A Record in memory."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, list[RecordEntry]] = defaultdict(list)
        self._asides: defaultdict[str, list[str]] = defaultdict(list)

    def append(self, key: SessionKey, entry: RecordEntry) -> None:
        self._entries[file_stem(key)].append(entry)

    def read(self, key: SessionKey, last: int = 20) -> tuple[RecordEntry, ...]:
        entries = self._entries[file_stem(key)]
        return tuple(entries[-last:]) if last > 0 else ()

    def report_loss(self, key: SessionKey) -> None:
        """Nobody takes anything out of memory."""

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        return tuple(self._asides[file_stem(key)])

    def pretend_aside(self, key: SessionKey, reason: str) -> None:
        """Let it look as if a state file of this session had been set aside."""
        self._asides[file_stem(key)].append(reason)


# --- A purse that forgets with the process, and secrets that are known by their value alone. ----------------


class MemorySpending:
    """A Purse for which it is always the same day."""

    def __init__(self, spent: Spending | None = None) -> None:
        self._spent = spent or Spending(day="2026-11-22")

    def today(self) -> Spending:
        return self._spent

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        self._spent = add_spending(self._spent, tokens, cents, calls)


# --- Switches that are on again with the next process. ------------------------------------------------------


class MemorySwitches:
    """Switches by path alone: no disk is asked. The nearest folder that was switched decides."""

    def __init__(self) -> None:
        self._user_off = False
        self._off: dict[PurePosixPath, bool] = {}

    def off(self, project: str) -> str:
        if self._user_off:
            return "off for you"
        place = PurePosixPath(project)
        nearest = next(
            (self._off[folder] for folder in (place, *place.parents) if folder in self._off), False
        )
        return "off for this project" if nearest else ""

    def turn(self, *, on: bool, project: str | None) -> None:
        if project is None:
            self._user_off = not on
        else:
            self._off[PurePosixPath(project)] = not on


# --- Settings that were given. ------------------------------------------------------------------------------


class FixedConfiguration:
    """A Configuration that always says the same."""

    def __init__(self, settings: Settings | None = None, errors: tuple[str, ...] = ()) -> None:
        self._settings = settings or Settings()
        self._errors = errors

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        return self._settings, self._errors


# --- A clock that stands still. -----------------------------------------------------------------------------


MANUAL_CLOCK_START: Final = 1_750_000_000.0
"""Seconds since the epoch where a manual clock begins: a day in June 2025."""


class ManualClock:
    """A Clock that moves only when told."""

    def __init__(self, at: float = MANUAL_CLOCK_START) -> None:
        self._at = at
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        return self._at

    def advance(self, seconds: float) -> None:
        """Let time pass; less than nothing is a clock set back."""
        self._at += seconds
        for until, reached in self._waiting:
            if until <= self._at:
                reached.set()

    async def pause(self, seconds: float) -> None:
        """Wait until the clock was moved so far."""
        if seconds <= 0:
            return
        waiter = (self._at + seconds, asyncio.Event())
        self._waiting.append(waiter)
        try:
            await waiter[1].wait()
        finally:
            self._waiting.remove(waiter)


# --- A rubric that was given, and wordings without words. ---------------------------------------------------


class NoProcesses:
    """A machine that shows no process."""

    def ancestry(self, pid: int) -> Ancestry:  # noqa: ARG002 - the port's
        return ()

    def find(self, pid: int) -> Process | None:  # noqa: ARG002 - the port's
        return None


class NoSteering(UnheldFiles):
    """No file steers: every edit counts at once."""

    def settle(self, project: str, writes: AgentWrites, shared: AgentWrites) -> tuple[HeldEdit, ...]:  # noqa: ARG002 - the port's
        return ()

    def held(self, project: str) -> tuple[HeldEdit, ...]:  # noqa: ARG002 - the port's
        return ()

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:  # noqa: ARG002 - the port's
        return ()


class FixedRubrics:
    """Rubrics that always answer with the same one; what is held in it can be accepted.

    `looks` are the writes of which each look was told.
    """

    def __init__(self, rubric: Rubric = LAST_RESORT) -> None:
        self.looks: list[AgentWrites | None] = []
        self._rubric = rubric

    def load(
        self,
        project: str,  # noqa: ARG002 - the port's
        environment: Environment,  # noqa: ARG002 - the port's
        writes: AgentWrites | None = None,
    ) -> Rubric:
        self.looks.append(writes)
        return self._rubric

    def accept(self, project: str, environment: Environment) -> str:  # noqa: ARG002 - the port's
        held, self._rubric = self._rubric.held, replace(self._rubric, held=None)
        return f"in force now: {held.path}: {held.summary}" if held else "nothing is held"

    def begin(self, project: str) -> tuple[str, bool]:  # noqa: ARG002 - the port's
        return self._rubric.origin, False


class PlainMessages:
    """The Phrasebook that PhrasebookFiles falls back to: labels and data."""

    def continuation(self, feedback: Feedback) -> str:
        return plain_continuation(feedback)

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        return plain_goal_context(condition, checks, budget)
