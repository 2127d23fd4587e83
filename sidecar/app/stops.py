"""One stop: the loop between policy and the world."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from msgspec.structs import replace

from sidecar.app.bases import Bases
from sidecar.app.generations import Generations, SupersededError
from sidecar.app.house import House
from sidecar.app.keeping import Keeper
from sidecar.app.rubrics import RubricWatch
from sidecar.app.survey import Surveyor
from sidecar.model.effects import AskJudge, Continue, Effect, ReadTurn, Reason, Rest, Ruling, RunGates, Survey
from sidecar.model.events import Fact, GatesRan, Judged, Stopped, TurnRead
from sidecar.model.gate import GateRun
from sidecar.model.inquiry import Inquiry
from sidecar.model.kept import Heard
from sidecar.model.session import Session
from sidecar.model.turn import Turn
from sidecar.policy import integrity
from sidecar.policy.endings import unjudged
from sidecar.policy.journal_facts import with_journal
from sidecar.policy.masking import mask_case, mask_run, mask_turn
from sidecar.policy.skip import active_goal
from sidecar.policy.stop import begin, step
from sidecar.ports import BadInputError, Entry, Site

GLANCE = 1.0
"""Seconds between two looks at the host's queue while a stop is being judged."""

UNTOUCHED = frozenset({Reason.OURS, Reason.SUBAGENT, Reason.OFF, Reason.PAUSED, Reason.PLAN_MODE})
"""Stops that leave no trace in the session's state."""

UNSAVED = (OSError, ValueError, BadInputError)
"""What may keep a state from being written: the disk, or a text that cannot be."""
FINDINGS = 20
"""Changes to the checks that one entry of the record names."""

log = logging.getLogger(__name__)


class _Sitting:
    """One judging as it goes: what policy knew at `first`, what it knows `now`, and the facts between."""

    def __init__(self, first: Inquiry) -> None:
        self.first = self.now = first
        self.heard: list[Heard] = []


