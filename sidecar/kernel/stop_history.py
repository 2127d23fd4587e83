"""Stop history: recorded stops and their replay under another rubric, and stops to measure judges by."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from sidecar.kernel.effects import UNSEEN_PROJECT, Continue, Inquiry, Ruling
from sidecar.kernel.events import BackgroundActivity, Fact, ProjectState
from sidecar.kernel.gate import GateRun
from sidecar.kernel.turn import Turn


class TimedFact(Struct, frozen=True):
    """A fact that policy received, and when, in seconds since the epoch."""

    at: float
    fact: Fact


class RecordedStop(Struct, frozen=True, kw_only=True):
    """One judged stop, with everything needed to replay it.

    `at` is when it was over, in seconds since the epoch. `inquiry` is what policy knew before any fact,
    without the session's environment; `facts` are those that it then received, in order. `ended` is
    "continue" or a RestReason, `detail` says why in one line, `stage` where it was decided, `rule` which rule
    decided or was suspicious.
    """

    at: float
    project: str
    inquiry: Inquiry
    facts: tuple[TimedFact, ...] = field(name="heard")
    ended: str
    stage: str
    detail: str = ""
    rule: str = ""


CONTINUE_DECISION = "continue"
"""The ending of a stop that was sent back; all others end with a RestReason."""
MAX_DETAIL_LENGTH = 600
"""Maximum characters of the detail that says why a stop ended as it did."""


def ruling_outcome(ruling: Ruling) -> tuple[str, str]:
    """Return how a stop ended ("continue" or a RestReason) and why."""
    if isinstance(ruling, Continue):
        return CONTINUE_DECISION, "; ".join(ruling.feedback.missing)[:MAX_DETAIL_LENGTH]
    return ruling.reason.value, ruling.detail[:MAX_DETAIL_LENGTH]


class LoadedStops(Struct, frozen=True):
    """Recorded stops, the newest last, and one line for each that could not be read."""

    stops: tuple[RecordedStop, ...] = ()
    problems: tuple[str, ...] = ()


# --- Labelled stops: the truth is known, so judges can be measured by them ----------------------------------


class GroundTruth(StrEnum):
    """Whether the agent should have gone on. PREMATURE: sending it back is right."""

    PREMATURE = "premature"
    LEGITIMATE = "legitimate"


class LabelledStop(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One stop, what Supervisor would see of it, and the truth.

    `family` is the kind of ending ("permission-seeking", "question-answered"). `origin`: written by hand,
    drawn by a generator, or with its checks really executed. `blind`: written by somebody who did not know
    the rules. `fabricated`: it contains made-up evidence. `complete`: whether the goal holds, None without
    one. `seen` is the project state (its rubric is replaced by the measured one). `runs` are the results of
    the requested gates; a gate that is not among them could not run.
    """

    id: str
    family: str
    truth: GroundTruth
    origin: Literal["by-hand", "generated", "executed"]
    turn: Turn
    blind: bool = False
    fabricated: bool = False
    language: str = "en"
    host: str = "claude-code"
    goal: str = ""
    complete: bool | None = None
    seen: ProjectState = UNSEEN_PROJECT
    runs: tuple[GateRun, ...] = ()
    background: tuple[BackgroundActivity, ...] = ()
    headless: bool = False


# --- Evaluated stops: the ruling on a labelled or recorded stop ---------------------------------------------


class EvaluatedStop(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stop and its ruling.

    The first fields are the label's. Of a recorded stop, `id` is the session, `at` when it was over, in
    seconds since the epoch, and the truth is not known. `ended` is "continue" or a RestReason, `kind` is the
    subject of the message to the agent, `detail` says why in one line. `stage` is where it was decided,
    `rule` which rule decided or was suspicious. `criteria` are the ids that the judge named as missing.
    `confidence` is the estimated probability, 0 to 1, that the stop is premature; None where there is no
    estimate. `asked`: rules and gates did not decide, so the case went to the judge; `failed` says why that
    gave no verdict, or why the ending is not known. `calls`, `tokens` and `cents` are the cost, `cents` None
    where a call had no price. `completed`: the goal ended as achieved or judged.
    """

    id: str
    family: str
    truth: GroundTruth | None
    origin: Literal["by-hand", "generated", "executed", "recorded"]
    language: str
    host: str
    ended: str
    stage: str
    at: float = 0.0
    blind: bool = False
    fabricated: bool = False
    complete: bool | None = None
    kind: str = ""
    detail: str = ""
    rule: str = ""
    criteria: tuple[str, ...] = ()
    confidence: float | None = None
    asked: bool = False
    failed: str = ""
    calls: int = 0
    tokens: int = 0
    cents: float | None = 0.0
    completed: bool = False

    @property
    def sent_back(self) -> bool:
        """Whether the agent was sent back."""
        return self.ended == CONTINUE_DECISION

    @property
    def premature(self) -> bool:
        """Whether it should have been sent back."""
        return self.truth is GroundTruth.PREMATURE

    @property
    def false_complete(self) -> bool:
        """Whether a goal was called achieved that does not hold: the worst of all errors."""
        return self.truth is not None and self.completed and self.complete is not True

    @property
    def wrong(self) -> bool:
        """Whether the ruling (sent back, let rest, or goal achieved) contradicts a known truth."""
        return self.truth is not None and (self.sent_back != self.premature or self.false_complete)


class ChangedOutcome(Struct, frozen=True):
    """One stop that ends differently under two rubrics."""

    before: EvaluatedStop
    after: EvaluatedStop


class StopFigures(Struct, frozen=True, kw_only=True):
    """Figures of the stops of one day, project or host. `right`: a check was repaired or files changed after.

    `would_send_back` are those of shadow mode. Files change after these anyhow, so `would_be_right` counts
    repaired checks alone.

    `seconds` is how long judging took, `tokens` and `cents` what the judge cost, `unpriced` the stops whose
    judge had no known price.
    """

    name: str
    stops: int
    sent_back: int
    right: int = 0
    nothing: int = 0
    achieved: int
    judged: int
    seconds: float
    tokens: int
    cents: float
    unpriced: int
    would_send_back: int = 0
    would_be_right: int = 0
