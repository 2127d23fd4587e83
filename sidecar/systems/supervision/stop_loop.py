"""Judging of one stop: the loop between policy and the outside world."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import operator
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import ParamSpec, TypeVar

from msgspec.structs import replace

from sidecar.evidence.gates.agent_ran import approve_what_agent_ran, describe_lent_gates
from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof.policy import describe_finding
from sidecar.hosts.unrecorded import HOST as MARKER_HOST
from sidecar.judging.asking import record_cost
from sidecar.kernel.effects import (
    AskJudge,
    Continue,
    Effect,
    Inquiry,
    ReadProjectState,
    ReadTurn,
    Rest,
    RestReason,
    Ruling,
    RunGates,
    RunOldChecks,
    TryChecks,
    Wanted,
)
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    ChecksTried,
    Fact,
    GatesRan,
    JudgeFailed,
    OldChecksRan,
    ProjectState,
    TurnRead,
)
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import Gate, GateRun, Outcome
from sidecar.kernel.goal import Spending
from sidecar.kernel.log import MAX_DETAIL, StopJudged, event_kind
from sidecar.kernel.masking import mask_case, mask_gate_run, mask_gate_runs_in, mask_ruling, mask_turn
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import Session, active_goal
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import TimedFact
from sidecar.kernel.turn import Turn
from sidecar.platform.log_readings import SUPERVISION
from sidecar.platform.ports import StaleSessionError, load_readable
from sidecar.platform.services import note_event
from sidecar.platform.slots import CALLER, Caller
from sidecar.systems.supervision.policy.continuations import rest_unjudged
from sidecar.systems.supervision.policy.journal import add_journal_facts
from sidecar.systems.supervision.policy.orders import not_judged_message
from sidecar.systems.supervision.policy.sessions import STEP_WORDING, JudgingStep, rebase_ruling
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry
from sidecar.systems.supervision.ports import OtherSystems, Services
from sidecar.systems.supervision.project_state import Baselines, ProjectStateReader
from sidecar.systems.supervision.sessions import RunningJudgings, SupersededError, change_session
from sidecar.systems.supervision.steering import SteeringWatch
from sidecar.systems.supervision.stop_keeping import StopHistoryWriter

QUEUE_POLL_SECONDS = 1.0
"""Seconds between two checks of the host's queue while a stop is judged."""

STATELESS_REASONS = frozenset(
    {RestReason.OURS, RestReason.SUBAGENT, RestReason.OFF, RestReason.PAUSED, RestReason.PLAN_MODE}
)
"""Reasons of stops that change nothing of the session's state but what the person was told."""

ORDERED_REASONS = frozenset({RestReason.OFF, RestReason.PAUSED})
"""Reasons by which the user ordered that a turn is not read."""

SAVE_ERRORS = (OSError, ValueError, BadInputError)
"""What may keep a state from being written: the disk, or text that cannot be encoded."""
SHORT_TURN = 4000
"""Characters of a turn that is thought about on the event loop: a thread would cost more."""
SHORT_CALLS = 10
"""Calls of such a turn."""
MAX_FINDINGS_RECORDED = 20
"""Maximum number of changes to the checks that one record entry names."""

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


class _JudgingProgress:
    """One judging in progress: what policy knew at `first`, what it knows `now`, and the facts between."""

    def __init__(self, first: Inquiry) -> None:
        self.first = self.now = first
        self.facts: list[TimedFact] = []


