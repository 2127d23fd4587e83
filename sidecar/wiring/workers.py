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
    closing, gateway_text = (
        (texts / name).read_text(encoding="utf-8") for name in ("worker.md", "worker-gateway.md")
    )
    agents = {program.name: AgentBackend(program, closing) for program in PROGRAMS}
    gateway = GatewayBackend(gateway_text, os.environ, secrets.masker, ChangeApplier(state))
    return WorkerService({**agents, "gateway": gateway}, spending, secrets)
