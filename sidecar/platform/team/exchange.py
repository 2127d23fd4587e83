"""What a machine and its team tell each other: events, limits, orders, and what the organisation decided.

All of it blocks, so the event loop calls it in a thread; see sync.py. While the database is away only the
local log grows.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar import __version__
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import AUDIT_KIND, EventFilter, LoggedEvent
from sidecar.platform.files import ensure_folder, write_whole
from sidecar.platform.limits import known_limits
from sidecar.platform.log_readings import DAY_S, WORKERS
from sidecar.platform.paths import TEAM_FOLDER
from sidecar.platform.services import PlatformServices
from sidecar.platform.state import read_usable_state
from sidecar.platform.steering import TEXT_LIMIT
from sidecar.platform.team.membership import (
    Membership,
    load_membership,
    machine_fingerprint,
    new_machine,
    open_team,
    save_membership,
)
from sidecar.platform.team.money import renew_share
from sidecar.platform.team.ports import ORGANISATION, Record, TeamOrder
from sidecar.platform.team.shipper import SHIPPED, agreed_position, ship_all, shipped_position
from sidecar.platform.team.store import TeamStore

POLL_S: Final = 5.0
"""Seconds between two looks for what is not an event of this machine."""
LIMIT_SLACK_S: Final = 5.0
"""Seconds by which the clocks of machine and database may seem to move against each other."""
FORGET: Final = "forget-"
"""How the names of files begin that say what the team is to forget."""
NOT_AUDIT: Final = tuple(kind for kind in SHIPPED.kinds if kind != AUDIT_KIND)
COPIED: Final = "this state folder was copied, or the machine renamed, so it is a machine of its own now"
OTHER_LOG: Final = "its log is not the one that the team has of this machine; only what is new is sent"
LOOK: Final = "Type in a shell: supervisor team status"


class Forgetting(Struct, frozen=True, kw_only=True):
    """A file that says which events the team is to forget."""

    version: int = 1
    wanted: tuple[EventFilter, ...] = ()


def queue_forgetting(state: Path, wanted: Iterable[EventFilter]) -> None:
    """Let the team forget these events when it answers next. Raises OSError.

    Each call makes a file of its own, so that nobody writes one that is being carried out.
    """
    folder = state / TEAM_FOLDER
    ensure_folder(folder)
    data = msgspec.json.encode(Forgetting(wanted=tuple(wanted)))
    write_whole(folder / f"{FORGET}{secrets.token_hex(8)}.json", data, durable=True)


class Exchanged(Struct, frozen=True, kw_only=True):
    """What an exchange brought. `reached`: the position up to which the log is there.

    `records` are the organisation's, None where it was not yet time to look.
    """

    name: str
    reached: int
    orders: tuple[TeamOrder, ...] = ()
    records: tuple[Record, ...] | None = None


class TeamExchange:
    """Exchanges for one machine, one call after the other."""

    def __init__(
        self, state: Path, services: PlatformServices, opens: Callable[[Membership], TeamStore] = open_team
    ) -> None:
        self._state, self._services, self._opens = state, services, opens
        self._log, self._clock = services.log, services.clock
        self._joined: Membership | None = None
        self._team: TeamStore | None = None
        self._reached = 0
        self._due = self._trim_due = 0.0

    def exchange(self) -> Exchanged | None:
        """Exchange; None where no team is joined. Raises OSError, ServiceError, BadInputError."""
        joined, last = load_membership(self._state), self._log.last()
        if joined is None or joined != self._joined or 0 < last < self._reached:
            self.close()
        if joined is None:
            return None
        if self._team is None:
            joined, self._team = self._enter(joined)
            self._joined = joined
        team = self._team
        self._forget_queued(team)
        if last != self._reached:
            ship_all(team, self._log, joined.ahead)
        self._reached = last
        found = Exchanged(name=joined.name, reached=last)
        if self._clock.awake() < self._due:
            return found
        if not team.join(joined.sign_of_life(__version__)):
            self.close()  # a copy of this machine has the id, so the next exchange takes another one
            return found
        self._due = self._clock.awake() + POLL_S
        self._share_limits(team)
        renew_share(team, self._state, joined.machine, self._reached)
        self._trim(team)
        records = team.find(ORGANISATION)
        return replace(found, records=records, orders=team.take_orders())  # what is taken must not get lost

    def close(self) -> None:
        """Close the connection; the next exchange makes another one."""
        team, self._team, self._joined = self._team, None, None
        self._reached, self._due = 0, 0.0
        if team is not None:
            team.close()

    def _enter(self, joined: Membership) -> tuple[Membership, TeamStore]:
        """Connect. A copy of another machine, and a log that is not the one shipped before, get a new name.

        That is another id, or other sequence numbers. It is told once.
        """
        team = self._opens(joined)
        own = joined.fingerprint == machine_fingerprint(self._state)
        own = own and team.join(joined.sign_of_life(__version__))
        shipped = shipped_position(team, joined.ahead)
        agreed = agreed_position(team, self._log, joined.ahead)
        if own and agreed == shipped:
            return joined, team
        team.close()
        if own:
            joined = replace(joined, ahead=joined.ahead + shipped - agreed)
        else:
            joined = replace(new_machine(self._state, joined), ahead=-agreed)
        save_membership(self._state, joined)
        self._services.incidents.report(f"Supervisor: team: {OTHER_LOG if own else COPIED}. {LOOK}")
        return joined, self._opens(joined)

    def _forget_queued(self, team: TeamStore) -> None:
        for path in sorted((self._state / TEAM_FOLDER).glob(f"{FORGET}*.json")):
            for wanted in read_usable_state(path, Forgetting, TEXT_LIMIT).wanted:
                team.forget(replace(wanted, kinds=NOT_AUDIT))
            path.unlink(missing_ok=True)

    def _share_limits(self, team: TeamStore) -> None:
        """Note here what services are limited there, and the reverse, each by the clock of the place."""
        now = self._clock.now()
        offset = team.now() - (now + self._clock.now()) / 2
        here = known_limits(self._log)
        there = {one.account: replace(one, until=one.until - offset) for one in team.limits()}
        for limit in there.values():
            if _lasts_longer(limit, here):
                self._log.append(LoggedEvent(at=self._clock.now(), system=WORKERS, data=limit))
        for limit in here.values():
            if limit.until > now and _lasts_longer(limit, there):
                team.note_limit(replace(limit, until=limit.until + offset))

    def _trim(self, team: TeamStore) -> None:
        """Remove what is too old, a part at a time; where nothing is left, look again in a day."""
        days = self._services.configuration.load()[0].team.keep_days
        if self._clock.awake() >= self._trim_due and not team.trim(days * DAY_S):
            self._trim_due = self._clock.awake() + DAY_S


def _lasts_longer(limit: ServiceLimit, known: Mapping[str, ServiceLimit]) -> bool:
    other = known.get(limit.account)
    return other is None or other.until < limit.until - LIMIT_SLACK_S
