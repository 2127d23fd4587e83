"""Builds the task loop."""

from __future__ import annotations

from pathlib import Path

from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.installation import plugin_root
from sidecar.systems.supervision.ports import Services
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.ports import LoopServices, LoopTasks, SessionGates
from sidecar.wiring.evidence import build_instructions
from sidecar.wiring.texts import read_texts
from sidecar.workers.ports import Workers


def build_loop_services(
    state: Path,
    services: Services,
    gates: SessionGates,
    tasks: LoopTasks,
    workers: Workers,
) -> LoopServices:
    """Build what the task loops use. `state`: the user's state folder."""
    return LoopServices(
        agents=build_instructions(InstructionKind.AGENT, parse_agent, state, services.steering),
        evidence=services,
        gates=gates,
        platform=services,
        rubric=plugin_root() / "rubric",
        tasks=tasks,
        texts=read_texts("loop.md"),
        workers=workers,
    )
