"""What a run needs of others: the sidecar, hooks, an agent, a clock, and somebody who is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sidecar.hosts.ports import AgentResult, AgentRunner, McpAccess
from sidecar.kernel import runs
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.journal import Task
from sidecar.kernel.log import RunHistoryEvent
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.orders import Order
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.platform.ports import Clock
from sidecar.platform.worktrees import Worktrees
from sidecar.work.merging import Workplace
from sidecar.work.progress import HookRan, Progress
from sidecar.workers.budget import Budget


class SidecarSession(Protocol):
    """The sidecar, asked about one session. Every method raises BadInputError where it refuses, OSError."""

    async def look(self, *, iterate: bool = False, judge: bool = False) -> runs.RunStatus:
        """Return the session's status. `iterate`: its next iteration begins. `judge`: fill in `no_judge`."""

    async def order(self, order: Order) -> CommandReply:
        """Carry out an order of the person who started the run."""

    async def begin(self) -> None:
        """Report that a person set an agent to work."""

    async def stopped(self, ident: str, arrived: str, rest: AgentResult) -> runs.StopDecision:
        """Have a stop judged. `arrived`: the id of the continuation that the agent was given, "" for none."""

    async def note(self, event: RunHistoryEvent) -> None:
        """Keep an event of the run in the log."""

    async def end(self, why: str) -> None:
        """Report that the run is over."""

    async def access(self, worker: int = 0) -> McpAccess:
        """Return where an agent of this session reaches its tools. `worker`: see Caller."""

    async def workers(self, change: runs.WorkerChange) -> runs.StartedWorker | None:
        """Change the claims of agents that work at once."""

    async def checks(
        self, folder: str, environment: Environment, only: tuple[str, ...] = (), asked: str = ""
    ) -> runs.MergeChecks:
        """Run the checks that bear on the goal, or these of them, in another worktree.

        `asked`: what the user asked for beside the goal, which may be to change a check.
        """

    async def stand_by(self) -> None:
        """Keep the sidecar running while agents work, until cancelled or until that fails."""


class RunHookRunner(Protocol):
    """Runs the user's own commands around sessions and iterations."""

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]) -> str:
        """Run the hooks of this name in order; return their output, bounded and masked. Never raises."""


@dataclass(frozen=True, kw_only=True)
class AssignedTask:
    """A task that a run does for others, in a place that they made. `feedback`: what came of it before.

    `earlier` puts what was done before into the place, after the goal has begun; it returns the files in
    conflict.
    """

    task: Task
    place: Workplace
    feedback: str
    earlier: Callable[[], Awaitable[tuple[str, ...]]]


@dataclass(frozen=True, kw_only=True)
class RunParticipants:
    """What a run needs. `word` builds the prompt; `tell` informs observers; `mask` masks what they are told.

    `hear` gets the line that an agent is writing, and its iteration. `longest`: seconds that one agent may
    take. `spec`, `extra` and `subagents`: see RunPromptInputs. `commit` commits what an iteration changed,
    with a message, and returns what its user is to be told. `worktrees`: where agents work at once, None for
    one agent in the project itself, or where its `assigned` task is done.
    """

    overseer: SidecarSession
    agent: AgentRunner
    hooks: RunHookRunner
    clock: Clock
    word: Callable[[runs.RunPromptInputs], str]
    tell: Callable[[Progress], None]
    hear: Callable[[str, int], None]
    mask: SecretMask
    environment: Environment
    longest: float
    settings: Settings
    budget: Budget
    spec: str = ""
    extra: str = ""
    subagents: str = ""
    commit: Callable[[str], Awaitable[str]] | None = None
    worktrees: Worktrees | None = None
    assigned: AssignedTask | None = None
