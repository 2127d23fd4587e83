"""The state of one stop while it is judged."""

from __future__ import annotations

from msgspec import Struct, field

from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import NO_RUBRIC, AgentStopped, ProjectState
from sidecar.kernel.evidence import Claim, Evidence
from sidecar.kernel.gate import CheckComparison, GateRun
from sidecar.kernel.goal import Spending
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.kernel.turn import Turn
from sidecar.kernel.verdict import Judgement

UNSEEN_PROJECT = ProjectState(tree="", rubric=NO_RUBRIC)
"""The state of a project before it was read."""


class Inquiry(Struct, frozen=True, kw_only=True):
    """Everything that policy knows about a stop so far.

    `session` is what will be saved with the ruling. `off` says why Supervisor is switched off here, empty
    where it is on. `waits` is what another system asks the user for this session, empty for nothing.
    `arrived`: the pending continuation was seen to arrive; `lost`: it never did, and is given
    back. `left_running` is background work that a headless host will kill. `suspicion` is what a rule found
    without being certain, `rule` the id of the rule that decided or was suspicious. `confidence` is the
    probability, 0 to 1, that the work is not finished. `case` is what the judge is shown, `first` its first
    answer where it is asked twice. `today` is the cost of all judging for this user today. `judge` is who
    judged, `judge_tokens` and `judge_cents` are the cost of judging this stop.
    """

    session: Session
    stop: AgentStopped
    settings: Settings
    off: str = ""
    waits: str = ""
    turn: Turn = Turn()
    project_state: ProjectState = field(default=UNSEEN_PROJECT, name="survey")  # as stored
    arrived: bool = False
    lost: bool = False
    runs: tuple[GateRun, ...] = ()
    comparisons: tuple[CheckComparison, ...] = ()
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
    stage: str = "skip rules"
