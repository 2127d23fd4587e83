"""Become the language server of rubrics: `supervisor lsp` of the runtime that an install recorded.

The host may copy this folder elsewhere, so nothing outside of it is named here. Where the runtime is recorded
is the rule of sidecar/platform/paths.py, and a test compares. It runs on any Python from 3.8 on.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def runtime() -> str:
    """The absolute path of the `supervisor` that was recorded, else of $SUPERVISOR_BIN; "" for neither."""
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    state = (home if home.is_absolute() else Path.home() / ".local" / "state") / "supervisor"
    recorded = ""
    with suppress(OSError):
        recorded = os.fsdecode((state / "runtime").read_bytes()).strip()
    for path in (recorded, os.environ.get("SUPERVISOR_BIN", "")):
        with suppress(ValueError):
            if Path(path).is_absolute() and os.access(path, os.X_OK):
                return path
    return ""


def main() -> None:
    """Start it in the place of this process."""
    path = runtime()
    if not path:
        sys.exit("supervisor-rubric: no runtime is recorded. Type in a shell: supervisor install claude-code")
    os.execv(path, [path, "lsp"])  # noqa: S606, TID251 - the user's own runtime takes this process over


if __name__ == "__main__":
    main()
