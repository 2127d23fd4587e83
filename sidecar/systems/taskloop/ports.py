"""What the task loop needs from other rooms and systems."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sidecar.evidence.gates.approvals import InstructionRegistry
from sidecar.kernel.gate import Gate
from sidecar.kernel.journal import Author, Journal, Task
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.runs import MergeChecks
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.systems.taskloop.policy.agents import Agent
from sidecar.work.ports import HeadlessServices, WorkJudge

T = TypeVar("T")


class SessionGates(Protocol):
    """Runs gates as agents ask for them: approved ones, giving way to stops. Raises ToolRuleError."""

    def permitted_environment(self, session: Session) -> Environment:
        """Return a session's environment if commands may run for it now."""

    def mask(self, session: Session) -> SecretMask:
        """Return a function that masks the session's secrets in a text."""

    async def offered(self, session: Session) -> tuple[Gate, ...]:
        """List the gates of a session's project; those that may run count as approved."""

    async def run_elsewhere(
        self, session: Session, folder: str, environment: Environment, only: Sequence[str]
    ) -> MergeChecks:
        """Run the gates that bear on a session's goal, or these of them, in another worktree."""

    async def give_way(self, session: Session, work: Coroutine[Any, Any, T]) -> T:
        """Do this work, unless a stop of its project is judged meanwhile."""


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

    def drop_task(self, key: SessionKey, ident: str) -> None:
        """Remove a task that its person took back."""


@dataclass(frozen=True, kw_only=True)
class LoopServices(HeadlessServices):
    """What the loop uses. `texts`: rubric/loop.md.

    `typed`: a person typed the command that plays it, and cannot approve anything meanwhile.
    """

    agents: InstructionRegistry[Agent]
    gates: SessionGates
    tasks: LoopTasks
    work: WorkJudge
    typed: bool = False
