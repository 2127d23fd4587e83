"""A program of other code and of the same version, and who runs, without making it leave."""

from __future__ import annotations

import shutil
from pathlib import Path

from sidecar.platform.client import SidecarClient
from sidecar.platform.installation import code_root
from sidecar.platform.paths import Paths
from sidecar.platform.rpc import HelloAnswer
from support.scene import SUPERVISOR


def older_supervisor(folder: Path) -> Path:
    """Lay a clone of other code into this new folder; return the program that runs it."""
    shutil.copytree(
        Path(code_root(), "sidecar"), folder / "sidecar", ignore=shutil.ignore_patterns("__pycache__")
    )
    for part in ("rubric", "hooks", ".claude-plugin"):
        packaged = Path(code_root(), "sidecar", "_plugin", part)
        shutil.copytree(packaged if packaged.exists() else Path(code_root(), part), folder / part)
    (folder / "sidecar" / "older.py").touch()
    program = folder / "supervisor"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{SUPERVISOR}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def greeted(state: Path) -> HelloAnswer:
    """Return who runs for this state folder."""
    hello = SidecarClient(Paths(state, state), starts=False).greet()
    assert hello is not None
    return hello
