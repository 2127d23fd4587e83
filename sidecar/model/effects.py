"""What policy orders next: an effect is carried out by `app`, an answer goes to the host."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.model.evidence import Evidence
from sidecar.model.gate import Gate
from sidecar.model.inspection import Edit
from sidecar.model.rubric import Rubric


class ReadTurn(Struct, frozen=True):
    """Find out what the host recorded of the turn."""


class Survey(Struct, frozen=True):
    """Look at the project: files, rubric, gates, what changed. Skip rules do without."""


class RunGates(Struct, frozen=True):
    """Run these, on the project as it stands, each within `seconds`."""

    gates: tuple[Gate, ...]
    seconds: int


class Case(Struct, frozen=True, kw_only=True):
    """All that the model judge may see of a stop, already bounded.

    `condition` is empty where no goal is set; then `suspicion` says what a rule found. `rubric` holds the
    criteria that apply to what changed. `edits` are the changed files, `edits_unseen` why they are not all
    known. `last_message` is without the sentences in which the worker praises its work.
    """

    condition: str
    suspicion: str
    prompts: tuple[str, ...]
    rubric: Rubric
    evidence: tuple[Evidence, ...]
    last_message: str
    edits: tuple[Edit, ...] = ()
    edits_unseen: str = ""


class AskJudge(Struct, frozen=True):
    """Ask the model judge about this case."""

    case: Case


class Feedback(Struct, frozen=True, kw_only=True):
    """What the agent is told, before it is put into words.

    `kind` names a section of rubric/continuation.md. `number` of `budget`: which continuation this is.
    `stalls`: how many before it moved nothing. `evidence` are the lines to quote.
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


class Reason(StrEnum):
    """Why an agent was let rest. One word for the record, the status and the tests."""

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
    UNVERIFIED = "unverified"
    EXHAUSTED = "exhausted"
    STALLED = "stalled"
    IMPOSSIBLE = "impossible"
    WAITING = "waiting"
    UNJUDGED = "unjudged"
    SUPERSEDED = "superseded"
    COMMANDED = "commanded"


class Continue(Struct, frozen=True, kw_only=True):
    """Send the agent back. `note` is for the user."""

    feedback: Feedback
    note: str


class Rest(Struct, frozen=True, kw_only=True):
    """Let the agent rest. `note` is for the user, empty where there is nothing to say.

    `alarm`: ring the terminal's bell, the goal came to an end.
    """

    reason: Reason
    detail: str = ""
    note: str = ""
    alarm: bool = False


class Reply(Struct, frozen=True, kw_only=True):
    """The answer to a typed command.

    `work`: the prompt goes on to the model with `context`; else the text ends it at no cost.
    """

    text: str
    work: bool = False
    context: str = ""
    refused: bool = False


class Identified(Struct, frozen=True, kw_only=True):
    """The answer to a call of our own tool: whose session it is. `spared`: the host need not ask its user."""

    session: str
    spared: bool


class Nothing(Struct, frozen=True):
    """There is nothing to tell the host. `note` may greet the user. `watch`: files we want to hear of."""

    note: str = ""
    watch: tuple[str, ...] = ()


Effect = ReadTurn | Survey | RunGates | AskJudge
Ruling = Continue | Rest
HostAnswer = Continue | Rest | Reply | Identified | Nothing
