"""Past decisions, read from the log; what was found out at a session's last stop, and why it ended so.

The record has a line for every stop. A stop that is also in the stop history is replayed as it was, which
restores everything that policy knew about it. A recorded stop other than that of the record is not used.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.hosts.shared import HOST_ALIASES
from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import Spending, add_spending
from sidecar.kernel.log import (
    DECISION_KINDS,
    AuditEntry,
    EventFilter,
    LoggedEvent,
    RecordEntry,
    WorkerRan,
    event_kind,
    find_decision,
)
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.stop_history import RecordedStop, ruling_outcome
from sidecar.platform.log_readings import StopHistory, read_record
from sidecar.platform.ports import EventLog
from sidecar.systems.supervision.evaluation import RecordedPlay, recorded_rubric
from sidecar.systems.supervision.people import are_related
from sidecar.systems.supervision.policy.decision_story import (
    Left,
    Next,
    ReplayedInquiry,
    budget_left,
    next_stop_handling,
)
from sidecar.systems.supervision.policy.history import Decision, add_follow_ups
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.stop_keeping import SKIPPED_STAGE

PAGE = 1000
"""Events that are read at a time."""
CANDIDATES_NAMED: Final = 5
"""Sessions that are named where a beginning of an id fits several."""


def read_decisions(
    log: EventLog, *, since: float | None = None, folder: str = "", session: str = ""
) -> tuple[Decision, ...]:
    """Return the decisions of the log, oldest first, those of subagents apart.

    `folder`: only those of sessions in it, above and below; "" for all. `session`: the ID of one session, or
    of one of a host's (HOST:ID), or its beginning. Raises OSError, BadInputError where several begin so.
    """
    wanted = EventFilter(kinds=DECISION_KINDS, since=None if session else since)
    events = [one for one in _read_all(log, wanted) if not folder or are_related(folder, one.project)]
    if session:
        meant = meant_session(session, {_session_of(one) for one in events})
        events = [one for one in events if _session_of(one) == meant and one.at >= (since or 0)]
    return find_decisions(events)


def meant_session(named: str, known: Collection[SessionKey]) -> SessionKey | None:
    """Return the known session with this id, else the one whose id begins so; None where there is none."""
    host, _, ident = named.rpartition(":")
    host = HOST_ALIASES.get(host, host)
    begun = [key for key in known if host in ("", key.host) and key.id.startswith(ident)]
    meant = [key for key in begun if key.id == ident] or begun
    if len(meant) > 1:
        some = sorted(f"{key.host}:{key.id}" for key in meant)[:CANDIDATES_NAMED]
        raise BadInputError(f"{named} may mean {len(meant)} sessions: {', '.join(some)}. Name one of them")
    return meant[0] if meant else None


def find_decisions(events: Iterable[LoggedEvent]) -> tuple[Decision, ...]:
    """Return the decisions among these events, which come oldest first; those of subagents are left out."""
    return add_follow_ups(
        Decision(
            at=event.at,
            day=dt.datetime.fromtimestamp(event.at, tz=dt.UTC).astimezone().date().isoformat(),
            session=_session_of(event),
            project=event.project,
            what=found[0],
            stop=found[1],
            position=event.position,
        )
        for event in events
        if (found := find_decision(event.data)) and found[1].decided != RestReason.SUBAGENT
    )


def _session_of(event: LoggedEvent) -> SessionKey:
    """Return the session of an event; a governed phase that belongs to none is named by its lock."""
    lock = event.data.lock if isinstance(event.data, AuditEntry) else ""
    return event.session or SessionKey(event.system, lock)


def worker_spending(log: EventLog, since: float | None) -> Spending:
    """Return what headless agents cost, of all projects together. Raises OSError."""
    spent = Spending()
    for event in _read_all(log, EventFilter(kinds=(event_kind(WorkerRan),), since=since)):
        if isinstance(ran := event.data, WorkerRan):
            spent = add_spending(spent, ran.tokens, ran.cents, ran.calls)
    return spent


def _read_all(log: EventLog, wanted: EventFilter) -> Iterator[LoggedEvent]:
    after = 0
    while found := log.read(wanted, after=after, limit=PAGE):
        yield from found
        after = found[-1].position


# --- What was found out at a session's last stop, and why it ended as it did. Read-only ---------------------


RECORD_ENTRIES_READ: Final = 100
"""Record entries in which a stop is searched for."""
RECORDED_STOPS_READ: Final = (1, 20)
"""Recorded stops of the project that are read: the last one, and all where it is another session's."""
MAX_SECONDS_APART: Final = 5.0
"""Maximum seconds between the time of a recorded stop and that of its record entry, written next."""
CUT_OFF_REASONS: Final = frozenset(
    {RestReason.INTERRUPTED, RestReason.SUPERSEDED, RestReason.QUEUED, RestReason.COMMANDED}
)
"""Reasons of stops whose judging was cut off."""


