"""Plays stops of which the truth is known through the real policy, to measure a judge.

What the world would say is in the label: the turn, what a survey finds, how gates end. Only the judge is
asked. Nothing is saved, no project is touched, and no stop knows of another: each is the first of a session.
The real policy decides with the user's settings, but for shadow mode, in which nobody would be sent back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from sidecar.app.asking import AT_ONCE, Asked, Asking, side_by_side
from sidecar.model.effects import AskJudge, Case, Continue, Effect, ReadTurn, Rest, Ruling, RunGates, Survey
from sidecar.model.evaluation import Outcome
from sidecar.model.events import Fact, GatesRan, JudgeFailed, Stopped, TurnRead
from sidecar.model.gate import GateRun
from sidecar.model.gate import Outcome as GateOutcome
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.inspection import Base
from sidecar.model.labelled import Labelled
from sidecar.model.rubric import Rubric
from sidecar.model.session import Session, SessionKey
from sidecar.model.settings import Settings
from sidecar.policy.endings import unjudged
from sidecar.policy.replays import ended
from sidecar.policy.stop import begin, step
from sidecar.ports import Chosen, Environment, Judge, Mask, Purse

NOON = 43_200.0
"""When every stop is judged, in seconds since the epoch."""
PROJECT = "/project"


class Options(Struct, frozen=True, kw_only=True):
    """How stops are played.

    `environment` is what the judge is asked with. `told` hears of each stop that is over. A `purse` keeps
    what judging cost, and its daily limit holds. `mask` takes secrets out of what the judge is shown.
    """

    environment: Environment = field(default_factory=dict)
    at_once: int = AT_ONCE
    told: Callable[[Outcome], None] | None = None
    purse: Purse | None = None
    mask: Mask | None = None


USUAL = Options()


async def evaluate(
    items: Iterable[Labelled], judge: Judge, rubric: Rubric, settings: Settings, options: Options = USUAL
) -> tuple[Outcome, ...]:
    """Play every item; what became of each, in their order.

    A fault of the judge is an outcome. Any other exception is a bug: it ends all, with a note that names the
    item. Cancelling ends the requests that run.
    """
    stage = _Stage(judge, rubric, replace(settings, mode="on"), options)
    return await side_by_side(items, stage.play, options.at_once)


async def likely_calls(items: Iterable[Labelled], rubric: Rubric, settings: Settings) -> int:
    """How many of these stops would go to the judge, found out without one. Some may be asked about twice."""
    return sum(one.asked for one in await evaluate(items, Nobody(), rubric, settings))


class Nobody:
    """A `Judge` that has no answer: with it, rules and gates judge alone."""

    WHY: ClassVar[str] = "rules alone: nobody is asked"

    def chosen(self, environment: Environment, settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        return Chosen("", self.WHY)

    async def ask(self, case: Case, environment: Environment, settings: Settings) -> JudgeFailed:  # noqa: ARG002 - the port's
        return JudgeFailed(self.WHY)


class _Stage:
    """Where items are played."""

    def __init__(self, judge: Judge, rubric: Rubric, settings: Settings, options: Options) -> None:
        self._rubric = rubric
        self._settings = settings
        self._options = options
        self._asking = Asking(
            judge=judge,
            settings=settings,
            environment=options.environment,
            purse=options.purse,
            mask=options.mask,
        )

    async def play(self, item: Labelled) -> Outcome:
        """Judge one stop as the sidecar would."""
        seen, asked = [self._inquiry(item)], Asked()
        try:
            async with asyncio.timeout(self._settings.stop_seconds):
                inquiry, ruling = await self._loop(item, seen, asked)
        except TimeoutError:
            asked.failed = f"judging took longer than {self._settings.stop_seconds} seconds"
            inquiry, ruling = unjudged(seen[-1], asked.failed)
        except Exception as error:
            error.add_note(f"while the stop {item.id!r} was judged")
            raise
        outcome = _outcome(item, inquiry, ruling, asked)
        if self._options.told is not None:
            self._options.told(outcome)
        return outcome

    def _inquiry(self, item: Labelled) -> Inquiry:
        inquiry = Inquiry(session=_session(item), stop=_stopped(item), settings=self._settings)
        purse = self._options.purse
        return inquiry if purse is None else replace(inquiry, today=purse.today())

    async def _loop(self, item: Labelled, seen: list[Inquiry], asked: Asked) -> tuple[Inquiry, Ruling]:
        inquiry, order = begin(seen[-1])
        while not isinstance(order, Continue | Rest):
            fact = await self._carry_out(order, item, asked)
            inquiry, order = step(inquiry, fact, NOON)
            seen.append(inquiry)
        return inquiry, order

    async def _carry_out(self, order: Effect, item: Labelled, asked: Asked) -> Fact:
        match order:
            case ReadTurn():
                return TurnRead(item.turn)
            case Survey():
                return replace(item.seen, rubric=self._rubric)
            case RunGates():
                return GatesRan(_runs(order, item))
            case AskJudge():
                return await self._asking.ask(order.case, asked)


def _stopped(item: Labelled) -> Stopped:
    return Stopped(
        key=SessionKey(host=item.host, id=item.id),
        project=PROJECT,
        transcript="",
        prompt_id=item.turn.prompt_id,
        last_message=item.turn.last_message,
        background=item.background,
        headless=item.headless,
    )


def _session(item: Labelled) -> Session:
    base = Base(tree="before", snapshot=item.id)
    goal = Goal(id="goal", condition=item.goal, base=base) if item.goal else None
    return Session(key=SessionKey(host=item.host, id=item.id), project=PROJECT, goal=goal)


def _runs(order: RunGates, item: Labelled) -> tuple[GateRun, ...]:
    """How these gates ended. They count as run on the tree that was seen, unless the label names another."""
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


def _outcome(item: Labelled, inquiry: Inquiry, ruling: Ruling, asked: Asked) -> Outcome:
    goal = inquiry.session.goal
    how, why = ended(ruling)
    return Outcome(
        id=item.id,
        family=item.family,
        truth=item.truth,
        origin=item.origin,
        language=item.language,
        host=item.host,
        blind=item.blind,
        fabricated=item.fabricated,
        complete=item.complete,
        ended=how,
        kind=ruling.feedback.kind if isinstance(ruling, Continue) else "",
        detail=why,
        stage=inquiry.stage,
        rule=inquiry.rule,
        criteria=tuple(sorted(asked.criteria)),
        confidence=inquiry.confidence,
        asked=asked.asked,
        failed=asked.failed,
        calls=asked.calls,
        tokens=asked.tokens,
        cents=asked.cents,
        completed=goal is not None and goal.status is Status.ACHIEVED,
    )
