"""One stop while it is being judged."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.claim import Claim
from sidecar.model.events import Stopped, Surveyed
from sidecar.model.evidence import Evidence
from sidecar.model.gate import GateRun
from sidecar.model.rubric import Rubric
from sidecar.model.session import Session
from sidecar.model.settings import Settings
from sidecar.model.turn import Turn

UNSEEN = Surveyed(tree="", rubric=Rubric(patterns=(), antipatterns=(), origin=""))
"""What is known of a project before anybody looked."""


class Inquiry(Struct, frozen=True, kw_only=True):
    """All that policy knows about a stop so far.

    `session` is what will be saved with the ruling. `off` says why Supervisor is switched off here, empty
    where it is on. `arrived`: the continuation said before was seen to arrive; `lost`: it never did, and is
    given back. `left_running` is background work that a headless host will kill. `suspicion` is what a rule
    found without being certain. `judge_tokens` is what this stop's judgement cost.
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
    judge_tokens: int = 0
    stage: str = "skip rules"