class LastStop(Struct, frozen=True, kw_only=True):
    """A stop from the record, and its replay where it is in the stop history."""

    entry: RecordEntry
    played: ReplayedInquiry | None = None


class NextStopOutlook(Struct, frozen=True, kw_only=True):
    """How a session's next stop is handled, and what is spent of its budget."""

    left: Left
    next_stop: Next


class StopExplainer:
    """Reads what the record and the stop history contain about a session."""

    def __init__(self, services: Services) -> None:
        """Use these services."""
        self._services = services

    async def last(self, session: Session, *, judged: bool = False) -> LastStop | None:
        """Return the last stop of the session's agent, or the last `judged` one; None where there is none."""
        for entry in reversed(read_record(self._services.log, session.key, RECORD_ENTRIES_READ)):
            if (
                entry.event == "stop"
                and entry.decided != RestReason.SUBAGENT
                and (_was_judged(entry) or not judged)
            ):
                history, key, project = self._services.stop_history, session.key, session.project
                played = await find_replay(history, key, project, entry.decided, entry.at)
                return LastStop(entry=entry, played=played)
        return None

    def outlook(self, session: Session) -> NextStopOutlook:
        """Return how the next stop is handled, and what is left."""
        settings, _ = self._services.configuration.load()
        off = self._services.switches.off(session.project)
        return NextStopOutlook(
            left=budget_left(session, settings), next_stop=next_stop_handling(session, settings, off)
        )

    async def moved(
        self, session: Session, entry: RecordEntry, environment: Environment | None
    ) -> bool | None:
        """Whether files changed since a stop; None where that is unknown."""
        if environment is None or not entry.tree:
            return None
        tree = await self._services.workspace.fingerprint(session.project, environment)
        return tree != entry.tree if tree else None


async def replay_decision(history: StopHistory, one: Decision) -> ReplayedInquiry | None:
    """Return the replay of the stop that this decision is about; None where it is not kept."""
    return await find_replay(history, one.session, one.project, one.stop.decided, one.at)


async def find_replay(
    history: StopHistory, key: SessionKey, project: str, decided: str, at: float
) -> ReplayedInquiry | None:
    """Return the replay of a session's stop that ended `at` as `decided`; None where it is not kept."""
    for number in RECORDED_STOPS_READ:
        recalled = await asyncio.to_thread(history.last, project, number)
        for stop in reversed(recalled.stops):
            same = stop.ended == decided and 0 <= at - stop.at <= MAX_SECONDS_APART
            if stop.inquiry.stop.key == key and same:
                return await _replay_stop(stop)
    return None


def _was_judged(entry: RecordEntry) -> bool:
    return entry.stage != SKIPPED_STAGE and entry.decided not in CUT_OFF_REASONS


async def _replay_stop(stop: RecordedStop) -> ReplayedInquiry | None:
    """Replay the stop under its own rubric; None where today's rules lead to a different ending."""
    played = await RecordedPlay(stop, recorded_rubric(stop)).rule()
    if played is None or ruling_outcome(played[1])[0] != stop.ended:
        return None
    return ReplayedInquiry(inquiry=played[0], ruling=played[1], facts=stop.facts)
