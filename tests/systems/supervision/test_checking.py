"""The table "Gates" of the design, and what follows from changes to the checks and from claims."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.policy import build_gate_baseline
from sidecar.kernel.effects import Continue, RestReason
from sidecar.kernel.evidence import CheckChange, FindingSeverity, IntegrityFinding, RepositoryState
from sidecar.kernel.gate import CheckComparison, Gate, GateOrigin, Kind, Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.settings import GateSettings, RuleSettings, Settings
from sidecar.kernel.turn import Turn
from support.cases import (
    ASKING,
    PYTEST,
    UNREACHABLE,
    complete,
    edited,
    gate_run,
    incomplete,
    judged,
    ran,
    session,
    turn,
    with_goal,
)
from support.play import Played, World, play

FAILED, COULD_NOT_RUN = Outcome.FAILED, Outcome.COULD_NOT_RUN
TESTS_PASS = with_goal("all tests pass")
LINT = Gate(
    id="lint", command="ruff check", why="", kind=Kind.LINT, origin=GateOrigin.DETECTED, approved=True
)
SKIPPED = IntegrityFinding(
    change=CheckChange.OLD_FAILURE_REMAINS,
    weight=FindingSeverity.GRAVE,
    file="tests/test_a.py",
    line=12,
    after="@pytest.mark.skip",
)
CORRECTED = IntegrityFinding(
    change=CheckChange.EXPECTATION_CHANGED,
    weight=FindingSeverity.SHOWN,
    file="tests/test_a.py",
    line=9,
    before="3",
    after="4",
)


def again(first: Played, **world: Any) -> Played:
    """Let the continuation arrive, and stop once more."""
    seen = world.pop("turn", turn())
    seen = replace(seen, arrived=(first.sent_back.feedback.id,), last_message_id="m2")
    return play(first.session, World(turn=seen, **world))


def test_a_grave_change_is_asked_about_with_file_and_line_although_every_test_passes() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST, findings=(SKIPPED,)))
    assert played.kind == "checks-changed"
    assert played.sent_back.feedback.missing == (
        "tests/test_a.py:12: as it was when the work began, it still fails: @pytest.mark.skip",
    )


def test_a_grave_change_that_stays_is_asked_about_once_and_then_weighed_by_the_judge() -> None:
    first = play(TESTS_PASS, World(runner=PYTEST, findings=(SKIPPED,)))
    second = again(first, runner=PYTEST, findings=(SKIPPED,), judge=judged(complete("E1", "E2")))
    assert second.case is not None
    assert second.case.evidence[1].bad
    assert second.goal.status is GoalStatus.ACHIEVED
    assert "tests/test_a.py:12: as it was when the work began" in second.rest.note


def test_a_verdict_that_overlooks_a_grave_change_counts_for_nothing() -> None:
    first = play(TESTS_PASS, World(runner=PYTEST, findings=(SKIPPED,)))
    second = again(first, runner=PYTEST, findings=(SKIPPED,), judge=judged(complete("E1")))
    assert second.kind is RestReason.UNJUDGED
    assert second.goal.status is GoalStatus.ACTIVE


def test_no_change_lets_a_goal_be_achieved_where_no_judge_can_be_had() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST, findings=(CORRECTED,), judge=UNREACHABLE))
    assert played.kind is RestReason.UNJUDGED
    assert played.goal.status is GoalStatus.ACTIVE


KEY = "The bank refuses our key. Please have it registered by somebody who may sign; then this check passes."
OFFER = (
    "Settings is on StateFlow now!\n\nBy the way, `feature/profile` still has the old pattern. "
    "If you'd like, I can do it the same way next!"
)


def test_a_failing_check_is_weighed_by_the_judge_where_others_may_have_to_go_on() -> None:
    failing = World(turn=turn(edited(), message=KEY), runner=PYTEST, outcomes={"tests": FAILED})
    played = play(TESTS_PASS, replace(failing, judge=judged(incomplete("E1"))))
    assert played.case is not None
    assert any(fact.bad for fact in played.case.evidence)
    assert play(TESTS_PASS, replace(failing, turn=turn(edited(), message="It is faster now."))).case is None


def test_an_offer_after_the_required_checks_passed_is_weighed_by_the_judge() -> None:
    offered = turn(
        edited(), message=OFFER, prompts=("Migrate feature/settings from LiveData to StateFlow please",)
    )
    world = World(turn=offered, runner=PYTEST, judge=UNREACHABLE)
    migrated = with_goal("settings has no LiveData left and all tests pass")
    assert play(migrated, world).kind is RestReason.UNJUDGED
    assert play(PROSE, world).kind == "permission-seeking"


# --- the table ----------------------------------------------------------------------------------------------


def test_advisory_gates_run_after_every_required_one_passed_with_a_deadline_of_their_own() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST, gates=(LINT,)))
    assert played.gates == ("tests", "lint")
    assert play(TESTS_PASS, World(runner=PYTEST, gates=(LINT,), outcomes={"tests": FAILED})).gates == (
        "tests",
    )


def test_new_failures_of_an_advisory_gate_are_named_when_the_goal_is_achieved() -> None:
    before = with_goal("all tests pass", baseline=build_gate_baseline([gate_run(LINT)]))
    played = play(before, World(runner=PYTEST, gates=(LINT,), outcomes={"lint": FAILED}))
    assert played.goal.status is GoalStatus.ACHIEVED
    assert played.rest.detail.endswith("; `ruff check` has 1 new failure")


def test_an_unapproved_required_gate_leaves_the_goal_unverified_and_says_what_to_type() -> None:
    own = replace(LINT, origin=GateOrigin.PROJECT, approved=False, required=True)
    played = play(TESTS_PASS, World(runner=PYTEST, gates=(own,)))
    assert played.gates == ("tests",)
    assert played.goal.status is GoalStatus.UNVERIFIED
    assert "to approve it: /supervisor:trust" in played.rest.note


OWN_PASS = ran("pytest -q", output="5 passed in 0.1s")
OWN_FAILURE = ran("pytest -q", 1, output="1 failed, 4 passed in 0.1s")
PASSES = "All tests pass."


def test_two_runs_that_differ_are_both_shown_and_neither_counts() -> None:
    seen = turn(edited(), OWN_PASS, message=PASSES)
    world = World(turn=seen, runner=PYTEST, outcomes={"tests": FAILED})
    first = play(TESTS_PASS, world)
    assert first.kind == "gates-disagree"
    assert first.goal.asked_to_run == ("disagree:tests",)
    second = again(first, turn=seen, runner=PYTEST, outcomes={"tests": FAILED})
    assert second.goal.status is GoalStatus.UNVERIFIED


def test_a_pass_of_ours_against_the_agents_own_failure_is_for_the_judge() -> None:
    seen = turn(edited(), OWN_FAILURE, message=PASSES)
    world = World(turn=seen, runner=PYTEST, judge=judged(complete("E1")))
    played = play(TESTS_PASS, world)
    assert played.case is not None


# --- claims -------------------------------------------------------------------------------------------------


def test_a_claim_that_git_contradicts_is_sent_back() -> None:
    seen = turn(edited(), message="I committed the changes.")
    known = RepositoryState(head="abc", branch="main", commits=0, dirty=1, uncommitted=("a.py",))
    played = play(with_goal(), World(turn=seen, repository=known))
    assert played.kind == "false-complete"
    assert "committed" in played.sent_back.feedback.missing[0]


def test_a_switch_turns_off_what_claims_do_with_and_without_a_goal() -> None:
    seen = turn(edited(), message="I committed the changes.")
    known = RepositoryState(head="abc", branch="main", commits=0, dirty=1, uncommitted=("a.py",))
    world = World(turn=seen, repository=known, judge=judged(complete()))
    for before in (session(), with_goal()):
        assert play(before, world).kind == "false-complete"
        off = play(before, world, settings=Settings(rules=RuleSettings(false_complete="off")))
        assert not isinstance(off.ruling, Continue)


# --- without a goal -----------------------------------------------------------------------------------------


APPROVED = replace(PYTEST, approved=True)


def test_without_a_goal_an_approved_check_that_the_message_says_passes_is_run() -> None:
    stale = turn(ran("pytest -q"), edited(), message="All tests pass.")
    world = World(turn=stale, gates=(APPROVED,), outcomes={"tests": Outcome.FAILED})
    played = play(session(), world)
    assert (played.gates, played.kind) == (("tests",), "false-complete")
    assert "Supervisor ran `pytest -q`: failed" in played.sent_back.feedback.missing[0]
    passed = play(session(), World(turn=stale, gates=(APPROVED,)))
    assert passed.rest.note.endswith("checks: pytest -q passed (run by Supervisor)")


@pytest.mark.parametrize(
    ("seen", "gate"),
    [
        (turn(edited(), ran("pytest -q"), message="All tests pass."), APPROVED),
        (turn(edited(), message="I changed the parser."), APPROVED),
        (
            turn(ran("pytest -q"), edited(), message="All tests pass."),
            replace(PYTEST, approved=False, origin=GateOrigin.DETECTED),
        ),
    ],
    ids=["its own run shows it", "nothing is claimed", "not approved"],
)
def test_without_a_goal_no_other_check_is_run(seen: Turn, gate: Gate) -> None:
    assert play(session(), World(turn=seen, gates=(gate,))).gates == ()


def test_a_turn_that_ran_no_test_does_not_stand_against_the_run_of_supervisor() -> None:
    seen = turn(edited(), message="I have not run the tests.")
    assert play(session(), World(turn=seen, gates=(APPROVED,))).rest.reason is RestReason.CLEAN
    seen = turn(edited(), message="All tests pass.")
    assert play(session(), World(turn=seen)).kind == "false-complete"
    assert play(session(), World(turn=seen, gates=(APPROVED,))).rest.reason is RestReason.CLEAN


def test_a_stop_without_a_goal_tells_what_changed_unless_it_is_switched_off() -> None:
    world = World(turn=turn(edited(), message="I changed the parser."))
    assert play(session(), world).rest.note == "Supervisor: files: M a.py; checks: none ran"
    assert play(session(), world, settings=Settings(facts_line=False)).rest.note == ""
    goaled = play(with_goal(), World(judge=judged(complete()))).rest
    assert "files:" not in goaled.note


EAGER = Settings(gates=GateSettings(without_goal=True))


def test_without_a_goal_configured_gates_run_only_where_the_user_wants_it() -> None:
    own = replace(LINT, required=True)
    assert play(session(), World(gates=(own,))).gates == ()
    assert play(session(), World(gates=(own,)), settings=EAGER).kind is RestReason.CLEAN
    sent = play(session(), World(gates=(own,), outcomes={"lint": FAILED}), settings=EAGER)
    assert sent.gates == ("lint",)
    assert sent.kind == "gates-failed"


def test_without_a_goal_a_skipped_test_under_a_claim_is_for_the_judge_and_not_certain() -> None:
    seen = turn(edited("tests/test_a.py"), OWN_PASS, message=PASSES)
    world = World(turn=seen, findings=(SKIPPED,), judge=judged(incomplete()))
    played = play(session(), world, settings=ASKING)
    assert played.case is not None
    assert "tests/test_a.py:12" in played.case.suspicion
    assert played.kind == "checks-changed"


# --- Proof by execution -------------------------------------------------------------------------------------

NOW = gate_run(PYTEST)
BEFORE = gate_run(
    PYTEST, FAILED, failing=("t.py::test_minus",), failures=("t.py::test_minus: assert 5 == 1",)
)
HIDDEN = CheckComparison(now=NOW, files=("t.py",), old=BEFORE, base=BEFORE, copy=NOW)


def test_an_old_failure_that_remains_is_sent_back_once_and_then_weighed() -> None:
    first = play(TESTS_PASS, World(runner=PYTEST, comparisons=(HIDDEN,)))
    assert first.sent_back.feedback.missing == (
        "t.py: as it was when the work began, it still fails: t.py::test_minus: assert 5 == 1",
    )
    second = again(first, runner=PYTEST, comparisons=(HIDDEN,), judge=UNREACHABLE)
    assert second.kind is RestReason.UNJUDGED


def test_a_change_of_checks_that_the_goal_asks_for_is_weighed_and_not_sent_back() -> None:
    goal = with_goal("fix the test please, the code is right")
    played = play(goal, World(runner=PYTEST, comparisons=(HIDDEN,), judge=judged(complete("E1", "E2"))))
    assert played.case is not None
    assert "it still fails" in played.case.evidence[1].fact
    assert played.goal.status is GoalStatus.JUDGED


def test_no_other_words_lower_a_grave_change_to_the_checks() -> None:
    goal = with_goal("rename minus to less; all tests pass")
    assert play(goal, World(runner=PYTEST, comparisons=(HIDDEN,))).kind == "checks-changed"


def test_a_failing_test_that_passes_now_is_proof_though_the_agent_ran_nothing() -> None:
    repaired = CheckComparison(now=NOW, old=NOW, base=BEFORE, product=NOW)
    goal = with_goal("fix the failing test")
    played = play(goal, World(runner=PYTEST, comparisons=(repaired,)))
    assert played.goal.status is GoalStatus.ACHIEVED
    unchanged = CheckComparison(now=NOW, old=NOW, base=NOW)
    assert play(goal, World(runner=PYTEST, comparisons=(unchanged,))).goal.status is GoalStatus.ACHIEVED
    more = play(with_goal("fix minus"), World(gates=(JOINING,), comparisons=(unchanged,), judge=UNREACHABLE))
    assert more.kind is RestReason.UNJUDGED


PROSE = with_goal("greet() greets in two languages")
JOINING = replace(PYTEST, approved=True)


def test_approved_tests_join_a_goal_in_prose_and_their_old_version_is_run() -> None:
    first = play(PROSE, World(gates=(JOINING,), comparisons=(HIDDEN,)))
    assert first.sent_back.feedback.kind == "checks-changed"
    second = again(first, gates=(JOINING,), comparisons=(HIDDEN,), judge=judged(complete("E1")))
    assert second.case is not None
    assert second.goal.status is GoalStatus.ACTIVE, "the judge did not weigh the change"


def test_a_silenced_linter_bears_on_a_goal_of_the_linter_alone() -> None:
    silenced = IntegrityFinding(
        change=CheckChange.CHECK_SILENCED,
        weight=FindingSeverity.GRAVE,
        file="a.py",
        line=3,
        after="x = 1  # noqa",
        kinds=(Kind.LINT,),
    )
    assert play(TESTS_PASS, World(runner=PYTEST, findings=(silenced,))).goal.status is GoalStatus.ACHIEVED
    lint = play(with_goal("the linter is clean"), World(gates=(LINT,), findings=(silenced,)))
    assert lint.sent_back.feedback.missing == ("a.py:3: check silenced: `x = 1  # noqa`",)
