"""Evaluation: plays stops again through the real policy, by the rubric that is to be tried.

What the world answered then is known: by the label of a labelled stop, by the facts of a recorded one. Only
the judge is asked, about a recorded stop only where the rubric shows it another case; else its old answer is
checked against the rubric. Nothing is saved, no project is touched, and stops are independent. Labelled stops
are judged by the user's settings, except for shadow mode, in which nobody would be sent back; recorded ones
by the settings of then, so that a different ending is due to the rubric.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from msgspec.structs import replace

from sidecar.judging.asking import DEFAULT_CONCURRENCY, JudgeAccess, JudgeUsage
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.effects import (
    AskJudge,
    Continue,
    Effect,
    Inquiry,
    JudgeCase,
    ReadProjectState,
    ReadTurn,
    Rest,
    Ruling,
    RunGates,
    RunOldChecks,
    TryChecks,
)
from sidecar.kernel.events import (
    NO_RUBRIC,
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
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import GateRun
from sidecar.kernel.gate import Outcome as GateOutcome
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import EvaluatedStop, LabelledStop, RecordedStop, TimedFact, ruling_outcome
from sidecar.platform.concurrency import run_with_limit
from sidecar.rubric.conventions import applicable_rubric
from sidecar.systems.supervision.policy.continuations import rest_unjudged
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry

JUDGED_AT: Final = 43_200.0
"""The time at which every labelled stop is judged, in seconds since the epoch."""
PROJECT_PATH: Final = "/project"
FACTS_MISSING: Final = "today's rules ask for facts that were not kept"
NEEDS_MODEL: Final = "the judge would see other criteria"


async def evaluate_stops(
    stops: Iterable[LabelledStop | RecordedStop],
    rubric: Rubric,
    asking: JudgeAccess,
    told: Callable[[EvaluatedStop], None] | None = None,
    at_once: int = DEFAULT_CONCURRENCY,
) -> tuple[EvaluatedStop, ...]:
    """Play every stop; return the results in the same order. With the backend "rules" no model is asked.

    `told` is called with each finished stop.

    A failure of the judge is a result. Any other exception is a bug: it ends everything, with a note that
    names the stop. Cancelling ends running requests.
    """
    asking = replace(asking, settings=replace(asking.settings, mode="on"))

    async def one(stop: LabelledStop | RecordedStop) -> EvaluatedStop:
        outcome = await _evaluate_stop(stop, rubric, asking)
        if told is not None:
            told(outcome)
        return outcome

    return await run_with_limit(stops, one, at_once)


async def estimate_judge_calls(
    stops: Iterable[LabelledStop | RecordedStop], rubric: Rubric, settings: Settings
) -> int:
    """Count the stops that would go to the judge, without asking it. Some may be asked about twice."""
    asking = JudgeAccess(judge=AbsentJudge(), settings=settings)
    return sum(one.asked for one in await evaluate_stops(stops, rubric, asking))


def recorded_outcome(stop: RecordedStop) -> EvaluatedStop:
    """Return how a recorded stop ended then."""
    return EvaluatedStop(
        id=stop.inquiry.stop.key.id,
        at=stop.at,
        family="",
        truth=None,
        origin="recorded",
        language="",
        host=stop.inquiry.stop.key.host,
        ended=stop.ended,
        stage=stop.stage,
        detail=stop.detail,
        rule=stop.rule,
    )


class AbsentJudge:
    """A `Judge` without answers, so that rules and checks decide alone. `why` says so to a person."""

    WHY: ClassVar[str] = "rules alone: nobody is asked"

    def __init__(self, why: str = WHY) -> None:
        self._why = why

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        return ChosenBackend("", self._why)

    async def ask(self, case: JudgeCase, environment: Environment, settings: Settings) -> JudgeFailed:  # noqa: ARG002 - the port's
        return JudgeFailed(self._why)


async def _evaluate_stop(
    stop: LabelledStop | RecordedStop, rubric: Rubric, asking: JudgeAccess
) -> EvaluatedStop:
    play: StopPlay
    if isinstance(stop, LabelledStop):
        play = LabelledPlay(stop, rubric, asking)
    else:
        play = RecordedPlay(stop, rubric, None if asking.settings.judge.backend == "rules" else asking)
    try:
        async with asyncio.timeout(asking.settings.stop_seconds):
            ruled = await play.rule()
    except TimeoutError:
        play.asked.failed = f"judging took longer than {asking.settings.stop_seconds} seconds"
        ruled = rest_unjudged(play.inquiry, play.asked.failed)
    except Exception as error:
        error.add_note(f"while the stop {play.known.id!r} was judged")
        raise
    return play.outcome(ruled)


# --- playing one stop ---------------------------------------------------------------------------------------


class StopPlay:
    """Plays one stop. A subclass answers the orders of policy, by what is known of the stop.

    `known` holds what is known before; `inquiry` is the newest one, `asked` what the judge was asked.
    """

    def __init__(self, known: EvaluatedStop, inquiry: Inquiry, rubric: Rubric) -> None:
        self.known = known
        self.inquiry = inquiry
        self.asked = JudgeUsage()
        self._rubric = rubric

    async def rule(self) -> tuple[Inquiry, Ruling] | None:
        """Return the ruling, None where the known facts do not lead to one."""
        self.inquiry, order = begin_inquiry(self.inquiry)
        while not isinstance(order, Continue | Rest):
            heard = await self._answer(order)
            if heard is None:
                return None
            self.inquiry, order = await asyncio.to_thread(advance_inquiry, self.inquiry, heard.fact, heard.at)
        return self.inquiry, order

    def outcome(self, ruled: tuple[Inquiry, Ruling] | None) -> EvaluatedStop:
        """Return what came out. `failed` says why the ending is not known; then it stays as it was."""
        if ruled is None:
            return replace(self.known, failed=FACTS_MISSING)
        inquiry, ruling = ruled
        asked, goal, (how, why) = self.asked, inquiry.session.goal, ruling_outcome(ruling)
        return replace(
            self.known,
            ended=how,
            kind=ruling.feedback.kind if isinstance(ruling, Continue) else "",
            detail=why,
            stage=inquiry.stage,
            rule=inquiry.rule,
            confidence=inquiry.confidence,
            asked=asked.asked,
            failed=asked.failed,
            calls=asked.calls,
            tokens=asked.tokens,
            cents=asked.cents,
            criteria=tuple(sorted(asked.criteria)),
            completed=goal is not None and goal.status in (GoalStatus.ACHIEVED, GoalStatus.JUDGED),
        )

    async def _answer(self, order: Effect) -> TimedFact | None:
        raise NotImplementedError


class LabelledPlay(StopPlay):
    """Plays a labelled stop, the first of its session."""

    def __init__(self, item: LabelledStop, rubric: Rubric, asking: JudgeAccess) -> None:
        known = EvaluatedStop(
            id=item.id,
            family=item.family,
            truth=item.truth,
            origin=item.origin,
            language=item.language,
            host=item.host,
            blind=item.blind,
            fabricated=item.fabricated,
            complete=item.complete,
            ended="",
            stage="",
        )
        inquiry = Inquiry(session=_fresh_session(item), stop=_stopped_event(item), settings=asking.settings)
        super().__init__(known, inquiry, rubric)
        self._item = item
        self._asking = asking

    async def _answer(self, order: Effect) -> TimedFact:
        return TimedFact(JUDGED_AT, await self._fact(order))

    async def _fact(self, order: Effect) -> Fact:
        match order:
            case ReadTurn():
                return TurnRead(self._item.turn)
            case ReadProjectState():
                return replace(self._item.seen, rubric=self._rubric)
            case RunGates():
                return GatesRan(_labelled_runs(order, self._item))
            case RunOldChecks():
                return OldChecksRan(())  # what they showed is among the labelled findings
            case TryChecks():
                return ChecksTried(())
            case AskJudge():
                return await self._asking.ask(order.case, self.asked)


class RecordedPlay(StopPlay):
    """Plays a recorded stop. Without `asking`, its old answers count, whatever the judge would see now."""

    def __init__(self, stop: RecordedStop, rubric: Rubric, asking: JudgeAccess | None = None) -> None:
        super().__init__(recorded_outcome(stop), stop.inquiry, rubric)
        self._asking = asking
        self._left = iter(stop.facts)
        self._was = recorded_rubric(stop)
        self._other_case = False
        self._at = stop.at

    def outcome(self, ruled: tuple[Inquiry, Ruling] | None) -> EvaluatedStop:
        """Without a model, an ending that stays the same in another case is not known."""
        found = super().outcome(ruled)
        if self._other_case and not found.asked and not found.failed and found.ended == self.known.ended:
            return replace(found, failed=NEEDS_MODEL)
        return found

    async def _answer(self, order: Effect) -> TimedFact | None:
        if isinstance(order, AskJudge) and self._shows_other_criteria(order.case):
            self._other_case = True
            if self._asking is not None:
                return TimedFact(self._at, await self._asking.ask(order.case, self.asked))
        heard = next(self._left, None)
        if heard is None or not isinstance(heard.fact, EFFECT_ANSWERS[type(order)]):
            return None
        self._at = heard.at
        if isinstance(heard.fact, ProjectState):
            return replace(heard, fact=replace(heard.fact, rubric=self._rubric))
        return heard

    def _shows_other_criteria(self, case: JudgeCase) -> bool:
        """Whether a case shows other criteria than the rubric of then had for these changed files."""
        was = applicable_rubric(self._was, self.inquiry.project_state.changed)
        return _visible_criteria(case.rubric) != _visible_criteria(was)


def recorded_rubric(stop: RecordedStop) -> Rubric:
    """Return the rubric by which a stop was judged."""
    return next((one.fact.rubric for one in stop.facts if isinstance(one.fact, ProjectState)), NO_RUBRIC)


EFFECT_ANSWERS: Final[dict[type[Effect], tuple[type[Fact], ...]]] = {
    ReadTurn: (TurnRead,),
    ReadProjectState: (ProjectState,),
    RunGates: (GatesRan,),
    RunOldChecks: (OldChecksRan,),
    TryChecks: (ChecksTried,),
    AskJudge: (JudgeAnswered, JudgeFailed),
}
"""The facts that can answer each effect."""


def _visible_criteria(rubric: Rubric) -> tuple[tuple[Criterion, ...], ...]:
    """Return the criteria as a judge sees them: whether one is limited to some files, but not to which."""
    return tuple(
        tuple(replace(one, applies_to=("",) if one.applies_to else ()) for one in group)
        for group in (rubric.patterns, rubric.antipatterns, rubric.legitimate)
    )


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
