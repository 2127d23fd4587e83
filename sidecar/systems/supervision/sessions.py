"""Which session an event belongs to, who may speak for it, and its running judging.

Hosts resume, branch and fork sessions without saying which belong together; the host's process shows it. A
session that appears in a process is a fork of the one seen there before, unless the host announced it as
fresh. This memory is lost with the sidecar: a fork right after a restart begins without a goal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    CommandTyped,
    HostEvent,
    PromptSubmitted,
    SessionEnded,
    SessionOrigin,
    SessionStarted,
)
from sidecar.kernel.log import EventFilter, WorkEnded, event_kind
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.orders import Giver, Origin
from sidecar.kernel.session import Session, SessionKey, active_goal
from sidecar.kernel.text import strip_control_codes
from sidecar.platform.log_readings import SUPERVISION
from sidecar.platform.ports import SessionStore, StaleSessionError, load_readable, remember_newest
from sidecar.platform.services import note_event
from sidecar.platform.state import LOOK
from sidecar.systems.supervision.environments import running_host
from sidecar.systems.supervision.policy import orders, sessions
from sidecar.systems.supervision.policy.sessions import JudgingStep, missed_stop_message
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.steering import MAX_SESSIONS_RECALLED, SteeringWatch

MAX_PROCESSES = 1000
"""Maximum number of host processes that are remembered."""

log = logging.getLogger(__name__)


class SessionLineage:
    """Tracks which session each host process reported last."""

    def __init__(self, services: Services) -> None:
        """Use these services."""
        self._services = services
        self._latest: OrderedDict[int, SessionKey] = OrderedDict()
        self._resuming: set[SessionKey] = set()

    def announce(self, event: SessionStarted) -> None:
        """Handle the announcement of a session; a resumed one restarts its counters at its next event.

        Not before, because Claude Code announces the parent's id when it forks, and the parent must stay as
        it was.
        """
        known = self._services.store.load(event.key) is not None
        if event.origin is SessionOrigin.RESUME and not known and event.host_pid in self._latest:
            return
        if event.origin is SessionOrigin.RESUME and known:
            self._resuming.add(event.key)
        self._remember(event)

    def session_of(self, event: HostEvent) -> Session:
        """Return the state to which this event belongs, created where there is none."""
        session = self._services.store.load(event.key)
        parent = self._latest.get(event.host_pid) if event.host_pid else None
        self._remember(event)
        if session is None:
            return self._new(event, parent)
        if event.key in self._resuming:
            self._resuming.discard(event.key)
            settings, _ = self._services.configuration.load()
            return sessions.resume_session(session, settings)
        return session

    def _new(self, event: HostEvent, parent: SessionKey | None) -> Session:
        known = self._services.store.load(parent) if parent is not None and parent != event.key else None
        if known is None:
            return Session(key=event.key, project=event.project)
        self._resuming.discard(known.key)
        self._copy_journal(known.key, event.key)
        return sessions.fork_session(known, event.key, event.project)

    def _copy_journal(self, parent: SessionKey, child: SessionKey) -> None:
        """Copy the parent's journal, so that the agent finds its tasks in the new session too."""
        journals = self._services.journals
        try:
            if journals.load(child) is None and (journal := journals.load(parent)) is not None:
                journals.save(child, replace(journal, revision=0))
        except (OSError, BadInputError) as error:
            log.warning("%s: the journal of %s could not be copied: %s", child.id, parent.id, error)

    def _remember(self, event: HostEvent) -> None:
        if event.host_pid:
            remember_newest(self._latest, event.host_pid, event.key, MAX_PROCESSES)


SAVE_TRIES = 3
"""How often a change of a state is applied, where somebody else saved one in between."""


def change_session(store: SessionStore, key: SessionKey, change: Callable[[Session], Session | None]) -> None:
    """Apply a change to a stored state; None changes nothing. Raises OSError, BadInputError."""
    for left in reversed(range(SAVE_TRIES)):
        session = store.load(key)
        changed = change(session) if session is not None else None
        if changed is None:
            return
        try:
            store.save(changed)
        except StaleSessionError:
            if not left:
                raise
        else:
            return


# --- Judgings: newer events void older work (law 1: the user wins) ------------------------------------------


T = TypeVar("T")


class SupersededError(Exception):
    """Something newer happened to the session while its stop was being judged. `reason` says what."""

    def __init__(self, reason: RestReason) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason


OUTPUT_LIMIT = 8192
"""Characters that are kept of what checks print while they run."""


