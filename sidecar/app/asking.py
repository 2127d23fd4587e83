"""Asks a judge outside of a session: secrets are masked, and what it costs is added up and paid."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from msgspec import Struct, field

from sidecar.model.effects import Case
from sidecar.model.events import Judged, JudgeFailed
from sidecar.model.settings import Settings
from sidecar.policy.firing import named
from sidecar.policy.masking import mask_case
from sidecar.ports import Environment, Judge, Mask, Purse

AT_ONCE = 4
"""Stops that are played side by side, unless the caller says otherwise."""

Item = TypeVar("Item")
Done = TypeVar("Done")

log = logging.getLogger(__name__)


class Asked(Struct):
    """What the judge was asked and said at one stop, added up. One answer of two is enough for a verdict.

    `criteria` are the ids that it named as missing.
    """

    asked: bool = False
    answered: bool = False
    failed: str = ""
    calls: int = 0
    tokens: int = 0
    cents: float | None = 0.0
    criteria: frozenset[str] = frozenset()

    def hear(self, fact: Judged | JudgeFailed) -> None:
        """Add one answer."""
        if isinstance(fact, Judged):
            self.answered, self.failed = True, ""
            self.criteria |= named(fact.judgement.verdict)
        elif not self.answered:
            self.failed = fact.reason
        cost = fact.judgement if isinstance(fact, Judged) else fact
        self.calls, self.tokens = self.calls + cost.calls, self.tokens + cost.tokens
        if cost.calls:
            self.cents = None if cost.cents is None or self.cents is None else self.cents + cost.cents


class Asking(Struct, frozen=True, kw_only=True):
    """Who is asked, and how.

    `environment` is what the judge is asked with. A `purse` keeps what judging cost. `mask` takes secrets out
    of what the judge is shown.
    """

    judge: Judge
    settings: Settings
    environment: Environment = field(default_factory=dict)
    purse: Purse | None = None
    mask: Mask | None = None

    async def ask(self, case: Case, asked: Asked) -> Judged | JudgeFailed:
        """One answer about this case."""
        asked.asked = True
        case = case if self.mask is None else mask_case(case, self.mask)
        fact = await self.judge.ask(case, self.environment, self.settings)
        asked.hear(fact)
        self._pay(fact)
        return fact

    def _pay(self, fact: Judged | JudgeFailed) -> None:
        """What measuring costs counts as every judging does."""
        cost = fact.judgement if isinstance(fact, Judged) else fact
        if self.purse is None or not cost.calls:
            return
        try:
            self.purse.add(cost.tokens, cost.cents, cost.calls)
        except OSError as error:
            log.warning("what judging cost could not be written down: %s", error)


async def side_by_side(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Done]], at_once: int = AT_ONCE
) -> tuple[Done, ...]:
    """Do the work for every item, so many at a time; what came of each, in their order.

    An exception ends all. Cancelling ends what runs.
    """
    free = asyncio.Semaphore(max(1, at_once))
    tasks: list[asyncio.Task[Done]] = []

    async def one(item: Item) -> Done:
        try:
            return await work(item)
        finally:
            free.release()

    async with asyncio.TaskGroup() as group:
        for item in items:
            await free.acquire()
            tasks.append(group.create_task(one(item)))
    return tuple(task.result() for task in tasks)
