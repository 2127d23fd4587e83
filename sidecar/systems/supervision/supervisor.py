"""Answers every event of a host."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sidecar.evidence.gates.policy import describe_checks
from sidecar.kernel.effects import CommandReply, HostAnswer, NoReply, Rest, RestReason, ToolCallReply
from sidecar.kernel.events import (
    NO_RUBRIC,
    AgentStopped,
    AnyHostEvent,
    CommandTyped,
    FileSaved,
    HostEvent,
    ProjectState,
    PromptSubmitted,
    SessionDeleted,
    SessionEnded,
    SessionOrigin,
    SessionStarted,
    ToolCalled,
    TurnFailed,
)
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import EventData, EventFilter, OrderGiven, SessionNoted, StopJudged, event_kind
from sidecar.kernel.orders import Giver, Origin
from sidecar.kernel.session import MemoryGap, Session, SessionKey, active_goal
from sidecar.kernel.settings import Settings
from sidecar.platform.log_readings import SUPERVISION
from sidecar.platform.ports import StaleSessionError, built_on_use, load_readable, remember_newest
from sidecar.platform.services import note_event
from sidecar.platform.state import LOOK
from sidecar.systems.supervision.environments import digest_environment, running_host
from sidecar.systems.supervision.gate_requests import GateApprovals, SessionChecks
from sidecar.systems.supervision.policy import orders, sessions
from sidecar.systems.supervision.policy.history import Decision, add_follow_ups, describe_shadow
from sidecar.systems.supervision.policy.orders import (
    describe_session,
    order_message,
    refusal_of_agents,
    switch_on_command,
)
from sidecar.systems.supervision.policy.sessions import JudgingStep, WorkingNote, describe_step
from sidecar.systems.supervision.ports import OtherSystems, Services
from sidecar.systems.supervision.project_state import Baselines
from sidecar.systems.supervision.saved_files import SavedFileWatch
from sidecar.systems.supervision.sessions import (
    SAVE_TRIES,
    HostProcesses,
    MissedStops,
    RunningJudgings,
    SessionLineage,
    change_session,
)
from sidecar.systems.supervision.steering import ACCEPT_NAME, SteeringWatch

if TYPE_CHECKING:
    from sidecar.systems.supervision.stop_loop import StopLoop

APPROVING_COMMANDS = frozenset({ACCEPT_NAME, "trust"})
"""Commands by which the user lets count what was shown."""
MAX_COMMANDS_REMEMBERED = 1000
"""Typed commands remembered, because hosts report one command twice."""

NOT_TYPED_REPLY = orders.refusal("only what you type yourself can change a goal or a budget.")
"""The answer to a command in a prompt that the host did not get from a person (law 9)."""

STALE_CONTINUATION = "not sent to the agent, as what was typed after its stop came first."
"""The answer to a continuation that the host sends as a prompt, and too late."""

SWITCHED_ON = "Supervisor: on. To hold the agent to a goal, type: /supervisor:goal all tests pass"
STOPS_READ = 500
"""Stops of which shadow mode is summed up."""
SETTINGS_WRONG = "Supervisor: settings have errors, defaults hold there: {}. Type: supervisor config edit"

log = logging.getLogger(__name__)


class Supervisor:
    """Entry point of the use cases, for all hosts."""

    def __init__(
        self, services: Services, others: OtherSystems | None = None, *, gap: MemoryGap = MemoryGap.NONE
    ) -> None:
        """Use these services. `gap`: what this process cannot know of the time before it."""
        self._services = services
        self._others = others or OtherSystems()
        self._generations = RunningJudgings()
        self._bases = Baselines(services)
        self.steering = SteeringWatch(services, gap=gap)
        self.hosts = HostProcesses(services, self.steering)
        self.missed = MissedStops(services, self.steering)
        self.saved = SavedFileWatch(services, self.steering)
        services.steering.decide(self.steering.at_rest)
        self._stops = built_on_use(self._build_stop_loop)
        self._family = SessionLineage(services)
        self.checks = SessionChecks(services, self.steering.environments.find)
        self._approvals = GateApprovals(services)
        self._typed: OrderedDict[tuple[SessionKey, str], CommandReply] = OrderedDict()

    def _build_stop_loop(self) -> StopLoop:
        from sidecar.systems.supervision.stop_loop import StopLoop  # noqa: PLC0415 - before a stop nobody judges

        return StopLoop(self._services, self._generations, self._bases, self.steering, self._others)

    async def tell(self, event: AnyHostEvent) -> HostAnswer:
        """Answer one event of a host. Cancelling means that the host let go."""
        impostor = self.hosts.impostor(event)
        if impostor is not None:
            return self._refuse_speaker(event, impostor)
        event = self.steering.environments.at_start(event)
        if isinstance(event, PromptSubmitted | CommandTyped | AgentStopped | SessionEnded):
            during = event.key in self.steering.working() and self._services.transcripts.unanswered(
                event.key, getattr(event, "transcript", "")
            )
            event = replace(event, during_call=during)
        if isinstance(event, AgentStopped) and not event.during_call:
            self.missed.reported(event.key)
        missed = "" if event.ours or event.subagent else self.missed.tell(event)
        if isinstance(event, CommandTyped) and (doubt := self._doubt(event)):
            answer = await self._typed_by_nobody_knows_whom(event, doubt)
        else:
            answer = await self._handle(event)
        self.hosts.observe(event)
        if isinstance(answer, CommandReply) and missed:
            return replace(answer, notes=(*answer.notes, missed))
        news = "\n".join(filter(None, (missed, *self._news(event))))
        return replace(answer, note=news) if isinstance(answer, NoReply) and news else answer

    def _news(self, event: AnyHostEvent) -> tuple[str, ...]:
        """Return what is to be told at a prompt, if nobody but the user may have typed it."""
        own = isinstance(event, PromptSubmitted) and event.human and event.speaker > 0
        told = own and not event.during_call and not self.hosts.is_late(event)
        return self._services.incidents.take(event.key) if told else ()

    def _doubt(self, event: CommandTyped) -> str:
        """Say why nobody may have typed this command in the host; "" where somebody did."""
        if event.during_call and not event.origin:
            return "while a tool call of the agent ran"
        known = event.expanded or (event.key, event.prompt_id) in self._typed
        return "" if known else "that the host did not take for a typed command, as of a scheduled task"

    async def _typed_by_nobody_knows_whom(self, event: CommandTyped, doubt: str) -> HostAnswer:
        """Answer a command that the agent may have sent: approve nothing, and tell."""
        order = event.order
        if order.name in APPROVING_COMMANDS or order.word == ACCEPT_NAME:
            why = f"`{order.name}` counts only as you type it, while no tool call runs; type it then"
            return orders.refusal(f"{why}.")
        before, answer = load_readable(self._services.store, event.key), await self._handle(event)
        if isinstance(answer, CommandReply) and not answer.refused and order.changes:
            seen = Origin(Giver.UNSURE, f"a prompt in the host {doubt}")
            self.steering.owe(event.key, [order_message(order, seen, before)])
        return answer

    async def _handle(self, event: AnyHostEvent) -> HostAnswer:
        if event.ours or (event.subagent and not isinstance(event, AgentStopped | ToolCalled)):
            return NoReply()
        self.checks.met(event)
        try:
            self._see_saved(event)
            if isinstance(event, CommandTyped) and event.order.name == "trust":
                return await self._trust(event)
            if isinstance(event, SessionDeleted):  # else what is still to be saved of it would come after
                self._generations.supersede(event.key)
                await self._stops.idle()
            if not isinstance(event, AgentStopped):
                answer = self._at_once(event)
                if isinstance(answer, CommandReply) and answer.work:  # the agent sets to work after this
                    await self._bases.begin_goal(event)
                    return await self.name_checks(event, answer)
                return answer
            session = self._family.session_of(event)
        except OSError as error:
            return _answer_without_state(event, error)
        with self.checks.giving_way(event):
            return await self._stops.rule(event, session)

    def _refuse_speaker(self, event: AnyHostEvent, speaker: Origin) -> HostAnswer:
        """Answer a process that may not speak for this session; the user is told."""
        if not isinstance(event, CommandTyped):
            said = f"{speaker.seen}, spoke as this session and is not its host. It was ignored"
            self.steering.owe(event.key, [line := f"Supervisor: {said}. {LOOK}"])
            return NoReply(note=line if isinstance(event, AgentStopped) else "")
        why = f"refused `{event.order.name}`: {refusal_of_agents(speaker)}"
        self.steering.owe(event.key, [f"Supervisor: {why}. {LOOK}"])
        return orders.refusal(f"{why}.")

    def _see_saved(self, event: AnyHostEvent) -> None:
        """Note where a session works, and look at what was saved there since it was last here."""
        if isinstance(event, SessionEnded | SessionDeleted):
            return
        if self.steering.meet(event):
            self.saved.met()
        if isinstance(event, SessionStarted | FileSaved):
            self.steering.saved()

    def _at_once(self, event: AnyHostEvent) -> HostAnswer:
        """Answer events that need no waiting."""
        answer: HostAnswer = NoReply()
        match event:
            case CommandTyped():
                answer = self._command(event)
            case PromptSubmitted():
                answer = self._prompt(event)
            case SessionStarted():
                answer = self._started(event)
            case SessionDeleted():
                answer = self._forget(event)
            case ToolCalled():
                answer = self._identified(event)
            case FileSaved():
                answer = NoReply(note=self.saved.glance(event.key))
            case TurnFailed():
                answer = self._noted(event, "turn-failed", event.error)
            case SessionEnded():
                self._end(event.key, during_call=event.during_call)
                answer = self._noted(event, "session-ended", event.reason)
            case AgentStopped():
                pass  # it waits: see `_handle`
        return answer

    def _identified(self, event: ToolCalled) -> HostAnswer:
        """Answer whose call it is; an unknown session is stored from now on."""
        answer = sessions.answer_tool_call(event, self._others.may_call_unasked(event.tool))
        if isinstance(answer, ToolCallReply) and self._services.store.load(event.key) is None:
            self._changed(event, lambda session: session)
        return answer

    def judging(self, key: SessionKey) -> JudgingStep | None:
        """Return what the judging of this session's stop does now, None where none is judged."""
        return self._generations.step(key)

    def working_note(self) -> WorkingNote:
        """Return what is done for each stop that is being judged."""
        at, steps = self._services.clock.now(), self._generations.steps()
        return WorkingNote({key.id: describe_step(step, at) for key, step in steps.items()})

    def forget(self, key: SessionKey) -> bool:
        """Remove state, journal and kept files of a session; return whether it had a state.

        Raises BadInputError, OSError.
        """
        self._end(key)
        self._generations.supersede(key)
        session = self._services.store.load(key)
        if session is not None and session.goal is not None and session.goal.base.snapshot:
            self._services.workspace.forget(session.goal.base, session.project)
        self._others.forget(key, session.project if session is not None else "")
        self._services.store.forget(key)
        self._services.journals.forget(key)
        return session is not None

    def _forget(self, event: SessionDeleted) -> HostAnswer:
        """Remove everything stored of a deleted session, except for what was decided about it."""
        self.forget(event.key)
        self._services.stop_history.forget(event.project, event.key)
        self._note(event, SessionNoted(what="session-deleted", decided="forgotten"))
        return NoReply()

    def _end(self, key: SessionKey, *, during_call: bool = False) -> None:
        self._bases.end(key)
        self.steering.end(key, during_call=during_call)

    def _started(self, event: SessionStarted) -> HostAnswer:
        self._family.announce(event)
        watch = () if event.headless else self.steering.paths(event.key)
        settings, _ = self._services.configuration.load()
        session = self._services.store.load(event.key)
        if session and active_goal(session):
            return NoReply(note=f"Supervisor: {describe_session(session, settings)[0]}", watch=watch)
        off = event.headless or not settings.facts_line or self._services.switches.off(event.project)
        if session is not None or off or event.origin is not SessionOrigin.STARTUP:
            return NoReply(watch=watch)
        return NoReply(note=self.shadow_line(settings) or SWITCHED_ON, watch=watch)

    def shadow_line(self, settings: Settings) -> str:
        """Say in a line what shadow mode is, or would have done by now; "" where it is off."""
        if settings.mode != "shadow":
            return ""
        try:
            newest = self._services.log.newest(EventFilter(kinds=(event_kind(StopJudged),)), STOPS_READ)
        except OSError:  # what was ordered holds all the same
            newest = ()
        stops = (
            Decision(at=one.at, day="", session=one.session, project=one.project, stop=one.data)
            for one in newest
            if one.session and isinstance(one.data, StopJudged) and one.data.decided != RestReason.SUBAGENT
        )
        return describe_shadow(add_follow_ups(stops), self._services.clock.now())

    def _prompt(self, event: PromptSubmitted) -> HostAnswer:
        """Handle a prompt; that its agent works is saved once the host is answered."""
        at, awake = self._services.clock.now(), self._services.clock.awake()
        soon = asyncio.get_running_loop().call_soon
        if not event.human:
            self._remember(event.key, event.prompt_id, NOT_TYPED_REPLY)
            if event.continuation and self._is_stale(event):
                return CommandReply(headline=STALE_CONTINUATION)
            self.steering.set_to_work(event, human=False)
            soon(self._changed, event, lambda session: sessions.mark_agent_active(session, at, awake))
            return NoReply()
        self._generations.supersede(event.key)
        if not self._services.switches.off(event.project):
            self._bases.begin_turn(event)
        self.steering.spoken(event)
        self.steering.set_to_work(event)
        soon(self._changed, event, lambda session: self._spoken(session, at, awake))
        return NoReply()

    def _is_stale(self, event: PromptSubmitted) -> bool:
        """Whether another stop was judged, or a goal set, since we sent the agent back with this."""
        session = self._services.store.load(event.key)
        pending = session.pending if session is not None else None
        return session is not None and (pending is None or pending.id != event.continuation)

    def _spoken(self, session: Session, at: float, awake: float) -> Session:
        settings, _ = self._services.configuration.load()
        return sessions.take_up_goal(sessions.reset_after_prompt(session, at, awake), settings)

    def _noted(self, event: HostEvent, what: str, detail: str) -> HostAnswer:
        self._generations.supersede(event.key)
        self._note(event, SessionNoted(what=what, detail=detail[:300]))
        return self._changed(event, sessions.mark_agent_idle)

    def _changed(self, event: HostEvent, change: Callable[[Session], Session]) -> HostAnswer:
        """Save a change that nobody waits for; a state that cannot be saved is reported at the stop."""
        first = self._family.session_of(event)
        try:
            try:
                self._services.store.save(self._touched(change(first), event))
            except StaleSessionError:
                change_session(self._services.store, event.key, lambda now: self._touched(change(now), event))
        except OSError as error:
            log.warning("%s: the state could not be saved: %s", event.key.id, error)
        return NoReply()

    def _touched(self, session: Session, event: HostEvent) -> Session:
        host = running_host(self._services.processes, session)  # the first one, where a second speaks
        return replace(
            session,
            project=event.project or session.project,
            host_process=host.pid if host else event.speaker or session.host_process,
            environment=digest_environment(event.environment) if event.environment else session.environment,
            transcript=getattr(event, "transcript", "") or session.transcript,
            ended=event.reason if isinstance(event, SessionEnded) else "",
            seen_at=self._services.clock.now(),
        )

    def _command(self, event: CommandTyped) -> HostAnswer:
        answered = self._typed.get((event.key, event.prompt_id)) if event.prompt_id else None
        if answered is not None:
            return NoReply() if answered.work else answered
        self.steering.spoken(event)
        reply = self._remember(event.key, event.prompt_id, self._carry_out(event))
        if reply.work:
            self.steering.set_to_work(event)
        return reply

    async def _trust(self, event: CommandTyped) -> CommandReply:
        """Carry out /supervisor:trust, which changes nothing of the session."""
        answered = self._typed.get((event.key, event.prompt_id)) if event.prompt_id else None
        if answered is not None:
            return answered
        reply = self._remember(event.key, event.prompt_id, await self._approvals.obey(event))
        self._note_order(event, reply)
        return reply

    def _note_order(self, event: CommandTyped, reply: CommandReply) -> None:
        """Append a command and its answer to the log; cut after masking, which needs a secret whole."""
        mask = self._services.secrets.masker(event.environment)
        said = reply.headline if reply.work else "\n".join(reply.lines)  # what decides is named later
        detail = f"{mask(event.order.text)[:300]} -> {mask(said)}"[:1000]
        decided = "refused" if reply.refused else "done"
        self._note(event, OrderGiven(name=event.order.name, decided=decided, detail=detail), event.origin)

    def _remember(self, key: SessionKey, prompt_id: str, reply: CommandReply) -> CommandReply:
        """Store the answer to this prompt, for the host's second report of it."""
        if (key, prompt_id) not in self._typed:
            remember_newest(self._typed, (key, prompt_id), reply, MAX_COMMANDS_REMEMBERED)
        return reply

    def _carry_out(self, event: CommandTyped, tries: int = SAVE_TRIES) -> CommandReply:
        """Carry out a command. It fails closed (law 4): what is not saved and enforced is refused."""
        services, at = self._services, self._services.clock.now()
        settings, errors = services.configuration.load()
        stored = self._family.session_of(event)
        before = sessions.reset_after_prompt(stored, at, services.clock.awake())
        position = services.transcripts.position(event) or before.counted_to
        if event.order.name in ("rubric", ACCEPT_NAME):
            session, reply = before, self.steering.obey(event)
        else:
            typed = orders.Typed(at, position, event.prompt_id, event.origin)
            session, reply = orders.carry_out_order(before, settings, event.order, typed)
        if (off := services.switches.off(event.project)) and _enforces_new_goal(session, before):
            return orders.refusal(f"switched {off}. Type in a shell: {switch_on_command(off)}")
        looked = session == before and self._generations.judging(event.key)  # reading ends no judging
        if not looked:
            self._generations.supersede(event.key, _supersede_reason(session, reply))
        at_rest = event.origin and stored.active_since is None  # a shell sets no agent to work
        if not reply.work or at_rest:  # the agent is where it was
            session = sessions.mark_agent_active(session, stored.active_since, stored.active_from)
        try:
            if not looked:
                services.store.save(self._touched(session, event))
        except OSError as error:
            if isinstance(error, StaleSessionError) and tries > 1:
                return self._carry_out(event, tries - 1)
            why = f"the state could not be saved ({error.strerror or error}), so nothing would be enforced"
            return orders.refusal(f"refused: {why}. Type in a shell: supervisor doctor")
        self._note_order(event, reply)
        notes = [said] if (said := self.shadow_line(settings)) else []
        notes += [SETTINGS_WRONG.format(one) for one in errors[:1]]
        reply = replace(reply, notes=(*reply.notes, *notes))
        if not reply.work or (goal := session.goal) is None:
            return reply
        total = session.retry or settings.max_attempts
        context = services.messages.goal_context(goal.condition, goal.checks, total)
        return replace(reply, context=context)

    async def name_checks(
        self, event: HostEvent, reply: CommandReply, *, in_shell: bool = False
    ) -> CommandReply:
        """Say what will be run for the new goal and who is asked, as far as the event's environment tells.

        In a shell that is not the host's, so it does not tell who is asked.
        """
        session = self._services.store.load(event.key)
        goal = active_goal(session) if session is not None else None
        if session is None or goal is None or not event.environment:
            return reply
        services = self._services
        place = services.workspace.place(event.project, event.cwd)
        catalog = await services.catalog.list(event.project, event.environment, place.project)
        settings, _ = services.configuration.load()
        judge = None if in_shell else services.judge.chosen(event.environment, settings)
        state = ProjectState(tree="", rubric=NO_RUBRIC, catalog=catalog)
        checks = describe_checks(goal, state, judge.backend if judge else None)
        said = orders.describe_new_goal(session, goal, settings, checks)
        return replace(reply, headline=said.headline, details=said.details)

    def _note(self, event: HostEvent, data: EventData, origin: str = "") -> None:
        services = self._services
        note_event(services.log, services.clock, SUPERVISION, data, event.key, event.project, origin)


def _answer_without_state(event: AnyHostEvent, error: OSError) -> HostAnswer:
    """Answer without a readable state: a stop fails open, with a note; a command fails closed (law 4)."""
    why = f"the state could not be read ({error.strerror or error})"
    log.warning("%s: %s", event.key.id, why)
    if isinstance(event, CommandTyped):
        way = "Type in a shell: supervisor doctor"
        return orders.refusal(f"refused: {why}, so nothing would be enforced. {way}")
    if isinstance(event, AgentStopped):
        return Rest(reason=RestReason.UNJUDGED, detail=why, note=orders.not_judged_message(why))
    return NoReply()


def _supersede_reason(session: Session, reply: CommandReply) -> RestReason:
    """Return why a command ends a judging: it restarts if the goal stays and the agent is not set to work."""
    stays = active_goal(session) is not None and not reply.work
    return RestReason.COMMANDED if stays else RestReason.SUPERSEDED


def _enforces_new_goal(after: Session, before: Session) -> bool:
    """Whether a command made a goal that is to be enforced from now on."""
    goal = after.goal
    return goal is not None and goal.status is GoalStatus.ACTIVE and goal != before.goal
