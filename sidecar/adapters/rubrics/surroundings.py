"""What a project's rubric can name: the project's gates, the rules, and its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import detect
from sidecar.adapters.settings.catalog import ProjectCatalog
from sidecar.adapters.settings.trust_file import TrustFile
from sidecar.adapters.tree.git import UnseenError
from sidecar.adapters.tree.ground import ground
from sidecar.adapters.tree.steering import SKIPPED
from sidecar.model.flaw import Surroundings
from sidecar.policy.rules import RULES

if TYPE_CHECKING:
    from sidecar.ports import Environment

PATHS: Final = 20_000
"""Files of a project that are listed."""


def unknown() -> Surroundings:
    """What is the same in every project."""
    return Surroundings(rules=tuple(rule.id for rule in RULES))


async def around(project: str, environment: Environment, state: Path) -> Surroundings:
    """What there is in a project. `state` is where its approvals are kept. Never raises."""
    try:
        catalog = await ProjectCatalog(environment, TrustFile(state), detect).list(project, environment)
        paths = await _paths(project, environment)
    except (OSError, ValueError, UnseenError):
        return unknown()
    return Surroundings(
        gates=tuple(gate.id for gate in catalog.gates),
        rules=unknown().rules,
        paths=paths[:PATHS],
        more=len(paths) > PATHS,
    )


async def _paths(project: str, environment: Environment) -> tuple[str, ...]:
    """The files that are not ignored; without git all but those in tools' folders. PATHS and one more."""
    found = await ground(project, environment)
    if found is None or found.index is None:
        return tuple(_walked(Path(project)))
    listed = await found.git.names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    inside = "" if found.inside == "." else f"{found.inside}/"
    return tuple(path.removeprefix(inside) for path in listed if path.startswith(inside))[: PATHS + 1]


def _walked(project: Path) -> Iterator[str]:
    room = PATHS + 1
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            if not room:
                return
            room -= 1
            yield str((Path(folder) / name).relative_to(project))
