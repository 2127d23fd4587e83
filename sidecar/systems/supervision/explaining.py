"""What was found out at a session's last stop, and why it ended as it did. Read-only.

The record has a line for every stop. A stop that is also in the stop history is replayed as it was, which
restores everything that policy knew about it. A recorded stop other than that of the record is not used.
"""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec import Struct

from sidecar.kernel.effects import RestReason
from sidecar.kernel.events import NO_RUBRIC, TurnRead
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.stop_history import RecordedStop, ruling_outcome
from sidecar.platform.log_readings import StopHistory, read_record
from sidecar.systems.supervision.evaluation import RecordedPlay
from sidecar.systems.supervision.policy.decision_story import ReplayedInquiry
from sidecar.systems.supervision.policy.explaining import Left, Next, budget_left, next_stop_handling
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.stop_keeping import SKIPPED_STAGE

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
                played = await find_replay(
                    self._services.stop_history,
                    session.key,
                    session.project,
                    decided=entry.decided,
                    at=entry.at,
                )
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


async def find_replay(
    history: StopHistory, key: SessionKey, project: str, *, decided: str, at: float
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
    rubric = next((one.fact.rubric for one in stop.heard if isinstance(one.fact, TurnRead)), NO_RUBRIC)
    played = await RecordedPlay(stop, rubric).rule()
    if played is None or ruling_outcome(played[1])[0] != stop.ended:
        return None
    return ReplayedInquiry(inquiry=played[0], ruling=played[1], heard=stop.heard)
