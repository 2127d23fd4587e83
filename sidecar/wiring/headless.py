"""Builds what starts headless agents: skills, task loops, governed phases; they share one limit of workers.

Imported on first use: a cold start would take 40 ms longer.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import NamedTuple

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.decoding import InstructionKind
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.ports import Clock, EventLog, SecretDetector
from sidecar.platform.steering import FilesInForce
from sidecar.rubric.texts import read_texts
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.locks import SUPERVISOR, Locks
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.systems.governance.service import Governance
from sidecar.systems.supervision.evaluation import AbsentJudge
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.work_judging import WorkJudging
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.ports import LoopServices, LoopTasks, SessionGates
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.systems.tdd.policy.skills import parse_skill
from sidecar.systems.tdd.skills import Skills
from sidecar.systems.tdd.workbench import SkillServices
from sidecar.wiring.platform import build_evidence, build_instructions, build_platform, build_workspace
from sidecar.workers.agents import PROGRAMS, AgentBackend
from sidecar.workers.budget import Budget
from sidecar.workers.gateway import GatewayBackend
from sidecar.workers.ports import Workers
from sidecar.workers.service import WorkerService


class HeadlessWork(NamedTuple):
    """The systems whose work headless agents do."""

    skills: Skills
    loops: TaskLoops
    governance: Governance


def build_headless_work(
    state: Path, services: Services, gates: SessionGates, tasks: LoopTasks
) -> HeadlessWork:
    """Build them. `state`: the user's state folder."""
    workers = build_workers(state, services.spending, services.secrets)
    skills = build_skills(state, services, workers)
    loops = TaskLoops(build_loop_services(state, services, gates, tasks, workers))
    return HeadlessWork(skills, loops, build_governance(state, services, workers))


def build_workers(
    state: Path, spending: DailySpending, secrets: SecretDetector, budget: Budget | None = None
) -> WorkerService:
    """Build the real workers. `state`: the user's state folder; `spending`: where judging counts too."""
    texts = plugin_root() / "rubric"
    names = ("worker.md", "worker-gateway.md")
    closing, gateway_text = ((texts / name).read_text(encoding="utf-8") for name in names)
    agents = {program.name: AgentBackend(program, closing, build_workspace(state)) for program in PROGRAMS}
    gateway = GatewayBackend(gateway_text, os.environ, secrets.masker, ChangeApplier(state))
    return WorkerService({**agents, "gateway": gateway}, spending, secrets, budget)


def build_skills(
    state: Path, shared: EvidenceServices, workers: Workers, files: FilesInForce | None = None
) -> Skills:
    """Build the skills. `state`: the user's state folder; `files`: others in force than the platform's."""
    return Skills(
        SkillServices(
            applier=ChangeApplier(state),
            registry=build_instructions(InstructionKind.SKILL, parse_skill, state, files or shared.steering),
            shared=shared,
            texts=read_texts("tdd.md"),
            workers=workers,
        )
    )


def build_typed_skills(state: Path, files: FilesInForce, budget: Budget | None = None) -> Skills:
    """Build the skills for a person who types them in a shell."""
    shared = build_evidence(state, build_platform(state, files), files)
    return build_skills(state, shared, build_workers(state, shared.spending, shared.secrets, budget), files)


def build_loop_services(
    state: Path, shared: Services, gates: SessionGates, tasks: LoopTasks, workers: Workers
) -> LoopServices:
    """Build what the task loops use. `state`: the user's state folder."""
    return LoopServices(
        agents=build_instructions(InstructionKind.AGENT, parse_agent, state, shared.steering),
        gates=gates,
        shared=shared,
        tasks=tasks,
        texts=read_texts("loop.md"),
        work=WorkJudging(shared),
        workers=workers,
    )


def build_locks(
    state: Path, log: EventLog, clock: Clock, *, agent: str = SUPERVISOR, origin: str = ""
) -> Locks:
    """Build the context locks and their audit. `agent` and `origin`: who changes a lock."""
    return Locks(state, clock, Audit(log, clock, state), agent=agent, origin=origin)


def build_governance(state: Path, shared: Services, workers: Workers) -> Governance:
    """Build governed phases. `state`: the user's state folder.

    No model is asked beside their workers, which review and test.
    """
    unasked = dataclasses.replace(shared, judge=AbsentJudge())
    return Governance(
        GovernanceServices(
            applier=ChangeApplier(state),
            kept=state / "governance" / "evidence",
            locks=build_locks(state, shared.log, shared.clock),
            shared=shared,
            texts=read_texts("governance.md"),
            work=WorkJudging(unasked),
            workers=workers,
        )
    )
