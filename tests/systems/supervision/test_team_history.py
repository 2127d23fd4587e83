"""Decisions of a team's machines: the newest of all, those of one session, and figures by day and machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.log import JudgingPaid, LoggedEvent, RunIterationEnded, StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.kernel.stop_history import StopFigures
from sidecar.systems.supervision.team import read_team_decisions
from support.teams import TeamPlace, team_of_two

DAY = 86_400.0


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TeamPlace]:
    with team_of_two(tmp_path / "team.sqlite3", "ann", "bob") as place:
        yield place


def stop(position: int, session: str, decided: str, tree: str = "", day: int = 0) -> LoggedEvent:
    data = StopJudged(decided=decided, tree=tree, seconds=2.1, judge="cli", judge_tokens=10, judge_cents=0.1)
    key = SessionKey("claude-code", session)
    return LoggedEvent(
        at=day * DAY + position, system="supervision", position=position, session=key, project="/p", data=data
    )


def test_the_newest_decisions_of_all_machines_say_whose_they_are_and_what_came_of_them(
    team: TeamPlace,
) -> None:
    ann, bob = team.member(), team.member("m2", "bob")
    ann.append([stop(1, "aaa", "achieved"), stop(2, "abc", "continue", "t1")])
    bob.append([stop(1, "bbb", "clean"), stop(2, "bbb", "subagent")])
    ann.append([stop(3, "abc", "achieved", "t2")])
    found = read_team_decisions(ann, "", 3)
    assert [(one.person, one.machine, one.session.id, one.followed) for one in found] == [
        ("ann", "build-m1", "abc", "changed"),
        ("bob", "build-m2", "bbb", None),
        ("ann", "build-m1", "abc", None),
    ]
    assert [one.session.id for one in read_team_decisions(bob, "claude-code:ab", 3)] == ["abc", "abc"]
    assert not read_team_decisions(bob, "zzz", 3)


def test_the_figures_of_a_team_are_summed_by_any_field_and_count_an_event_once(team: TeamPlace) -> None:
    ann, bob = team.member(), team.member("m2", "bob")
    told = [stop(1, "a", "continue"), stop(2, "a", "achieved", day=1)]
    ann.append(told)
    ann.append(
        [*told, LoggedEvent(at=1.0, system="s", position=3, data=JudgingPaid(tokens=1, cents=1, calls=1))]
    )
    bob.append([stop(1, "b", "judged"), stop(2, "b", "subagent")])
    since = "1970-01-01"
    assert [(one.name, one.stops, one.sent_back) for one in ann.figures(since, "day")] == [
        ("1970-01-01", 2, 1),
        ("1970-01-02", 1, 0),
    ]
    assert [(one.name, one.stops) for one in ann.figures(since, "person")] == [("ann", 2), ("bob", 1)]
    assert ann.figures(since, "all") == (
        StopFigures(
            name="all",
            stops=3,
            sent_back=1,
            achieved=1,
            judged=1,
            seconds=6.3,
            tokens=30,
            cents=0.3,
            unpriced=0,
        ),
    )
    assert [(one.name, one.stops) for one in ann.figures(since, "machine")] == [
        ("build-m1", 2),
        ("build-m2", 1),
    ]
    assert [one.name for one in ann.figures("1970-01-02", "day")] == ["1970-01-02"]


def test_what_a_run_tells_of_a_stop_is_not_counted_as_one(team: TeamPlace) -> None:
    ann, key = team.member(), SessionKey("run", "chores-T1-1")
    ended = RunIterationEnded(number=1, decided="continue", detail="it failed", trouble="it failed")
    told = LoggedEvent(at=2.0, system="iteration", position=2, session=key, project="/p", data=ended)
    ann.append([replace(stop(1, key.id, "continue"), session=key), told])
    (one,) = ann.sessions(10)
    assert (one.stops, one.sent_back, one.detail) == (1, 1, "it failed")


def test_sessions_of_a_team_are_found_by_person_machine_and_id(team: TeamPlace) -> None:
    ann, bob = team.member(), team.member("m2", "bob")
    ann.append([stop(1, "aaa", "achieved")])
    bob.append([stop(2, "bbb", "clean")])
    found = {
        search: [one.session for one in ann.sessions(10, search=search)]
        for search in ("", "BOB", "build-m1", "aa", "%")
    }
    assert found == {
        "": ["bbb", "aaa"],
        "BOB": ["bbb"],
        "build-m1": ["aaa"],
        "aa": ["aaa"],
        "%": ["bbb", "aaa"],
    }
    assert [one.session for one in ann.sessions(1, first=1)] == ["aaa"]
