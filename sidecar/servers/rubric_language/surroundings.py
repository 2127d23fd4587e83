"""Finds what a project's rubric can refer to: the project's gates, the rules, and its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.gates.trust import TrustFile
from sidecar.evidence.tree.work_tree import find_work_tree
from sidecar.judging.rules.every import STOP_RULES
from sidecar.kernel.rubric import RubricContext
from sidecar.platform.environments import tool_folders
from sidecar.platform.git import UnseenError

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


PATHS: Final = 20_000
"""Maximum number of files of a project that are listed."""


def default_surroundings() -> RubricContext:
    """Return what is the same in every project."""
    return RubricContext(rules=tuple(rule.id for rule in STOP_RULES))


async def find_surroundings(project: str, environment: Environment, state: Path) -> RubricContext:
    """Return what a project contains. `state` is the folder with the user's approvals. Never raises."""
    try:
        catalog = await ProjectCatalog(environment, TrustFile(state), detect_gates).list(project, environment)
        paths = await _list_project_paths(project, environment)
    except (OSError, ValueError, UnseenError):
        return default_surroundings()
    return RubricContext(
        gates=tuple(gate.id for gate in catalog.gates),
        rules=default_surroundings().rules,
        paths=paths[:PATHS],
        more=len(paths) > PATHS,
    )


async def _list_project_paths(project: str, environment: Environment) -> tuple[str, ...]:
    """Return up to PATHS + 1 files that are not ignored; without git all except those in tool folders."""
    found = await find_work_tree(project, environment)
    if found is None or found.index is None:
        return tuple(_walk_files(Path(project)))
    listed = await found.git.names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    inside = "" if found.inside == "." else f"{found.inside}/"
    return tuple(path.removeprefix(inside) for path in listed if path.startswith(inside))[: PATHS + 1]


def _walk_files(project: Path) -> Iterator[str]:
    room = PATHS + 1
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in tool_folders())
        for name in sorted(files):
            if not room:
                return
            room -= 1
            yield str((Path(folder) / name).relative_to(project))