class StopLoop:
    """Judges stops, at most one at a time per session."""

    def __init__(
        self,
        services: Services,
        generations: RunningJudgings,
        bases: Baselines,
        steering: SteeringWatch,
        others: OtherSystems,
    ) -> None:
        """Share the next three with the code that reports newer events."""
        self._services = services
        self._generations = generations
        self._bases = bases
        self._steering = steering
        self._surveyor = ProjectStateReader(services, bases)
        self._keeper = StopHistoryWriter(services)
        self._others = others
        self.origin: GateContext | None = None
        """Of what the project of the stops is a copy; others weigh that work, so nothing is to be proved."""

    async def rule(self, stop: AgentStopped, session: Session) -> Ruling:
        """Answer one stop. Cancelling (the host let go) ends all that runs for it."""
        services = self._services
        settings, _ = services.configuration.load()
        mask = services.secrets.masker(stop.environment)
        tasks = tuple(replace(task, description=mask(task.description)) for task in stop.background)
        stop = replace(stop, background=tasks)
        begun, inquiry = services.clock.now(), self._inquiry(stop, session, settings)
        if stop.subagent:  # a subagent's rest ends nothing of its parent session
            ruling: Ruling = Rest(reason=RestReason.SUBAGENT)
            self._write(inquiry, ruling, begun)
            return ruling
        self._bases.rest(stop.key)
        progress, until = _JudgingProgress(inquiry), asyncio.get_running_loop().time() + settings.stop_seconds
        ended: tuple[Inquiry, Ruling] | None = None
        soon: Callable[..., object] = operator.call
        try:
            while (ended := await self._judged(progress, until)) is None:  # a command voided the judging
                now = load_readable(services.store, session.key) or session
                progress = _JudgingProgress(self._inquiry(stop, now, settings))
            inquiry, ruled = ended
        except SupersededError as newer:
            ruling = Rest(reason=newer.reason)
            inquiry = self._dropped(progress.now)
        except asyncio.CancelledError:
            ruling = Rest(reason=RestReason.INTERRUPTED, detail="the host let go")
            self._write(self._dropped(progress.now), ruling, begun, progress.facts)
            raise
        else:
            began = progress.first.session
            held = any(one.goal or one.pending for one in (began, inquiry.session))
            if isinstance(ruled, Rest) and not held:  # no law wants it saved first, so the host is answered
                soon = asyncio.get_running_loop().call_soon
                soon(self._save_late, began, inquiry, ruled)
            else:
                ruled = self._save(began, inquiry, ruled)
            ruling = mask_ruling(self._with_news(inquiry, ruled), mask)
        if _agent_goes_on(ruling):
            self._steering.set_to_work(stop, human=False)
        at = services.clock.now()
        soon(self._write, inquiry, ruling, begun, tuple(progress.facts))
        if ended is not None:  # last, because its thread would slow all else down
            soon(self._keeper.keep, at, progress.first, progress.facts, *ended)
        return ruling

    async def decide(self, stop: AgentStopped, session: Session) -> tuple[Inquiry, Ruling]:
        """Return what is known of a stop and decided about it, and keep nothing of it. No host waits."""
        settings, _ = self._services.configuration.load()
        now = Inquiry(
            session=session,
            stop=stop,
            settings=replace(settings, mode="on"),
            today=self._services.spending.today(),
        )
        return await self._generations.judge(stop.key, self._loop(_JudgingProgress(now)))

    def _inquiry(self, stop: AgentStopped, session: Session, settings: Settings) -> Inquiry:
        """Return what is known before the turn is read: of costs and edits only where a judging may ask."""
        services, goal = self._services, active_goal(session) is not None
        return Inquiry(
            session=session,
            stop=stop,
            settings=settings,
            off=services.switches.off(stop.project),
            waits=self._others.question(stop.key),
            unaccepted=self._steering.unaccepted(stop.project) if goal else "",
            today=services.spending.today() if goal or settings.judge.without_goal else Spending(),
        )

    async def idle(self) -> None:
        """Wait until every stop that was answered is saved and kept."""
        loop = asyncio.get_running_loop()
        loop.call_soon((begun := loop.create_future()).set_result, None)  # after what follows an answer
        await begun
        await self._keeper.idle()

    async def _judged(self, progress: _JudgingProgress, until: float) -> tuple[Inquiry, Ruling] | None:
        """Run one judging to its end; None where a user's command voids it and leaves the goal active."""
        try:
            return await self._generations.judge(progress.now.stop.key, self._judge(progress, until))
        except SupersededError as newer:
            if newer.reason is not RestReason.COMMANDED:
                raise
            self._dropped(progress.now)
            return None

    def _dropped(self, inquiry: Inquiry) -> Inquiry:
        """Drop a stop whose outcome is void; the cost of judging it is still charged to its goal."""
        goal = inquiry.session.goal
        if goal is None or not inquiry.judge_tokens:
            return inquiry

        def charged(now: Session) -> Session | None:
            if now.goal is None or now.goal.id != goal.id:
                return None
            spent = replace(
                now.goal.spent,
                judge_tokens=now.goal.spent.judge_tokens + inquiry.judge_tokens,
                judge_cents=now.goal.spent.judge_cents + (inquiry.judge_cents or 0.0),
            )
            return replace(now, goal=replace(now.goal, spent=spent))

        try:
            change_session(self._services.store, inquiry.stop.key, charged)
        except SAVE_ERRORS as error:
            log.warning("%s: what judging cost could not be saved: %s", inquiry.stop.key.id, error)
        return inquiry

    async def _judge(self, progress: _JudgingProgress, until: float) -> tuple[Inquiry, Ruling]:
        attended = progress.now.stop.key.host not in (RUN_HOST, MARKER_HOST)
        CALLER.set(caller := Caller(attended=attended, tell=partial(self._note_step, progress.now)))
        try:
            async with asyncio.timeout_at(until):
                return await self._loop(progress)
        except TimeoutError:
            progress.facts.clear()  # these facts lead to no ruling
            limit = progress.now.settings.stop_seconds
            return rest_unjudged(progress.now, f"judging took longer than {limit} seconds{caller.excuse}")

    async def _loop(self, progress: _JudgingProgress) -> tuple[Inquiry, Ruling]:
        """Carry out effects and step policy until it gives an answer."""
        inquiry, order = begin_inquiry(progress.now)
        while not isinstance(order, Continue | Rest):
            fact = await self._carry_out(order, inquiry)
            if isinstance(fact, ProjectState) and fact.elsewhere:
                progress.facts.clear()  # these facts lead to no ruling
                return rest_unjudged(inquiry, fact.elsewhere)
            timed = TimedFact(self._services.clock.now(), fact)
            turn = fact.turn if isinstance(fact, TurnRead) else inquiry.turn
            edits = fact.edits if isinstance(fact, ProjectState) else inquiry.project_state.edits
            inquiry, order = await _thought(turn, edits, advance_inquiry, inquiry, fact, timed.at)
            if isinstance(fact, TurnRead) and not (isinstance(order, Continue | Rest) or inquiry.clean):
                # Nothing of its text was kept so far, and all that is told or kept of a rest is masked there.
                mask = self._services.secrets.masker(inquiry.stop.environment)
                turn = await _thought(turn, edits, mask_turn, turn, mask)
                inquiry, timed = replace(inquiry, turn=turn), replace(timed, fact=replace(fact, turn=turn))
            progress.now = inquiry
            progress.facts.append(timed)
        if (isinstance(order, Continue) or order.alarm) and self._user_waits(inquiry):
            raise SupersededError(RestReason.QUEUED)
        return inquiry, order

    async def _carry_out(self, order: Effect, inquiry: Inquiry) -> Fact:
        services, stop = self._services, inquiry.stop
        self._note_step(inquiry, STEP_WORDING[type(order)])
        if isinstance(order, ReadTurn):
            turn = await services.transcripts.read(stop, inquiry.session.counted_to)
            turn = self._with_journal(turn, inquiry)
            self._steering.heard_of(stop)
            begun = inquiry.session.active_from
            return TurnRead(turn, None if begun is None else max(0.0, services.clock.awake() - begun))
        if isinstance(order, ReadProjectState):
            goal = active_goal(inquiry.session)
            seen = await self._surveyor.look(stop, goal, inquiry.turn, brief=inquiry.clean is not None)
            if inquiry.clean is None:  # else nothing is checked or judged
                defined, place = goal.gates if goal is not None else (), seen.place or stop.project
                catalog = approve_what_agent_ran(seen.catalog, inquiry.turn, place, seen.changed, defined)
                rubric = services.rubrics.load(stop.project, stop.environment)
                seen = replace(seen, rubric=rubric, catalog=catalog)
            return seen
        async with self._queue_watched(inquiry):
            if isinstance(order, RunGates):
                return await self._run(order, inquiry)
            if isinstance(order, RunOldChecks | TryChecks):
                return await self._compare(order, inquiry)
            return await self._ask(order, inquiry)

    def _note_step(self, inquiry: Inquiry, doing: str) -> None:
        mask = self._services.secrets.masker(inquiry.stop.environment)
        step = JudgingStep(doing=mask(doing), since=self._services.clock.now())
        self._generations.note(inquiry.stop.key, step, mask)

    def _with_journal(self, turn: Turn, inquiry: Inquiry) -> Turn:
        """Add the journal's facts to the turn; a journal that cannot be read adds nothing (law 4)."""
        services, key = self._services, inquiry.stop.key
        try:
            journal = services.journals.load(key)
        except (OSError, BadInputError) as error:
            log.warning("%s: the journal could not be read: %s", key.id, error)
            return turn
        if journal is None:
            return turn
        return add_journal_facts(turn, journal, inquiry.session.active_since, services.clock.now())

    async def _run(self, order: RunGates, inquiry: Inquiry) -> GatesRan:
        """Run gates on the tree that was just read; the agent rests meanwhile."""
        stop, site = inquiry.stop, self._site(inquiry)

        def begun(gate: Gate, run: GateRun | None) -> None:
            if run is None:
                self._note_step(inquiry, f"running {gate.named}")

        runs = await self._services.gates.run(order.gates, site, order.seconds, begun)
        mask = self._services.secrets.masker(stop.environment)
        return GatesRan(runs=tuple(mask_gate_run(run, mask) for run in runs))

    async def _compare(self, order: RunOldChecks | TryChecks, inquiry: Inquiry) -> OldChecksRan | ChecksTried:
        """Run checks in copies: as they were on today's code, or to see whether they could fail."""
        site, old_checks = self._site(inquiry), self._services.old_checks
        mask = self._services.secrets.masker(inquiry.stop.environment)
        if isinstance(order, TryChecks):
            tried = await old_checks.try_to_fail(site, order.runs, order.seconds)
            return ChecksTried(trials=tuple(mask_gate_runs_in(one, mask) for one in tried))
        wanted = order.wanted if self.origin is None else Wanted.NOTHING
        found = await old_checks.compare(site, order.runs, order.seconds, wanted)
        return OldChecksRan(comparisons=tuple(mask_gate_runs_in(one, mask) for one in found))

    def _site(self, inquiry: Inquiry) -> GateContext:
        """Return where gates run, and by which baseline copies are made."""
        stop, goal = inquiry.stop, active_goal(inquiry.session)
        return GateContext(
            project=inquiry.project_state.place or stop.project,
            tree=inquiry.project_state.tree,
            environment=stop.environment,
            since=goal.set_at if goal is not None else 0.0,
            base=goal.base if goal is not None else FileBaseline(),
            watch=(*inquiry.project_state.code, *(self.origin.watch if self.origin else ())),
            hear=partial(self._generations.hear, stop.key),
            origin=self.origin,
        )

    async def _ask(self, order: AskJudge, inquiry: Inquiry) -> Fact:
        """Ask the judge, and store the cost whatever the outcome."""
        services, environment = self._services, inquiry.stop.environment
        case = mask_case(order.case, services.secrets.masker(environment))
        try:
            said = await services.judge.ask(case, environment, inquiry.settings)
        except asyncio.CancelledError:
            # it may have been asked, at unknown cost
            record_cost(services.spending, JudgeFailed("", calls=1))
            raise
        record_cost(services.spending, said)
        return said

    @contextlib.asynccontextmanager
    async def _queue_watched(self, inquiry: Inquiry) -> AsyncIterator[None]:
        """End the judging if the user queues a prompt while something long runs."""
        watcher = asyncio.create_task(self._watch_queue(inquiry))
        try:
            yield
        finally:
            watcher.cancel()

    async def _watch_queue(self, inquiry: Inquiry) -> None:
        while not self._user_waits(inquiry):
            await self._services.clock.pause(QUEUE_POLL_SECONDS)
        self._generations.supersede(inquiry.stop.key, RestReason.QUEUED)

    def _user_waits(self, inquiry: Inquiry) -> bool:
        return self._services.transcripts.queued(inquiry.stop, inquiry.turn.position)

    def _with_news(self, inquiry: Inquiry, ruling: Ruling) -> Ruling:
        """Add what is queued for the user to the ruling."""
        ordered = isinstance(ruling, Rest) and ruling.reason in ORDERED_REASONS
        read = ordered or inquiry.turn != Turn()
        news = self._steering.rest(inquiry.stop, read=read, goes_on=_agent_goes_on(ruling))
        ran = (run.gate for run in inquiry.runs if run.outcome in (Outcome.PASSED, Outcome.FAILED))
        lent = describe_lent_gates(tuple(ran))
        place = inquiry.project_state.place
        told = (lent, place and f"looked at: {place}") if isinstance(ruling, Rest) and ruling.note else ()
        if not (news or any(told)):
            return ruling
        return replace(ruling, note="\n".join(filter(None, (ruling.note, *told, news))))

    def _save(self, began: Session, inquiry: Inquiry, ruling: Ruling) -> Ruling:
        """Save before the ruling is sent; a ruling that cannot be saved is not sent (law 6).

        Nor is one on a state that is gone; a touch in between does not matter.
        """
        stateless = isinstance(ruling, Rest) and ruling.reason in STATELESS_REASONS
        if stateless and inquiry.session == began:
            return ruling
        clock = self._services.clock
        try:
            ruled = replace(inquiry.session, seen_at=clock.now(), active_from=clock.awake())
            self._save_ruled(began, ruled)
        except SAVE_ERRORS as error:
            why = f"the state could not be saved: {getattr(error, 'strerror', None) or error}"
            log.warning("%s: %s", inquiry.stop.key.id, why)
            return Rest(reason=RestReason.UNJUDGED, detail=why, note=not_judged_message(why))
        return ruling

    def _save_late(self, began: Session, inquiry: Inquiry, ruling: Ruling) -> None:
        """Save after the ruling was sent; where that fails, the user is told at the next stop."""
        if (saved := self._save(began, inquiry, ruling)) is not ruling:
            self._steering.owe(inquiry.stop.key, [saved.note])

    def _save_ruled(self, began: Session, ruled: Session) -> None:
        store = self._services.store
        try:
            store.save(ruled)
        except StaleSessionError:
            now = store.load(ruled.key)
            rebased = rebase_ruling(began, ruled, now) if now is not None else None
            if rebased is None:
                raise
            store.save(rebased)

    def _write(self, inquiry: Inquiry, ruling: Ruling, begun: float, facts: Sequence[TimedFact] = ()) -> None:
        """Append what was decided about this stop to the log."""
        services, stop = self._services, inquiry.stop
        now, mask = services.clock.now(), services.secrets.masker(stop.environment)
        said = ruling.detail if isinstance(ruling, Rest) else "; ".join(ruling.feedback.missing)[:1000]
        judged = StopJudged(
            decided=ruling.reason.value if isinstance(ruling, Rest) else "continue",
            detail=mask(said)[:MAX_DETAIL],
            continuation="" if isinstance(ruling, Rest) else ruling.feedback.id,
            stage=inquiry.stage,
            tree=inquiry.project_state.tree,
            gates=tuple(_gate_line(run) for run in inquiry.runs),
            gate_seconds=tuple(0.0 if run.cached else round(run.seconds, 2) for run in inquiry.runs),
            flaky=tuple(run.gate.id for run in inquiry.runs if run.flaky),
            findings=tuple(map(describe_finding, inquiry.project_state.findings[:MAX_FINDINGS_RECORDED])),
            claims=tuple(f"{mask(claim.said)}: {claim.status}" for claim in inquiry.claims),
            rule=inquiry.rule,
            confidence=None if inquiry.confidence is None else round(inquiry.confidence, 3),
            judge=inquiry.judge,
            judge_tokens=inquiry.judge_tokens,
            judge_cents=inquiry.judge_cents,
            seconds=round(now - begun, 3),
            stages=tuple((event_kind(type(one.fact)), round(one.at - begun, 3)) for one in facts),
            trace=stop.environment.get("TRACEPARENT", ""),
        )
        note_event(services.log, services.clock, SUPERVISION, judged, stop.key, stop.project)


def build_lone_loop(services: Services) -> StopLoop:
    """Build a loop for one stop, which no newer event makes void."""
    return StopLoop(services, RunningJudgings(), Baselines(services), SteeringWatch(services), OtherSystems())


async def _thought(turn: Turn, edits: object, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do work about a turn and its edits; in a thread where it may be long, up to tenths of a second."""
    said = len(turn.last_message) + sum(map(len, turn.prompts))
    if edits or len(turn.calls) > SHORT_CALLS or said > SHORT_TURN:
        return await asyncio.to_thread(work, *args, **kwargs)
    return work(*args, **kwargs)


def _agent_goes_on(ruling: Ruling) -> bool:
    return isinstance(ruling, Continue) or ruling.reason is RestReason.BACKGROUND


def _gate_line(run: GateRun) -> str:
    """Format one gate of a stop for the record."""
    marks = [word for word in ("cached", "flaky", "moved") if getattr(run, word)]
    return f"{run.gate.id}: {run.outcome.value}" + (f" ({', '.join(marks)})" if marks else "")
