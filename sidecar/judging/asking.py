"""Asks a judge outside of a session, masks secrets in what it is shown, and records the cost."""

from __future__ import annotations

import logging

from msgspec import Struct, field

from sidecar.judging.ports import Judge
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Incomplete
from sidecar.kernel.masking import SecretMask, mask_case
from sidecar.kernel.session import Environment, reached_daily_limit
from sidecar.kernel.settings import Settings
from sidecar.platform.log_readings import DailySpending

DEFAULT_CONCURRENCY = 4
"""Number of stops judged concurrently, unless the caller says otherwise."""

log = logging.getLogger(__name__)


class JudgeUsage(Struct):
    """What the judge was asked and what it answered at one stop, summed over its calls.

    One answer out of two is enough for a verdict, so a failed call counts in `failed` only while no call has
    succeeded. `criteria` are the ids that the judge named as missing.
    """

    asked: bool = False
    answered: bool = False
    failed: str = ""
    calls: int = 0
    tokens: int = 0
    cents: float | None = 0.0
    criteria: frozenset[str] = frozenset()

    def hear(self, fact: JudgeAnswered | JudgeFailed) -> None:
        """Add one answer or failure of the judge."""
        if isinstance(fact, JudgeAnswered):
            self.answered, self.failed = True, ""
            if isinstance(verdict := fact.judgement.verdict, Incomplete):
                self.criteria |= {gap.criterion for gap in verdict.missing}
        elif not self.answered:
            self.failed = fact.reason
        cost = fact.judgement if isinstance(fact, JudgeAnswered) else fact
        self.calls, self.tokens = self.calls + cost.calls, self.tokens + cost.tokens
        if cost.calls:
            self.cents = None if cost.cents is None or self.cents is None else self.cents + cost.cents


class JudgeAccess(Struct, frozen=True, kw_only=True):
    """The judge to ask, and what it is asked with.

    `environment` is passed to the judge. `spending` records the cost of judging. `mask` removes secrets from
    the case that the judge is shown.
    """

    judge: Judge
    settings: Settings
    environment: Environment = field(default_factory=dict)
    spending: DailySpending | None = None
    mask: SecretMask | None = None

    async def ask(self, case: JudgeCase, asked: JudgeUsage) -> JudgeAnswered | JudgeFailed:
        """Ask the judge once about this case, unless today's limit is reached; add the result to `asked`."""
        asked.asked = True
        spent = self.spending.today() if self.spending is not None else None
        if spent is not None and (why := reached_daily_limit(spent, self.settings)):
            failed = JudgeFailed(f"the daily limit of judging is reached: {why}")
            asked.hear(failed)
            return failed
        case = case if self.mask is None else mask_case(case, self.mask)
        fact = await self.judge.ask(case, self.environment, self.settings)
        asked.hear(fact)
        if self.spending is not None:
            record_cost(self.spending, fact)
        return fact


def record_cost(spending: DailySpending, fact: JudgeAnswered | JudgeFailed) -> None:
    """Add what an answer or a failure cost to the day's spending, of evaluation as of any other judging."""
    cost = fact.judgement if isinstance(fact, JudgeAnswered) else fact
    if not cost.calls:
        return
    try:
        spending.add(cost.tokens, cost.cents, cost.calls)
    except OSError as error:
        log.warning("what judging cost could not be written down: %s", error)
