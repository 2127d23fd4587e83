"""What governed phases need from the rooms below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from msgspec import Struct

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.session import Environment, SessionKey
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.services import PlatformServices
from sidecar.systems.governance.locks import SHELL, Locks
from sidecar.workers.ports import Workers

Tell = Callable[[str], None]
"""Is told what is being done, in one line each time."""


@dataclass(frozen=True, kw_only=True)
class GovernanceServices:
    """The adapters that governed phases use.

    `texts`: the sections of rubric/governance.md; `prompts`: the folder of the phases' prompts; `kept`: the
    folder for evidence.
    """

    applier: ChangeApplier
    evidence: EvidenceServices
    kept: Path
    locks: Locks
    platform: PlatformServices
    prompts: Path
    texts: dict[str, str]
    workers: Workers

    def say(self, section: str, values: Mapping[str, str]) -> str:
        """Fill in a section of rubric/governance.md."""
        return Template(self.texts.get(section, section)).safe_substitute(values).strip()


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
