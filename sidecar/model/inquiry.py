"""One stop while it is being judged."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.events import Collected, Stopped
from sidecar.model.evidence import Evidence
from sidecar.model.gate import GateRun
from sidecar.model.session import Session
from sidecar.model.settings import Settings


class Inquiry(Struct, frozen=True, kw_only=True):
    """All that policy knows about a stop so far.

    `session` is what will be saved with the ruling. `off` says why Supervisor is switched off here, empty
    where it is on. `arrived`: the continuation said before was seen to arrive; `lost`: it never did, and is
    given back. `suspicion` is what a rule found without being certain.
    """

    session: Session
    stop: Stopped
    settings: Settings
    off: str = ""
    facts: Collected | None = None
    arrived: bool = False
    lost: bool = False
    runs: tuple[GateRun, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    suspicion: str = ""
    stage: str = "skip rules"
