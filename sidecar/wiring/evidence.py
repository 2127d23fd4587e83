"""Builds the evidence services: the project's files, gates and instructions, and the checks as they were."""

# ruff: noqa: PLC0415 - an adapter is imported when it is first used

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sidecar.evidence.gates.instructions import InstructionRegistry
from sidecar.evidence.gates.trust import TrustFile
from sidecar.evidence.ports import (
    EvidenceServices,
    GateCatalog,
    GateRunner,
    OldChecks,
    TreeCheckpoints,
    Workspace,
)
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.configuration import user_config_folder
from sidecar.platform.installation import plugin_root
from sidecar.platform.on_use import built_on_use
from sidecar.platform.steering import FilesInForce

if TYPE_CHECKING:
    from sidecar.evidence.code_host import CodeHost

T = TypeVar("T")


def build_evidence(state: Path, files: FilesInForce) -> EvidenceServices:
    """Build the real adapters, each when it is first used. `state`: the user's state folder."""
    code_host, workspace = built_on_use(_code_host), built_on_use(partial(_workspace, state))
    return EvidenceServices(
        catalog=built_on_use(partial(_catalog, state, files, code_host)),
        checkpoints=built_on_use(partial(_checkpoints, state)),
        gates=built_on_use(partial(_gates, workspace, code_host)),
        old_checks=built_on_use(partial(_old_checks, workspace)),
        workspace=workspace,
    )


def _catalog(state: Path, files: FilesInForce, code_host: CodeHost) -> GateCatalog:
    from sidecar.evidence.detection.detect import detect_gates
    from sidecar.evidence.gates.catalog import ProjectCatalog

    return ProjectCatalog(os.environ, TrustFile(state, files), detect_gates, code_host, files)


def _checkpoints(state: Path) -> TreeCheckpoints:
    from sidecar.evidence.tree.checkpoints import GitCheckpoints

    return GitCheckpoints(state)


def _code_host() -> CodeHost:
    from sidecar.evidence.code_host import CodeHost

    return CodeHost()


def _gates(workspace: Workspace, code_host: CodeHost) -> GateRunner:
    from sidecar.evidence.gates.project import ProjectGates

    return ProjectGates(workspace=workspace, code_host=code_host)


def _old_checks(workspace: Workspace) -> OldChecks:
    from sidecar.evidence.proof.old_checks import ScratchChecks

    return ScratchChecks(workspace)


def _workspace(state: Path) -> Workspace:
    from sidecar.evidence.tree.workspace import GitWorkspace

    return GitWorkspace(state / "trees")


def build_instructions(
    kind: InstructionKind, parse: Callable[[str, str], T], state: Path, files: FilesInForce
) -> InstructionRegistry[T]:
    """Build the registry of one kind of instructions. `state`: the user's state folder."""
    user = user_config_folder(os.environ)
    parents = (plugin_root() / "rubric", *((user,) if user else ()))
    return InstructionRegistry(kind, parse, parents, TrustFile(state, files).approved, files)
