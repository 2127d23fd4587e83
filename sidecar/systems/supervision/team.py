"""What people see of a team: the newest decisions of all machines, and how its sessions and tasks stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import DECISION_KINDS, EventFilter
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import counted
from sidecar.platform.team.ports import AT_ONCE, Account, Machine, TeamTask, TeamTaskState
from sidecar.platform.team.store import ListCount, TeamSession, TeamStore
from sidecar.systems.supervision.decisions import find_decisions, meant_session
from sidecar.systems.supervision.policy.history import Decision

CANDIDATES: Final = 100
"""Sessions among which one is looked for by the beginning of its id."""
EVENTS_OF_EACH: Final = 2
"""Events that are read for each decision: those of subagents are left out."""
HELD_SHOWN: Final = 20


class TeamOverview(Struct, frozen=True, kw_only=True):
    """How a team stands. `now` is the database's clock; `sessions` name their machines as people do.

    `held` are tasks that wait for a person.
    """

    now: float
    machines: tuple[Machine, ...]
    sessions: tuple[TeamSession, ...]
    lists: tuple[ListCount, ...]
    held: tuple[TeamTask, ...]
    accounts: tuple[Account, ...]
    limits: tuple[ServiceLimit, ...]


def read_team(team: TeamStore, number: int, first: int = 0, search: str = "") -> TeamOverview:
    """Read how a team stands, with so many of the sessions in which the text `search` is. Raises OSError."""
    with team.transaction():
        machines, lists = team.machines(), team.lists()
        names = {one.id: one.name for one in machines}
        found = team.sessions(number, first, search)
        holding = (one.list for one in lists if one.state == TeamTaskState.HELD)
        held = (task for name in holding for task in team.tasks(name) if task.state is TeamTaskState.HELD)
        return TeamOverview(
            now=team.now(),
            machines=machines,
            sessions=tuple(replace(one, machine=names.get(one.machine, one.machine)) for one in found),
            lists=lists,
            held=tuple(held)[:HELD_SHOWN],
            accounts=team.accounts(),
            limits=team.limits(),
        )


def list_lines(counts: Iterable[ListCount]) -> Iterator[str]:
    """Describe how the tasks of each list stand."""
    for name, states in groupby(counts, lambda one: one.list):
        yield f"{name}: {', '.join(f'{one.tasks} {one.state}' for one in states)}"


def slots_line(account: Account) -> str:
    """Describe how many calls of a program run at once; "" for an account of money."""
    if not account.name.startswith(AT_ONCE):
        return ""
    number = "any number of calls" if account.most is None else counted(int(account.most), "call")
    return f"{account.name.removeprefix(AT_ONCE)}: {number} at once"


def read_team_decisions(team: TeamStore, session: str, number: int) -> tuple[Decision, ...]:
    """Return the newest decisions of all machines of a team, or of one session of it, oldest first.

    `session`: as for `read_decisions`. Raises OSError, BadInputError.
    """
    key = None
    if session:
        found = team.sessions(CANDIDATES, search=session.rpartition(":")[2])
        key = meant_session(session, {SessionKey(one.host, one.session) for one in found})
        if key is None:
            return ()
    events = team.newest(EventFilter(kinds=DECISION_KINDS, session=key), number * EVENTS_OF_EACH)
    names = {one.id: one.name for one in team.machines()}
    of = {one.event.position: (names.get(one.machine, one.machine), one.person) for one in events}
    decisions = find_decisions(one.event for one in events)[-number:]
    return tuple(replace(one, machine=of[one.position][0], person=of[one.position][1]) for one in decisions)
