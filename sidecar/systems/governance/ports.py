"""What governed phases need from the rooms below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.session import Environment, SessionKey
from sidecar.platform.apply import ChangeApplier
from sidecar.rubric.texts import Texts
from sidecar.systems.governance.locks import SHELL, Locks
from sidecar.workers.ports import Workers

Tell = Callable[[str], None]
"""Is told what is being done, in one line each time."""


@dataclass(frozen=True, kw_only=True)
class GovernanceServices:
    """What governed phases use beside what all systems share.

    `texts`: rubric/governance.md; `kept`: the folder for evidence.
    """

    applier: ChangeApplier
    kept: Path
    locks: Locks
    shared: EvidenceServices
    texts: Texts
    workers: Workers


class PhaseCaller(Struct, frozen=True, kw_only=True):
    """Who calls a phase, and where. `session` is None for a person in a shell."""

    project: str
    environment: Environment
    session: SessionKey | None = None
    origin: str = ""

    @property
    def holder(self) -> str:
        """The caller's name as the holder of a lock."""
        return f"{self.session.host}:{self.session.id}" if self.session else SHELL
