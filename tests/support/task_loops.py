"""The task loop over the services of a test."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sidecar.evidence.gates.approvals import InstructionRegistry
from sidecar.kernel.decoding import InstructionKind
from sidecar.platform.installation import plugin_root
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.gate_requests import SessionChecks
from sidecar.systems.supervision.ports import Services
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.wiring.headless import build_loop_services
from support.scripted_workers import ScriptedWorkers


def loops_over(
    services: Services, checks: SessionChecks, journals: SessionJournals, agents: Path | None = None
) -> TaskLoops:
    """`agents`: the folder that holds the folder `agents`; those that ship by default."""
    parents = [agents or plugin_root() / "rubric"]
    parts = build_loop_services(Path(), services, checks, journals, ScriptedWorkers(()))
    known = InstructionRegistry(InstructionKind.AGENT, parse_agent, parents, lambda _, __: False)
    return TaskLoops(dataclasses.replace(parts, agents=known))