class StopJudge:
    """Judges stops, at most one at a time per session."""

    def __init__(self, house: House, generations: Generations, bases: Bases, rubrics: RubricWatch) -> None:
        """Live in `house`; share the others with whoever tells of newer events."""
        self._house = house
        self._generations = generations
        self._bases = bases
        self._rubrics = rubrics
        self._surveyor = Surveyor(house, bases)
        self._keeper = Keeper(house)

    async def rule(self, stop: Stopped, session: Session) -> Ruling:
        """Answer one stop. Cancelling (the host let go) ends all that runs for it."""
        house = self._house
        settings, _ = house.configuration.load()
        mask = house.secrets.masker(stop.environment)
        tasks = tuple(replace(task, description=mask(task.description)) for task in stop.background)
        stop = replace(stop, background=tasks)
        inquiry = Inquiry(
            session=session,
            stop=stop,
            settings=settings,
            off=house.switches.off(stop.project),
            today=house.purse.today(),
        )
        begun, first = house.clock.now(), inquiry
        if stop.subagent:  # a helper's rest ends nothing of the session that it helps
            ruling: Ruling = Rest(reason=Reason.SUBAGENT)
            self._write(inquiry, ruling, begun)
            return ruling
        self._bases.rest(stop.key)
        sitting, until = _Sitting(first), asyncio.get_running_loop().time() + settings.stop_seconds
        try:
            while (ended := await self._judged(sitting, until)) is None:  # a command changed what counts
                sitting = _Sitting(replace(first, session=self._now(session)))
            inquiry, ruled = ended
        except SupersededError as newer:
            ruling = Rest(reason=newer.reason)
            inquiry = self._dropped(sitting.now)
        except asyncio.CancelledError:
            self._write(
                self._dropped(sitting.now), Rest(reason=Reason.INTERRUPTED, detail="the host let go"), begun
            )
            raise
        else:
            ruling = self._told(stop, self._save(inquiry, ruled))
            self._keeper.keep(sitting.first, sitting.heard, inquiry, ruled)
        if isinstance(ruling, Continue) or ruling.reason is Reason.BACKGROUND:
            self._rubrics.set_to_work(stop, human=False)
        self._write(inquiry, ruling, begun)
        return ruling

    def _now(self, session: Session) -> Session:
        """The session as it was saved last, as it was where that cannot be read."""
        try:
            return self._house.store.load(session.key) or session
        except (OSError, BadInputError):
            return session

    async def _judged(self, sitting: _Sitting, until: float) -> tuple[Inquiry, Ruling] | None:
        """The end of one judging; None where a command of the user's voids it and leaves its goal active."""
        try:
            return await self._generations.judge(sitting.now.stop.key, self._judge(sitting, until))
        except SupersededError as newer:
            if newer.reason is not Reason.COMMANDED:
                raise
            self._dropped(sitting.now)
            return None

    def _dropped(self, inquiry: Inquiry) -> Inquiry:
        """A stop whose outcome is void: what judging it has cost is charged to its goal all the same."""
        goal = inquiry.session.goal
        if goal is None or not inquiry.judge_tokens:
            return inquiry
        try:
            now = self._house.store.load(inquiry.stop.key)
            if now is not None and now.goal is not None and now.goal.id == goal.id:
                spent = replace(
                    now.goal.spent,
                    judge_tokens=now.goal.spent.judge_tokens + inquiry.judge_tokens,
                    judge_cents=now.goal.spent.judge_cents + (inquiry.judge_cents or 0.0),
                )
                self._house.store.save(replace(now, goal=replace(now.goal, spent=spent)))
        except UNSAVED as error:
            log.warning("%s: what judging cost could not be saved: %s", inquiry.stop.key.id, error)
        return inquiry

    async def _judge(self, sitting: _Sitting, until: float) -> tuple[Inquiry, Ruling]:
        try:
            async with asyncio.timeout_at(until):
                return await self._loop(sitting)
        except TimeoutError:
            sitting.heard.clear()  # what was heard leads to no ruling
            limit = sitting.now.settings.stop_seconds
            return unjudged(sitting.now, f"judging took longer than {limit} seconds")

    async def _loop(self, sitting: _Sitting) -> tuple[Inquiry, Ruling]:
        """The game: while the order is not an answer, carry it out and step again."""
        inquiry, order = begin(sitting.now)
        while not isinstance(order, Continue | Rest):
            fact = await self._carry_out(order, inquiry)
            heard = Heard(self._house.clock.now(), fact)
            # In a thread: on a turn of hundreds of calls, rules and evidence take tenths of a second.
            inquiry, order = await asyncio.to_thread(step, inquiry, fact, heard.at)
            sitting.now = inquiry
            sitting.heard.append(heard)
        if (isinstance(order, Continue) or order.alarm) and self._user_waits(inquiry):
            raise SupersededError(Reason.QUEUED)
        return inquiry, order

    async def _carry_out(self, order: Effect, inquiry: Inquiry) -> Fact:
        house, stop = self._house, inquiry.stop
        if isinstance(order, ReadTurn):
            turn = await house.transcripts.read(stop, inquiry.session.counted_to)
            turn = self._with_journal(turn, inquiry)
            mask = house.secrets.masker(stop.environment)
            rubric = self._rubrics.in_force(stop, turn)
            return TurnRead(await asyncio.to_thread(mask_turn, turn, mask), rubric)  # half a second at worst
        if isinstance(order, Survey):
            goal = active_goal(inquiry.session)
            seen = await self._surveyor.look(stop, goal, inquiry.turn.last_message)
            return replace(seen, rubric=inquiry.survey.rubric)
        async with self._queue_watched(inquiry):
            if isinstance(order, RunGates):
                return await self._run(order, inquiry)
            return await self._ask(order, inquiry)

    def _with_journal(self, turn: Turn, inquiry: Inquiry) -> Turn:
        """The turn, and what the session's journal tells; one that cannot be read tells nothing (law 4)."""
        house, key = self._house, inquiry.stop.key
        try:
            journal = house.journals.load(key)
        except (OSError, BadInputError) as error:
            log.warning("%s: the journal could not be read: %s", key.id, error)
            return turn
        if journal is None:
            return turn
        return with_journal(turn, journal, inquiry.session.active_since, house.clock.now())

    async def _run(self, order: RunGates, inquiry: Inquiry) -> GatesRan:
        """Run gates on the tree that was just seen: the agent rests meanwhile."""
        stop = inquiry.stop
        site = Site(project=stop.project, tree=inquiry.survey.tree, environment=stop.environment)
        runs = await self._house.gates.run(order.gates, site, order.seconds)
        mask = self._house.secrets.masker(stop.environment)
        return GatesRan(runs=tuple(mask_run(run, mask) for run in runs))

    async def _ask(self, order: AskJudge, inquiry: Inquiry) -> Fact:
        """Ask the judge, and write down what that cost, whatever came of it."""
        house, environment = self._house, inquiry.stop.environment
        case = mask_case(order.case, house.secrets.masker(environment))
        try:
            said = await house.judge.ask(case, environment, inquiry.settings)
        except asyncio.CancelledError:
            self._pay(0, None, 1)  # it may have been asked already, and nobody knows what that costs
            raise
        cost = said.judgement if isinstance(said, Judged) else said
        if cost.calls:
            self._pay(cost.tokens, cost.cents, cost.calls)
        return said

    def _pay(self, tokens: int, cents: float | None, calls: int) -> None:
        try:
            self._house.purse.add(tokens, cents, calls)
        except OSError as error:
            log.warning("what judging cost could not be written down: %s", error)

    @contextlib.asynccontextmanager
    async def _queue_watched(self, inquiry: Inquiry) -> AsyncIterator[None]:
        """While something long runs, a prompt that the user queues ends the judging."""
        watcher = asyncio.create_task(self._watch_queue(inquiry))
        try:
            yield
        finally:
            watcher.cancel()

    async def _watch_queue(self, inquiry: Inquiry) -> None:
        while not self._user_waits(inquiry):
            await self._house.clock.pause(GLANCE)
        self._generations.supersede(inquiry.stop.key, Reason.QUEUED)

    def _user_waits(self, inquiry: Inquiry) -> bool:
        return self._house.transcripts.queued(inquiry.stop, inquiry.turn.position)

    def _told(self, stop: Stopped, ruling: Ruling) -> Ruling:
        """The ruling, with what the user is still to hear of the rubric."""
        news = self._rubrics.note(stop.key)
        return replace(ruling, note="\n".join(filter(None, (ruling.note, news)))) if news else ruling

    def _save(self, inquiry: Inquiry, ruling: Ruling) -> Ruling:
        """Save before it is said: what cannot be saved is not said (law 6)."""
        if isinstance(ruling, Rest) and ruling.reason in UNTOUCHED:
            return ruling
        try:
            self._house.store.save(replace(inquiry.session, seen_at=self._house.clock.now()))
        except UNSAVED as error:
            why = f"the state could not be saved: {getattr(error, 'strerror', None) or error}"
            log.warning("%s: %s", inquiry.stop.key.id, why)
            return Rest(
                reason=Reason.UNJUDGED, detail=why, note=f"Supervisor: this stop was not judged: {why}."
            )
        return ruling

    def _masked(self, stop: Stopped, ruling: Ruling) -> str:
        """The ruling in one line, without a secret, whatever way it came there."""
        said = ruling.detail if isinstance(ruling, Rest) else "; ".join(ruling.feedback.missing)[:1000]
        return self._house.secrets.masker(stop.environment)(said)

    def _write(self, inquiry: Inquiry, ruling: Ruling, begun: float) -> None:
        """Append the story of this stop to the record."""
        now = self._house.clock.now()
        entry = Entry(
            at=now,
            event="stop",
            decided=ruling.reason.value if isinstance(ruling, Rest) else "continue",
            detail=self._masked(inquiry.stop, ruling),
            continuation="" if isinstance(ruling, Rest) else ruling.feedback.id,
            stage=inquiry.stage,
            tree=inquiry.survey.tree,
            gates=tuple(_gate_line(run) for run in inquiry.runs),
            findings=tuple(map(integrity.line, inquiry.survey.findings[:FINDINGS])),
            claims=tuple(f"{claim.said}: {claim.standing}" for claim in inquiry.claims),
            rule=inquiry.rule,
            confidence=None if inquiry.confidence is None else round(inquiry.confidence, 3),
            judge=inquiry.judge,
            judge_tokens=inquiry.judge_tokens,
            judge_cents=inquiry.judge_cents,
            seconds=round(now - begun, 3),
        )
        try:
            self._house.record.append(inquiry.stop.key, entry)
        except UNSAVED as error:
            log.warning("%s: the record could not be written: %s", inquiry.stop.key.id, error)


def _gate_line(run: GateRun) -> str:
    """One gate of a stop, for the record."""
    marks = [
        word for word, holds in (("cached", run.cached), ("flaky", run.flaky), ("moved", run.moved)) if holds
    ]
    return f"{run.gate.id}: {run.outcome.value}" + (f" ({', '.join(marks)})" if marks else "")
