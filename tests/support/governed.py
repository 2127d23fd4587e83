"""Governed phases over the services of a test, with workers that a test wrote."""

from __future__ import annotations

from pathlib import Path

from sidecar.systems.governance.service import Governance
from sidecar.systems.supervision.ports import Services
from sidecar.wiring.governance import build_governance
from sidecar.workers.ports import Workers
from support.scripted_workers import ScriptedWorkers


def governance_over(services: Services, state: Path, workers: Workers | None = None) -> Governance:
    """`state`: a folder of the test."""
    return build_governance(state, services, services, workers or ScriptedWorkers(()))
