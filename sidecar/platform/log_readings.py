"""Readings of the log: the record of a session, what judging cost today, and the stops kept for replays."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.kernel.goal import Spending, add_spending
from sidecar.kernel.log import (
    RECORD_KINDS,
    EventFilter,
    JudgingPaid,
    LoggedEvent,
    RecordEntry,
    StopKept,
    UnreadableEvent,
    WorkerRan,
    event_kind,
    record_entries,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.stop_history import LoadedStops, RecordedStop
from sidecar.platform.state import Incidents

if TYPE_CHECKING:
    from sidecar.platform.ports import Clock, EventLog

SUPERVISION: Final = "supervision"
WORKERS: Final = "workers"
"""The systems that append what is read here."""

log = logging.getLogger(__name__)


def read_record(events: EventLog, key: SessionKey, last: int = 20) -> tuple[RecordEntry, ...]:
    """The newest lines of a session's record, oldest first. Raises OSError."""
    return record_entries(events.newest(EventFilter(session=key, kinds=RECORD_KINDS), last))


# --- What was spent today --------------------------------------------------------------------------------


DAY_S: Final = 86_400.0
PAID_KINDS: Final = (event_kind(JudgingPaid), event_kind(WorkerRan))
MOST_PAYMENTS: Final = 100_000
"""Payments of a day that are read."""


class DailySpending:
    """Adds up this user's spending on judging and workers, day by day (UTC)."""

    def __init__(
        self,
        log: EventLog,
        clock: Clock,
        incidents: Incidents | None = None,
        refusal: Callable[[EventLog], str] = lambda _: "",
    ) -> None:
        """`refusal` says why a team lets nothing more be spent on this machine; it may raise OSError."""
        self._refusal = refusal
        self._log = log
        self._clock = clock
        self._incidents = incidents
        self._most = Spending(day="")

    def today(self) -> Spending:
        """What was spent today; never less than this process has seen (law 9). Never raises."""
        stored, refused = Spending(day=self._day(self._clock.now())), ""
        try:
            stored = self._read()
            refused = self._refusal(self._log)
        except OSError as error:
            log.warning("what was spent today cannot be read: %s", error)
        return replace(self._at_least_seen(stored), refused=refused)

    def _at_least_seen(self, spent: Spending) -> Spending:
        if self._most.day == spent.day and spent.tokens < self._most.tokens:
            if self._incidents is not None:
                said = "the log says less than was spent today. What was spent counts"
                self._incidents.report(f"Supervisor: {said}.")
            return self._most
        self._most = spent
        return spent

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        """Append the cost of judging. Raises OSError."""
        self._append(SUPERVISION, JudgingPaid(tokens=tokens, cents=cents, calls=calls))

    def add_worker(self, ran: WorkerRan) -> None:
        """Append the end of a worker with its cost. Raises OSError."""
        self._append(WORKERS, ran)

    def _append(self, system: str, paid: JudgingPaid | WorkerRan) -> None:
        """Append a cost, and first what is missing of what this process has seen."""
        stored = self._read()
        spent = self._at_least_seen(stored)
        if spent.tokens > stored.tokens:
            missing = JudgingPaid(
                tokens=spent.tokens - stored.tokens,
                cents=max(0.0, spent.cents - stored.cents),
                calls=max(0, spent.calls - stored.calls),
            )
            self._log.append(LoggedEvent(at=self._clock.now(), system=SUPERVISION, data=missing))
        self._log.append(LoggedEvent(at=self._clock.now(), system=system, data=paid))
        self._most = add_spending(spent, paid.tokens, paid.cents, paid.calls)

    def _read(self) -> Spending:
        """Sum up the payments of today."""
        now = self._clock.now()
        midnight, spent = now - now % DAY_S, Spending(day=self._day(now))
        wanted = EventFilter(kinds=PAID_KINDS, since=midnight, before=midnight + DAY_S)
        for event in self._log.read(wanted, limit=MOST_PAYMENTS):
            if isinstance(paid := event.data, JudgingPaid | WorkerRan):
                spent = add_spending(spent, paid.tokens, paid.cents, paid.calls)
            if isinstance(paid, WorkerRan):
                spent = replace(
                    spent,
                    worker_calls=spent.worker_calls + paid.calls,
                    worker_tokens=spent.worker_tokens + paid.tokens,
                    worker_cents=spent.worker_cents + (paid.cents or 0.0),
                )
        return spent

    def _day(self, now: float) -> str:
        return dt.datetime.fromtimestamp(now, tz=dt.UTC).date().isoformat()


# --- Judged stops, to try a rubric on -----------------------------------------------------------------------


STOPS_PER_PROJECT: Final = 20
"""Number of stops kept per project."""
_KEPT: Final = (event_kind(StopKept),)


class StopHistory:
    """The newest judged stops of each project, whole, so that they can be replayed under another rubric."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def keep(self, stop: RecordedStop) -> None:
        """Append a stop and remove those beyond the limit. Raises OSError, also for one that is too big."""
        event = LoggedEvent(
            at=stop.at,
            system=SUPERVISION,
            session=stop.inquiry.stop.key,
            project=_real_path(stop.project),
            data=StopKept(stop=stop),
        )
        self._log.append(event)
        self._log.forget(EventFilter(project=event.project, kinds=_KEPT), keep=STOPS_PER_PROJECT)

    def last(self, project: str, number: int) -> LoadedStops:
        """The newest stops of a project. Never raises: unreadable ones are reported in the result."""
        try:
            events = self._log.newest(EventFilter(project=_real_path(project), kinds=_KEPT), number)
        except OSError as error:
            return LoadedStops(problems=(str(error),))
        return _loaded_stops(events)

    def forget(self, project: str, key: SessionKey) -> None:
        """Remove the stops of a session. Raises OSError."""
        self._log.forget(EventFilter(project=_real_path(project), session=key, kinds=_KEPT))


def _loaded_stops(events: tuple[LoggedEvent, ...]) -> LoadedStops:
    stops = tuple(event.data.stop for event in events if isinstance(event.data, StopKept))
    problems = (
        f"event {event.position} of the log: {event.data.why}"
        for event in events
        if isinstance(event.data, UnreadableEvent)
    )
    return LoadedStops(stops, tuple(problems))


def _real_path(project: str) -> str:
    """The path by which a project is known, however it is named; a text that is no path stays."""
    try:
        return os.path.realpath(project)
    except (ValueError, OSError):
        return project
