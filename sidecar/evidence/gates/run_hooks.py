"""Reads a project's hooks of `supervisor run`, once the user approved the file that names them (law 12)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from sidecar.kernel.gate import Gate, GateOrigin
from sidecar.kernel.settings import RunHooks
from sidecar.platform.files import UnusableFileError, read_whole

HOOKS_FILE: Final = ".supervisor/run.toml"
FILE_LIMIT: Final = 64 << 10
"""Maximum bytes of the file."""


def find_run_hooks_gate(project: str) -> Gate | None:
    """Return a gate that is never run, for the whole text of the file; None where none can be read."""
    try:
        text = read_whole(Path(project, HOOKS_FILE), FILE_LIMIT, follow=True).decode()
    except (OSError, UnusableFileError, UnicodeDecodeError):
        return None
    return Gate(
        id="run-hooks",
        command=HOOKS_FILE,
        why="commands around the iterations of `supervisor run`",
        origin=GateOrigin.PROJECT,
        behind=text,
    )


def approved_run_hooks(project: str, approved: Callable[[str, Gate], bool]) -> tuple[RunHooks, str]:
    """Return the hooks of a project that may run, and what is wrong with others, "" for nothing."""
    gate = find_run_hooks_gate(project)
    if gate is None:
        return RunHooks(), ""
    if not approved(project, gate):
        return RunHooks(), f"{HOOKS_FILE}: not approved, so not used. To approve it: supervisor trust"
    try:
        return msgspec.toml.decode(gate.behind, type=RunHooks), ""
    except (msgspec.DecodeError, ValueError) as error:
        return RunHooks(), f"{HOOKS_FILE}: {error}"
