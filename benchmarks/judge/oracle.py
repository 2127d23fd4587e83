"""A judge that knows the truth of the one stop it is made for: it measures the plumbing, not a judge.

With it every stop that reaches a judge should end as its label says. Where one does not, policy overruled a
right verdict, or a rule or gate was wrong before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from sidecar.app.evaluation import Options, evaluate
from sidecar.model.effects import Case
from sidecar.model.evaluation import Outcome
from sidecar.model.events import Judged
from sidecar.model.evidence import Source
from sidecar.model.labelled import Labelled, Truth
from sidecar.model.rubric import Rubric
from sidecar.model.settings import Settings
from sidecar.model.verdict import Abstain, Complete, Gap, Incomplete, Judgement, Met, Verdict, Waiting
from sidecar.ports import Chosen, Environment

SURE: Final = 0.95


class Oracle:
    """A `Judge` that answers by the label of one stop."""

    def __init__(self, item: Labelled) -> None:
        self._item = item

    def chosen(self, environment: Environment, settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        """Itself."""
        return Chosen("oracle", "it knows the truth")

    async def ask(self, case: Case, environment: Environment, settings: Settings) -> Judged:  # noqa: ARG002 - the port's
        """The truth, as a verdict."""
        return Judged(Judgement(verdict=self._verdict(case), backend="oracle"))

    def _verdict(self, case: Case) -> Verdict:
        if self._item.truth is Truth.PREMATURE:
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

    def _gap(self, case: Case) -> Gap:
        """What is missing, by the criterion that the family is named for, and by all that speaks against."""
        known = {one.id for one in case.rubric.criteria}
        otherwise = "goal" if case.condition else "request"
        criterion = self._item.family if self._item.family in known else otherwise
        against = tuple(fact.id for fact in case.evidence if fact.bad)
        return Gap("what was asked for", criterion, against[:50])


async def consult(
    items: Sequence[Labelled], rubric: Rubric, settings: Settings, options: Options
) -> tuple[Outcome, ...]:
    """Play every item, each with an oracle of its own."""
    done = [evaluate((item,), Oracle(item), rubric, settings, options) for item in items]
    return tuple(outcome for outcomes in await asyncio.gather(*done) for outcome in outcomes)


def _shows(case: Case, number: str) -> bool:
    fact = next(one for one in case.evidence if one.id == number)
    return not (fact.stale or fact.bad or fact.source in (Source.CLAIM, Source.TODO))
