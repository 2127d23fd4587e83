"""The rules of the task loop: each answer to a report, the ladder, and every legal history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.goal import Goal
from sidecar.kernel.loop import (
    CommandType,
    CouncilDecision,
    CouncilMember,
    ExecutionMode,
    GateResult,
    GateVerdict,
    Loop,
    LoopState,
    LoopStatus,
    Tier,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import LoopSettings
from sidecar.kernel.work import Standing
from sidecar.systems.taskloop.policy.loop import (
    LADDER,
    Action,
    Report,
    Ruling,
    Rungs,
    accept_decision,
    ask_for_escalation,
    begin_report,
    end_session,
    first_tier,
    gates_verdict,
    give_back,
    record_tokens,
    restore_loop,
    rule_report,
    start_session,
    start_task,
)
from sidecar.systems.taskloop.policy.transitions import CALL_FIRST, TRANSITIONS, LoopOrderError, Step
from support.table import over_table

LIMITS = LoopSettings()
FRESH = Loop(key=SessionKey("claude-code", "s1"))
GOOD = GateResult(id="tests", kind="tests", verdict=GateVerdict.PASS, required=True)
BAD = replace(GOOD, verdict=GateVerdict.FAIL, errors=("boom",), failing=("test_a",))
ADVICE = replace(BAD, id="lint", required=False)
UNRUN = replace(GOOD, verdict=GateVerdict.COULD_NOT_RUN, reason="no pytest")
CRITICAL = GateResult(id="security", kind="security", verdict=GateVerdict.HALT, critical=1)
DECISION = CouncilDecision(
    winner=CouncilMember.ROOT_CAUSE_ANALYST, votes=(), root_cause="r", recommended_fix="f"
)


BUG: Final[tuple[CommandType, ExecutionMode]] = ("bug", "normal")


def task(ident: str) -> Goal:
    return Goal(id=ident, condition="c")


def end(loop: Loop) -> Loop:
    return end_session(loop, LoopStatus.FAILED, "")


def started(mode: ExecutionMode = "normal", complexity: int = 3) -> Loop:
    return start_task(start_session(FRESH, "c", "bug", mode), task("T1"), "a", complexity, LIMITS)


def report(loop: Loop, *gates: GateResult, limits: LoopSettings = LIMITS, **more: Any) -> Ruling:
    given = Report(gates=gates, **{"standing": standing(gates), **more})
    return rule_report(begin_report(loop), given, Rungs(limits=limits), 2.0)


def standing(gates: Iterable[GateResult]) -> Standing:
    """How work stands whose required checks ended so, with nothing else against it."""
    passed = gates_verdict(gates) is GateVerdict.PASS
    return Standing.PROVED if passed else Standing.OPEN


def failed(loop: Loop, number: int) -> Ruling:
    """Fail in another way each time, so that nothing looks stuck."""
    gate = replace(BAD, errors=(f"error {number}",), failing=(f"test_{number}",))
    return report(loop, gate, files=(f"{number}.py",))


RULED: dict[str, tuple[tuple[GateResult, ...], dict[str, Any], Action, LoopState]] = {
    "all pass": ((GOOD,), {}, Action.COMPLETE, LoopState.SELECTING_AGENT),
    "an advisory gate fails": ((GOOD, ADVICE), {}, Action.COMPLETE, LoopState.SELECTING_AGENT),
    "a required gate fails": ((BAD,), {}, Action.ITERATE, LoopState.EXECUTING),
    "one could not run": ((UNRUN,), {}, Action.ITERATE, LoopState.EXECUTING),
    "none is required": ((ADVICE,), {}, Action.ITERATE, LoopState.EXECUTING),
    "there is none": ((), {}, Action.ITERATE, LoopState.EXECUTING),
    "a file out of scope": ((GOOD,), {"outside": ("x.py",)}, Action.ITERATE, LoopState.EXECUTING),
    "something is missing": ((GOOD,), {"standing": Standing.OPEN}, Action.ITERATE, LoopState.EXECUTING),
    "a judge says so": ((GOOD,), {"standing": Standing.JUDGED}, Action.COMPLETE, LoopState.SELECTING_AGENT),
    "nobody judged": ((GOOD,), {"standing": Standing.NOT_JUDGED}, Action.DONE, LoopState.SELECTING_AGENT),
    "only a person can tell": ((GOOD,), {"standing": Standing.HELD}, Action.HALT, LoopState.SELECTING_AGENT),
    "a critical finding": ((GOOD, CRITICAL), {}, Action.HALT, LoopState.SELECTING_AGENT),
}


@pytest.mark.proves("the loop")
@over_table("case", RULED)
def test_a_report_is_answered(case: str) -> None:
    gates, more, action, state = RULED[case]
    ruled = report(started(), *gates, **more)

    assert (ruled.action, ruled.loop.state) == (action, state)
    assert ruled.loop.iteration == 1
    assert ruled.loop.consecutive_failures == (1 if action is Action.ITERATE else 0)


@pytest.mark.proves("the loop")
@pytest.mark.parametrize(("mode", "each"), [("normal", 2), ("eco", 4)])
def test_the_ladder_is_climbed_after_failures_in_a_row(mode: ExecutionMode, each: int) -> None:
    limits = replace(LIMITS, max_iterations=100)
    loop, seen = started(mode), list[Action]()
    while loop.state is LoopState.EXECUTING:
        number = len(seen)
        ruled = rule_report(
            begin_report(loop),
            Report(
                gates=(replace(BAD, errors=(f"e{number}",), failing=(f"t{number}",)),),
                files=(f"{number}.py",),
            ),
            Rungs(limits=limits),
            2.0,
        )
        seen.append(ruled.action)
        loop = ruled.loop

    step = [Action.ITERATE] * (each - 1)
    assert seen == [*step, Action.ESCALATE, *step, Action.ESCALATE, *step, Action.COUNCIL]
    assert [one.to_tier for one in loop.escalations] == list(LADDER[1:])


def test_after_the_council_there_is_nothing_above() -> None:
    loop = started(complexity=14)
    for number in range(2):
        loop = failed(loop, number).loop
    loop = accept_decision(loop, DECISION)
    assert (loop.state, loop.tier, loop.council_met) == (LoopState.EXECUTING, Tier.LARGE, True)
    loop = failed(loop, 2).loop
    ruled = failed(loop, 3)

    assert (ruled.action, ruled.reason, ruled.loop.held) == (Action.FAIL, "loop-after-council", ("T1",))


def test_where_no_file_changed_a_council_has_nothing_to_look_at() -> None:
    loop = started(complexity=14)
    rulings = [failed(loop, 0)]
    rulings.append(report(rulings[0].loop, BAD))

    assert [one.reason for one in rulings] == ["loop-failed", "loop-idle"]


@pytest.mark.proves("the loop")
@pytest.mark.parametrize(
    ("same", "said"),
    [
        ({"failing": ("test_a",)}, "the same test failed 3 times: test_a"),
        ({"errors": ("boom",)}, "the same error 3 times: boom"),
        ({"files": ("a.py",)}, "the same files changed 3 times without progress: a.py"),
    ],
)
@pytest.mark.parametrize("detected", [True, False])
def test_who_is_stuck_is_not_asked_the_same_again(
    same: dict[str, tuple[str, ...]], said: str, *, detected: bool
) -> None:
    limits = replace(LIMITS, threshold=50, stuck_detection=detected)
    loop, rulings = started(), list[Ruling]()
    for number in range(3):
        parts = {"failing": (f"t{number}",), "errors": (f"e{number}",), "files": (f"{number}.py",)} | same
        gate = replace(BAD, errors=parts["errors"], failing=parts["failing"])
        rulings.append(report(loop, gate, limits=limits, files=parts["files"]))
        loop = rulings[-1].loop

    assert [one.action for one in rulings[:2]] == [Action.ITERATE] * 2
    assert (rulings[2].action, rulings[2].stuck) == (
        (Action.ESCALATE, said) if detected else (Action.ITERATE, "")
    )


@pytest.mark.proves("the loop")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [(replace(LIMITS, max_iterations=1), "loop-iterations"), (replace(LIMITS, max_cents=5.0), "loop-spent")],
)
@pytest.mark.parametrize("unpriced", [False, True], ids=["all priced", "a model without a price since"])
def test_the_users_limits_win(limits: LoopSettings, reason: str, *, unpriced: bool) -> None:
    loop = record_tokens(started(), 10, 10, 5.0)
    ruled = report(record_tokens(loop, 10, 10, None) if unpriced else loop, BAD, limits=limits)

    assert (ruled.action, ruled.reason) == (Action.FAIL, reason)


@pytest.mark.proves("the loop")
@over_table(
    "complexity,tier", [(1, "small"), (4, "small"), (5, "medium"), (8, "medium"), (9, "large"), (14, "large")]
)
def test_the_first_model_is_by_complexity(complexity: int, tier: str) -> None:
    assert first_tier("normal", complexity, LIMITS) == tier
    assert first_tier("eco", complexity, replace(LIMITS, eco_tier="medium")) == "medium"


def test_a_session_is_complete_after_an_accepted_report_and_with_no_open_task() -> None:
    fresh = start_session(FRESH, "c", "plan", "normal")
    with pytest.raises(LoopOrderError) as nothing:
        end_session(fresh, LoopStatus.COMPLETED, "")
    done = report(started(), GOOD).loop
    with pytest.raises(LoopOrderError) as left:
        end_session(done, LoopStatus.COMPLETED, "", ("T2",))

    assert (nothing.value.rule, left.value.rule) == ("loop-nothing-passed", "loop-open-tasks")
    assert end_session(done, LoopStatus.COMPLETED, "", accepted=True).status is LoopStatus.COMPLETED


def test_a_paused_loop_goes_on_with_its_task_where_it_was() -> None:
    loop = failed(started(), 0).loop
    paused = end_session(loop, LoopStatus.PAUSED, "lunch")
    with pytest.raises(LoopOrderError):
        begin_report(paused)
    again = start_task(paused, task("T1"), "a", 3, LIMITS)

    assert replace(again, end_reason="", gates=()) == replace(loop, gates=())


def test_a_task_goes_on_where_it_was_whatever_was_done_in_between() -> None:
    loop = failed(failed(started(), 0).loop, 1).loop
    other = start_task(loop, task("T2"), "a", 3, LIMITS)
    assert (other.tier, other.iteration) == (Tier.SMALL, 0)
    again = start_task(start_session(end(other), "c", *BUG), task("T1"), "a", 3, LIMITS)

    assert (again.tier, again.iteration, again.consecutive_failures) == (Tier.MEDIUM, 2, 0)


@pytest.mark.parametrize("bad", [CRITICAL, BAD])
def test_a_task_that_failed_or_was_halted_is_given_back_by_a_person_alone(bad: GateResult) -> None:
    loop = report(started(), bad, limits=replace(LIMITS, max_iterations=1)).loop
    with pytest.raises(LoopOrderError) as held:
        start_task(loop, task("T1"), "a", 3, LIMITS)
    back = start_task(give_back(loop, "T1"), task("T1"), "a", 3, LIMITS)

    assert held.value.rule == "loop-held"
    assert (back.iteration, back.failures) == (0, ())


@pytest.mark.proves("the loop")
def test_a_restored_loop_has_spent_what_was_spent() -> None:
    then = started()
    now = record_tokens(failed(failed(then, 0).loop, 1).loop, 10, 5, 3.0)
    back = restore_loop(now, then)

    assert (back.task, back.state, back.iteration, back.tier) == ("T1", LoopState.EXECUTING, 2, Tier.MEDIUM)
    assert (back.input_tokens, back.output_tokens, back.spent_cents) == (10, 5, 3.0)
    before = restore_loop(now, start_session(FRESH, "c", *BUG))
    assert before.task == ""
    assert start_task(before, task("T1"), "a", 3, LIMITS).iteration == 2


@pytest.mark.proves("the loop")
def test_each_state_has_a_way_on_and_names_its_tool() -> None:
    reached = {after for steps in TRANSITIONS.values() for after in steps.values()} | {LoopState.IDLE}

    assert reached == set(LoopState) == set(TRANSITIONS) == set(CALL_FIRST)
    assert {step for steps in TRANSITIONS.values() for step in steps} == set(Step)


# --- every legal history ------------------------------------------------------------------------------------

REPORTS = st.builds(
    Report,
    gates=st.lists(st.sampled_from([GOOD, BAD, ADVICE, UNRUN, CRITICAL]), max_size=3).map(tuple),
    outside=st.sampled_from([(), ("x.py",)]),
    standing=st.sampled_from(Standing),
)


@pytest.mark.proves("the loop")
@given(data=st.data())
def test_no_history_completes_on_a_failing_gate_or_moves_but_by_the_table(data: st.DataObject) -> None:
    limits = LoopSettings(
        max_iterations=data.draw(st.integers(1, 6)), max_cents=data.draw(st.sampled_from([None, 3.0]))
    )
    mode = data.draw(st.sampled_from(get_args(ExecutionMode)))
    loop = start_session(FRESH, "c", "bug", mode)
    for _ in range(30):
        before, tier = loop, LADDER.index(loop.tier)
        match loop.state:
            case LoopState.SELECTING_AGENT:
                free = [name for name in ("T1", "T2") if name not in loop.held]
                if not free:
                    break
                loop = start_task(loop, task(data.draw(st.sampled_from(free))), "a", 3, limits)
            case LoopState.EXECUTING if data.draw(st.booleans()):
                begun = begin_report(loop)
                begun = msgspec.json.decode(msgspec.json.encode(begun), type=Loop)  # killed while gates ran
                given_report = data.draw(REPORTS)
                ruled = rule_report(begin_report(begun), given_report, Rungs(limits=limits), 2.0)
                loop = ruled.loop
                shown = given_report.standing in {Standing.PROVED, Standing.JUDGED}
                clean = shown and CRITICAL not in given_report.gates and not given_report.outside
                assert (ruled.action is Action.COMPLETE) is clean
                assert loop.iteration == before.iteration + 1
                # a completed task that is begun again may be at its limit: a report that fails ends it
                ended = ruled.action in (Action.COMPLETE, Action.DONE, Action.FAIL, Action.HALT)
                assert ended or loop.iteration < limits.max_iterations
            case LoopState.EXECUTING:
                loop = ask_for_escalation(loop, "stuck", Rungs(limits=limits), 2.0).loop
            case LoopState.ACTIVATING_BUG_COUNCIL:
                loop = accept_decision(loop, DECISION)
                assert not before.council_met
            case _:
                raise AssertionError(loop.state)
        loop = record_tokens(loop, data.draw(st.integers(-5, 5)), 1, data.draw(st.sampled_from([0.0, 1.0])))
        assert loop.input_tokens >= before.input_tokens
        assert (loop.spent_cents or 0) >= (before.spent_cents or 0)
        same_task = loop.task == before.task and loop.council_met == before.council_met
        assert not same_task or 0 <= LADDER.index(loop.tier) - tier <= 1
