"""Data of `supervisor run`, which starts fresh agents one after the other until the session's goal holds."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.journal import Journal, Task
from sidecar.kernel.orders import GoalTerms

RUN_HOST: Final = "run"
"""The host name in session keys of `supervisor run`."""
RUN_AGENT_VARIABLE: Final = "SUPERVISOR_RUN_AGENT"
"""The variable, in what a run tells the sidecar, that names its agents' program."""
MCP_SERVER_NAME: Final = "supervisor"
"""The name under which agents are given our MCP server."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """What the person requested on the command line.

    `goal` without a condition continues the session's own. `spec` is the name of the specification's file.
    `most` is how many agents may be started in the goal's life, None for as many as the budget of
    continuations allows. `jobs`: how many agents work at once, each in a worktree of its
    own; 0 for one in the project itself.
    """

    session: str
    project: str
    goal: GoalTerms = GoalTerms(condition="")
    spec: str = ""
    most: int | None = None
    jobs: int = 0


class RunStatus(Struct, frozen=True, kw_only=True):
    """The status of the session. `project` is "" where the session is unknown.

    `pending` is the id of a continuation that was issued and has not arrived, `last_reason` its reason.
    `budget` and `continuations` (those that arrived): see Goal. `max_seconds` is the goal's own limit,
    `seconds_left` what is left of the agents' time. `no_judge` says why no model can be asked,
    "" where one can or nobody wants to know. `exit_code`: see ExitCode.
    """

    project: str = ""
    status: GoalStatus | None = None
    condition: str = ""
    checks: tuple[str, ...] = ()
    tasks_alone: bool = False
    max_seconds: int | None = None
    continuations: int = 0
    budget: int = 0
    pending: str = ""
    last_reason: str = ""
    seconds_left: float = 0.0
    no_judge: str = ""
    exit_code: int = 3
    journal: Journal = Journal()


class StopDecision(Struct, frozen=True, kw_only=True):
    """The decision about an agent's stop, with the fields of a marker's decision."""

    decision: Literal["continue", "rest"]
    reason: str
    detail: str = ""
    note: str = ""
    say: str = ""
    continuation: str = ""


class RunPromptInputs(Struct, frozen=True, kw_only=True):
    """Everything that a prompt is built from. `most` and `iteration` count agents of this goal, from 1.

    `feedback` is the message of the last judging, `before` the output of the user's hooks, `extra` the user's
    own text for every prompt. `tools` is the name of our MCP server, "" where the agent cannot reach it;
    `subagents` that of the agent's tool for others, "" where it has none. `branch` is that of the agent's own
    worktree where several agents work at once, `task` the one it was given.
    """

    session: str
    iteration: int
    most: int
    goal: str
    checks: tuple[str, ...] = ()
    spec: str = ""
    feedback: str = ""
    before: str = ""
    extra: str = ""
    tools: str = ""
    subagents: str = ""
    branch: str = ""
    task: Task | None = None
    journal: Journal = Journal()


class StartedWorker(Struct, frozen=True, kw_only=True):
    """An agent of several that may begin: its iteration in the journal, and its task, None for none."""

    worker: int
    task: Task | None = None


class CheckRun(Struct, frozen=True, kw_only=True):
    """How a required check ended in a scratch copy. `why` is the end of its output where it did not pass."""

    id: str
    command: str
    passed: bool
    why: str = ""


# --- Progress events for observers --------------------------------------------------------------------------


class RunStarted(Struct, frozen=True, kw_only=True, tag_field="event", tag="session"):
    """The run begins or continues. `minutes`: what is left of the agents' time, 0 where not told.

    `jobs`: see RunRequest. `decides`: what decides a new goal, in a sentence.
    """

    session: str
    project: str
    goal: str
    most: int
    resumed: bool
    minutes: int = 0
    jobs: int = 0
    decides: str = ""


class IterationStarted(Struct, frozen=True, kw_only=True, tag_field="event", tag="iteration"):
    """An agent is started. `iteration` of `most`; `task` is the ready one, "" where there is none."""

    iteration: int
    most: int
    task: str


class AgentPrinted(Struct, frozen=True, kw_only=True, tag_field="event", tag="output"):
    """An agent printed a line: its words, or a tool call in brackets."""

    iteration: int
    text: str


class AgentEnded(Struct, frozen=True, kw_only=True, tag_field="event", tag="agent"):
    """An agent has ended. `said` is the end of its output; the others are as in AgentResult."""

    iteration: int
    seconds: float
    exit_code: int | None
    said: str
    trouble: str
    tokens: int = 0
    cents: float | None = None


class TaskCompleted(Struct, frozen=True, kw_only=True, tag_field="event", tag="task"):
    """A task of the journal was completed in this iteration."""

    iteration: int
    id: str
    content: str


class IterationJudged(Struct, frozen=True, kw_only=True, tag_field="event", tag="verdict"):
    """Supervisor judged the agent's stop. `continuations` of `budget` were used before."""

    iteration: int
    decision: str
    reason: str
    detail: str
    note: str
    continuations: int
    budget: int


class HookRan(Struct, frozen=True, kw_only=True, tag_field="event", tag="hook"):
    """One of the user's hooks ran. `trouble` says why it did not finish."""

    name: str
    command: str
    exit_code: int | None
    trouble: str = ""


class RunWarning(Struct, frozen=True, kw_only=True, tag_field="event", tag="warning"):
    """Something is wrong, but the run continues."""

    text: str


class RunFinished(Struct, frozen=True, kw_only=True, tag_field="event", tag="end"):
    """The run is over. `outcome` is a RestReason or an ending of runs; `iterations` is of this call."""

    outcome: str
    detail: str
    exit_code: int
    iterations: int


RunProgressEvent = (
    RunStarted
    | IterationStarted
    | AgentPrinted
    | AgentEnded
    | TaskCompleted
    | IterationJudged
    | HookRan
    | RunWarning
    | RunFinished
)


class RunStatusQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which run is queried. `iterate`: its next iteration begins. `environment`: whether a judge is there."""

    session: str
    iterate: bool = False
    environment: dict[str, str] = {}


class WorkerChange(Struct, frozen=True, kw_only=True):
    """A change of claims. `at_work`: the agents of the run that asks.

    "start" another agent on this `machine`, if one may begin; `planning`: one without a task is at work.
    "renew" the claims of those at work. "settle" `worker`, whose work was merged, or not, for the reason
    `refused`.
    """

    session: str
    do: Literal["start", "renew", "settle"]
    at_work: tuple[int, ...] = ()
    planning: bool = False
    machine: str = ""
    worker: int = 0
    refused: str = ""


class WorkerAnswer(Struct, frozen=True):
    """The answer to a change: the agent that may begin, None for none."""

    started: StartedWorker | None = None
