"""Answers everything that a host tells."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable

from msgspec.structs import replace

from sidecar.app.bases import Bases
from sidecar.app.checks import Checks
from sidecar.app.family import Family
from sidecar.app.generations import Generations
from sidecar.app.house import House
from sidecar.app.rubrics import RubricWatch
from sidecar.app.saved import SavedFiles
from sidecar.app.stops import StopJudge
from sidecar.model.effects import HostAnswer, Identified, Nothing, Reason, Reply, Rest
from sidecar.model.events import (
    CommandTyped,
    FileSaved,
    HostEvent,
    PromptSubmitted,
    SessionDeleted,
    SessionEnded,
    SessionStarted,
    Stopped,
    Told,
    ToolCalled,
    TurnFailed,
)
from sidecar.model.goal import Status
from sidecar.model.session import Session, SessionKey
from sidecar.policy import commands, sessions, tool_calls
from sidecar.policy.skip import active_goal
from sidecar.policy.status import describe, switch_on
from sidecar.ports import Entry, Guides

REMEMBERED = 1000
"""Typed commands remembered, because hosts tell of one command twice."""

SCHEDULED = Reply(text="Supervisor: only what you type yourself can change a goal or a budget.", refused=True)
"""The answer to a command in a prompt that the host did not get from a person (law 9)."""

Spare = Callable[[str], bool | None]
"""Whether a tool of ours may be called without asking the user; None for a name that no tool of ours has."""

log = logging.getLogger(__name__)


def no_tool(_name: str) -> None:
    """Know no tool."""


class Supervisor:
    """The front door of the use cases, whatever the host."""

    def __init__(self, house: House, guides: Guides | None = None, spare: Spare = no_tool) -> None:
        """Live in `house`. Without `guides` nobody is told at once that a file was saved."""
        self._house = house
        self._spare = spare
        self._generations = Generations()
        self._bases = Bases(house)
        self._rubrics = RubricWatch(house)
        self.saved = SavedFiles(house, self._rubrics, guides) if guides else None
        self._stops = StopJudge(house, self._generations, self._bases, self._rubrics)
        self._family = Family(house)
        self.checks = Checks(house)
        self._typed: OrderedDict[tuple[SessionKey, str], Reply] = OrderedDict()

    async def tell(self, event: Told) -> HostAnswer:
        """Answer one event of a host. Cancelling means that the host let go."""
        if event.ours or (event.subagent and not isinstance(event, Stopped | ToolCalled)):
            return Nothing()
        self.checks.met(event)
        try:
            self._see_saved(event)
            if not isinstance(event, Stopped):
                answer = self._at_once(event)
                if isinstance(answer, Reply) and answer.work:  # the agent sets to work after this
                    await self._bases.begin_goal(event)
                return answer
            session = self._family.session_of(event)
        except OSError as error:
            return _without_state(event, error)
        with self.checks.giving_way(event):
            return await self._stops.rule(event, session)

    def _see_saved(self, event: Told) -> None:
        """See what was saved before this event: an edit before a prompt is no doing of what follows it."""
        if self.saved is None or isinstance(event, SessionEnded | SessionDeleted):
            return
        self.saved.met(event)
        if isinstance(event, Stopped):
            self.saved.stopped(event)
        elif isinstance(event, CommandTyped | PromptSubmitted | FileSaved):
            self.saved.look(event.key)

    def _at_once(
        self,
        event: (
            CommandTyped
            | PromptSubmitted
            | SessionStarted
            | ToolCalled
            | FileSaved
            | TurnFailed
            | SessionEnded
            | SessionDeleted
        ),
    ) -> HostAnswer:
        """Answer what needs no waiting."""
        match event:
            case CommandTyped():
                return self._command(event)
            case PromptSubmitted():
                return self._prompt(event)
            case SessionStarted():
                return self._started(event)
            case SessionDeleted():
                return self._forget(event)
            case ToolCalled():
                return self._identified(event)
            case FileSaved():
                answer: HostAnswer = Nothing(note=self.saved.glance(event.key) if self.saved else "")
            case TurnFailed():
                answer = self._noted(event, "turn-failed", event.error)
            case SessionEnded():
                self._end(event.key)
                answer = self._noted(event, "session-ended", event.reason)
        return answer

    def _identified(self, event: ToolCalled) -> HostAnswer:
        """Say whose call it is; a session that was never met is known from now on."""
        answer = tool_calls.answer(event, self._spare(event.tool))
        if isinstance(answer, Identified) and self._house.store.load(event.key) is None:
            self._changed(event, lambda session: session)
        return answer

    def _forget(self, event: SessionDeleted) -> HostAnswer:
        """Nothing is kept of a session that is gone, but for its record."""
        self._end(event.key)
        self._generations.supersede(event.key)
        self._house.store.forget(event.key)
        self._house.journals.forget(event.key)
        self._house.kept.forget(event.project, event.key)
        self._note(event.key, Entry(at=self._house.clock.now(), event="session-deleted", decided="forgotten"))
        return Nothing()

    def _end(self, key: SessionKey) -> None:
        self._bases.end(key)
        self._rubrics.end(key)
        if self.saved is not None:
            self.saved.end(key)

    def _started(self, event: SessionStarted) -> HostAnswer:
        self._family.announce(event)
        watch = self.saved.paths(event.key) if self.saved is not None and not event.headless else ()
        session = self._house.store.load(event.key)
        if session is None or session.goal is None or session.goal.status is not Status.ACTIVE:
            return Nothing(watch=watch)
        settings, _ = self._house.configuration.load()
        return Nothing(note=describe(session, settings).splitlines()[0], watch=watch)

    def _prompt(self, event: PromptSubmitted) -> HostAnswer:
        at = self._house.clock.now()
        if not event.human:
            self._remember(event.key, event.prompt_id, SCHEDULED)
            self._rubrics.set_to_work(event, human=False)
            return self._changed(event, lambda session: sessions.woken(session, at))
        self._generations.supersede(event.key)
        if not self._house.switches.off(event.project):
            self._bases.begin_turn(event)
            self._rubrics.spoken(event)
            self._rubrics.set_to_work(event)
        else:
            self._rubrics.unseen(event)
        return self._changed(event, lambda session: sessions.prompted(session, at))

    def _noted(self, event: HostEvent, what: str, detail: str) -> HostAnswer:
        self._generations.supersede(event.key)
        self._note(
            event.key, Entry(at=self._house.clock.now(), event=what, decided="noted", detail=detail[:300])
        )
        return self._changed(event, sessions.rested)

    def _changed(self, event: HostEvent, change: Callable[[Session], Session]) -> HostAnswer:
        """Save a change that nobody waits for; a state that cannot be saved is said at the stop."""
        try:
            self._house.store.save(self._touched(change(self._family.session_of(event)), event))
        except OSError as error:
            log.warning("%s: the state could not be saved: %s", event.key.id, error)
        return Nothing()

    def _touched(self, session: Session, event: HostEvent) -> Session:
        return replace(session, project=event.project or session.project, seen_at=self._house.clock.now())

    def _command(self, event: CommandTyped) -> HostAnswer:
        told = self._typed.get((event.key, event.prompt_id)) if event.prompt_id else None
        if told is not None:
            return Nothing() if told.work else told
        self._rubrics.spoken(event)
        reply = self._remember(event.key, event.prompt_id, self._carry_out(event))
        if reply.work:
            self._rubrics.set_to_work(event)
        return reply

    def _remember(self, key: SessionKey, prompt_id: str, reply: Reply) -> Reply:
        """Keep the answer to what this prompt tells for the second telling of it."""
        self._typed.setdefault((key, prompt_id), reply)
        while len(self._typed) > REMEMBERED:
            self._typed.popitem(last=False)
        return reply

    def _carry_out(self, event: CommandTyped) -> Reply:
        """A command fails closed (law 4): what is not saved and enforced is refused."""
        house, at = self._house, self._house.clock.now()
        settings, errors = house.configuration.load()
        before = sessions.prompted(self._family.session_of(event), at)
        position = house.transcripts.position(event) or before.counted_to
        command = commands.Typed(name=event.name, arguments=event.arguments, at=at, position=position)
        if event.name == "rubric":
            session, reply = before, self._rubrics.obey(event)
        else:
            session, reply = commands.typed(before, settings, command)
        if (off := house.switches.off(event.project)) and _enforces(session, before):
            return Reply(text=f"Supervisor is {off}. Type in a shell: {switch_on(off)}", refused=True)
        looked = session == before and self._generations.judging(event.key)  # a mere look ends no judging
        if not looked:
            self._generations.supersede(event.key, _why(session, reply))
        try:
            if not looked:
                house.store.save(self._touched(session, event))
        except OSError as error:
            why = f"the state could not be saved ({error.strerror or error}), so nothing would be enforced"
            return Reply(text=f"Supervisor: refused: {why}. Type in a shell: supervisor doctor", refused=True)
        decided = "refused" if reply.refused else "done"
        detail = house.secrets.masker(event.environment)(f"{event.arguments[:300]} -> {reply.text}"[:1000])
        self._note(event.key, Entry(at=at, event=f"command {event.name}", decided=decided, detail=detail))
        return self._worded(reply, session, tuple(errors), shadow=settings.mode == "shadow")

    def _worded(self, reply: Reply, session: Session, errors: tuple[str, ...], *, shadow: bool) -> Reply:
        text = reply.text
        if shadow:
            text += "\nShadow mode: stops are judged and recorded, nothing is sent back."
        if errors:
            text += f"\nThe configuration has errors, defaults hold there: {errors[0]}"
        goal = session.goal
        if not reply.work or goal is None:
            return replace(reply, text=text)
        settings, _ = self._house.configuration.load()
        total = session.retry or settings.max_attempts
        context = self._house.phrasebook.goal_context(goal.condition, goal.checks, total)
        return replace(reply, text=text, context=context)

    def _note(self, key: SessionKey, entry: Entry) -> None:
        try:
            self._house.record.append(key, entry)
        except OSError as error:
            log.warning("%s: the record could not be written: %s", key.id, error)


def _without_state(event: Told, error: OSError) -> HostAnswer:
    """Answer where the state cannot be read: a stop fails open, loudly; a command fails closed (law 4)."""
    why = f"the state could not be read ({error.strerror or error})"
    log.warning("%s: %s", event.key.id, why)
    if isinstance(event, CommandTyped):
        text = f"Supervisor: refused: {why}, so nothing would be enforced. Type in a shell: supervisor doctor"
        return Reply(text=text, refused=True)
    if isinstance(event, Stopped):
        note = f"Supervisor: this stop was not judged: {why}."
        return Rest(reason=Reason.UNJUDGED, detail=why, note=note)
    return Nothing()


def _why(session: Session, reply: Reply) -> Reason:
    """Why a command ends a judging: where its goal stays, and the agent is not at work, it begins anew."""
    stays = active_goal(session) is not None and not reply.work
    return Reason.COMMANDED if stays else Reason.SUPERSEDED


def _enforces(after: Session, before: Session) -> bool:
    """Whether a command made a goal that is to be enforced from now on."""
    goal = after.goal
    return goal is not None and goal.status is Status.ACTIVE and goal != before.goal
