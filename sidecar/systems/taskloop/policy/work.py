"""A task at work: who may change what, and on which model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sidecar.kernel.journal import Task
from sidecar.kernel.loop import Loop, Tier
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings, resolve_model
from sidecar.systems.taskloop.policy.agents import Agent, Scope, matches_any
from sidecar.systems.taskloop.policy.loop import first_tier

DYNAMIC: Final = "dynamic"
"""An agent's model that the loop chooses."""


class TaskWork(Struct, frozen=True, kw_only=True):
    """A task at work in a session. `agent` is None where it is not known any more."""

    session: Session
    loop: Loop
    task: Task
    agent: Agent | None
    settings: Settings

    @property
    def model_name(self) -> str:
        """The tier, or a name of the settings: the agent's own until the first step up, then the tier."""
        tier = self.loop.tier
        first = first_tier(self.loop.mode, self.task.complexity, self.settings.loop)
        if self.agent is not None and self.agent.model != DYNAMIC and tier is first:
            return self.agent.model
        return Tier.LARGE if tier is Tier.COUNCIL else tier

    @property
    def model(self) -> str:
        """The model as a service names it."""
        return resolve_model(self.model_name, self.settings)

    @property
    def scope(self) -> Scope:
        """What the agent may change."""
        return self.agent.scope if self.agent is not None else Scope()

    def files_outside(self, files: Iterable[str]) -> tuple[str, ...]:
        """Return the files that the task or its agent may not change. A task without globs allows all."""
        globs = self.task.scope_files or ("**",)
        return tuple(one for one in files if not (matches_any(globs, one) and self.scope.allows(one)))
