"""Effects that policy requests, and answers to the host.

A system carries out the effects; an answer is sent to the host.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.kernel.changes import FileDiff
from sidecar.kernel.evidence import Evidence
from sidecar.kernel.gate import Gate, GateRun
from sidecar.kernel.rubric import Rubric


class ReadTurn(Struct, frozen=True):
    """Read what the host recorded of the turn."""


class ReadProjectState(Struct, frozen=True):
    """Read the project state: files, rubric, gates, changes. Skip rules do not need it."""


class RunGates(Struct, frozen=True):
    """Run these gates on the project's current files, each within `seconds`."""

    gates: tuple[Gate, ...]
    seconds: int


class Wanted(StrEnum):
    """What a goal asks for, by which checks are run on the old code, too."""

    NOTHING = "nothing"
    REPAIR = "repair"
    """Something must have failed there: the checks as they were, and as they are."""
    ADDITION = "addition"
    """Where checks changed, those of today: new ones are to fail there."""


class RunOldChecks(Struct, frozen=True):
    """Run the checks of these gates, which passed, as they were at the baseline, within `seconds`.

    `wanted`: what the goal asks the old code to be tried for.
    """

    runs: tuple[GateRun, ...]
    seconds: int
    wanted: Wanted = Wanted.NOTHING


class JudgeCase(Struct, frozen=True, kw_only=True):
    """Everything that the model judge may see of a stop, already cut to size.

    `condition` is empty where no goal is set; then `suspicion` says what a rule found. `rubric` holds the
    criteria that apply to the changed files. `edits` are the changed files; `edits_unseen` says why not all
    are known. `last_message` is what the worker says: a claim.
    """

    condition: str
    suspicion: str
    prompts: tuple[str, ...]
    rubric: Rubric
    evidence: tuple[Evidence, ...]
    last_message: str
    edits: tuple[FileDiff, ...] = ()
    edits_unseen: str = ""


class AskJudge(Struct, frozen=True):
    """Ask the model judge about this case."""

    case: JudgeCase


class Feedback(Struct, frozen=True, kw_only=True):
    """A message to the agent, before it is put into words.

    `kind` names a section of rubric/continuation.md. This is continuation `number` of `budget`. `stalls`
    counts the continuations before it that led to no progress. `evidence` holds the lines to quote.
    """

    kind: str
    id: str
    number: int
    budget: int
    condition: str = ""
    missing: tuple[str, ...] = ()
    next_step: str = ""
    evidence: tuple[Evidence, ...] = ()
    stalls: int = 0


class RestReason(StrEnum):
    """Why an agent was allowed to rest. The record, the status and the tests use the same word."""

    SUBAGENT = "subagent"
    OURS = "our-own-worker"
    OFF = "switched-off"
    PAUSED = "paused"
    PLAN_MODE = "plan-mode"
    BACKGROUND = "background-work"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"
    QUESTION = "question-pending"
    QUEUED = "prompt-queued"
    NATIVE_GOAL = "native-goal"
    TALK = "only-talk"
    SAME = "judged-before"
    CLEAN = "nothing-suspicious"
    UNASKED_SPENT = "unasked-budget-spent"
    SHADOW = "shadow"
    ACHIEVED = "achieved"
    COMPLETED = "completed"
    UNVERIFIED = "unverified"
    EXHAUSTED = "exhausted"
    STALLED = "stalled"
    IMPOSSIBLE = "impossible"
    WAITING = "waiting"
    REWOUND = "rewound"
    UNJUDGED = "unjudged"
    SUPERSEDED = "superseded"
    COMMANDED = "commanded"


class Continue(Struct, frozen=True, kw_only=True):
    """Send the agent back. `note` is for the user."""

    feedback: Feedback
    note: str


class Rest(Struct, frozen=True, kw_only=True):
    """Let the agent rest. `note` is for the user, empty where there is nothing to report.

    `alarm`: ring the terminal's bell because the goal has ended.
    """

    reason: RestReason
    detail: str = ""
    note: str = ""
    alarm: bool = False


class CommandReply(Struct, frozen=True, kw_only=True):
    """The answer to a typed command: a headline, details below it, and notes on what else holds here.

    `work`: the prompt goes on to the model together with `context`; otherwise this answer ends it without a
    model call.
    """

    headline: str
    details: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    work: bool = False
    context: str = ""
    refused: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, as a shell shows it."""
        return (self.headline, *self.details, *self.notes)

    @property
    def text(self) -> str:
        """All of it, as a host shows it among what others say."""
        return "\n".join(("Supervisor: " + self.headline, *self.details, *self.notes))


class ToolCallReply(Struct, frozen=True, kw_only=True):
    """The answer to a call of one of our tools: its session. `spared`: the host need not ask its user."""

    session: str
    spared: bool


class NoReply(Struct, frozen=True):
    """Nothing to answer. `note` may greet the user. `watch`: files whose changes the host should report."""

    note: str = ""
    watch: tuple[str, ...] = ()


Effect = ReadTurn | ReadProjectState | RunGates | RunOldChecks | AskJudge
Ruling = Continue | Rest
HostAnswer = Continue | Rest | CommandReply | ToolCallReply | NoReply
