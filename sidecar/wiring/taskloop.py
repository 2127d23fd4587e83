"""Builds the task loop."""

from __future__ import annotations

from pathlib import Path

from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.installation import plugin_root
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.supervision.ports import Services
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.ports import LoopServices, LoopTasks, SessionGates
from sidecar.wiring.evidence import build_instructions
from sidecar.workers.ports import Workers


def read_texts(*names: str) -> dict[str, str]:
    """Return the sections of these files in rubric/; of two with one name, that of the later file."""
    texts: dict[str, str] = {}
    for name in names:
        texts |= markdown_sections((plugin_root() / "rubric" / name).read_text(encoding="utf-8"))
    return texts


def loop_texts() -> dict[str, str]:
    """Return what agents are told by the loop."""
    return read_texts("loop.md")


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
        texts=loop_texts(),
        workers=workers,
    )
