"""What skills need from the rooms below."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.evidence.gates.instructions import InstructionRegistry
from sidecar.evidence.ports import GateCatalog, GateRunner, Workspace
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.ports import Clock, Configuration, EventLog, SecretDetector
from sidecar.systems.tdd.policy.skills import Skill
from sidecar.workers.ports import Workers


@dataclass(frozen=True, kw_only=True)
class SkillServices:
    """The adapters that skills use. `texts`: the sections of rubric/tdd.md."""

    applier: ChangeApplier
    catalog: GateCatalog
    configuration: Configuration
    clock: Clock
    gates: GateRunner
    log: EventLog
    registry: InstructionRegistry[Skill]
    secrets: SecretDetector
    texts: dict[str, str]
    workers: Workers
    workspace: Workspace
