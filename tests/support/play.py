"""Plays one stop through the pure core: policy orders, literals answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from sidecar.kernel.effects import (
    AskJudge,
    Continue,
    Effect,
    Inquiry,
    JudgeCase,
    ReadProjectState,
    ReadTurn,
    Rest,
    RestReason,
    Ruling,
    RunGates,
    RunOldChecks,
    TryChecks,
)
from sidecar.kernel.events import (
    AgentStopped,
    ChecksTried,
    Fact,
    GatesRan,
    JudgeAnswered,
    JudgeFailed,
    OldChecksRan,
    ProjectState,
    TurnRead,
)
from sidecar.kernel.evidence import FileDiff, IntegrityFinding, RepositoryState
from sidecar.kernel.gate import AvailableGates, CheckComparison, CheckTrial, Gate, Outcome
from sidecar.kernel.goal import Goal
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.kernel.turn import Turn
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry
from support.cases import RUBRIC, TREE, gate_run, stopped, turn

NOON = 1000.0
"""When stops are judged here, in seconds since the epoch."""


class World(Struct, frozen=True, kw_only=True):
    """How the world answers what policy orders at one stop.

    `gates` are offered besides the `runner`; `runs` are fields of the GateRun per gate id. `outcomes` is the
    outcome per gate id, passed where none is named; `moved` is the tree that gates really ran on. With no
    `judge`, asking one is a fault of the test.
    """

    turn: Turn = field(default_factory=turn)
    tree: str = TREE
    moved: str = ""
    runner: Gate | None = None
    gates: tuple[Gate, ...] = ()
    findings: tuple[IntegrityFinding, ...] = ()
    comparisons: tuple[CheckComparison, ...] = ()
    trials: tuple[CheckTrial, ...] = ()
    unseen: str = ""
    untouched: tuple[str, ...] = ()
    changed: tuple[str, ...] | None = ("a.py",)
    edits: tuple[FileDiff, ...] = (FileDiff(path="a.py", added=1),)
    repository: RepositoryState | None = None
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    judge: JudgeAnswered | JudgeFailed | None = None


class Played(Struct, frozen=True):
    """How a stop came out, and all that was ordered on the way."""

    inquiry: Inquiry
    ruling: Ruling
    orders: tuple[Effect, ...]

    @property
    def session(self) -> Session:
        return self.inquiry.session

    @property
    def goal(self) -> Goal:
        assert self.session.goal is not None
        return self.session.goal

    @property
    def rest(self) -> Rest:
        assert isinstance(self.ruling, Rest), self.ruling
        return self.ruling

    @property
    def sent_back(self) -> Continue:
        assert isinstance(self.ruling, Continue), self.ruling
        return self.ruling

    @property
    def kind(self) -> str | RestReason:
        """What the agent is told, or why it rests."""
        return self.ruling.feedback.kind if isinstance(self.ruling, Continue) else self.ruling.reason

    @property
    def gates(self) -> tuple[str, ...]:
        """The ids of the gates that were ordered."""
        return tuple(gate.id for order in self.orders if isinstance(order, RunGates) for gate in order.gates)

    @property
    def case(self) -> JudgeCase | None:
        """What the judge was shown, None where none was asked."""
        return next((order.case for order in self.orders if isinstance(order, AskJudge)), None)


def play(  # noqa: PLR0913 - all that may differ between two stops
    session: Session,
    world: World | None = None,
    *,
    stop: AgentStopped | None = None,
    settings: Settings | None = None,
    off: str = "",
    waits: str = "",
    at: float = NOON,
) -> Played:
    """Judge one stop of this session in this world."""
    world = world or World()
    inquiry = Inquiry(
        session=session, stop=stop or stopped(), settings=settings or Settings(), off=off, waits=waits
    )
    inquiry, order = begin_inquiry(inquiry)
    orders: list[Effect] = []
    while not isinstance(order, Continue | Rest):
        orders.append(order)
        inquiry, order = advance_inquiry(inquiry, answer(order, world), at)
    return Played(inquiry, order, tuple(orders))


def answer(order: Effect, world: World) -> Fact:
    """What the world says to an order."""
    match order:
        case ReadTurn():
            return TurnRead(world.turn)
        case ReadProjectState():
            return ProjectState(
                tree=world.tree,
                rubric=RUBRIC,
                catalog=AvailableGates((*((world.runner,) if world.runner else ()), *world.gates)),
                changed=world.changed,
                checks_changed=bool(world.comparisons),
                unseen=world.unseen,
                untouched=world.untouched,
                findings=world.findings,
                repository=world.repository,
                edits=world.edits,
            )
        case RunGates():
            tree = world.moved or world.tree
            outcomes = [world.outcomes.get(gate.id, Outcome.PASSED) for gate in order.gates]
            pairs = zip(order.gates, outcomes, strict=True)
            return GatesRan(
                tuple(
                    gate_run(gate, outcome, **{"tree": tree, **world.runs.get(gate.id, {})})
                    for gate, outcome in pairs
                )
            )
        case RunOldChecks():
            return OldChecksRan(world.comparisons)
        case TryChecks():
            return ChecksTried(world.trials)
        case AskJudge():
            assert world.judge is not None, "the judge was asked, and the test expected none to be"
            return world.judge
