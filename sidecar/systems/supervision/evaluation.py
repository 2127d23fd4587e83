"""Evaluation of a judge: plays labelled stops through the real policy.

The label supplies what the world would answer: the turn, the project state, the gate results. Only the judge
is asked. Nothing is saved, no project is touched, and stops are independent: each is the first of a session.
The real policy decides with the user's settings, except for shadow mode, in which nobody would be sent back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from sidecar.judging.asking import DEFAULT_CONCURRENCY, JudgeAccess, JudgeUsage, run_with_limit
from sidecar.judging.ports import ChosenBackend, Judge
from sidecar.judging.replays import ruling_outcome
from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.effects import (
    AskJudge,
    Continue,
    Effect,
    JudgeCase,
    ReadProjectState,
    ReadTurn,
    Rest,
    Ruling,
    RunGates,
    RunOldChecks,
)
from sidecar.kernel.events import AgentStopped, Fact, GatesRan, JudgeFailed, OldChecksRan, TurnRead
from sidecar.kernel.gate import GateRun
from sidecar.kernel.gate import Outcome as GateOutcome
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import EvaluatedStop, LabelledStop
from sidecar.platform.log_readings import DailySpending
from sidecar.systems.supervision.policy.goal_endings import rest_unjudged
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry

JUDGED_AT = 43_200.0
"""The time at which every stop is judged, in seconds since the epoch."""
PROJECT_PATH = "/project"


class EvaluationOptions(Struct, frozen=True, kw_only=True):
    """Options of an evaluation.

    `environment` is used to ask the judge. `told` is called with each finished stop. `spending` stores the
    cost of judging and makes its daily limit apply. `mask` takes secrets out of what the judge is shown.
    """

    environment: Environment = field(default_factory=dict)
    at_once: int = DEFAULT_CONCURRENCY
    told: Callable[[EvaluatedStop], None] | None = None
    spending: DailySpending | None = None
    mask: SecretMask | None = None


DEFAULT_OPTIONS = EvaluationOptions()


async def evaluate_stops(
    items: Iterable[LabelledStop],
    judge: Judge,
    rubric: Rubric,
    settings: Settings,
    options: EvaluationOptions = DEFAULT_OPTIONS,
) -> tuple[EvaluatedStop, ...]:
    """Play every item; return the results in the same order.

    A failure of the judge is a result. Any other exception is a bug: it ends everything, with a note that
    names the item. Cancelling ends running requests.
    """
    stage = _StopEvaluator(judge, rubric, replace(settings, mode="on"), options)
    return await run_with_limit(items, stage.play, options.at_once)


async def estimate_judge_calls(items: Iterable[LabelledStop], rubric: Rubric, settings: Settings) -> int:
    """Count the stops that would go to the judge, without asking it. Some may be asked about twice."""
    return sum(one.asked for one in await evaluate_stops(items, AbsentJudge(), rubric, settings))


class AbsentJudge:
    """A `Judge` without answers, so that rules and gates decide alone."""

    WHY: ClassVar[str] = "rules alone: nobody is asked"

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        return ChosenBackend("", self.WHY)

    async def ask(self, case: JudgeCase, environment: Environment, settings: Settings) -> JudgeFailed:  # noqa: ARG002 - the port's
        return JudgeFailed(self.WHY)


class _StopEvaluator:
    """Plays items."""

    def __init__(self, judge: Judge, rubric: Rubric, settings: Settings, options: EvaluationOptions) -> None:
        self._rubric = rubric
        self._settings = settings
        self._options = options
        self._asking = JudgeAccess(
            judge=judge,
            settings=settings,
            environment=options.environment,
            spending=options.spending,
            mask=options.mask,
        )

    async def play(self, item: LabelledStop) -> EvaluatedStop:
        """Judge one stop as the sidecar would."""
        seen, asked = [self._inquiry(item)], JudgeUsage()
        try:
            async with asyncio.timeout(self._settings.stop_seconds):
                inquiry, ruling = await self._loop(item, seen, asked)
        except TimeoutError:
            asked.failed = f"judging took longer than {self._settings.stop_seconds} seconds"
            inquiry, ruling = rest_unjudged(seen[-1], asked.failed)
        except Exception as error:
            error.add_note(f"while the stop {item.id!r} was judged")
            raise
        outcome = _build_outcome(item, inquiry, ruling, asked)
        if self._options.told is not None:
            self._options.told(outcome)
        return outcome

    def _inquiry(self, item: LabelledStop) -> Inquiry:
        inquiry = Inquiry(session=_fresh_session(item), stop=_stopped_event(item), settings=self._settings)
        spending = self._options.spending
        return inquiry if spending is None else replace(inquiry, today=spending.today())

    async def _loop(
        self, item: LabelledStop, seen: list[Inquiry], asked: JudgeUsage
    ) -> tuple[Inquiry, Ruling]:
        inquiry, order = begin_inquiry(seen[-1])
        while not isinstance(order, Continue | Rest):
            fact = await self._carry_out(order, item, asked)
            inquiry, order = advance_inquiry(inquiry, fact, JUDGED_AT)
            seen.append(inquiry)
        return inquiry, order

    async def _carry_out(self, order: Effect, item: LabelledStop, asked: JudgeUsage) -> Fact:
        match order:
            case ReadTurn():
                return TurnRead(item.turn)
            case ReadProjectState():
                return replace(item.seen, rubric=self._rubric)
            case RunGates():
                return GatesRan(_labelled_runs(order, item))
            case RunOldChecks():
                return OldChecksRan(())  # what they showed is among the labelled findings
            case AskJudge():
                return await self._asking.ask(order.case, asked)


def _stopped_event(item: LabelledStop) -> AgentStopped:
    return AgentStopped(
        key=SessionKey(host=item.host, id=item.id),
        project=PROJECT_PATH,
        transcript="",
        prompt_id=item.turn.prompt_id,
        last_message=item.turn.last_message,
        background=item.background,
        headless=item.headless,
    )


def _fresh_session(item: LabelledStop) -> Session:
    base = FileBaseline(tree="before", snapshot=item.id)
    goal = Goal(id="goal", condition=item.goal, base=base) if item.goal else None
    return Session(key=SessionKey(host=item.host, id=item.id), project=PROJECT_PATH, goal=goal)


def _labelled_runs(order: RunGates, item: LabelledStop) -> tuple[GateRun, ...]:
    """Return the labelled results of these gates, on the labelled tree or else on the one that was seen."""
    known = {run.gate.id: run for run in item.runs}
    return tuple(
        replace(known[gate.id], gate=gate, tree=known[gate.id].tree or item.seen.tree)
        if gate.id in known
        else GateRun(
            gate=gate,
            outcome=GateOutcome.COULD_NOT_RUN,
            tree=item.seen.tree,
            reason="the label names no run of it",
        )
        for gate in order.gates
    )


def _build_outcome(item: LabelledStop, inquiry: Inquiry, ruling: Ruling, asked: JudgeUsage) -> EvaluatedStop:
    goal = inquiry.session.goal
    how, why = ruling_outcome(ruling)
    return EvaluatedStop(
        id=item.id,
        family=item.family,
        truth=item.truth,
        origin=item.origin,
        language=item.language,
        host=item.host,
        blind=item.blind,
        fabricated=item.fabricated,
        complete=item.complete,
        stage=inquiry.stage,
        rule=inquiry.rule,
        confidence=inquiry.confidence,
        asked=asked.asked,
        failed=asked.failed,
        calls=asked.calls,
        tokens=asked.tokens,
        cents=asked.cents,
        ended=how,
        kind=ruling.feedback.kind if isinstance(ruling, Continue) else "",
        detail=why,
        criteria=tuple(sorted(asked.criteria)),
        completed=goal is not None and goal.status is GoalStatus.ACHIEVED,
    )
