"""What headless work tells of itself: one union of events for runs, task loops, skills and governed phases.

As JSON, one object a line, an event is what docs/run.md describes. On a screen: cli/progress.py.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Progress(Struct, frozen=True, kw_only=True, tag_field="event"):
    """What is told: one of the kinds below."""


class Step(Progress, frozen=True, kw_only=True, omit_defaults=True, tag="step"):
    """A step of a task loop, a skill or governed phases, for people in `text`.

    `kind` is what a line begins with: "task", "worker", "check", the name of a phase. `attempt` is the report
    or the worker, from 1. `gate` is a check and `outcome` how it, the attempt or the phase ended. `tokens`
    and `cents`: what was spent so far. `output`: lines that belong to it.
    """

    kind: str
    text: str
    task: str = ""
    attempt: int = 0
    gate: str = ""
    outcome: str = ""
    tokens: int = 0
    cents: float | None = None
    output: str = ""


class RunStarted(Progress, frozen=True, kw_only=True, tag="session"):
    """The run begins or continues. `minutes`: what is left of the agents' time, 0 where not told.

    `jobs`: see RunRequest. `decides`: what decides a new goal, in a sentence. `then`: the command that goes
    on with it, should it be killed. `tokens` and `cents`: what the session's agents took before.
    """

    session: str
    project: str
    goal: str
    most: int
    resumed: bool
    minutes: int = 0
    jobs: int = 0
    decides: str = ""
    then: str = ""
    tokens: int = 0
    cents: float | None = None


class IterationStarted(Progress, frozen=True, kw_only=True, tag="iteration"):
    """An agent is started. `iteration` of `most`; `task` is the ready one, "" where there is none."""

    iteration: int
    most: int
    task: str


class AgentPrinted(Progress, frozen=True, kw_only=True, tag="output"):
    """An agent printed a line: its words, or a tool call in brackets."""

    iteration: int
    text: str


class AgentEnded(Progress, frozen=True, kw_only=True, tag="agent"):
    """An agent has ended. `said` is the end of its output; the others are as in AgentResult."""

    iteration: int
    seconds: float
    exit_code: int | None
    said: str
    trouble: str
    tokens: int = 0
    cents: float | None = None


class TaskCompleted(Progress, frozen=True, kw_only=True, tag="task"):
    """A task of the journal was completed in this iteration."""

    iteration: int
    id: str
    content: str


class IterationJudged(Progress, frozen=True, kw_only=True, tag="verdict"):
    """Supervisor judged the agent's stop. `continuations` of `budget` were used before."""

    iteration: int
    decision: str
    reason: str
    detail: str
    note: str
    continuations: int
    budget: int


class HookRan(Progress, frozen=True, kw_only=True, tag="hook"):
    """One of the user's hooks ran. `trouble` says why it did not finish."""

    name: str
    command: str
    exit_code: int | None
    trouble: str = ""


class Limited(Progress, frozen=True, kw_only=True, tag="limited"):
    """Agents wait, because a model service answers nothing for now; the fields are as in ServiceLimit.

    `until` is when the next one is started.
    """

    account: str
    until: float
    text: str


class BudgetUsed(Progress, frozen=True, kw_only=True, tag="budget"):
    """Four fifths of a limit are used, told once. `what`: "tokens", "cents", "time" or "iterations"."""

    what: str
    used: float
    limit: float

    @property
    def text(self) -> str:
        """The same in words."""
        unit = "seconds of work" if self.what == "time" else self.what
        return f"{self.used:,.0f} of {self.limit:,.0f} {unit} are used"


class RunWarning(Progress, frozen=True, kw_only=True, tag="warning"):
    """Something is wrong, but the run continues."""

    text: str


class RunFinished(Progress, frozen=True, kw_only=True, tag="end"):
    """The run is over. `outcome` is a RestReason or an ending of runs.

    `then` is the command with which it goes on, "" where it does not. `iterations` are those of
    this call; `tokens` and `cents` what all agents of the session took, as far as they told.
    """

    outcome: str
    detail: str
    exit_code: int
    then: str = ""
    iterations: int = 0
    tokens: int = 0
    cents: float | None = None


Tell = Callable[[Step], None]
"""Is told each step as it happens."""
