"""Builds the evidence services: the project's files, gates and instructions, and the checks as they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sidecar.evidence.code_host.gates import CodeHost
from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.gates.instructions import InstructionRegistry
from sidecar.evidence.gates.project import ProjectGates
from sidecar.evidence.gates.trust import TrustFile
from sidecar.evidence.ports import EvidenceServices
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.tree.checkpoints import GitCheckpoints
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.configuration import user_config_folder
from sidecar.platform.installation import plugin_root
from sidecar.platform.steering import FilesInForce

T = TypeVar("T")


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


def build_instructions(
    kind: InstructionKind, parse: Callable[[str, str], T], state: Path, files: FilesInForce
) -> InstructionRegistry[T]:
    """Build the registry of one kind of instructions. `state`: the user's state folder."""
    user = user_config_folder(os.environ)
    parents = (plugin_root() / "rubric", *((user,) if user else ()))
    return InstructionRegistry(kind, parse, parents, TrustFile(state, files).approved, files)
