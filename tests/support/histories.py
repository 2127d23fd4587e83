"""What histories of a session are made of: the session as its host sees it, worlds, and what these prove.

The oracle here shares no code with the policy: it reads the drawn world, never what policy made of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from msgspec import Struct

from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import CheckChange, Complete, FindingSeverity, IntegrityFinding, Met
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.session import Session
from sidecar.kernel.turn import CallOutcome, OpenTask, ToolAction, ToolCall, Turn
from support.cases import (
    PYTEST,
    UNREACHABLE,
    abstain,
    edited,
    impossible,
    incomplete,
    judged,
    ran,
    todos,
    waiting,
)
from support.play import Played, World

DECIDED_BY_GATES = ("all tests pass", "all checks pass")
CONDITIONS = (*DECIDED_BY_GATES, "the parser accepts comments", "the parser has docs and tests")
GOALS = [*CONDITIONS, *(f'{condition} --check "make"' for condition in CONDITIONS)]
SURE = 0.5

Moves = set[tuple[GoalStatus, GoalStatus]]

BY_STOP = {
    (GoalStatus.ACTIVE, ended)
    for ended in (
        GoalStatus.ACHIEVED,
        GoalStatus.JUDGED,
        GoalStatus.UNVERIFIED,
        GoalStatus.EXHAUSTED,
        GoalStatus.STALLED,
        GoalStatus.IMPOSSIBLE,
    )
}
BY_WORD = {
    "clear": {(status, GoalStatus.CLEARED) for status in set(GoalStatus) - {GoalStatus.CLEARED}},
    "pause": {(GoalStatus.ACTIVE, GoalStatus.PAUSED)},
    "resume": {
        (status, GoalStatus.ACTIVE)
        for status in (GoalStatus.PAUSED, GoalStatus.STALLED, GoalStatus.UNVERIFIED, GoalStatus.EXHAUSTED)
    },
    "status": Moves(),
}
BY_PROMPT = {(status, GoalStatus.ACTIVE) for status in (GoalStatus.STALLED, GoalStatus.EXHAUSTED)}
BY_RETRY = {(GoalStatus.EXHAUSTED, GoalStatus.ACTIVE)}
BY_HOST_RESUME_PAUSED = {(GoalStatus.ACTIVE, GoalStatus.PAUSED)}


@dataclass
class Line:
    """One session, and what its host and its user know of it.

    `said` is on its way to the host; `shown` are the ids that the host shows as delivered; `unsettled` those
    that were said and neither charged nor given back. `arrived` and `lifetime` count the continuations for
    the goal that were delivered since it was set or resumed, and since it was set. `allowed` was the budget
    when the last of these was said. `blocks` counts as the host does.
    """

    session: Session
    at_work: bool = False
    said: str = ""
    shown: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)
    arrived: int = 0
    lifetime: int = 0
    allowed: int = 0
    unasked: int = 0
    blocks: int = 0
    stops: int = 0

    @property
    def status(self) -> GoalStatus | None:
        return self.session.goal.status if self.session.goal else None

    @property
    def outstanding(self) -> int:
        """Continuations for the goal that were delivered, and that no stop was there to charge."""
        pending = self.session.pending
        return int(pending is not None and pending.for_goal and pending.id in self.shown)


CALLS = [
    (edited(),),
    (edited(), ran("make")),
    (ran("make"), edited()),
    (ran("make", 2),),
    (edited(), ran("pytest", 1)),
    (edited(), ran("pytest")),
]
MESSAGES = [*["I did it."] * 4, "All tests pass.", "Shall I continue?"]

citations = st.sampled_from(
    [("E1",), ("E2",), ("E2",), ("E3",), ("E99",), ("E1", "E2"), ("E1", "E99"), ("E1", "E2", "E3")]
)
completes: st.SearchStrategy[JudgeAnswered] = st.builds(
    lambda cited, sure: judged(
        Complete(
            criteria=tuple(Met(f"point {number}", ids) for number, ids in enumerate(cited)),
            confidence=sure,
        )
    ),
    st.lists(citations, min_size=1, max_size=2),
    st.sampled_from([0.9, 0.9, 0.5, 0.3]),
)
judges: st.SearchStrategy[JudgeAnswered | JudgeFailed] = st.one_of(
    st.sampled_from([judged(incomplete("a")), judged(incomplete("b")), judged(incomplete("a", "b"))]),
    st.sampled_from([judged(waiting()), judged(abstain()), judged(impossible())]),
    st.just(UNREACHABLE),
    completes,
    completes,
)
SKIPPED = IntegrityFinding(
    change=CheckChange.OLD_FAILURE_REMAINS,
    weight=FindingSeverity.GRAVE,
    file="test_a.py",
    line=1,
    after="@skip",
)
CORRECTED = IntegrityFinding(
    change=CheckChange.EXPECTATION_CHANGED, weight=FindingSeverity.SHOWN, file="test_a.py", line=2
)
PLANNED = (
    OpenTask(id="T2", status="in progress", text="x", now=True),
    OpenTask(id="T1", status="blocked"),
)
changes = st.sampled_from([*[()] * 4, (SKIPPED,), (CORRECTED,), (SKIPPED, CORRECTED)])
marks = st.sampled_from([*[{}] * 4, {"flaky": True}, {"moved": True}])
outcomes = st.sampled_from([*[Outcome.PASSED] * 4, *[Outcome.FAILED] * 2, Outcome.COULD_NOT_RUN])
calls_made = st.sampled_from(CALLS)


def rarely() -> st.SearchStrategy[bool]:
    return st.integers(0, 9).map(lambda drawn: drawn == 9)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a world without the arrivals and the message's id, which the history knows."""
    seen = Turn(
        prompts=("Do it.",),
        calls=draw(calls_made),
        last_message=draw(st.sampled_from(MESSAGES)),
        calls_since_arrival=draw(st.integers(0, 1)),
        todos=todos(*draw(st.sampled_from([(), (), (), (), (), ("x",), ("x", "y")]))),
        planned=draw(st.sampled_from([(), (), (), (), PLANNED])),
        queued=draw(rarely()),
        interrupted=draw(rarely()),
        tokens=draw(st.integers(0, 20_000)),
    )
    return World(
        turn=seen,
        tree=draw(st.sampled_from(["tree-a", "tree-b"])),
        moved=draw(st.sampled_from(["", "", "", "tree-moved"])),
        runner=draw(st.sampled_from([PYTEST, PYTEST, None])),
        outcomes={"check:1": draw(outcomes), "tests": draw(outcomes)},
        findings=draw(changes),
        unseen=draw(st.sampled_from(["", "", "", "", "no git"])),
        runs={"check:1": draw(marks), "tests": draw(marks)},
        judge=draw(judges),
    )


