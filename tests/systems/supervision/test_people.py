"""What a person asks and orders outside the host."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import SessionEnded
from sidecar.kernel.gate import GateRun
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import EventFilter, LoggedEvent, OrderGiven, StopJudged
from sidecar.kernel.orders import Order, Process, parse_order
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.supervision.people import (
    NO_SESSION_HINT,
    CommandLineService,
    OrderPermission,
    OrderRequest,
    SessionSelector,
    SwitchRequest,
)
from sidecar.systems.supervision.policy.orders import NO_GOAL
from sidecar.systems.supervision.sessions import OUTPUT_LIMIT
from support.cases import (
    KEY,
    PROJECT,
    PYTEST,
    RUBRIC,
    after,
    gate_run,
    goal,
    session,
    stopped,
    turn,
    with_goal,
)
from support.fakes import ENVIRONMENT, Fakes, command, prompt
from support.memory_stores import FixedConfiguration, NoProcesses

HERE = SessionSelector(project=PROJECT)


@pytest.fixture
def people(fakes: Fakes) -> CommandLineService:
    return CommandLineService(fakes.services, fakes.supervisor)


def test_a_folder_without_a_session_gets_a_report_that_says_so(people: CommandLineService) -> None:
    report = people.report(HERE)
    assert (report.session, report.status, report.exit_code) == ("", "none", 3)
    assert report.text == f"no session is known for {PROJECT}.\n{NO_SESSION_HINT}"
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
    assert report.text.startswith("goal stalled: the parser accepts comments")
    assert [entry.decided for entry in report.story] == [RestReason.CLEAN]
    assert report.set_aside == ("it was edited by hand",)


def test_a_session_without_a_goal_is_reported_as_such(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session())
    report = people.report(HERE)
    assert (report.session, report.status, report.exit_code) == ("s1", "none", 3)
    assert report.text.splitlines()[0] == NO_GOAL


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
    assert found(people, SessionSelector(project="/home/user")) == "s1"
    assert found(people, SessionSelector(project="/home/other")) == ""
    assert found(people, SessionSelector(project=f"{PROJECT}-other")) == ""
    assert found(people, SessionSelector()) == ""


def test_of_several_sessions_the_one_seen_last_is_meant(fakes: Fakes, people: CommandLineService) -> None:
    for number, seen in enumerate((3.0, 9.0, 5.0)):
        key = SessionKey(host=KEY.host, id=f"s{number}")
        fakes.store.save(Session(key=key, project=PROJECT, seen_at=seen))
    assert found(people, HERE) == "s1"


class ShownProcesses(NoProcesses):
    """A machine that shows these processes, by the time they started."""

    def __init__(self, started: dict[int, float]) -> None:
        self._started = started

    def find(self, pid: int) -> Process | None:
        if pid not in self._started:
            return None
        return Process(
            pid=pid, parent=1, name="claude", started=self._started[pid], leader=pid, terminal=True
        )


def saved(fakes: Fakes, ident: str, seen: float, **fields: Any) -> None:
    fakes.store.save(replace(with_goal(), key=SessionKey(KEY.host, ident), seen_at=seen, **fields))


def summaries(people: CommandLineService, folder: str = PROJECT) -> list[tuple[str, str, int]]:
    return [(one.session, one.doing, one.exit_code) for one in people.report(at(folder)).sessions]


def at(folder: str) -> SessionSelector:
    return SessionSelector(project=folder)


def test_a_report_knows_every_session_of_a_folder_and_first_one_whose_goal_is_held(
    fakes: Fakes, people: CommandLineService
) -> None:
    saved(fakes, "held", 1.0)
    saved(fakes, "below", 2.0, project=f"{PROJECT}/packages/a")
    saved(fakes, "free", 3.0, goal=None, active_since=2.5)
    saved(fakes, "left", 4.0, ended="clear")
    saved(fakes, "elsewhere", 5.0, project="/home/other")
    assert summaries(people) == [
        ("held", "resting", 1), ("below", "resting", 1), ("left", "closed", 1), ("free", "working", 3),
    ]  # fmt: skip
    assert people.report(HERE).exit_code == 1
    assert [one for one, _, _ in summaries(people, f"{PROJECT}/packages")] == [
        "held",
        "below",
        "left",
        "free",
    ]


@pytest.mark.parametrize(
    ("arguments", "meant"), [("pause", "held"), ("clear", "held"), ("it is fast", "free")]
)
async def test_an_order_about_a_goal_is_for_the_session_that_is_held_and_a_new_one_for_the_session_seen_last(
    fakes: Fakes, people: CommandLineService, arguments: str, meant: str
) -> None:
    saved(fakes, "held", 1.0)
    saved(fakes, "free", 3.0, goal=None)
    await people.order(OrderRequest(who=HERE, order=parse_order("goal", arguments)))
    moved = {key.id for key in fakes.store.known() if fakes.state(key).seen_at == fakes.clock.now()}
    assert moved == {meant}


async def test_an_order_from_above_reaches_no_session_below(fakes: Fakes, people: CommandLineService) -> None:
    saved(fakes, "below", 2.0, project=f"{PROJECT}/packages/a")
    assert found(people, HERE) == "below"
    assert people.find(HERE) is None  # by which a tool called by hand finds its session
    with pytest.raises(BadInputError, match="no agent has worked in"):
        await people.order(OrderRequest(who=HERE, order=parse_order("goal", "clear")))


async def test_a_session_whose_host_has_gone_is_closed(fakes: Fakes) -> None:
    fakes = Fakes(processes=ShownProcesses({os.getpid(): 0.0, 71: 1.0, 72: 9.0}))
    for number in (71, 72, 73):  # it runs; its number belongs to a newer process; it has gone
        saved(fakes, f"s{number}", 5.0, host_process=number)
    found = summaries(CommandLineService(fakes.services, fakes.supervisor))
    assert {ident: doing for ident, doing, _ in found} == {
        "s71": "resting", "s72": "closed", "s73": "closed",
    }  # fmt: skip


async def test_a_stop_that_is_judged_is_reported_with_what_runs_and_since_when(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(with_goal())
    fakes.judge.hold()
    judging = asyncio.create_task(fakes.tell(stopped()))
    await fakes.judge.asked.wait()
    (now,) = people.report(HERE).sessions
    assert (now.doing, now.detail, now.since) == ("judging", "asking the judge", fakes.clock.now())
    assert "judging: asking the judge, 0 s" in people.report(HERE).text
    fakes.judge.released.set()
    await judging
    assert summaries(people)[0][1] != "judging"


@pytest.mark.proves("seeing and asking back")
async def test_a_gate_that_runs_is_named_and_what_it_prints_is_reported_without_secrets(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(session(goal=goal(checks=("make check",))))
    secret = "correct-horse-battery"
    seen: list[str] = []

    async def run(gates: Any, at: Any, seconds: float, progress: Any) -> tuple[GateRun, ...]:  # noqa: ARG001
        progress(gates[0], None)
        for text in ("x" * OUTPUT_LIMIT, "\n\x1b[31mtest 1\x1b[0m\n", f"{secret[:9]}", f"{secret[9:]}\n"):
            at.hear(text)
        report = people.report(HERE)
        seen.extend((report.sessions[0].detail, *report.output.splitlines()[1:]))
        assert len(report.output) <= OUTPUT_LIMIT // 2
        return tuple(gate_run(gate) for gate in gates)

    fakes.gates.run = run  # type: ignore[assignment, method-assign] # one look while it runs
    await fakes.tell(stopped(environment={**ENVIRONMENT, "API_TOKEN": secret}))
    assert seen == ["running `make check`", "test 1", "[masked]"]
    assert people.report(HERE).output == ""


@pytest.mark.parametrize(
    ("decided", "doing"), [("waiting", "waiting"), ("background-work", "waiting"), ("achieved", "resting")]
)
async def test_an_agent_that_waits_for_its_user_is_reported_as_waiting(
    fakes: Fakes, people: CommandLineService, decided: str, doing: str
) -> None:
    fakes.store.save(with_goal())
    told = StopJudged(decided=decided, detail="which port?")
    fakes.log.append(LoggedEvent(at=1.0, system="supervision", session=KEY, project=PROJECT, data=told))
    assert summaries(people)[0][1] == doing
    assert ("waiting for you: which port?" in people.report(HERE).text) is (doing == "waiting")


async def test_a_session_that_clear_left_says_what_became_of_its_goal(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(with_goal())
    await fakes.tell(SessionEnded(key=KEY, project=PROJECT, reason="clear"))
    said = "the session is closed: left by /clear; its goal goes on when you resume session s1 in the host"
    assert said in people.report(HERE).text
    await fakes.tell(prompt())
    assert summaries(people) == [("s1", "working", 1)]


async def test_a_goal_that_was_taken_back_has_ended_and_is_told(
    fakes: Fakes, people: CommandLineService
) -> None:
    await fakes.reply(command("all tests pass", prompt_id="p7"))
    fakes.transcripts.script(turn(rewound=("p7",)))
    rest = await fakes.rest()
    assert rest.note.startswith(
        "Supervisor: the goal ended, as the conversation went back to before it was set"
    )
    report = people.report(HERE)
    assert (report.status, report.exit_code) == ("cleared", 3)
    assert (
        "The last one ended, as the conversation went back to before it was set: all tests pass"
        in report.text
    )


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
    reply = await people.order(OrderRequest(who=who, order=parse_order("goal", "clear")))
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
    reply = await people.order(OrderRequest(who=HERE, order=parse_order("goal", "clear")))
    assert reply.text == "Supervisor: goal cleared: the parser accepts comments"
    assert fakes.goal().status is GoalStatus.CLEARED
    again = await people.order(OrderRequest(who=HERE, order=parse_order("retry", "5")))
    assert again.text == "Supervisor: budget of 5 continuations, 2 used."


async def test_a_goal_from_a_shell_sets_no_agent_to_work(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session())
    await people.order(OrderRequest(who=HERE, order=parse_order("goal", "all tests pass")))
    assert summaries(people)[0][1] == "resting"
    await fakes.tell(prompt())
    assert summaries(people)[0][1] == "working"


async def test_the_same_order_twice_is_two_orders(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session())
    order = OrderRequest(who=HERE, order=parse_order("goal", "all tests pass"))
    await people.order(order)
    first = fakes.goal()
    await people.order(order)
    assert fakes.goal().id != first.id


async def test_an_order_for_no_known_session_is_refused_with_what_to_do(people: CommandLineService) -> None:
    with pytest.raises(BadInputError, match=r"no session is known as s9\..*supervisor status"):
        await people.order(
            OrderRequest(who=SessionSelector(session="s9"), order=Order(name="goal", word="status"))
        )


async def test_an_order_leaves_the_sessions_folder_as_it_is(fakes: Fakes, people: CommandLineService) -> None:
    fakes.store.save(session(goal=after(2)))
    await people.order(OrderRequest(who=SessionSelector(session="s1"), order=parse_order("goal", "pause")))
    assert fakes.state() == replace(
        session(goal=after(2, status=GoalStatus.PAUSED)),
        seen_at=fakes.clock.now(),
    )


def test_the_switch_says_what_holds_now_and_the_log_where_it_was_turned(
    fakes: Fakes, people: CommandLineService
) -> None:
    assert people.toggle(SwitchRequest(on=False)) == "Supervisor is off for you."
    assert fakes.switches.off(PROJECT) == "off for you"
    assert people.toggle(SwitchRequest(on=True)) == "Supervisor is on for you."
    assert people.toggle(SwitchRequest(on=False, project=PROJECT)) == f"Supervisor is off for {PROJECT}."
    assert fakes.switches.off(PROJECT) == "off for this project"
    said = people.toggle(SwitchRequest(on=True, folder=PROJECT))
    assert said == "Supervisor is on for you. Here it is off for this project: supervisor on --project"
    people.toggle(SwitchRequest(on=False))
    said = people.toggle(SwitchRequest(on=True, project=PROJECT, folder=PROJECT))
    assert said == f"Supervisor is on for {PROJECT}. Here it is off for you: supervisor on"
    assert people.permission(OrderPermission(name="config edit", folder=PROJECT)) == ""
    orders = [event.data for event in fakes.log.newest(EventFilter(kinds=("order-given",)), 3)]
    assert [f"{one.name} {one.detail}" for one in orders if isinstance(one, OrderGiven)] == [
        "off ", f"on {PROJECT}", f"config edit {PROJECT}",
    ]  # fmt: skip


def test_the_beginning_of_an_id_names_a_session_where_it_is_the_only_one(
    fakes: Fakes, people: CommandLineService
) -> None:
    for ident in ("ab12cd", "ab12ef"):
        fakes.store.save(session(key=SessionKey("claude-code", ident)))
    found = {named: people.session(named) for named in ("ab12c", "ab12", "ab1", "ab12ef")}
    assert [one and one.key.id for one in found.values()] == ["ab12cd", None, None, "ab12ef"]


async def test_a_goal_set_in_a_shell_names_the_checks_that_the_shell_finds_and_no_judge(
    fakes: Fakes, people: CommandLineService
) -> None:
    fakes.store.save(session())
    fakes.catalog.gates = (PYTEST,)
    order = OrderRequest(who=HERE, order=parse_order("goal", "all tests pass"), environment=dict(ENVIRONMENT))
    said = (await people.order(order)).text.splitlines()
    assert said[1] == "Decided by: `pytest -q`."
    assert said[2].startswith("Budget: ")
