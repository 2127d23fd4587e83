"""What the page shows, read from the log, from the states of sessions and from the stop history.

No reading takes the whole log: the newest stops are looked for in a part of it, those of one session are
found by its name. Nothing is kept between two readings, so that what was forgotten is shown no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import Spending
from sidecar.kernel.log import (
    DECISION_KINDS,
    EventFilter,
    LoggedEvent,
    StopJudged,
    UnreadableEvent,
    event_kind,
)
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.log_readings import DAY_S, PAID_KINDS
from sidecar.platform.team.membership import JoinedTeam
from sidecar.servers.page.pictures import DAYS_DRAWN, LEFT_TO_PEOPLE
from sidecar.systems.supervision.decisions import find_decisions, replay_decision
from sidecar.systems.supervision.people import CommandLineService
from sidecar.systems.supervision.policy.decision_story import ReplayedInquiry
from sidecar.systems.supervision.policy.history import Decision
from sidecar.systems.supervision.policy.sessions import Activity, needs_person, standing
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.team import TeamOverview, read_team

STOPS: Final = (event_kind(StopJudged),)
MOST_STOPS: Final = 500
"""Stops of which the page tells."""
EVENTS_SEARCHED: Final = 100_000
"""The newest events of the log, in which these stops are looked for."""
SESSIONS_SHOWN: Final = 24
"""Sessions of one page."""
STOPS_OF_SESSION: Final = 50
"""Stops of one session that are listed."""
LATER_STOPS: Final = 20
"""Stops after one in which it is looked up what came of it."""

NEEDING_SHOWN: Final = 24
"""Sessions beside those of one page that are looked at because their last stop needs a person."""
MOST_PAYMENTS: Final = 2000
"""Payments that are added up for a chart."""

TEAM_SESSIONS_SHOWN: Final = 100
"""Sessions of a team on one page."""
SeenSession = tuple[Session, Activity]


class Overview(Struct, frozen=True, kw_only=True):
    """`sessions` are those from `first` on of `known`, in the order of when they were seen; the newest first.

    Before them come others whose last stop needs a person. `held` are edits that wait until one accepts them.
    `paid` are the payments of the last days. `now` is in seconds since the epoch. `decisions` are oldest
    first; `unreadable` counts events that stand for stops and cannot be decoded.
    """

    settings: Settings
    spending: Spending
    paid: tuple[LoggedEvent, ...]
    now: float
    held: tuple[HeldEdit, ...]
    sessions: tuple[SeenSession, ...]
    first: int
    known: int
    decisions: tuple[Decision, ...]
    unreadable: int


class KnownDecision(Struct, frozen=True):
    """A decision, and its replay where it is kept."""

    decision: Decision
    replayed: ReplayedInquiry | None


class PageReadings:
    """Reads for the page. All methods raise OSError where the log or a folder cannot be read."""

    def __init__(
        self, services: Services, people: CommandLineService, team: JoinedTeam | None = None
    ) -> None:
        self._services = services
        self.people = people
        self._team = team

    @property
    def in_team(self) -> bool:
        """Whether this machine joined a team."""
        return self._team is not None and self._team.is_there

    async def team(self, first: int, search: str) -> TeamOverview:
        """Read how the team stands, with its sessions from `first` on. Raises BadInputError without one."""
        team = await asyncio.to_thread(self._team.find) if self._team else None
        if team is None:
            raise BadInputError("This machine is in no team. Type: supervisor team join URL")
        return await asyncio.to_thread(read_team, team, TEAM_SESSIONS_SHOWN + 1, first, search)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._services.configuration.load()[0]

    async def overview(self, first: int) -> Overview:
        """Read what the first page shows."""
        keys = await asyncio.to_thread(self._services.store.known)
        decisions, unreadable = await self.decisions()
        listed = keys[first : first + SESSIONS_SHOWN]
        last = {one.session: one.stop.decided for one in decisions}
        others = [key for key, how in last.items() if how in LEFT_TO_PEOPLE and key not in listed]
        sessions: list[SeenSession] = []
        for key in (*others[-NEEDING_SHOWN:], *listed):
            # States are loaded here and not in a thread, because the event loop writes them. Stops go first.
            seen = self.people.describe(key)
            if seen and (key in listed or needs_person(*standing(*seen))):
                sessions.append(seen)
            await self._services.clock.pause(0)
        now = self._services.clock.now()
        lately = EventFilter(kinds=PAID_KINDS, since=now - DAYS_DRAWN * DAY_S)
        held: dict[str, HeldEdit] = {}
        for project in sorted({session.project for session, _ in sessions}):
            held |= {edit.path: edit for edit in self.people.held(project)}
            await self._services.clock.pause(0)
        return Overview(
            settings=self.settings,
            spending=await asyncio.to_thread(self._services.spending.today),
            paid=await asyncio.to_thread(self._services.log.newest, lately, MOST_PAYMENTS),
            now=now,
            held=tuple(held.values()),
            sessions=tuple(sessions),
            first=first,
            known=len(keys),
            decisions=decisions,
            unreadable=unreadable,
        )

    async def decisions(self) -> tuple[tuple[Decision, ...], int]:
        """Return the newest decisions, and how many more cannot be decoded."""
        return await asyncio.to_thread(self._newest)

    def _newest(self) -> tuple[tuple[Decision, ...], int]:
        log = self._services.log
        events = log.newest(EventFilter(kinds=STOPS), MOST_STOPS, after=log.last() - EVENTS_SEARCHED)
        return find_decisions(events), sum(isinstance(one.data, UnreadableEvent) for one in events)

    async def stops(self, key: SessionKey) -> tuple[Decision, ...]:
        """Return the newest stops of a session, and what else was decided in it."""
        wanted = EventFilter(session=key, kinds=DECISION_KINDS)
        return find_decisions(await asyncio.to_thread(self._services.log.newest, wanted, STOPS_OF_SESSION))

    async def stop(self, key: SessionKey, position: int) -> Decision | None:
        """Return one stop of a session by its event's position; None where there is none."""
        wanted = EventFilter(session=key, kinds=DECISION_KINDS)
        read = self._services.log.read
        events = await asyncio.to_thread(read, wanted, after=position - 1, limit=LATER_STOPS)
        return next((one for one in find_decisions(events) if one.position == position), None)

    async def known(self, decision: Decision) -> KnownDecision:
        """Return a decision with its replay."""
        replayed = await replay_decision(self._services.stop_history, decision)
        return KnownDecision(decision, replayed)


def read_key(query: Mapping[str, str]) -> SessionKey:
    """Return the session that a query names."""
    return SessionKey(query.get("host", ""), query.get("id", ""))
