""".NET: the solution where there is one, else the projects one by one."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.found import Found, one_line
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

SOLUTION: Final = ("*.sln", "*.slnx")
PROJECT: Final = ("*.csproj", "*.fsproj", "*.vbproj")
TESTED: Final = re.compile(r"Microsoft\.NET\.Test\.Sdk|Microsoft\.Testing\.Platform|MSTest\.Sdk|\bTUnit\b")
"""What only a project of tests refers to."""


def find(root: Folder) -> Iterator[Found]:
    """Tests and build of the solution, or of the project."""
    solutions, projects = root.matching(*SOLUTION), root.matching(*PROJECT)
    found = solutions or projects
    if not found:
        return
    # With two of them in a folder, dotnet asks which one is meant.
    target = f" {_path(found[0])}" if len(solutions + projects) > 1 else ""
    tests = found if solutions else [name for name in projects if TESTED.search(root.text(name))]
    if tests:
        target_of_tests = f" {_path(tests[0])}" if target else ""
        why = f"the project has a {one_line(tests[0])}"
        yield Found(kind=Kind.TESTS, tool="dotnet", command=f"dotnet test{target_of_tests}", why=why)
    why = f"the project has a {one_line(found[0])}"
    yield Found(kind=Kind.BUILD, tool="dotnet", command=f"dotnet build{target}", why=why)


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - all commands span the same
    """Whether the root has a solution and the member none."""
    return bool(root.matching(*SOLUTION)) and not member.matching(*SOLUTION)


def _path(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
