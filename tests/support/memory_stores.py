"""Ports held in memory: they move only when told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import asdict, replace

from sidecar.kernel.log import (
    AUDIT_KIND,
    EventData,
    EventFilter,
    LoggedEvent,
    OrderGiven,
    RecordEntry,
    StopJudged,
    encode_event_data,
)
from sidecar.kernel.settings import GateSettings, Settings
from sidecar.platform.event_log import decode_event_data
from sidecar.platform.log_readings import DailySpending, StopHistory, read_record
from sidecar.platform.ports import StaleSessionError
from sidecar.platform.session_documents import file_stem
from sidecar.platform.steering import UnheldFiles
from sidecar.rubric.reader import LAST_RESORT
from sidecar.systems.supervision.messages import plain_goal_context, render_continuation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sidecar.kernel.effects import Feedback
    from sidecar.kernel.journal import Journal
    from sidecar.kernel.loop import Loop
    from sidecar.kernel.orders import Ancestry, Process
    from sidecar.kernel.rubric import HeldEdit, Rubric
    from sidecar.kernel.session import Environment, Session, SessionKey
    from sidecar.platform.ports import EventLog


class MemorySessionStore:
    """A SessionStore that nobody can edit by hand. It refuses the same names as the one in files."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._asides: defaultdict[str, list[str]] = defaultdict(list)

    def load(self, key: SessionKey) -> Session | None:
        return self._sessions.get(file_stem(key))

    def save(self, session: Session) -> Session:
        stored = self._sessions.get(file_stem(session.key))
        if session.revision != (stored.revision if stored is not None else 0):
            raise StaleSessionError(session, stored)
        self._sessions[file_stem(session.key)] = saved = replace(session, revision=session.revision + 1)
        return saved

    def put(self, session: Session) -> None:
        """Replace the stored state, whatever it is, as if all had led to it."""
        stored = self.load(session.key)
        self.save(replace(session, revision=stored.revision if stored is not None else 0))

    def forget(self, key: SessionKey) -> None:
        self._sessions.pop(file_stem(key), None)

    def known(self) -> tuple[SessionKey, ...]:
        seen = sorted(self._sessions.values(), key=lambda session: (-session.seen_at, session.key.id))
        return tuple(session.key for session in seen)

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        return tuple(self._asides[file_stem(key)])

    def pretend_aside(self, key: SessionKey, reason: str) -> None:
        """Let it look as if a state file of this session had been set aside."""
        self._asides[file_stem(key)].append(reason)


# --- Journals that end with the process. --------------------------------------------------------------------


class MemoryJournals:
    """A JournalStore that nobody can edit by hand. It refuses the same names as the one in files."""

    def __init__(self) -> None:
        self._journals: dict[str, Journal] = {}

    def load(self, key: SessionKey) -> Journal | None:
        return self._journals.get(file_stem(key))

    def save(self, key: SessionKey, journal: Journal) -> Journal:
        stored = self.load(key)
        if journal.revision != (stored.revision if stored else 0):
            raise StaleSessionError(journal, stored)
        self._journals[file_stem(key)] = saved = replace(journal, revision=journal.revision + 1)
        return saved

    def forget(self, key: SessionKey) -> None:
        self._journals.pop(file_stem(key), None)


