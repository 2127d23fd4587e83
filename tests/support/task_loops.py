"""The task loop over the services of a test."""

from __future__ import annotations

from pathlib import Path

from sidecar.evidence.gates.instructions import InstructionRegistry
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.installation import plugin_root
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.gate_requests import SessionChecks
from sidecar.systems.supervision.ports import Services
from sidecar.systems.taskloop.council import Council, CouncilServices
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.ports import LoopServices
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.wiring.taskloop import loop_texts
from support.scripted_workers import ScriptedWorkers


def loops_over(
    services: Services, checks: SessionChecks, journals: SessionJournals, agents: Path | None = None
) -> TaskLoops:
    """`agents`: the folder that holds the folder `agents`; those that ship by default."""
    parents = [agents or plugin_root() / "rubric"]
    return TaskLoops(
        LoopServices(
            agents=InstructionRegistry(InstructionKind.AGENT, parse_agent, parents, lambda _, __: False),
            checkpoints=services.checkpoints,
            clock=services.clock,
            configuration=services.configuration,
            council=Council(
                CouncilServices(
                    configuration=services.configuration,
                    secrets=services.secrets,
                    texts=plugin_root() / "rubric",
                    workers=ScriptedWorkers(()),
                    workspace=services.workspace,
                )
            ),
            gates=checks,
            log=services.log,
            loops=services.loops,
            old_checks=services.old_checks,
            spending=services.spending,
            tasks=journals,
            texts=loop_texts(),
            workspace=services.workspace,
        )
    )