class RunningJudgings:
    """At most one judging per session; newer events end it.

    In memory only: judgings end with the sidecar.
    """

    def __init__(self) -> None:
        """Nothing is being judged."""
        self._running: dict[SessionKey, asyncio.Task[Any]] = {}
        self._why: dict[asyncio.Task[Any], RestReason] = {}
        self._steps: dict[SessionKey, tuple[JudgingStep, SecretMask]] = {}
        self._outputs: dict[SessionKey, str] = {}

    def supersede(self, key: SessionKey, reason: RestReason = RestReason.SUPERSEDED) -> None:
        """End the judging of this session's stop, if there is one; its outcome is void."""
        task = self._running.pop(key, None)
        if task is not None:
            self._why[task] = reason
            task.cancel()

    def judging(self, key: SessionKey) -> bool:
        """Whether a stop of this session is being judged."""
        return key in self._running

    def note(self, key: SessionKey, step: JudgingStep, mask: SecretMask) -> None:
        """Note what the judging does now. `mask` is for what its checks print."""
        self._steps[key], self._outputs[key] = (step, mask), ""

    def hear(self, key: SessionKey, text: str) -> None:
        """Note what the checks of this step print."""
        self._outputs[key] = (self._outputs.get(key, "") + text)[-OUTPUT_LIMIT:]

    def steps(self) -> dict[SessionKey, JudgingStep]:
        """Return what each judging does now."""
        return {key: step for key, (step, _) in self._steps.items() if self.judging(key)}

    def step(self, key: SessionKey) -> JudgingStep | None:
        """Return what the judging does now, None where no stop is judged."""
        if key not in self._steps or not self.judging(key):
            return None
        step, mask = self._steps[key]
        # The first half is only there to be masked: the cut may have gone through a secret.
        return replace(step, output=strip_control_codes(mask(self._outputs[key])[-OUTPUT_LIMIT // 2 :]))

    async def judge(self, key: SessionKey, work: Coroutine[Any, Any, T]) -> T:
        """Run the work as the session's newest judging; raises SupersededError when something newer came.

        Cancellation from outside (the host let go) cancels the work and waits for its clean-up.
        """
        self.supersede(key)
        task = asyncio.create_task(work)
        self._running[key] = task
        try:
            outcome = await task
        except asyncio.CancelledError:
            if task in self._why:
                raise SupersededError(self._why[task]) from None
            raise
        else:
            if task in self._why:  # it had ended, but its outcome had not been taken yet
                raise SupersededError(self._why[task])
            return outcome
        finally:
            self._why.pop(task, None)
            if self._running.get(key) is task:
                del self._running[key]
            if key not in self._running:
                self._steps.pop(key, None)
                self._outputs.pop(key, None)


# --- Turns that ended, by the host's record, without a stop that was reported -------------------------------


STOP_GRACE_S: Final = 15.0
"""Seconds after a turn's end within which its stop may still be on its way."""


class MissedStops:
    """Finds such turns of sessions with an active goal: an agent may have switched the host's hooks off."""

    def __init__(self, services: Services, steering: SteeringWatch) -> None:
        """`steering` knows which agents are at work, and tells users."""
        self._services = services
        self._steering = steering
        self._reported: OrderedDict[SessionKey, float] = OrderedDict()
        self._told: OrderedDict[SessionKey, float] = OrderedDict()
        self._looked = 0.0

    def reported(self, key: SessionKey) -> None:
        """Note that a stop of this session was reported."""
        remember_newest(self._reported, key, self._services.clock.now(), MAX_SESSIONS)

    def ended(self, session: Session) -> float:
        """Return when such a turn ended, in seconds since the epoch; 0.0 for none."""
        since = session.active_since
        if active_goal(session) is None or since is None or self._services.switches.off(session.project):
            return 0.0
        at = self._services.transcripts.ended(session.key, session.transcript)
        in_time = at < self._services.clock.now() - STOP_GRACE_S
        return at if in_time and at > max(since, self._reported.get(session.key, 0.0)) else 0.0

    def tell(self, event: HostEvent) -> str:
        """Tell of each such turn once: here and to its session; return the line that answers this event."""
        now, speaks = self._services.clock.now(), isinstance(event, PromptSubmitted | CommandTyped)
        keys = {event.key} if speaks else set()
        if now - self._looked >= STOP_GRACE_S:  # others' events come often
            self._looked, keys = now, keys.union(self._steering.working())
        own = ""
        for session in filter(None, (load_readable(self._services.store, key) for key in keys)):
            at = self.ended(session)
            if not at or self._told.get(session.key) == at:
                continue
            remember_newest(self._told, session.key, at, MAX_SESSIONS)
            line = missed_stop_message(session)
            if speaks and session.key == event.key:
                own = line
                continue
            for key in {session.key, event.key}:
                self._steering.owe(key, [line])
        return own


# --- Which process is the host of which session, and who may speak for one (law 9) --------------------------


MAX_SESSIONS: Final = 1000
"""Sessions whose hosts are remembered."""
MAX_HOSTS: Final = 4
"""Processes that are remembered as hosts of one session, those that spoke first last."""
MAX_TURNS: Final = 500
"""Times of work that are remembered."""


class HostProcesses:
    """Tracks the processes of each session's host, and when agents were at work."""

    def __init__(self, services: Services, steering: SteeringWatch) -> None:
        """`steering` knows which agents are at work, and tells users."""
        self._services = services
        self._steering = steering
        self._hosts: OrderedDict[SessionKey, tuple[int, ...]] = OrderedDict()
        self._untold: OrderedDict[int, str] = OrderedDict()
        self._since: float | None = None

    def observe(self, event: HostEvent) -> None:
        """Note since when agents are at work; the time is logged when all rest, and its loss is noticed."""
        services, since = self._services, min(self._steering.working().values(), default=None)
        if since is None and self._since is not None:
            over = WorkEnded(since=self._since)
            note_event(services.log, services.clock, SUPERVISION, over, event.key, event.project)
        self._since = since if since is None or self._since is None else min(since, self._since)

    def _turns(self) -> orders.Turns:
        """Return the times in which agents worked, as far as they are remembered."""
        logged = self._services.log.newest(EventFilter(kinds=(event_kind(WorkEnded),)), MAX_TURNS)
        over = ((each.data.since, each.at) for each in logged if isinstance(each.data, WorkEnded))
        now = min(filter(None, (self._since, *self._steering.working().values())), default=orders.NEVER)
        return (*over, (now, orders.NEVER))

    def impostor(self, event: HostEvent) -> Origin | None:
        """Return who speaks, where that may not speak for this session; else remember the host.

        A command counts only from a host that is not itself below a host at work. A host that came beside one
        that still runs may command, end a turn, and end the session, only where a person opened it. It is
        told of by another host: nobody may see what it shows itself.
        """
        if not event.speaker:
            return None
        ends = CommandTyped | AgentStopped | SessionEnded
        known, working = self._known(event.key), self._steering.working()
        others = [pid for pid in known if pid != event.speaker]
        if told := [line for pid in others if (line := self._untold.pop(pid, ""))]:
            self._steering.owe(event.key, told)
        alone = known == (event.speaker,) and not isinstance(event, CommandTyped)
        if alone or (event.speaker in known and not isinstance(event, ends)):
            return None
        chain = self._services.processes.ancestry(event.speaker)
        above = self._hosts_of(working) if isinstance(event, CommandTyped) else ()
        if event.speaker < 0 or orders.is_below(chain, (*known, *above)):
            return Origin(Giver.AGENT, orders.describe_processes(chain, at_work=event.key in working))
        others = [pid for pid in others if self._services.processes.find(pid) is not None]
        if chain and event.speaker not in known:
            remember_newest(self._hosts, event.key, (event.speaker, *others)[:MAX_HOSTS], MAX_SESSIONS)
            if others or orders.is_stray(chain, self._turns()):
                seen = orders.describe_processes(chain, at_work=False)
                line = f"a second process speaks as this session ({seen})"
                said = f"Supervisor: {line}. If you opened it twice, all is well. Not you? {LOOK}"
                remember_newest(self._untold, event.speaker, said, MAX_SESSIONS)
        if others and self.is_late(event) and isinstance(event, ends):
            origin = self.origin(event.speaker)
            return None if origin.giver is Giver.USER else origin
        return None

    def is_late(self, event: HostEvent) -> bool:
        """Whether another process spoke for this session before."""
        return event.speaker not in self._known(event.key)[-1:]

    def origin(self, pid: int) -> Origin:
        """Say who gave an order that came from this process; 0: nobody knows which. Raises OSError."""
        self._steering.recall_once()
        hosts = self._hosts_of(self._services.store.known()[:MAX_SESSIONS_RECALLED])
        chain, at_work = self._services.processes.ancestry(pid), self._hosts_of(self._steering.working())
        origin = orders.judge_origin(chain, at_work, hosts, self._turns())
        return replace(origin, when=time.strftime(", at %H:%M", time.localtime(self._services.clock.now())))

    def _hosts_of(self, keys: Iterable[SessionKey]) -> frozenset[int]:
        """Return the processes of the hosts of these sessions, and ours."""
        ours = {os.getpid()}  # what a check starts is no person either
        return frozenset(ours.union(*map(self._known, keys)))

    def is_host(self, pid: int, key: SessionKey) -> bool:
        """Whether a process is the host of this session."""
        return pid in self._known(key)

    def _known(self, key: SessionKey) -> tuple[int, ...]:
        """Return the processes of a session's host: those heard, else the one that was saved with it."""
        if key not in self._hosts:
            saved = running_host(self._services.processes, load_readable(self._services.store, key))
            if saved is not None:
                self._hosts[key] = (saved.pid,)
        return self._hosts.get(key, ())
