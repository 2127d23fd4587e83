"""The services that `supervisor gates` and `supervisor trust` use."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from msgspec import Struct

from sidecar.cli.held_files import CommandLineFiles
from sidecar.evidence.code_host import CodeHost
from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.gates.project import ProjectGates
from sidecar.evidence.gates.trust import TrustFile
from sidecar.evidence.ports import GateCatalog, GateRunner
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.session import Environment
from sidecar.platform.paths import user_paths


class GateServices(Struct, frozen=True):
    """Access to a project's gates. `fingerprint`: see evidence.ports.Workspace."""

    catalog: GateCatalog
    runner: GateRunner
    trust: TrustFile
    fingerprint: Callable[[str, Environment], Awaitable[str]]


def build_gate_services() -> GateServices:
    """The services of the current user."""
    state, files = user_paths().state, CommandLineFiles()
    code_host, trust, workspace = CodeHost(), TrustFile(state, files), GitWorkspace(state / "trees")
    return GateServices(
        catalog=ProjectCatalog(os.environ, trust, detect_gates, code_host, files),
        runner=ProjectGates(workspace=workspace, code_host=code_host),
        trust=trust,
        fingerprint=workspace.fingerprint,
    )
