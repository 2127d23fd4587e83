"""Builds what starts headless agents: skills, task loops, governed phases; they share one limit of workers.

Imported on first use: a cold start would take 40 ms longer.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sidecar.systems.governance.service import Governance
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.gate_requests import SessionChecks
from sidecar.systems.supervision.ports import Services
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.systems.tdd.skills import Skills
from sidecar.wiring.governance import build_governance
from sidecar.wiring.taskloop import build_loop_services
from sidecar.wiring.tdd import build_skills
from sidecar.wiring.workers import build_workers


class HeadlessWork(NamedTuple):
    """The systems whose work headless agents do."""

    skills: Skills
    loops: TaskLoops
    governance: Governance


def build_headless_work(
    state: Path, services: Services, checks: SessionChecks, journals: SessionJournals
) -> HeadlessWork:
    """Build them. `state`: the user's state folder."""
    workers = build_workers(state, services.spending, services.secrets)
    skills = build_skills(state, services, services, services.steering, workers)
    loops = TaskLoops(build_loop_services(state, services, checks, journals, workers))
    governance = build_governance(state, services, services, workers)
    return HeadlessWork(skills, loops, governance)
