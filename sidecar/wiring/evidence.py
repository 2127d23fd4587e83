"""Builds the evidence services: the project's files, its gates, and the checks as they were."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.evidence.code_host.gates import CodeHost
from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.gates.project import ProjectGates
from sidecar.evidence.gates.trust import TrustFile
from sidecar.evidence.ports import EvidenceServices
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.tree.checkpoints import GitCheckpoints
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.platform.steering import FilesInForce


def build_evidence(state: Path, files: FilesInForce) -> EvidenceServices:
    """Build the real adapters. `state`: the user's state folder."""
    workspace, code_host = GitWorkspace(state / "trees"), CodeHost()
    return EvidenceServices(
        catalog=ProjectCatalog(os.environ, TrustFile(state, files), detect_gates, code_host, files),
        checkpoints=GitCheckpoints(state),
        gates=ProjectGates(workspace=workspace, code_host=code_host),
        old_checks=ScratchChecks(workspace),
        workspace=workspace,
    )
