"""The team's page: what needs a person, lists, limits, machines and sessions, found by who and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import LoggedEvent, StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.platform.team.membership import JoinedTeam
from sidecar.platform.team.ports import Account, TeamTask, TeamTaskState
from sidecar.platform.team.store import TeamStore
from sidecar.servers.page.readings import TEAM_SESSIONS_SHOWN, PageReadings
from sidecar.servers.page.team_views import team_parts
from sidecar.systems.supervision.people import CommandLineService
from sidecar.systems.supervision.team import read_team
from support.fakes import Fakes
from support.teams import TeamPlace, team_of_two


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TeamPlace]:
    with team_of_two(tmp_path / "team.sqlite3", "ann", "<b>bob") as place:
        yield place


def stops(team: TeamStore, number: int, decided: str = "achieved") -> None:
    """Append one stop each of so many sessions."""
    team.append(
        LoggedEvent(
            at=float(one),
            system="supervision",
            position=one,
            session=SessionKey("claude-code", f"s{one}"),
            project=f"/srv/p{one}",
            data=StopJudged(decided=decided, detail="`pytest -q` passes"),
        )
        for one in range(1, number + 1)
    )


def test_the_page_shows_first_what_waits_for_a_person_and_then_how_all_stands(team: TeamPlace) -> None:
    ann, bob = team.member(), team.member("m2", "<b>bob")
    stops(ann, 1)
    stops(bob, 2, "continue")
    for ident in ("T1", "T2"):
        ann.add(TeamTask(list="chores", id=ident, content=f"do {ident}"))
    claim = ann.claim("chores")
    assert claim is not None
    ann.settle_task(claim, TeamTaskState.HELD, note="its check fails")
    ann.set_limit(Account(name="team/cents", most=100.0, daily=True))
    ann.set_limit(Account(name="at-once/claude", most=0))
    ann.note_limit(ServiceLimit(account="claude 1a", until=ann.now() + 600, said="usage limit reached"))
    parts = team_parts(read_team(ann, 10), 0, "")
    assert [name for name, part in parts.items() if part] == [
        "needs",
        "lists",
        "limits",
        "sessions",
        "machines",
    ]
    for name, shown in (
        ("needs", ("Needs you (1)", "do T1", "its check fails", "supervisor team give-back chores T1")),
        ("lists", ("chores", "1 held", "1 open", 'optimum="2"')),
        ("limits", ("0 of 100.0 today", 'optimum="0"', "usage limit reached", "claude: 0 calls at once")),
        ("sessions", ("&lt;b&gt;bob", "build-m2", "claude-code:s2", "sent back", "p2")),
        ("machines", ("Machines (2)", "?search=build-m1", "?search=ann")),
    ):
        for text in shown:
            assert text in parts[name], (name, text)


def test_ten_thousand_sessions_are_shown_a_page_at_a_time(team: TeamPlace) -> None:
    ann = team.member()
    stops(ann, 2 * TEAM_SESSIONS_SHOWN + 1)
    pages = [
        team_parts(read_team(ann, TEAM_SESSIONS_SHOWN + 1, first), first, "")["sessions"]
        for first in range(0, 3 * TEAM_SESSIONS_SHOWN, TEAM_SESSIONS_SHOWN)
    ]
    rows = [page.count("claude-code:") for page in pages]
    assert rows == [TEAM_SESSIONS_SHOWN, TEAM_SESSIONS_SHOWN, 1]
    ways = [("Later<" in page, "Earlier<" in page) for page in pages]
    assert ways == [(False, True), (True, True), (True, False)]
    found = team_parts(read_team(ann, TEAM_SESSIONS_SHOWN + 1, 0, "p17"), 0, "p17")["sessions"]
    assert (found.count("claude-code:"), "All sessions" in found) == (11, True)


class Joined(JoinedTeam):
    """A team that is there."""

    def __init__(self, team: TeamStore) -> None:
        self._there = team

    def find(self) -> TeamStore:
        return self._there


async def test_the_page_reads_the_team_of_this_machine_or_says_how_to_join_one(team: TeamPlace) -> None:
    fakes = Fakes()
    stops(team.member(), 3)
    people = CommandLineService(fakes.services, fakes.supervisor)
    seen = await PageReadings(fakes.services, people, Joined(team.member())).team(1, "")
    assert [one.session for one in seen.sessions] == ["s2", "s1"]
    alone = PageReadings(fakes.services, people)
    assert not alone.in_team
    with pytest.raises(BadInputError, match="supervisor team join"):
        await alone.team(0, "")
