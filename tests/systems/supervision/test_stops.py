"""The loop of one stop: orders are carried out, the outcome is saved before it is said, the story is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.evidence.ports import WorkPlace
from sidecar.kernel.effects import NoReply, RestReason
from sidecar.kernel.events import BackgroundActivity, JudgeFailed
from sidecar.kernel.evidence import FileChange, ProjectChanges
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.settings import GateSettings
from sidecar.platform.session_store import SessionFiles
from support.cases import (
    KEY,
    PROJECT,
    PYTEST,
    UNREACHABLE,
    complete,
    incomplete,
    ran,
    session,
    stopped,
    talk,
    todos,
    turn,
    with_goal,
)
from support.fakes import Fakes, command, prompt
from support.logs import event_log
from support.memory_stores import LoggedRecord
from support.scripted_gates import FAILED, PASSED, ScriptedEnding

LIE = turn(ran("pytest", 1), message="All tests pass.", last_message_id="m1")


async def test_a_stop_without_a_goal_is_let_go_and_written_down(fakes: Fakes) -> None:
    assert (await fakes.rest()).reason is RestReason.CLEAN
    (entry,) = fakes.record.read(KEY)
    assert (entry.event, entry.decided, entry.stage, entry.at) == (
        "stop",
        "nothing-suspicious",
        "rules",
        fakes.clock.now(),
    )


async def test_a_stop_that_is_let_go_by_the_transcript_alone_looks_at_no_file(fakes: Fakes) -> None:
    fakes.transcripts.script(talk(), LIE)
    assert (await fakes.rest()).reason is RestReason.TALK
    assert fakes.workspace.looks == 0
    await fakes.sent_back()
    assert fakes.workspace.looks == 1


async def test_a_continuation_is_saved_as_pending_before_it_is_said(fakes: Fakes) -> None:
    fakes.transcripts.script(LIE)
    answer = await fakes.sent_back()
    pending = fakes.state().pending
    assert pending is not None
    assert (pending.id, pending.said_at) == (answer.feedback.id, fakes.clock.now())
    (entry,) = fakes.record.read(KEY)
    assert (entry.decided, entry.continuation) == ("continue", answer.feedback.id)
    assert "you say \u201c" in entry.detail


async def test_a_stop_is_logged_with_its_stages_and_the_trace_that_its_host_handed_on(fakes: Fakes) -> None:
    fakes.transcripts.script(turn(ran("pytest", 0), message="I looked around.", last_message_id="m1"))
    await fakes.rest(environment={"TRACEPARENT": "00-1-2-01"})
    (entry,) = fakes.record.read(KEY)
    assert entry.stages == (("turn", 0.0),)
    assert entry.trace == "00-1-2-01"


async def test_gates_run_one_after_the_other_on_the_tree_that_was_seen(fakes: Fakes) -> None:
    fakes.store.save(with_goal("all tests pass", checks=("make",)))
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("make", PASSED)
    fakes.gates.script("pytest -q", PASSED)
    assert (await fakes.rest()).reason is RestReason.ACHIEVED
    assert fakes.gates.ran == ["make", "pytest -q"]
    (entry,) = fakes.record.read(KEY)
    assert entry.gates == ("check:1: passed", "tests: passed")
    assert (entry.tree, entry.stage) == ("tree-1", "gates")


async def test_a_gate_gets_the_deadline_of_the_settings(fakes: Fakes) -> None:
    fakes.catalog.settings = GateSettings(seconds=7)
    fakes.store.save(with_goal(checks=("make",)))
    await fakes.sent_back()
    assert fakes.gates.deadlines == [7]


async def test_a_failing_gate_sends_back_though_no_judge_can_be_reached(fakes: Fakes) -> None:
    fakes.store.save(with_goal(checks=("make",)))
    fakes.gates.script("make", FAILED)
    answer = await fakes.sent_back()
    assert answer.feedback.kind == "gates-failed"
    assert fakes.judge.cases == []


async def test_the_judge_is_asked_in_the_sessions_own_environment_about_the_case(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(complete())
    assert (await fakes.rest()).reason is RestReason.JUDGED
    assert [case.condition for case in fakes.judge.cases] == ["the parser accepts comments"]
    assert fakes.goal().status is GoalStatus.JUDGED


async def test_a_whole_goal_from_sent_back_to_judged(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(incomplete(), complete())
    fakes.transcripts.script(turn(last_message_id="m1"), turn(last_message_id="m2"))
    first = await fakes.sent_back()
    fakes.transcripts.arrived.append(first.feedback.id)
    fakes.clock.advance(60)
    assert (await fakes.rest(continued=True)).alarm
    spent = fakes.goal().spent
    assert (fakes.goal().status, spent.continuations, spent.seconds) == (GoalStatus.JUDGED, 1, 60.0)
    assert fakes.story() == ["stop: continue", "stop: judged"]


@pytest.mark.parametrize(
    ("wall", "awake", "spent"), [(30_000.0, 20.0, 20.0), (-3600.0, 20.0, 20.0), (60.0, -90.0, 0.0)]
)
async def test_only_time_in_which_the_machine_was_awake_is_spent(
    fakes: Fakes, wall: float, awake: float, spent: float
) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(incomplete(), incomplete())
    await fakes.tell(prompt())
    fakes.clock.advance(wall, awake=awake)
    first = await fakes.sent_back()
    fakes.transcripts.arrived.append(first.feedback.id)
    fakes.clock.advance(wall, awake=awake)
    await fakes.sent_back(continued=True)
    assert fakes.goal().spent.seconds == 2 * spent


async def test_a_continuation_that_never_arrived_is_given_back(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(incomplete(), incomplete())
    first = await fakes.sent_back()
    second = await fakes.sent_back()
    assert second.feedback.number == first.feedback.number == 1
    assert second.feedback.id != first.feedback.id


UNTOUCHED = {
    RestReason.SUBAGENT: {"subagent": True},
    RestReason.PLAN_MODE: {"read_only": True},
}


@pytest.mark.parametrize("reason", UNTOUCHED, ids=str)
async def test_a_stop_that_is_none_of_our_business_leaves_no_trace_in_the_state(
    fakes: Fakes, reason: RestReason
) -> None:
    before = session(notified_plan=True)
    fakes.store.save(before)
    assert (await fakes.rest(**UNTOUCHED[reason])).reason is reason
    assert fakes.store.load(KEY) == replace(before, revision=1)
    assert fakes.story() == [f"stop: {reason}"]


async def test_our_own_judges_and_workers_are_not_even_written_down(fakes: Fakes) -> None:
    assert await fakes.tell(stopped(ours=True)) == NoReply()
    assert fakes.story() == []


@pytest.mark.parametrize("project", [None, "/home/user/project"], ids=["for you", "for this project"])
async def test_switched_off_nothing_is_judged_and_the_record_says_for_whom(
    fakes: Fakes, project: str | None
) -> None:
    fakes.transcripts.script(LIE)
    fakes.switches.turn(on=False, project=project)
    answer = await fakes.rest()
    assert answer.reason is RestReason.OFF
    assert answer.detail == f"off for {'you' if project is None else 'this project'}"
    fakes.switches.turn(on=True, project=project)
    await fakes.sent_back()


async def test_a_judge_that_fails_leaves_the_goal_active_and_everyone_can_see_why(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(UNREACHABLE)
    answer = await fakes.rest()
    assert answer.note.startswith("Supervisor: this stop was not judged: no backend can be reached")
    assert (fakes.goal().status, fakes.goal().unjudged) == (GoalStatus.ACTIVE, "no backend can be reached")


async def test_a_secret_of_the_session_reaches_no_judge(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.transcripts.script(turn(ran("env", output="API_KEY=abc-def-ghi"), message="It is abc-def-ghi."))
    fakes.judge.script(JudgeFailed("no"))
    await fakes.tell(stopped(environment={"API_KEY": "abc-def-ghi"}))
    assert "abc-def-ghi" not in repr(fakes.judge.cases)
    assert "[masked]" in repr(fakes.judge.cases)


async def test_the_record_says_what_a_judgement_cost(fakes: Fakes) -> None:
    fakes.store.save(with_goal("all tests pass and the parser is fast"))
    fakes.judge.script(JudgeFailed("no", tokens=12))
    await fakes.tell(stopped())
    (entry,) = fakes.record.read(KEY)
    assert (entry.stage, entry.judge_tokens) == ("judge", 12)


async def test_a_file_that_was_claimed_and_is_not_there_is_sent_back(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.workspace.missing = {"docs/usage.md", "NOTES.md"}
    fakes.transcripts.script(turn(message="I added docs/usage.md with an explanation."))
    answer = await fakes.sent_back()
    assert answer.feedback.missing == (
        "you say \u201cI added docs/usage.md with an explanation.\u201d: there is no docs/usage.md",
    )


async def test_a_file_name_that_is_no_utf_8_keeps_nothing_from_being_judged_and_recorded(
    fakes: Fakes, tmp_path: Path
) -> None:
    fakes.store.save(with_goal())
    knows = "import sys\n\nTESTED = 'pytest' in sys.modules\n"
    change = FileChange(path="shop_\udcff.py", before="", after=knows)
    fakes.workspace.changes = ProjectChanges(files=(change,))
    answer = await fakes.sent_back()
    assert answer.feedback.kind == "checks-changed"
    assert "shop_\\udcff.py" in answer.feedback.missing[0]
    LoggedRecord(event_log(tmp_path)).append(KEY, fakes.record.read(KEY)[-1])
    SessionFiles(tmp_path).save(fakes.state())


async def test_secrets_in_to_dos_and_background_work_reach_neither_agent_nor_record(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    secret = "s3cr3t-value-of-a-token"
    fakes.transcripts.script(turn(todos=todos(f"rotate {secret}")))
    answer = await fakes.sent_back(environment={"MY_TOKEN": secret})
    assert answer.feedback.missing == ("rotate [masked]",)
    work = BackgroundActivity("b1", f"curl -H {secret}")
    fakes.transcripts.script(turn(last_message_id="m2"))
    answer = await fakes.sent_back(environment={"MY_TOKEN": secret}, background=(work,), headless=True)
    assert answer.feedback.missing == ("curl -H [masked]",)
    assert secret not in repr(fakes.record.read(KEY)) + repr(fakes.state())


async def test_work_elsewhere_is_named_and_nothing_is_decided(fakes: Fakes) -> None:
    why = "the work of this turn is in /other, which nobody looked at"
    fakes.workspace.placed = WorkPlace(PROJECT, why)
    fakes.catalog.gates = (replace(PYTEST, approved=True),)
    fakes.gates.script("pytest -q", PASSED)
    fakes.store.put(with_goal())
    rest = await fakes.rest()
    assert (rest.reason, rest.detail, fakes.gates.ran) == (RestReason.UNJUDGED, why, [])
    assert fakes.goal().status is GoalStatus.ACTIVE
    assert why in rest.note


async def test_the_checkout_where_the_work_is_is_the_one_that_is_checked_and_named(fakes: Fakes) -> None:
    fakes.workspace.placed = WorkPlace("/feat")
    fakes.catalog.gates = (replace(PYTEST, approved=True),)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    await fakes.reply(command("all tests pass"))
    rest = await fakes.rest()
    assert rest.reason is RestReason.ACHIEVED
    assert "looked at: /feat" in rest.note
