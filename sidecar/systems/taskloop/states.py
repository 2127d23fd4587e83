"""The loops of sessions: read, saved before anybody is answered, and told in the event log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sidecar.kernel.log import (
    EventData,
    EventFilter,
    LoggedEvent,
    LoopCheckpointed,
    LoopCouncil,
    LoopEscalated,
    LoopReportRuled,
    LoopSessionChanged,
    LoopTaskBegun,
    event_kind,
)
from sidecar.kernel.loop import Loop, Tier
from sidecar.kernel.models import resolve_model
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.taskloop.policy.agents import Agent
from sidecar.systems.taskloop.policy.loop import LoopLimits, first_tier
from sidecar.systems.taskloop.policy.transitions import LoopOrderError
from sidecar.systems.taskloop.ports import LoopServices

SYSTEM: Final = "taskloop"
DYNAMIC: Final = "dynamic"
"""An agent's model that the loop chooses."""
LOOP_KINDS: Final = tuple(
    event_kind(one)
    for one in (
        LoopSessionChanged, LoopTaskBegun, LoopReportRuled, LoopEscalated, LoopCouncil, LoopCheckpointed
    )
)  # fmt: skip

log = logging.getLogger(__name__)


class LoopStates:
    """The loop of each session. Between `of` and `save` nothing may await."""

    def __init__(self, services: LoopServices) -> None:
        self.services = services
        self._busy: set[SessionKey] = set()

    def of(self, key: SessionKey) -> Loop:
        """Return a session's loop, an idle one where none is saved. Raises OSError, BadInputError."""
        return self.services.loops.load(key) or Loop(key=key)

    def save(self, loop: Loop) -> Loop:
        """Save a loop. Raises OSError, also where somebody else saved it meanwhile."""
        return self.services.loops.save(loop)

    def check_free(self, key: SessionKey) -> None:
        """Raise LoopOrderError while a report is being checked."""
        if key in self._busy:
            raise LoopOrderError("loop-busy")

    @contextmanager
    def reserved(self, key: SessionKey) -> Iterator[None]:
        """Let nothing else change the loop but its tokens. Raises LoopOrderError."""
        self.check_free(key)
        self._busy.add(key)
        try:
            yield
        finally:
            self._busy.discard(key)

    def settings(self) -> Settings:
        return self.services.configuration.load()[0]

    def agent(self, project: str, ident: str) -> Agent | None:
        """Return an agent that may be used in a project, None where there is none of this id."""
        return self.services.agents.known(project).by_name.get(ident)

    def note(self, session: Session, data: EventData) -> None:
        """Append an event. A log that cannot be written stops nobody."""
        event = LoggedEvent(
            at=self.services.clock.now(),
            system=SYSTEM,
            session=session.key,
            project=session.project,
            data=data,
        )
        try:
            self.services.log.append(event)
        except (OSError, ValueError) as error:
            log.warning("%s: the log could not be written: %s", session.key.id, error)

    def newest(self, key: SessionKey, number: int) -> tuple[LoggedEvent, ...]:
        """Return the loop's newest events, oldest first. Raises OSError."""
        return self.services.log.newest(EventFilter(session=key, kinds=LOOP_KINDS), number)


def loop_limits(settings: Settings) -> LoopLimits:
    """Return the limits that the settings say."""
    said = settings.loop
    return LoopLimits(
        max_iterations=said.max_iterations,
        threshold=said.threshold,
        eco_threshold=said.eco_threshold,
        eco_tier=Tier(said.eco_tier),
        complexity=said.complexity,
        stuck_detection=said.stuck_detection,
        max_cents=said.max_cents,
    )


def choose_model(loop: Loop, agent: Agent | None, complexity: int, settings: Settings) -> str:
    """Return the model for the task at work, as a service names it."""
    return resolve_model(choose_model_name(loop, agent, complexity, settings), settings)


def choose_model_name(loop: Loop, agent: Agent | None, complexity: int, settings: Settings) -> str:
    """Return the tier, or a name of the settings: the agent's own until the first step up, then the tier."""
    first = first_tier(loop.mode, complexity, loop_limits(settings))
    own = "" if agent is None or agent.model == DYNAMIC or loop.tier is not first else agent.model
    return own or (Tier.LARGE if loop.tier is Tier.COUNCIL else loop.tier)
