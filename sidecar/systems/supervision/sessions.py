"""Which session an event belongs to, and where an unknown session came from.

Hosts resume, branch and fork sessions without saying which belong together; the host's process shows it. A
session that appears in a process is a fork of the one seen there before, unless the host announced it as
fresh. This memory is lost with the sidecar: a fork right after a restart begins without a goal. The second
part keeps at most one judging per session.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import HostEvent, SessionOrigin, SessionStarted
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.text import strip_control_codes
from sidecar.platform.ports import SessionStore, StaleSessionError
from sidecar.systems.supervision.policy import sessions
from sidecar.systems.supervision.policy.activity import JudgingStep
from sidecar.systems.supervision.ports import Services

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
        if not event.host_pid:
            return
        self._latest[event.host_pid] = event.key
        self._latest.move_to_end(event.host_pid)
        while len(self._latest) > MAX_PROCESSES:
            self._latest.popitem(last=False)


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


HEARD = 8192
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
        self._heard: dict[SessionKey, str] = {}

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
        self._steps[key], self._heard[key] = (step, mask), ""

    def hear(self, key: SessionKey, text: str) -> None:
        """Note what the checks of this step print."""
        self._heard[key] = (self._heard.get(key, "") + text)[-HEARD:]

    def steps(self) -> dict[SessionKey, JudgingStep]:
        """Return what each judging does now."""
        return {key: step for key, (step, _) in self._steps.items() if self.judging(key)}

    def step(self, key: SessionKey) -> JudgingStep | None:
        """Return what the judging does now, None where no stop is judged."""
        if key not in self._steps or not self.judging(key):
            return None
        step, mask = self._steps[key]
        # The first half is only there to be masked: the cut may have gone through a secret.
        return replace(step, output=strip_control_codes(mask(self._heard[key])[-HEARD // 2 :]))

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
                self._heard.pop(key, None)
