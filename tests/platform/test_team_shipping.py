"""The local log goes to the team: nothing lost, nothing twice, whatever happens to either of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sidecar.kernel.log import EventFilter, LoggedEvent, OrderGiven, RunIterationBegan, StopKept
from sidecar.kernel.session import SessionKey
from sidecar.platform.event_log import LOG_FILE, EventLogFile
from sidecar.platform.team import shipper
from sidecar.platform.team.ports import Member, TeamAwayError
from sidecar.platform.team.shipper import agreed_position, ship_all, ship_batch, shipped_position
from sidecar.platform.team.store import TeamStore
from support.kept_stops import unasked
from support.logs import event_log
from support.memory_stores import MANUAL_CLOCK_START
from support.team_sqlite import SqliteDatabase

KEY = SessionKey("claude-code", "4d8f5b7b-2033-4ade-a407-251a5cfea125")


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TeamStore]:
    store = TeamStore(SqliteDatabase(tmp_path / "team.sqlite3"), Member(machine="m1", person="ann"))
    yield store
    store.close()


@pytest.fixture
def log(tmp_path: Path) -> EventLogFile:
    return event_log(tmp_path)


def append(log: EventLogFile, *names: str, at: float = MANUAL_CLOCK_START) -> None:
    for name in names:
        at = max(at, *(one.at + 1.0 for one in log.newest(EventFilter(), 1)), 0.0)
        log.append(LoggedEvent(at=at, system="test", session=KEY, data=OrderGiven(name=name, decided="done")))


def there(team: TeamStore) -> list[str]:
    return [one.event.data.name for one in team.read(EventFilter()) if isinstance(one.event.data, OrderGiven)]


def test_what_is_new_is_shipped_in_order_and_once(team: TeamStore, log: EventLogFile) -> None:
    append(log, "a", "b")
    assert ship_all(team, log) == 2
    assert ship_all(team, log) == 0
    append(log, "c")
    assert ship_all(team, log) == 1
    assert there(team) == ["a", "b", "c"]
    assert [one.sequence for one in team.shipped(2)] == [3, 2]


def test_a_batch_ends_at_its_number_of_events_and_at_its_bytes(
    team: TeamStore, log: EventLogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, *"abcdef")
    monkeypatch.setattr(shipper, "BATCH_EVENTS", 2)
    assert ship_batch(team, log, 0, 0) == 2
    monkeypatch.setattr(shipper, "BATCH_EVENTS", 500)
    monkeypatch.setattr(shipper, "BATCH_BYTES", 1)
    assert ship_batch(team, log, 0, 2) == 1
    assert ship_all(team, log) == 3


def test_what_is_appended_while_it_is_shipped_waits_for_the_next_time(
    team: TeamStore, log: EventLogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, "a", "b")
    carried_out = team.append

    def busy(events: Iterable[LoggedEvent]) -> int:
        append(log, "more")
        return carried_out(events)

    monkeypatch.setattr(team, "append", busy)
    assert ship_all(team, log) == 2
    assert ship_all(team, log) == 1


def test_prompts_stay_and_secrets_are_masked_by_their_form(team: TeamStore, log: EventLogFile) -> None:
    token = "ghp_" + "q8Xz" * 9
    data = (
        RunIterationBegan(number=1, iteration=1, most=3, prompt="all that is to be done"),
        StopKept(stop=unasked()),
        OrderGiven(name="goal", decided="done", detail=f"use {token}"),
    )
    for one in data:
        log.append(LoggedEvent(at=1.0, system="test", data=one, origin=f"sh {token}"))
    ship_all(team, log)
    found = team.read(EventFilter())
    assert [one.event.kind for one in found] == ["run-iteration-begun", "order-given"]
    begun, given = (one.event for one in found)
    assert isinstance(begun.data, RunIterationBegan)
    assert begun.data.prompt == ""
    assert isinstance(given.data, OrderGiven)
    assert given.data.detail == "use [masked]"
    assert given.origin == "sh [masked]"


class Cut:
    """A team whose connection breaks: before an append is carried out, or before its answer arrives."""

    def __init__(self, team: TeamStore, *, after_commit: bool) -> None:
        self._team, self._after_commit = team, after_commit

    def __getattr__(self, name: str) -> object:
        return getattr(self._team, name)

    def append(self, events: Iterable[LoggedEvent]) -> int:
        if self._after_commit:
            self._team.append(events)
        raise TeamAwayError("cut")


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_cut_in_a_batch_loses_nothing_and_doubles_nothing(
    team: TeamStore, log: EventLogFile, *, after_commit: bool
) -> None:
    append(log, *"abc")
    with pytest.raises(TeamAwayError):
        ship_all(Cut(team, after_commit=after_commit), log)  # type: ignore[arg-type] # it passes the rest on
    append(log, "d")
    ship_all(team, log)
    assert there(team) == ["a", "b", "c", "d"]
    assert team.sessions(9)[0].changed == log.newest(EventFilter(), 1)[0].at


def test_the_log_that_was_shipped_is_known_and_another_one_goes_on_after_it(
    team: TeamStore, tmp_path: Path
) -> None:
    log = event_log(tmp_path)
    append(log, *"abcd")
    ship_all(team, log)
    assert agreed_position(team, log, 0) == shipped_position(team, 0) == 4

    log.forget(EventFilter(before=log.newest(EventFilter(), 1)[0].at))  # trimmed: the last one is there
    assert agreed_position(team, log, 0) == 4
    append(log, "e")
    log.forget(EventFilter(before=log.newest(EventFilter(), 1)[0].at))  # and it is gone, too
    assert agreed_position(team, log, 0) == 4

    for path in tmp_path.glob(f"{LOG_FILE}*"):
        path.unlink()
    other = event_log(tmp_path)
    assert agreed_position(team, other, 0) == 4  # an empty log says nothing
    append(other, *"ABCDEF", at=MANUAL_CLOCK_START + 3600.0)
    assert agreed_position(team, other, 0) == 0
    ship_all(team, other, 4)
    assert there(team) == [*"abcd", *"ABCDEF"]
    assert agreed_position(team, other, 4) == shipped_position(team, 4) == 6


def test_an_older_copy_of_the_log_is_shipped_from_where_they_part(team: TeamStore, tmp_path: Path) -> None:
    first, second = (event_log(tmp_path / name) for name in ("first", "second"))
    for log in (first, second):
        append(log, *"abc")
    append(first, *"de")
    ship_all(team, first)
    assert agreed_position(team, second, 0) == 3, "what comes next here is not there"
    second.append(LoggedEvent(at=9.0, system="test", data=OrderGiven(name="D", decided="done")))
    agreed = agreed_position(team, second, 0)
    assert agreed == 3
    ship_all(team, second, 5 - agreed)
    assert there(team) == [*"abcde", "D"]


def test_old_events_go_a_part_at_a_time_and_the_last_one_stays(
    team: TeamStore, log: EventLogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, *"abcde")
    ship_all(team, log)
    assert team.trim(3600.0) == 0
    monkeypatch.setattr("sidecar.platform.team.store.TRIMMED_AT_ONCE", 3)
    assert [team.trim(-1.0), team.trim(-1.0), team.trim(-1.0)] == [3, 1, 0]
    assert there(team) == ["e"]
    assert ship_all(team, log) == 0
    assert not team.sessions(9)