class Rounds(Struct, frozen=True, kw_only=True):
    """An agent that is sent back again and again: does anything move, and does it call a tool?"""

    number: int
    moving: bool
    calling: bool

    def world(self, at: int) -> World:
        """Build the world of the stop number `at` of the session."""
        step = at if self.moving else 0
        seen = Turn(calls=(edited(),), calls_since_arrival=int(self.calling), last_message="I did some.")
        failing = {"check:1": Outcome.FAILED, "tests": Outcome.FAILED}
        judge: JudgeAnswered = judged(incomplete(f"point {step}"))
        return World(turn=seen, tree=f"tree-{step}", runner=PYTEST, outcomes=failing, judge=judge)


rounds = st.builds(
    Rounds,
    number=st.sampled_from([1, 2, 3, 5, 8, 20, 110]),
    moving=st.sampled_from([True, True, False]),
    calling=st.sampled_from([True, True, False]),
)


class Work(Struct, frozen=True, kw_only=True):
    """What an agent does until it stops. `lost`: the continuation before it never arrived."""

    world: World
    seconds: int
    lost: bool
    plan: bool
    headless: bool
    busy: bool


stretches = st.lists(
    st.builds(
        Work,
        world=worlds(),
        seconds=st.integers(0, 60),
        lost=rarely(),
        plan=rarely(),
        headless=st.booleans(),
        busy=rarely(),
    ),
    min_size=1,
    max_size=4,
)


def bears(played: Played, before: Goal) -> bool:
    """Whether something was executed that would have noticed, or that the user named."""
    typed = any(name.startswith("check:") for name in played.gates)
    return played.case is None or typed or bool(before.seen_red) or before.condition in DECIDED_BY_GATES


def proved(world: World, played: Played, condition: str) -> bool:
    """Whether what really happened at this stop shows that the goal holds."""
    tree = world.moved or world.tree
    ran_all = [world.outcomes.get(name, Outcome.PASSED) for name in played.gates]
    typed = [
        outcome for name, outcome in zip(played.gates, ran_all, strict=True) if name.startswith("check:")
    ]
    other = {Outcome.PASSED, Outcome.COULD_NOT_RUN} if typed and played.case else {Outcome.PASSED}
    if {*typed} - {Outcome.PASSED} or {*ran_all} - other:  # what was typed and passes is not outvoted
        return False
    if played.case is None:
        doubtful = world.findings or world.unseen or any(world.runs.get(name) for name in played.gates)
        return bool(ran_all) and tree == world.tree and condition in DECIDED_BY_GATES and not doubtful
    if not isinstance(world.judge, JudgeAnswered) or not isinstance(world.judge.judgement.verdict, Complete):
        return False
    changed = [True] * bool(world.unseen) + [one is not SKIPPED for one in world.findings]
    good = (
        [tree == world.tree and one is Outcome.PASSED for one in ran_all] + changed + _good(world.turn.calls)
    )
    grave = {f"E{number}" for number, one in enumerate(good, start=1) if not one}
    grave &= {f"E{len(ran_all) + number}" for number in range(1, len(changed) + 1)}
    facts = {f"E{number}": value for number, value in enumerate(good, start=1)}
    listed = (*world.turn.open_todos, *world.turn.planned)
    facts |= {f"E{len(facts) + number}": False for number, _ in enumerate(listed, start=1)}
    facts |= {f"E{len(facts) + 1}": False} if world.turn.last_message == "All tests pass." else {}
    verdict = world.judge.judgement.verdict
    weighed = grave <= {name for met in verdict.criteria for name in met.evidence}
    return (
        weighed
        and verdict.confidence >= SURE
        and all(
            set(met.evidence) <= set(facts) and any(facts[name] for name in met.evidence)
            for met in verdict.criteria
        )
    )


def _good(calls: tuple[ToolCall, ...]) -> list[bool]:
    edits = [at for at, call in enumerate(calls) if call.doing is ToolAction.EDIT]
    return [
        call.outcome is CallOutcome.OK
        and not (call.doing is ToolAction.RUN and any(edit > at for edit in edits))
        for at, call in enumerate(calls)
    ]
