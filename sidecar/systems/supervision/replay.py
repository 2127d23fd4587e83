"""Stop history: stores judged stops, and replays them under another rubric.

Storing happens in the background after the ruling: nobody waits for it, and failures are only logged. A stop
that skip rules let go is not stored, because no rubric can change how it ended; nor is one whose judging was
cut off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.judging.asking import JudgeAccess, JudgeUsage, run_with_limit
from sidecar.judging.replays import ruling_outcome, shows_other_criteria
from sidecar.kernel import budget
from sidecar.kernel.effects import (
    AskJudge,
    Continue,
    Effect,
    ReadProjectState,
    ReadTurn,
    Rest,
    Ruling,
    RunGates,
    RunOldChecks,
)
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    NO_RUBRIC,
    Fact,
    GatesRan,
    JudgeAnswered,
    JudgeFailed,
    OldChecksRan,
    ProjectState,
    TurnRead,
)
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.masking import SecretMask, mask_texts
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.stop_history import RecordedStop, ReplayedStop, TimedFact
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry
from sidecar.systems.supervision.ports import Services

SKIPPED_STAGE = "skip rules"
"""The stage of a stop that was skipped."""

S = TypeVar("S", bound=Struct)

log = logging.getLogger(__name__)


class StopHistoryWriter:
    """Writes stops to the StopHistory port, one after the other, in a thread of its own.

    Not in two threads: msgspec 0.22 was seen to crash where both met a Struct type for the first time.
    """

    def __init__(self, services: Services) -> None:
        """Use these services."""
        self._services = services
        self._running: set[asyncio.Future[None]] = set()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeping")

    def keep(self, first: Inquiry, heard: Sequence[TimedFact], last: Inquiry, ruling: Ruling) -> None:
        """Store the stop that policy knew as `first`, and as `last` when it ruled. Returns at once."""
        if not first.settings.keep_stops or not heard or last.stage == SKIPPED_STAGE:
            return
        how, why = ruling_outcome(ruling)
        stop = RecordedStop(
            at=self._services.clock.now(),
            project=first.stop.project,
            inquiry=first,
            heard=tuple(heard),
            ended=how,
            detail=why,
            stage=last.stage,
            rule=last.rule,
        )
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._write, stop)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def idle(self) -> None:
        """Wait until everything is stored."""
        while self._running:
            await asyncio.wait(self._running)

    def _write(self, stop: RecordedStop) -> None:
        mask = self._services.secrets.masker(stop.inquiry.stop.environment)
        try:
            self._services.stop_history.keep(mask_recorded_stop(stop, mask))
        except (OSError, ValueError, RecursionError, BadInputError) as error:
            log.warning("%s: the stop could not be kept: %s", stop.inquiry.stop.key.id, error)


def mask_recorded_stop(stop: RecordedStop, mask: SecretMask) -> RecordedStop:
    """Return the stop without its environment, with secrets masked in every text but the project's path."""
    inquiry = replace(stop.inquiry, stop=replace(stop.inquiry.stop, environment={}))
    return replace(
        stop,
        inquiry=_mask_struct(inquiry, mask),
        heard=tuple(TimedFact(one.at, _mask_struct(one.fact, mask)) for one in stop.heard),
        detail=mask(stop.detail),
    )


def _mask_struct(value: S, mask: SecretMask) -> S:
    return msgspec.convert(mask_texts(msgspec.to_builtins(value), mask), type(value))


# --- Replay of recorded stops through the real policy, under another rubric ---------------------------------
# Facts and settings are the recorded ones, so a different ending is due to the rubric. The judge is asked
# again only where it would see a different case; without a judge, its old answer is checked against the new
# rubric (judging/replays.py). Nothing is saved, and no project is touched.


EFFECT_ANSWERS: dict[type[Effect], tuple[type[Fact], ...]] = {
    ReadTurn: (TurnRead,),
    ReadProjectState: (ProjectState,),
    RunGates: (GatesRan,),
    RunOldChecks: (OldChecksRan,),
    AskJudge: (JudgeAnswered, JudgeFailed),
}
"""The facts that can answer each effect."""


async def replay_stops(
    stops: Sequence[RecordedStop],
    rubric: Rubric,
    asking: JudgeAccess | None = None,
    told: Callable[[ReplayedStop], None] | None = None,
) -> tuple[ReplayedStop, ...]:
    """Replay every stop under this rubric; return the results in order. `told` is called with each.

    Without `asking` no judge is asked. Cancelling ends running requests.
    """

    async def one(stop: RecordedStop) -> ReplayedStop:
        done = await StopReplay(stop, rubric, asking).run()
        if told is not None:
            told(done)
        return done

    return await run_with_limit(stops, one)


class StopReplay:
    """Replays one recorded stop under another rubric."""

    def __init__(self, stop: RecordedStop, rubric: Rubric, asking: JudgeAccess | None = None) -> None:
        """`asking`: who is asked where the recorded answer belongs to a different case."""
        self._stop = stop
        self._rubric = rubric
        self._asking = asking
        self._left: Iterator[TimedFact] = iter(stop.heard)
        self._was = next((one.fact.rubric for one in stop.heard if isinstance(one.fact, TurnRead)), NO_RUBRIC)
        self._asked = JudgeUsage()
        self._other_case = False

    async def run(self) -> ReplayedStop:
        """Replay the stop."""
        played, before = await self.rule(), self._stop.ended
        now, why = (
            ruling_outcome(played[1])
            if played
            else (before, "today's rules ask for facts that were not kept")
        )
        asked = self._asked
        told = not asked.failed if asked.asked else now != before or not self._other_case
        return ReplayedStop(
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
        """Return the ruling, None where the recorded facts do not lead to one."""
        inquiry, order = begin_inquiry(self._stop.inquiry)
        at = self._stop.at
        while not isinstance(order, Continue | Rest):
            heard = await self._answer(order, inquiry, at)
            if heard is None:
                return None
            at = heard.at
            inquiry, order = await asyncio.to_thread(advance_inquiry, inquiry, heard.fact, at)
        return inquiry, order

    async def _answer(self, order: Effect, inquiry: Inquiry, at: float) -> TimedFact | None:
        """Return the next fact; `at` is the time of the last one."""
        if isinstance(order, AskJudge) and shows_other_criteria(
            order.case, self._was, inquiry.project_state.changed
        ):
            self._other_case = True
            if self._asking is not None:
                return TimedFact(at, await self._ask(self._asking, order))
        heard = next(self._left, None)
        if heard is None or not isinstance(heard.fact, EFFECT_ANSWERS[type(order)]):
            return None
        if isinstance(heard.fact, TurnRead | ProjectState):
            return TimedFact(heard.at, replace(heard.fact, rubric=self._rubric))
        return heard

    async def _ask(self, asking: JudgeAccess, order: AskJudge) -> JudgeAnswered | JudgeFailed:
        """Ask, unless today's limit is reached; policy itself counts by the day of the recording."""
        today = asking.spending.today() if asking.spending is not None else None
        if today is not None and (why := budget.reached_daily_limit(today, asking.settings)):
            failure = JudgeFailed(f"the daily limit of judging is reached: {why}")
            self._asked.asked = True
            self._asked.hear(failure)
            return failure
        return await asking.ask(order.case, self._asked)
