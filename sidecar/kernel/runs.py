"""Data of `supervisor run`, which starts fresh agents one after the other until the session's goal holds."""

from __future__ import annotations

import shlex
from typing import Final, Literal

from msgspec import Struct

from sidecar.kernel.goal import GoalStatus, GoalTerms
from sidecar.kernel.journal import Journal, Task

RUN_HOST: Final = "run"
"""The host name in session keys of `supervisor run`."""
RUN_AGENT_VARIABLE: Final = "SUPERVISOR_RUN_AGENT"
"""The variable, in what a run tells the sidecar, that names its agents' program."""
MCP_SERVER_NAME: Final = "supervisor"
"""The name under which agents are given our MCP server."""


def run_command(session: str, options: str = "") -> str:
    """Return the command that goes on with a session of `supervisor run`."""
    return f"supervisor run --session {session} {options}-- AGENT"


class RunRequest(Struct, frozen=True, kw_only=True):
    """What the person requested on the command line.

    `goal` without a condition continues the session's own. `spec` is the name of the specification's file.
    `most` is how many agents may be started in the goal's life, None for as many as the budget of
    continuations allows. `jobs`: how many agents work at once, each in a worktree of its
    own; 0 for one in the project itself. `options`, each with its value, and `agent` are what was typed, but
    for the session. `team`: the list of a team that is worked on, whose name says which it is.
    """

    session: str
    project: str
    goal: GoalTerms = GoalTerms(condition="")
    spec: str = ""
    most: int | None = None
    jobs: int = 0
    team: str = ""
    options: tuple[tuple[str, ...], ...] = ()
    agent: tuple[str, ...] = ("AGENT",)

    def again(self, *changed: tuple[str, ...]) -> str:
        """Return the command that goes on as it was typed, but for options that are `changed` or new."""
        names = {option[0] for option in changed}
        kept = (option for option in self.options if option[0] not in names)
        words = [word for option in (*kept, *changed) for word in option]
        named = () if self.team else ("--session", self.session)
        return shlex.join(("supervisor", "run", *named, *words, "--", *self.agent))


class RunStatus(GoalTerms, frozen=True, kw_only=True):
    """The status of the session. `project` is "" where the session is unknown.

    `pending` is the id of a continuation that was issued and has not arrived, `last_reason` its reason.
    `budget` and `continuations` (those that arrived): see Goal. `max_seconds` and `max_tokens` are the goal's
    own limits, `seconds_left` what is left of the agents' time. `no_judge` says why no model can be asked,
    "" where one can or nobody wants to know. `exit_code`: see ExitCode.
    """

    project: str = ""
    status: GoalStatus | None = None
    condition: str = ""
    continuations: int = 0
    budget: int = 0
    pending: str = ""
    last_reason: str = ""
    seconds_left: float = 0.0
    no_judge: str = ""
    exit_code: int = 3
    journal: Journal = Journal()


class StopDecision(Struct, frozen=True, kw_only=True):
    """The decision about a stop of an agent of a run, or one that a marker reports.

    `say` is the text for the agent and `continuation` its id; both are "" if the agent may rest. `reason` is
    one word, `detail` says more, and `note` is one line or a few for the person.
    """

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
    """How a check ended in a scratch copy. `why` is the end of its output where it did not pass.

    `id` names the command and its folder, because each task of a loop has a first check. `failing` names the
    tests that failed, as far as a report tells.
    """

    id: str
    command: str
    passed: bool
    why: str = ""
    failing: tuple[str, ...] = ()


class MergeChecks(Struct, frozen=True, kw_only=True):
    """What our own checks say of a merge: how they ended, and which are not what they were any more."""

    runs: tuple[CheckRun, ...] = ()
    weakened: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the checks that did not pass."""
        return tuple(run.id for run in self.runs if not run.passed)


class RunStatusQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which run is queried. `iterate`: its next iteration begins. `environment`: whether a judge is there."""

    session: str
    iterate: bool = False
    environment: dict[str, str] = {}


class WorkerChange(Struct, frozen=True, kw_only=True):
    """A change of claims. `at_work`: the agents of the run that asks.

    "start" another agent on this `machine`, if one may begin; `planning`: one without a task is at work.
    "renew" the claims of those at work. "settle" `worker`, whose work was merged, or not, for the reason
    `refused`: with these `files`, or because it is in conflict in them.
    """

    session: str
    do: Literal["start", "renew", "settle"]
    at_work: tuple[int, ...] = ()
    planning: bool = False
    machine: str = ""
    worker: int = 0
    refused: str = ""
    files: tuple[str, ...] = ()


class WorkerAnswer(Struct, frozen=True):
    """The answer to a change: the agent that may begin, None for none."""

    started: StartedWorker | None = None
