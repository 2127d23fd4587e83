"""Small projects on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sidecar.evidence.detection.detect import detect_gates


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
