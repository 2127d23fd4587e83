"""Reads past decisions from the log. Needs no sidecar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from sidecar.hosts.shared import HOST_ALIASES
from sidecar.kernel.effects import RestReason
from sidecar.kernel.goal import Spending, add_spending
from sidecar.kernel.log import EventFilter, LoggedEvent, StopJudged, WorkerRan, event_kind
from sidecar.platform.ports import EventLog
from sidecar.systems.supervision.people import are_related
from sidecar.systems.supervision.policy.history import Decision, add_follow_ups

PAGE = 1000
"""Events that are read at a time."""


def read_decisions(
    log: EventLog, *, since: float | None = None, folder: str = "", session: str = ""
) -> tuple[Decision, ...]:
    """Return the stops of the log, oldest first, those of subagents apart. Raises OSError.

    `folder`: only those of sessions in it, above and below; "" for all. `session`: the beginning of an ID, or
    of one of a host's (HOST:ID).
    """
    host, _, ident = session.rpartition(":")
    host = HOST_ALIASES.get(host, host)
    wanted = EventFilter(kinds=(event_kind(StopJudged),), since=since)
    return find_decisions(
        event
        for event in _read_all(log, wanted)
        if event.session is not None
        and event.session.id.startswith(ident)
        and host in ("", event.session.host)
        and (not folder or are_related(folder, event.project))
    )


def find_decisions(events: Iterable[LoggedEvent]) -> tuple[Decision, ...]:
    """Return the stops among these events, which come oldest first; those of subagents are left out."""
    return add_follow_ups(
        Decision(
            at=event.at,
            day=dt.datetime.fromtimestamp(event.at, tz=dt.UTC).astimezone().date().isoformat(),
            session=event.session,
            project=event.project,
            stop=data,
            position=event.position,
        )
        for event in events
        if isinstance(data := event.data, StopJudged)
        and event.session is not None
        and data.decided != RestReason.SUBAGENT
    )


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
