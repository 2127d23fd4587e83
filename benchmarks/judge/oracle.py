"""A judge that knows the truth of the one stop it is made for: it measures the plumbing, not a judge.

With it every stop that reaches a judge should end as its label says. Where one does not, policy overruled a
right verdict, or a rule or gate was wrong before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from sidecar.judging.asking import JudgeAccess
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import JudgeAnswered
from sidecar.kernel.evidence import (
    Abstain,
    Complete,
    Gap,
    Incomplete,
    Judgement,
    Met,
    Source,
    Verdict,
    Waiting,
)
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import EvaluatedStop, GroundTruth, LabelledStop
from sidecar.systems.supervision.evaluation import evaluate_stops

SURE: Final = 0.95


class Oracle:
    """A `Judge` that answers by the label of one stop."""

    def __init__(self, item: LabelledStop) -> None:
        self._item = item

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Itself."""
        return ChosenBackend("oracle", "it knows the truth")

    async def ask(self, case: JudgeCase, environment: Environment, settings: Settings) -> JudgeAnswered:  # noqa: ARG002 - the port's
        """The truth, as a verdict."""
        return JudgeAnswered(Judgement(verdict=self._verdict(case), backend="oracle"))

    def _verdict(self, case: JudgeCase) -> Verdict:
        if self._item.truth is GroundTruth.PREMATURE:
            return Incomplete(missing=(self._gap(case),), next_step="Do it.", confidence=SURE)
        if case.condition and not self._item.complete:
            return Waiting(question="What should be done about it?", confidence=SURE)
        shown = tuple(fact.id for fact in case.evidence if _shows(case, fact.id))
        asked_about = tuple(fact.id for fact in case.evidence if fact.source is Source.CHANGE and fact.bad)
        if shown:
            cited = tuple(dict.fromkeys((*shown, *asked_about)))[:50]
            return Complete(criteria=(Met("what was asked for", cited),), confidence=SURE)
        if case.condition:
            return Abstain(reason="nothing shows that the goal holds", confidence=SURE)
        return Waiting(question="Is there anything else?", confidence=SURE)

    def _gap(self, case: JudgeCase) -> Gap:
        """What is missing, by the criterion that the family is named for, and by all that speaks against."""
        known = {one.id for one in case.rubric.criteria}
        otherwise = "goal" if case.condition else "request"
        criterion = self._item.family if self._item.family in known else otherwise
        against = tuple(fact.id for fact in case.evidence if fact.bad)
        return Gap("what was asked for", criterion, against[:50])


async def consult(
    items: Sequence[LabelledStop],
    rubric: Rubric,
    settings: Settings,
    told: Callable[[EvaluatedStop], None] | None = None,
) -> tuple[EvaluatedStop, ...]:
    """Play every item, each with an oracle of its own."""
    each = [(JudgeAccess(judge=Oracle(item), settings=settings), item) for item in items]
    done = [evaluate_stops((item,), rubric, asking, told) for asking, item in each]
    return tuple(outcome for outcomes in await asyncio.gather(*done) for outcome in outcomes)


def _shows(case: JudgeCase, number: str) -> bool:
    fact = next(one for one in case.evidence if one.id == number)
    return not (fact.stale or fact.bad or fact.source in (Source.CLAIM, Source.TODO))
