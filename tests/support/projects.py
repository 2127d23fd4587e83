"""Small projects on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sidecar.evidence.detection.detect import detect_gates

PYTEST_SOURCE = """from shop import total


def test_a_tenth_is_taken_off():
    assert total([10.0, 20.0], 0.1) == 27.0


def test_nothing_costs_nothing():
    assert total([], 0.0) == 0.0
"""
"""The tests of the demo's project, as pytest's, which most scenes are about."""


def lay(project: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files, by their paths below the project."""
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return project


def offered(project: Path, files: Mapping[str, str | bytes]) -> dict[str, str]:
    """Lay the files; the commands of the detected gates by their ids."""
    return {gate.id: gate.command for gate in detect_gates(lay(project, files), {})}
