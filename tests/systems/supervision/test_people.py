"""What a person asks and orders outside the host."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.supervision.people import (
    CommandLineService,
    CommandRequest,
    SessionSelector,
    SwitchRequest,
)
from sidecar.systems.supervision.policy.commands import NO_GOAL
from support.cases import KEY, PROJECT, RUBRIC, after, session, with_goal
from support.fakes import Fakes
from support.memory_stores import FixedConfiguration

HERE = SessionSelector(project=PROJECT)


@pytest.fixture
def people(fakes: Fakes) -> CommandLineService:
    return CommandLineService(fakes.services, fakes.supervisor)


def test_a_folder_without_a_session_gets_a_report_that_says_so(people: CommandLineService) -> None:
    report = people.report(HERE)
    assert (report.session, report.status, report.exit_code) == ("", "none", 3)
    assert report.text == f"Supervisor: no session is known for {PROJECT}."
    assert report.rubric == RUBRIC.origin


async def test_a_report_tells_where_the_session_stands_and_how_it_came_there(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(with_goal(status=GoalStatus.STALLED))
    await fakes.rest()
    fakes.store.pretend_aside(KEY, "it was edited by hand")
    report = people.report(HERE)
    assert (report.session, report.host, report.project) == ("s1", "claude-code", PROJECT)
    assert (report.status, report.exit_code) == ("stalled", 1)
    assert report.text.startswith("Supervisor: goal stalled: the parser accepts comments")
    assert [entry.decided for entry in report.story] == [RestReason.CLEAN]
    assert report.set_aside == ("it was edited by hand",)


def test_a_session_without_a_goal_is_reported_as_such(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session())
    report = people.report(HERE)
    assert (report.session, report.status, report.text, report.exit_code) == ("s1", "none", NO_GOAL, 3)


def test_a_report_tells_of_troubles_and_of_the_switch(fakes: Fakes) -> None:
    fakes = Fakes(configuration=FixedConfiguration(errors=("mode: no such mode",)))
    fakes.switches.turn(on=False, project=PROJECT)
    report = CommandLineService(fakes.services, fakes.supervisor).report(HERE)
    assert (report.troubles, report.off) == (("mode: no such mode",), "off for this project")


def found(people: CommandLineService, who: SessionSelector) -> str:
    return people.report(who).session


def test_a_session_is_found_by_its_id_or_from_within_its_folder(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(session())
    assert found(people, SessionSelector(session="s1")) == "s1"
    assert found(people, SessionSelector(session="s1", project="/else")) == "s1"
    assert found(people, SessionSelector(project=f"{PROJECT}/sub/folder")) == "s1"
    assert found(people, SessionSelector(session="s9")) == ""
    assert found(people, SessionSelector(project="/home/user")) == ""
    assert found(people, SessionSelector(project=f"{PROJECT}-other")) == ""
    assert found(people, SessionSelector()) == ""


def test_of_several_sessions_the_one_seen_last_is_meant(fakes: Fakes, people: CommandLineService) -> None:
    for number, seen in enumerate((3.0, 9.0, 5.0)):
        key = SessionKey(host=KEY.host, id=f"s{number}")
        fakes.store.save(Session(key=key, project=PROJECT, seen_at=seen))
    assert found(people, HERE) == "s1"


@pytest.mark.parametrize(
    ("who", "host"),
    [
        (SessionSelector(session="s1"), KEY.host),
        (HERE, KEY.host),
        (SessionSelector(session="s1", host="marker"), "marker"),
        (SessionSelector(session="marker:s1"), "marker"),
        (SessionSelector(session=f"{KEY.host}:s1"), KEY.host),
    ],
)
async def test_a_marker_with_a_hosts_session_id_does_not_stand_for_that_session(
    fakes: Fakes, people: CommandLineService, who: SessionSelector, host: str
) -> None:
    marker = SessionKey(host="marker", id=KEY.id)
    fakes.store.save(with_goal())
    fakes.store.save(replace(with_goal(), key=marker, seen_at=9e9))
    (other,) = {KEY.host, "marker"} - {host}
    note = f"\nThis is the session of {host}. For the other one with this id: --session {other}:s1"
    report = people.report(who)
    assert (report.host, report.text.endswith(note)) == (host, True)
    reply = await people.order(CommandRequest(who=who, name="goal", arguments="clear"))
    assert reply.text.endswith(note)
    after_clear = {key: fakes.store.load(key) for key in (KEY, marker)}
    cleared = [key.host for key, each in after_clear.items() if each and each.goal
               and each.goal.status is GoalStatus.CLEARED]  # fmt: skip
    assert cleared == [host]


def test_a_markers_session_that_shares_its_id_with_none_is_found_and_not_explained(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(replace(with_goal(), key=SessionKey(host="marker", id="s2")))
    report = people.report(HERE)
    assert (report.session, report.host, "This is the session" in report.text) == ("s2", "marker", False)


def test_a_session_that_cannot_be_read_is_passed_over(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session())
    fakes.store.unreadable = True
    assert found(people, HERE) == ""


async def test_an_order_is_carried_out_as_if_it_had_been_typed_in_the_host(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(session(goal=after(2)))
    reply = await people.order(CommandRequest(who=HERE, name="goal", arguments="clear"))
    assert reply.text == "Supervisor: goal cleared: the parser accepts comments"
    assert fakes.goal().status is GoalStatus.CLEARED
    again = await people.order(CommandRequest(who=HERE, name="retry", arguments="5"))
    assert again.text == "Supervisor: budget of 5 continuations, 2 used."


async def test_the_same_order_twice_is_two_orders(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session())
    order = CommandRequest(who=HERE, name="goal", arguments="all tests pass")
    await people.order(order)
    first = fakes.goal()
    await people.order(order)
    assert fakes.goal().id != first.id


async def test_an_order_for_no_known_session_is_refused_with_what_to_do(people: CommandLineService) -> None:
    with pytest.raises(BadInputError, match=r"no session is known as s9\..*supervisor status"):
        await people.order(CommandRequest(who=SessionSelector(session="s9"), name="goal"))


async def test_an_order_leaves_the_sessions_folder_as_it_is(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session(goal=after(2)))
    await people.order(CommandRequest(who=SessionSelector(session="s1"), name="goal", arguments="pause"))
    assert fakes.state() == replace(
        session(goal=after(2, status=GoalStatus.PAUSED)),
        seen_at=fakes.clock.now(),
    )


def test_the_switch_says_what_holds_now(fakes: Fakes, people: CommandLineService) -> None:
    assert people.toggle(SwitchRequest(on=False)) == "Supervisor is off for you, everywhere."
    assert fakes.switches.off(PROJECT) == "off for you"
    assert people.toggle(SwitchRequest(on=True)) == "Supervisor is on for you, everywhere."
    assert people.toggle(SwitchRequest(on=False, project=PROJECT)) == f"Supervisor is off for {PROJECT}."
    assert fakes.switches.off(PROJECT) == "off for this project"
