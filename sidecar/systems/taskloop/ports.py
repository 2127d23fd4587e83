"""What the task loop needs from other rooms and systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sidecar.evidence.gates.approvals import InstructionRegistry
from sidecar.evidence.ports import EvidenceServices, HearGates
from sidecar.kernel.gate import Gate, GateRun
from sidecar.kernel.journal import Author, Journal, Task
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.rubric.texts import Texts
from sidecar.systems.taskloop.policy.agents import Agent
from sidecar.workers.ports import Workers


class SessionGates(Protocol):
    """Runs gates as agents ask for them: approved ones, giving way to stops. Raises ToolRuleError."""

    def permitted_environment(self, session: Session) -> Environment:
        """Return a session's environment if commands may run for it now."""

    def mask(self, session: Session) -> SecretMask:
        """Return a function that masks the session's secrets in a text."""

    async def offered(self, session: Session) -> tuple[Gate, ...]:
        """List the gates of a session's project; those that may run count as approved."""

    async def run(
        self, session: Session, only: Sequence[str], tell: HearGates | None = None
    ) -> tuple[GateRun, ...]:
        """Run these gates; all where none is named."""


class LoopTasks(Protocol):
    """The journal's tasks, which are the loop's. Raises ToolRuleError."""

    def of(self, key: SessionKey) -> Journal:
        """Return a session's journal."""

    def task(self, key: SessionKey, ident: str) -> Task:
        """Return a task."""

    def add_task(self, key: SessionKey, content: str, by: Author) -> Task:
        """Add a task at work."""

    def put_task(self, key: SessionKey, task: Task) -> None:
        """Replace a task by its changed self."""


@dataclass(frozen=True, kw_only=True)
class LoopServices:
    """What the loop uses beside what all systems share. `texts`: rubric/loop.md."""

    agents: InstructionRegistry[Agent]
    gates: SessionGates
    shared: EvidenceServices
    tasks: LoopTasks
    texts: Texts
    workers: Workers