class MemoryLoops:
    """A LoopStore that nobody can edit by hand."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}

    def load(self, key: SessionKey) -> Loop | None:
        return self._loops.get(file_stem(key))

    def save(self, loop: Loop) -> Loop:
        stored = self._loops.get(file_stem(loop.key))
        if loop.revision != (stored.revision if stored is not None else 0):
            raise StaleSessionError(loop, stored)
        self._loops[file_stem(loop.key)] = saved = replace(loop, revision=loop.revision + 1)
        return saved

    def forget(self, key: SessionKey) -> None:
        self._loops.pop(file_stem(key), None)


# --- A log as long as the process lives. --------------------------------------------------------------------


class MemoryEventLog:
    """An EventLog that nobody can edit by hand. What it holds went through the same encoding as in a file."""

    def __init__(self) -> None:
        self._events: list[LoggedEvent] = []
        self._last = 0
        self._listeners: list[Callable[[], object]] = []

    def append(self, event: LoggedEvent) -> int:
        data = decode_event_data(event.kind, encode_event_data(event.data))
        self._last += 1
        self._events.append(replace(event, data=data, position=self._last))
        for listener in tuple(self._listeners):
            listener()
        return self._last

    def read(self, wanted: EventFilter, *, after: int = 0, limit: int = 1000) -> tuple[LoggedEvent, ...]:
        found = [one for one in self._events if one.position > after and _selects(wanted, one)]
        return tuple(found[: max(limit, 0)])

    def newest(self, wanted: EventFilter, number: int, *, after: int = 0) -> tuple[LoggedEvent, ...]:
        return self.read(wanted, after=after, limit=len(self._events))[-number:] if number > 0 else ()

    def count(self, wanted: EventFilter, *, after: int = 0) -> int:
        return sum(_selects(wanted, one) for one in self._events if one.position > after)

    def last(self) -> int:
        return self._events[-1].position if self._events else 0

    def forget(self, wanted: EventFilter, *, keep: int = 0) -> int:
        found = [
            one
            for one in self._events
            if _selects(wanted, one) and (one.kind != AUDIT_KIND or AUDIT_KIND in wanted.kinds)
        ]
        gone = {one.position for one in found[: max(0, len(found) - keep)]}
        self._events = [one for one in self._events if one.position not in gone]
        return len(gone)

    def trim(self) -> None:
        """Memory has no limits."""

    def listen(self, heard: Callable[[], object]) -> Callable[[], None]:
        self._listeners.append(heard)
        return lambda: self._listeners.remove(heard)

    def tell_losses(self, key: SessionKey) -> None:
        """Nobody takes anything out of memory."""


# --- Readings of a log of their own. ------------------------------------------------------------------------


class MemorySpending(DailySpending):
    """What was spent on a day that does not end."""

    def __init__(self, tokens: int = 0, cents: float = 0.0) -> None:
        self.log = MemoryEventLog()
        super().__init__(self.log, ManualClock())
        if tokens:
            self.add(tokens, cents, 1)


class MemoryStopHistory(StopHistory):
    """Kept stops in a log of their own."""

    def __init__(self) -> None:
        super().__init__(MemoryEventLog())


class LoggedRecord:
    """The record of each session, as a log tells it; tests may add lines."""

    def __init__(self, events: EventLog) -> None:
        self._events = events

    def read(self, key: SessionKey, last: int = 20) -> tuple[RecordEntry, ...]:
        return read_record(self._events, key, last)

    def append(self, key: SessionKey, entry: RecordEntry) -> None:
        fields = {
            name: value for name, value in asdict(entry).items() if name not in ("at", "event", "origin")
        }
        data: EventData = StopJudged(**fields)
        if entry.event != "stop":
            data = OrderGiven(name=entry.event.partition(" ")[2], decided=entry.decided, detail=entry.detail)
        self._events.append(
            LoggedEvent(at=entry.at, system="supervision", session=key, data=data, origin=entry.origin)
        )


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
        self._awake = 1000.0
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        return self._at

    def awake(self) -> float:
        return self._awake

    def advance(self, seconds: float, *, awake: float | None = None) -> None:
        """Let time pass; less than nothing is a clock set back, `awake` less a machine that slept."""
        self._at += seconds
        self._awake += max(seconds, 0.0) if awake is None else awake
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


def at_once(number: int) -> FixedConfiguration:
    """Return settings by which so many suites run at a time."""
    return FixedConfiguration(Settings(gates=GateSettings(at_once=number)))


class TickingClock(ManualClock):
    """A clock that moves when it is looked at, and never lets anybody wait."""

    def awake(self) -> float:
        self.advance(1.0)
        return super().awake()

    async def pause(self, seconds: float) -> None:  # noqa: ARG002 - the port's
        await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop


# --- A rubric that was given, and wordings without words. ---------------------------------------------------


class NoProcesses:
    """A machine that shows no process."""

    def ancestry(self, pid: int) -> Ancestry:  # noqa: ARG002 - the port's
        return ()

    def find(self, pid: int) -> Process | None:  # noqa: ARG002 - the port's
        return None

    def environment(self, pid: int) -> dict[str, str]:  # noqa: ARG002 - the port's
        return {}


class NoSteering(UnheldFiles):
    """No file steers: every edit counts at once."""

    def decide(self, at_rest: Callable[[], bool]) -> None:
        """Nothing is decided."""

    def watch(self, project: str, environment: Environment) -> tuple[Path, ...]:  # noqa: ARG002 - the port's
        return ()

    def settle(self) -> tuple[HeldEdit, ...]:
        return ()

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:  # noqa: ARG002 - the port's
        return ()


class FixedRubrics:
    """Rubrics that always answer with the same one."""

    def __init__(self, rubric: Rubric = LAST_RESORT) -> None:
        self._rubric = rubric

    def load(self, project: str, environment: Environment) -> Rubric:  # noqa: ARG002 - the port's
        return self._rubric

    def begin(self, project: str) -> tuple[str, bool]:  # noqa: ARG002 - the port's
        return self._rubric.origin, False


class PlainMessages:
    """The Phrasebook that PhrasebookFiles falls back to: labels and data."""

    def continuation(self, feedback: Feedback) -> str:
        return render_continuation(feedback)

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        return plain_goal_context(condition, checks, budget)


def _selects(wanted: EventFilter, event: LoggedEvent) -> bool:
    return (
        wanted.session in (None, event.session)
        and wanted.project in ("", event.project)
        and (not wanted.kinds or event.kind in wanted.kinds)
        and (wanted.since is None or event.at >= wanted.since)
        and (wanted.before is None or event.at < wanted.before)
    )
