"""What governed phases need from the rooms below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from sidecar.kernel.session import Environment, SessionKey
from sidecar.platform.apply import ChangeApplier
from sidecar.systems.governance.locks import SHELL, Locks
from sidecar.work.ports import HeadlessServices, WorkJudge


@dataclass(frozen=True, kw_only=True)
class GovernanceServices(HeadlessServices):
    """What governed phases use. `texts`: rubric/governance.md; `kept`: the folder for evidence."""

    applier: ChangeApplier
    kept: Path
    locks: Locks
    work: WorkJudge


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
