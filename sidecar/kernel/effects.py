"""The inquiry into one stop: what policy knows, the effects that it requests, and its answers.

A system carries out the effects; an answer is sent to the host.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from sidecar.kernel.events import NO_RUBRIC, AgentStopped, ProjectState
from sidecar.kernel.evidence import Claim, Evidence, FileDiff, Judgement
from sidecar.kernel.gate import CheckComparison, CheckTrial, Gate, GateRun
from sidecar.kernel.goal import Spending
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.kernel.turn import Turn


class ReadTurn(Struct, frozen=True):
    """Read what the host recorded of the turn."""


class ReadProjectState(Struct, frozen=True):
    """Read the project state: files, rubric, gates, changes. Skip rules do not need it."""


class RunGates(Struct, frozen=True):
    """Run these gates on the project's current files, each within `seconds`."""

    gates: tuple[Gate, ...]
    seconds: int


class Wanted(StrEnum):
    """What is asked of the code and the checks of the baseline."""

    NOTHING = "nothing"
    """Only whether a check was weakened."""
    PROOF = "proof"
    """Also whether something was done: what failed there and passes now, by whose change."""


class RunOldChecks(Struct, frozen=True):
    """Run the checks of these gates, which passed, as they were at the baseline, within `seconds`.

    `wanted`: what else they are to show.
    """

    runs: tuple[GateRun, ...]
    seconds: int
    wanted: Wanted = Wanted.NOTHING


class TryChecks(Struct, frozen=True):
    """Try within `seconds` whether these gates, which passed and had failed before, could fail at all."""

    runs: tuple[GateRun, ...]
    seconds: int


class JudgeCase(Struct, frozen=True, kw_only=True):
    """Everything that the model judge may see of a stop, already cut to size.

    `condition` is empty where no goal is set; then `suspicion` says what a rule found. `rubric` holds the
    criteria that apply to the changed files. `edits` are the changed files; `edits_unseen` says why not all
    are known. `last_message` is what the worker says: a claim. `proof` says what was executed that bears on
    the goal.
    """

    condition: str
    suspicion: str
    prompts: tuple[str, ...]
    rubric: Rubric
    evidence: tuple[Evidence, ...]
    last_message: str
    proof: tuple[str, ...] = ()
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
    HELD = "held"
    ACHIEVED = "achieved"
    JUDGED = "judged"
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


Effect = ReadTurn | ReadProjectState | RunGates | RunOldChecks | TryChecks | AskJudge
Ruling = Continue | Rest
HostAnswer = Continue | Rest | CommandReply | ToolCallReply | NoReply


# --- The state of one stop while it is judged ---------------------------------------------------------------


UNSEEN_PROJECT = ProjectState(tree="", rubric=NO_RUBRIC)
"""The state of a project before it was read."""


class Inquiry(Struct, frozen=True, kw_only=True):
    """Everything that policy knows about a stop so far.

    `session` is what will be saved with the ruling. `off` says why Supervisor is switched off here, empty
    where it is on. `waits` is what another system asks the user for this session, empty for nothing.
    `arrived`: the pending continuation was seen to arrive; `lost`: it never did, and is given back. `proof`
    says what was executed that bears on the goal; `proved`: it is enough without a judge. `left_running` is
    background work that a headless host will kill. `suspicion` is what a rule found without being certain,
    `rule` the id of the rule that decided or was suspicious. `confidence` is the probability, 0 to 1, that
    the work is not finished. `case` is what the judge is shown, `first` its first answer where it is asked
    twice. `today` is the cost of all judging for this user today. `judge` is who judged, `judge_tokens` and
    `judge_cents` are the cost of judging this stop. `unaccepted` says of an edit, by which the host itself
    works otherwise, that it waits for the user. `clean` is the ruling where only its line of facts
    is missing.
    """

    session: Session
    stop: AgentStopped
    settings: Settings
    off: str = ""
    waits: str = ""
    unaccepted: str = ""
    turn: Turn = Turn()
    project_state: ProjectState = field(default=UNSEEN_PROJECT, name="survey")  # as stored
    arrived: bool = False
    lost: bool = False
    runs: tuple[GateRun, ...] = ()
    comparisons: tuple[CheckComparison, ...] = ()
    trials: tuple[CheckTrial, ...] = ()
    proof: tuple[str, ...] = ()
    proved: bool = False
    evidence: tuple[Evidence, ...] = ()
    claims: tuple[Claim, ...] = ()
    left_running: tuple[str, ...] = ()
    suspicion: str = ""
    rule: str = ""
    confidence: float | None = None
    case: JudgeCase | None = None
    first: Judgement | None = None
    today: Spending = Spending()
    judge: str = ""
    judge_tokens: int = 0
    judge_cents: float | None = None
    clean: Rest | None = None
    stage: str = "skip rules"
