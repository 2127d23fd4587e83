"""What a machine and its team tell each other, on a file of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import AuditEntry, EventFilter, LoggedEvent, OrderGiven
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.event_log import LOG_FILE
from sidecar.platform.limits import known_limits
from sidecar.platform.team.exchange import COPIED, OTHER_LOG, queue_forgetting
from sidecar.platform.team.membership import load_membership, remove_membership
from sidecar.platform.team.money import read_share
from sidecar.platform.team.ports import Account, TeamAwayError, TeamOrder
from support.logs import event_log
from support.team import TeamDoor, TeamMachine, orders_in

SESSION = SessionKey("claude-code", "s1")


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TeamDoor]:
    team = TeamDoor(tmp_path / "team.sqlite3")
    yield team
    team.close()


@pytest.fixture
def machine(team: TeamDoor, tmp_path: Path) -> TeamMachine:
    return TeamMachine(team, tmp_path / "here", "laptop")


def test_a_machine_enters_ships_and_goes_on_after_a_restart(team: TeamDoor, machine: TeamMachine) -> None:
    machine.do("a", "b")
    found = machine.exchange()
    assert found is not None
    assert (found.name, found.reached) == ("laptop", 2)
    machine.do("c")
    machine.started()
    assert machine.exchanges().reached == 3
    person = team.person()
    assert orders_in(person) == ["a", "b", "c"]
    assert [one.name for one in person.machines()] == ["laptop"]
    assert not machine.told()


def test_what_happened_while_the_team_was_away_is_shipped_when_it_is_back(
    team: TeamDoor, machine: TeamMachine
) -> None:
    team.away = True
    for name in ("a", "b"):
        machine.do(name)
        with pytest.raises(TeamAwayError):
            machine.exchange()
    team.away = False
    machine.exchanges()
    assert orders_in(team.person()) == ["a", "b"]


def test_a_machine_that_left_exchanges_nothing_and_joins_again_without_a_restart(
    team: TeamDoor, machine: TeamMachine
) -> None:
    kept = (machine.state / "team.json").read_bytes()
    machine.exchanges()
    remove_membership(machine.state)
    machine.do("a")
    assert machine.exchange() is None
    (machine.state / "team.json").write_bytes(kept)
    machine.exchanges()
    assert orders_in(team.person()) == ["a"]


def test_a_copy_of_a_machine_takes_an_id_of_its_own_and_ships_what_it_does_itself(
    team: TeamDoor, machine: TeamMachine, tmp_path: Path
) -> None:
    machine.do("a", "b")
    machine.exchanges()
    shutil.copytree(machine.state, tmp_path / "copy")
    copy = TeamMachine(team, tmp_path / "other", "laptop")
    shutil.rmtree(copy.state)
    (tmp_path / "copy").rename(copy.state)
    machine.do("c")
    copy.fakes.clock.advance(1000.0)
    copy.do("d")
    for one in (machine, copy, machine, copy):
        one.exchanges()
    first, second = (load_membership(one.state) for one in (machine, copy))
    assert first
    assert second
    person = team.person()
    assert orders_in(person, first.machine) == ["a", "b", "c"]
    assert orders_in(person, second.machine) == ["d"]
    assert not machine.told()
    (line,) = copy.told()
    assert COPIED in line


def test_a_lost_log_goes_on_under_the_same_id_and_is_told_once(team: TeamDoor, machine: TeamMachine) -> None:
    machine.do(*"abc")
    machine.exchanges()
    for path in machine.state.glob(f"{LOG_FILE}*"):
        path.unlink()
    machine.open_log()
    for name in "ABCDE":
        machine.do(name)
        machine.started().exchanges()
    assert orders_in(team.person()) == [*"abc", *"ABCDE"]
    (line,) = machine.told()
    assert OTHER_LOG in line


def test_a_log_that_is_lost_while_the_sidecar_runs_is_noticed(team: TeamDoor, machine: TeamMachine) -> None:
    machine.do(*"abc")
    machine.exchanges()
    for path in machine.state.glob(f"{LOG_FILE}*"):
        path.unlink()
    begun = LoggedEvent(at=9.0, system="test", data=OrderGiven(name="A", decided="done"))
    event_log(machine.state).append(begun)  # another process, which knows of no earlier position
    machine.exchanges()
    assert orders_in(team.person()) == [*"abc", "A"]


def test_limits_of_services_hold_on_both_machines_each_by_its_own_clock(
    team: TeamDoor, machine: TeamMachine, tmp_path: Path
) -> None:
    other = TeamMachine(team, tmp_path / "other", "desk")
    other.fakes.clock.advance(3600.0)
    limit = ServiceLimit(account="claude 12ab", until=machine.fakes.clock.now() + 900.0, said="limit", met=2)
    machine.log.append(LoggedEvent(at=1.0, system="workers", data=limit))
    for one in (machine, other, machine, other):
        one.started().exchange()
    known = known_limits(other.log)["claude 12ab"]
    assert known.until - other.fakes.clock.now() == pytest.approx(900.0, abs=5.0)
    assert (known.said, known.met) == ("limit", 2)
    (before,) = team.person().limits()
    machine.fakes.clock.advance(-1.0)
    machine.started().exchange()
    assert team.person().limits() == (before,), "a clock that is corrected makes no limit longer"
    kind = EventFilter(kinds=("service-limit",))
    assert (machine.log.count(kind), other.log.count(kind)) == (1, 1)


def test_a_machine_reserves_its_share_while_it_is_in_the_team(team: TeamDoor, machine: TeamMachine) -> None:
    team.person().set_limit(Account(name="team/cents", most=100))
    machine.exchanges()
    assert read_share(machine.state).cents == 2.0
    remove_membership(machine.state)
    assert read_share(machine.state).cents is None


def test_the_team_forgets_what_was_to_be_forgotten_while_it_was_away(
    team: TeamDoor, machine: TeamMachine
) -> None:
    machine.do("a", session=SESSION)
    entry = AuditEntry(tool="lock", lock="l1", mode=Mode.FULL)
    machine.log.append(LoggedEvent(at=2.0, system="governance", session=SESSION, data=entry))
    machine.do("b")
    machine.exchanges()
    team.away = True
    queue_forgetting(machine.state, [EventFilter(session=SESSION)])
    machine.log.forget(EventFilter(session=SESSION))
    with pytest.raises(TeamAwayError):
        machine.started().exchange()
    team.away = False
    machine.exchanges()
    person = team.person()
    assert [one.event.kind for one in person.read(EventFilter())] == ["governed", "order-given"]
    assert not person.sessions(9)
    assert not list((machine.state / "team").iterdir())


def test_orders_come_once_and_the_organisations_records_each_time(
    team: TeamDoor, machine: TeamMachine
) -> None:
    machine.exchanges()
    joined = load_membership(machine.state)
    assert joined
    person = team.person()
    person.order(TeamOrder(machine=joined.machine, session="s1", text="goal pause"))
    person.order(TeamOrder(machine="another", session="s1", text="goal resume"))
    person.save("organisation/rubric.md", b"# Rubric", 0)
    person.save("machine/x", b"", 0)
    early = machine.exchange()
    assert early is not None
    assert (early.orders, early.records) == ((), None)
    assert [(one.text, one.person) for one in machine.exchanges().orders] == [("goal pause", "eve")]
    found = machine.exchanges()
    assert found.orders == ()
    assert [one.key for one in found.records or ()] == ["organisation/rubric.md"]


def test_what_is_older_than_the_setting_says_goes_once_a_day(team: TeamDoor, machine: TeamMachine) -> None:
    machine.do("a", "b")
    machine.exchanges()
    person = team.person()
    with person.transaction():
        person._connection.script("UPDATE events SET received = received - 91 * 86400")  # noqa: SLF001 - time passes
    machine.exchanges()
    assert orders_in(person) == ["a", "b"]
    machine.fakes.clock.advance(86_400.0)
    machine.exchanges()
    assert orders_in(person) == ["b"]
