"""One stop while it is being judged."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.claim import Claim
from sidecar.model.effects import Case
from sidecar.model.events import NO_RUBRIC, Stopped, Surveyed
from sidecar.model.evidence import Evidence
from sidecar.model.gate import GateRun
from sidecar.model.session import Session
from sidecar.model.settings import Settings
from sidecar.model.spending import Spending
from sidecar.model.turn import Turn
from sidecar.model.verdict import Judgement

UNSEEN = Surveyed(tree="", rubric=NO_RUBRIC)
"""What is known of a project before anybody looked."""


class Inquiry(Struct, frozen=True, kw_only=True):
    """All that policy knows about a stop so far.

    `session` is what will be saved with the ruling. `off` says why Supervisor is switched off here, empty
    where it is on. `arrived`: the continuation said before was seen to arrive; `lost`: it never did, and is
    given back. `left_running` is background work that a headless host will kill. `suspicion` is what a rule
    found without being certain, `rule` the id of the rule that decided or was suspicious. `confidence` is
    how likely it is, 0 to 1, that the work is not at its end. `case` is what the judge is shown, `first` its
    first answer where it is asked twice. `today` is what all judging of this user cost today. `judge` is who
    judged, `judge_tokens` and `judge_cents` what this stop's judging cost.
    """

    session: Session
    stop: Stopped
    settings: Settings
    off: str = ""
    turn: Turn = Turn()
    survey: Surveyed = UNSEEN
    arrived: bool = False
    lost: bool = False
    runs: tuple[GateRun, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    claims: tuple[Claim, ...] = ()
    left_running: tuple[str, ...] = ()
    suspicion: str = ""
    rule: str = ""
    confidence: float | None = None
    case: Case | None = None
    first: Judgement | None = None
    today: Spending = Spending()
    judge: str = ""
    judge_tokens: int = 0
    judge_cents: float | None = None
    stage: str = "skip rules"
