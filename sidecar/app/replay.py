"""Plays kept stops again through the real policy, under another rubric.

Facts and settings are those of then, so that whatever ends otherwise does so because of the rubric. The judge
is asked anew only where it would see another case than it saw; without one, its answer from then is held
against the new rubric (policy/replays.py). Nothing is saved, and no project is touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sidecar.app.asking import Asked, Asking, side_by_side
from sidecar.model.effects import AskJudge, Continue, Effect, ReadTurn, Rest, Ruling, RunGates, Survey
from sidecar.model.events import NO_RUBRIC, Fact, GatesRan, Judged, JudgeFailed, Surveyed, TurnRead
from sidecar.model.inquiry import Inquiry
from sidecar.model.kept import Heard, KeptStop, Replayed
from sidecar.model.rubric import Rubric
from sidecar.policy import budget
from sidecar.policy.replays import ended, other_case
from sidecar.policy.stop import begin, step

ANSWERS: dict[type[Effect], tuple[type[Fact], ...]] = {
    ReadTurn: (TurnRead,),
    Survey: (Surveyed,),
    RunGates: (GatesRan,),
    AskJudge: (Judged, JudgeFailed),
}
"""What can answer an order."""


async def replay(
    stops: Sequence[KeptStop],
    rubric: Rubric,
    asking: Asking | None = None,
    told: Callable[[Replayed], None] | None = None,
) -> tuple[Replayed, ...]:
    """Play every stop under this rubric; what becomes of each, in their order. `told` hears of each.

    Without `asking` nobody is asked. Cancelling ends the requests that run.
    """

    async def one(stop: KeptStop) -> Replayed:
        done = await Play(stop, rubric, asking).run()
        if told is not None:
            told(done)
        return done

    return await side_by_side(stops, one)


class Play:
    """One kept stop under another rubric."""

    def __init__(self, stop: KeptStop, rubric: Rubric, asking: Asking | None = None) -> None:
        """`asking`: who is asked where the answer from then is none to this case."""
        self._stop = stop
        self._rubric = rubric
        self._asking = asking
        self._left: Iterator[Heard] = iter(stop.heard)
        self._was = next((one.fact.rubric for one in stop.heard if isinstance(one.fact, TurnRead)), NO_RUBRIC)
        self._asked = Asked()
        self._other_case = False

    async def run(self) -> Replayed:
        """Play it."""
        played, before = await self.rule(), self._stop.ended
        now, why = ended(played[1]) if played else (before, "today's rules ask for facts that were not kept")
        asked = self._asked
        told = not asked.failed if asked.asked else now != before or not self._other_case
        return Replayed(
            at=self._stop.at,
            host=self._stop.inquiry.stop.key.host,
            session=self._stop.inquiry.stop.key.id,
            before=before,
            now=now,
            detail=asked.failed or why,
            other_case=self._other_case,
            asks=played is None or not told,
            failed=asked.failed,
        )

    async def rule(self) -> tuple[Inquiry, Ruling] | None:
        """The ruling, None where what was kept does not lead to one."""
        inquiry, order = begin(self._stop.inquiry)
        at = self._stop.at
        while not isinstance(order, Continue | Rest):
            heard = await self._answer(order, inquiry, at)
            if heard is None:
                return None
            at = heard.at
            inquiry, order = await asyncio.to_thread(step, inquiry, heard.fact, at)
        return inquiry, order

    async def _answer(self, order: Effect, inquiry: Inquiry, at: float) -> Heard | None:
        """What the world says now; `at` is when it spoke last."""
        if isinstance(order, AskJudge) and other_case(order.case, self._was, inquiry.survey.changed):
            self._other_case = True
            if self._asking is not None:
                return Heard(at, await self._ask(self._asking, order))
        heard = next(self._left, None)
        if heard is None or not isinstance(heard.fact, ANSWERS[type(order)]):
            return None
        if isinstance(heard.fact, TurnRead | Surveyed):
            return Heard(heard.at, replace(heard.fact, rubric=self._rubric))
        return heard

    async def _ask(self, asking: Asking, order: AskJudge) -> Judged | JudgeFailed:
        """Ask, unless the day's judging is spent: policy itself counts by the day of then."""
        today = asking.purse.today() if asking.purse is not None else None
        if today is not None and (why := budget.judging_spent(today, asking.settings)):
            failure = JudgeFailed(f"the daily limit of judging is reached: {why}")
            self._asked.asked = True
            self._asked.hear(failure)
            return failure
        return await asking.ask(order.case, self._asked)
