"""One stop, from the host's word to the ruling: the order of the cascade, the case, shadow mode."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import (
    AskJudge,
    Effect,
    Inquiry,
    ReadProjectState,
    ReadTurn,
    Rest,
    RestReason,
    RunGates,
    RunOldChecks,
)
from sidecar.kernel.events import GatesRan
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.settings import GateSettings, JudgeSettings, Settings
from sidecar.systems.supervision.policy.stop import advance_inquiry
from support.cases import (
    PYTEST,
    RUBRIC,
    SETTINGS,
    UNREACHABLE,
    after,
    complete,
    edited,
    gate_run,
    goal,
    incomplete,
    judged,
    ran,
    session,
    stopped,
    turn,
    waiting,
    with_goal,
)
from support.play import World, play

SHADOW = Settings(mode="shadow")
LIE = turn(ran("pytest", 1), message="All tests pass.")


def kinds(orders: tuple[Effect, ...]) -> list[type[Effect]]:
    return [type(order) for order in orders]


def test_the_cascade_goes_from_cheap_to_dear() -> None:
    played = play(with_goal(checks=("make",)), World(judge=judged(complete())))
    assert kinds(played.orders) == [ReadTurn, ReadProjectState, RunGates, RunOldChecks, AskJudge]


def test_no_gate_and_no_model_is_paid_for_what_a_rule_settles() -> None:
    assert kinds(play(session(), World(turn=LIE)).orders) == [ReadTurn, ReadProjectState]


def test_no_model_is_paid_for_what_a_gate_settles() -> None:
    before = with_goal("all tests pass")
    green = play(before, World(runner=PYTEST))
    assert kinds(green.orders) == [ReadTurn, ReadProjectState, RunGates, RunOldChecks]
    failed = World(runner=PYTEST, outcomes={"tests": Outcome.FAILED})
    assert kinds(play(before, failed).orders) == [ReadTurn, ReadProjectState, RunGates]


def test_the_judge_sees_the_case_and_nothing_else() -> None:
    seen = turn(ran("make"), message="I did it.")
    case = play(with_goal(), World(turn=seen, judge=judged(complete()))).case
    assert case is not None
    assert (case.condition, case.suspicion, case.prompts, case.rubric, case.last_message) == (
        "the parser accepts comments",
        "",
        ("Do it.",),
        RUBRIC,
        "I did it.",
    )
    assert [fact.fact for fact in case.evidence] == ["the agent ran `make`: ok, exit code 0"]


STAGES: list[tuple[World, str]] = [
    (World(turn=turn(queued=True)), "skip rules"),
    (World(turn=LIE), "rules"),
    (World(runner=PYTEST), "gates"),
    (World(judge=judged(complete())), "judge"),
]


@pytest.mark.parametrize(("world", "stage"), STAGES, ids=[stage for _, stage in STAGES])
def test_the_record_learns_how_far_the_stop_came(world: World, stage: str) -> None:
    condition = "all tests pass" if stage == "gates" else "the parser accepts comments"
    assert play(with_goal(condition), world).inquiry.stage == stage


def test_a_goal_that_is_sent_back_remembers_why_and_forgets_that_it_was_not_judged() -> None:
    played = play(with_goal(unjudged="earlier"), World(judge=judged(incomplete("comments", "docs"))))
    assert (played.goal.last_reason, played.goal.unjudged) == ("comments; docs", "")


@pytest.mark.parametrize(
    "world",
    [
        World(turn=LIE),
        World(judge=judged(incomplete())),
        World(outcomes={"check:1": Outcome.FAILED}),
        World(outcomes={"check:1": Outcome.COULD_NOT_RUN}),
    ],
    ids=["rule", "verdict", "failed gate", "gate that could not run"],
)
def test_in_shadow_mode_the_person_reads_what_would_have_been_sent_back_and_the_agent_nothing(
    world: World,
) -> None:
    before = with_goal(checks=("make",))
    meant = play(before, world).sent_back.feedback.kind
    played = play(before, world, settings=SHADOW)
    assert played.rest.reason is RestReason.SHADOW
    assert played.rest.detail.startswith(f"{meant}: ")
    assert played.rest.note.startswith("Supervisor: shadow mode: would have sent back: ")
    assert (played.session.pending, played.session.serial) == (None, before.serial)
    assert played.goal.status is GoalStatus.ACTIVE


@pytest.mark.parametrize(
    "of",
    [session(), session(goal=goal(status=GoalStatus.CLEARED))],
    ids=["none", "cleared"],
)
def test_gates_that_come_back_when_nobody_waits_for_them_decide_nothing(of: object) -> None:
    inquiry = Inquiry(session=of, stop=stopped(), settings=SETTINGS)  # type: ignore[arg-type] # rows
    assert advance_inquiry(inquiry, GatesRan((gate_run(),)), 0.0) == (
        inquiry,
        Rest(reason=RestReason.SUPERSEDED),
    )


def test_tests_that_pass_for_supervisor_outweigh_an_earlier_failing_run_of_the_agents() -> None:
    before = with_goal("all tests pass and the changelog says so")
    played = play(before, World(turn=LIE, runner=PYTEST, judge=judged(complete("E1"))))
    assert kinds(played.orders) == [ReadTurn, ReadProjectState, RunGates, RunOldChecks, AskJudge]
    assert played.goal.status is GoalStatus.JUDGED


LACKS = "I cannot go on: the AWS credentials are missing here. Please give me the access key."
RED = {PYTEST.id: Outcome.FAILED}
REFUSED = ran("aws s3 ls", 255, output="Unable to locate credentials")


@pytest.mark.parametrize("settings", [Settings(), SHADOW], ids=["on", "shadow"])
@pytest.mark.parametrize("spent", [0, 16])
def test_where_only_the_user_can_go_on_a_failing_check_is_no_reason_to_go_on(
    spent: int, settings: Settings
) -> None:
    stop = turn(edited(), REFUSED, message=LACKS)
    before = session(goal=after(spent, condition="all tests pass"))
    played = play(before, World(turn=stop, runner=PYTEST, outcomes=RED), settings=settings)
    assert (played.rest.reason, played.goal.status) == (RestReason.WAITING, GoalStatus.ACTIVE)
    assert played.session.pending is None


def test_where_only_the_user_can_go_on_a_goal_that_holds_is_achieved_all_the_same() -> None:
    stop = turn(edited(), REFUSED, message=LACKS)
    played = play(with_goal("all tests pass"), World(turn=stop, runner=PYTEST))
    assert played.goal.status is GoalStatus.ACHIEVED


@pytest.mark.parametrize("aims", [True, False])
@pytest.mark.parametrize(
    ("message", "asked"), [("Soll ich weitermachen?", True), ("Der Lexer ist jetzt angepasst.", False)]
)
def test_a_question_in_a_language_not_read_goes_to_the_judge_before_a_failing_check_sends_back(
    message: str, *, asked: bool, aims: bool
) -> None:
    must = replace(PYTEST, required=True, approved=True)
    settings = Settings(gates=GateSettings(without_goal=True), judge=JudgeSettings(without_goal=True))
    stop = turn(edited(), message=message, prompts=("Passe den Lexer an.",))
    before = with_goal("all tests pass") if aims else session()
    world = World(turn=stop, runner=PYTEST, gates=(must,), outcomes=RED, judge=judged(waiting()))
    played = play(before, world, settings=settings)
    assert (played.case is not None) is asked


@pytest.mark.parametrize("said", ["Done.", "Fertig.", "完成。", "Soll ich weitermachen?"])
@pytest.mark.parametrize("prompt", ["go on", "mach weiter"])
def test_a_red_check_sends_back_whatever_the_language_and_where_nothing_was_done(
    prompt: str, said: str
) -> None:
    stop = turn(message=said, prompts=(prompt,), calls=())
    asks = UNREACHABLE if said.endswith("?") else None
    played = play(with_goal("all tests pass"), World(turn=stop, runner=PYTEST, outcomes=RED, judge=asks))
    assert (played.kind, played.case is not None) == ("gates-failed", bool(asks))
    assert (played.session.serial, played.session.stalls) == (1, 0)


@pytest.mark.parametrize("judge", [judged(waiting()), UNREACHABLE])
def test_a_spent_budget_is_told_where_the_closing_words_may_say_that_the_agent_waits(judge: Any) -> None:
    before = session(goal=after(16, condition="all tests pass"))
    stop = turn(edited(), message="Soll ich weitermachen?", prompts=("Passe den Lexer an.",))
    played = play(before, World(turn=stop, runner=PYTEST, outcomes=RED, judge=judge))
    assert (played.rest.reason, played.goal.status) in (
        (RestReason.WAITING, GoalStatus.ACTIVE),
        (RestReason.EXHAUSTED, GoalStatus.EXHAUSTED),
    )
    assert played.rest.note


def test_without_a_goal_no_model_is_asked_of_a_failing_check_unless_the_user_wants_it() -> None:
    must = replace(PYTEST, required=True, approved=True)
    stop = turn(edited(), message="Soll ich weitermachen?", prompts=("Passe den Lexer an.",))
    world = World(turn=stop, runner=PYTEST, gates=(must,), outcomes=RED, judge=judged(waiting()))
    played = play(session(), world, settings=Settings(gates=GateSettings(without_goal=True)))
    assert played.case is None
    assert played.rest.reason is RestReason.CLEAN
