"""Machines of one team, each with a state folder, a log and a clock of its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Self

from sidecar.kernel.log import EventFilter, LoggedEvent, OrderGiven
from sidecar.kernel.session import SessionKey
from sidecar.platform.state import Incidents
from sidecar.platform.team.exchange import Exchanged, TeamExchange
from sidecar.platform.team.membership import Membership, new_machine, save_membership
from sidecar.platform.team.ports import TeamAwayError
from sidecar.platform.team.store import TeamStore
from support.fakes import Fakes
from support.logs import event_log
from support.teams import TeamPlace

ASKING = SessionKey("claude-code", "asks-for-incidents")


class TeamDoor:
    """The way to a team's database, a file or a URL. `away`: it answers nobody."""

    def __init__(self, place: Path | str) -> None:
        self._place = TeamPlace(place)
        self.away = False

    def open(self, membership: Membership) -> TeamStore:
        if self.away:
            raise TeamAwayError("the team's database is away: no route")
        return self._place.member(membership.machine, membership.person)

    def person(self) -> TeamStore:
        return self._place.member("", "eve")

    def close(self) -> None:
        self._place.close()


class TeamMachine:
    """A machine that joined: its state folder, its log, and its exchange."""

    def __init__(self, team: TeamDoor, state: Path, name: str, fakes: Fakes | None = None) -> None:
        self.team, self.state, self.fakes = team, state, fakes or Fakes()
        state.mkdir(exist_ok=True)
        self.incidents: Incidents = self.fakes.services.incidents
        self.open_log()
        joined = Membership(url="postgresql://ann@/team", name=name, person="ann")
        save_membership(state, new_machine(state, joined))
        self.started()

    def open_log(self) -> None:
        """Open the log as another process does."""
        self.log = event_log(self.state)
        self.services = dataclasses.replace(self.fakes.services, log=self.log)

    def started(self) -> Self:
        """Begin as a new sidecar does."""
        self._exchange = TeamExchange(self.state, self.services, self.team.open)
        return self

    def exchange(self) -> Exchanged | None:
        return self._exchange.exchange()

    def exchanges(self) -> Exchanged:
        """Exchange, at a time when everything is looked at."""
        self.fakes.clock.advance(60.0)
        found = self.exchange()
        assert found is not None
        return found

    def do(self, *names: str, session: SessionKey | None = None) -> None:
        """Append orders of these names."""
        for name in names:
            self.fakes.clock.advance(1.0)
            data = OrderGiven(name=name, decided="done")
            self.log.append(LoggedEvent(at=self.fakes.clock.now(), system="test", session=session, data=data))

    def told(self) -> tuple[str, ...]:
        return self.incidents.take(ASKING)


def orders_in(team: TeamStore, machine: str = "") -> list[str]:
    """The names of the orders that the team's log tells, in its order."""
    told = (one.event.data for one in team.read(EventFilter(), machine=machine))
    return [data.name for data in told if isinstance(data, OrderGiven)]
