"""Detects an executable file that runs the tests: data/test_scripts.toml has the names.

It counts only where no runner and no recipe was found. An approval covers the text of the file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from sidecar.evidence.detection.folder import DetectedGate, approval_text
from sidecar.kernel.gate import Kind
from sidecar.platform.data import load_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.evidence.detection.folder import PackageRoot


class TestScripts(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    names: tuple[str, ...]


def find_script_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield the first such file."""
    name = root.has(*load_data("test_scripts", TestScripts).names)
    if name and os.access(root.path / name, os.X_OK):
        behind = approval_text(root.text(name))
        why = f"{name} is an executable file"
        yield DetectedGate(
            kind=Kind.TESTS, tool="script", command=f"./{name}", why=why, behind=behind, weak=True
        )


def covers_script_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - the same for all
    """Return False: nobody knows what a script covers."""
    return False
