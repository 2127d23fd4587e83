"""Builds the workers with all their backends."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.ports import SecretDetector
from sidecar.workers.agents import PROGRAMS, AgentBackend
from sidecar.workers.gateway import GatewayBackend
from sidecar.workers.service import WorkerService


def build_workers(state: Path, spending: DailySpending, secrets: SecretDetector) -> WorkerService:
    """Build the real workers. `state`: the user's state folder; `spending`: where judging counts too."""
    texts = plugin_root() / "rubric"
    agents = {program.name: AgentBackend(program, texts) for program in PROGRAMS}
    gateway = GatewayBackend(texts, os.environ, secrets.masker, ChangeApplier(state))
    return WorkerService({**agents, "gateway": gateway}, spending, secrets)
