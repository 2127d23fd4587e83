"""What a sidecar imports before somebody comes: one module is 0.3 ms of a start, and 25 KiB for ever."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

START: Final = """
import sys
from pathlib import Path
import sidecar.servers.serve, sidecar.servers.sidecar
from sidecar.__main__ import _build_methods
from sidecar.servers.control import SidecarControl
_build_methods(SidecarControl("1", Path("log")))
print(*sys.modules)
"""
OUR_MODULES: Final = 146
"""Let it grow only by what the first event of every session needs; else see sidecar/platform/ports.py."""
LATER: Final = {
    "evidence": (
        "claims",
        "detection",
        "code_host",
        "gates.runner",
        "ledger",
        "proof",
        "reports",
        "tree",
    ),
    "hosts": ("claude_code", "opencode"),
    "judging": ("case", "rules", "verdicts"),
    "platform": ("apply", "http", "processes", "team"),
    "servers": ("mcp.session", "tools.toolbox"),
    "systems": ("governance.service", "supervision.stop_loop", "taskloop.service", "tdd.skills"),
    "workers": ("agents",),
}
NOT_OURS_LATER: Final = {
    *("_pytest", "anyio", "httpx2", "markdown_it", "mcp", "mcp_types", "pydantic", "starlette"),
    *("opentelemetry", "psycopg"),
    *("tree_sitter", "uvicorn", "watchdog", "compileall", "difflib", "random", "shutil", "tempfile", "xml"),
}


@pytest.mark.process
def test_a_sidecar_that_waits_has_imported_only_what_every_session_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, check=True, timeout=60
    )
    modules = done.stdout.split()
    later = tuple(f"sidecar.{room}.{name}" for room, names in LATER.items() for name in names)
    assert [name for name in modules if name.startswith(later) or name in NOT_OURS_LATER] == []
    assert len([name for name in modules if name.startswith("sidecar")]) <= OUR_MODULES
