"""`supervisor lsp` on the command line. What it says to an editor: tests/servers/test_rubric_language.py."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import sidecar

pytestmark = pytest.mark.process

LIMIT_S = 60.0


def test_on_a_terminal_it_says_who_starts_it_instead_of_waiting_for_ever() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "lsp", "--stdio"],
        stdin=theirs, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(sidecar.__file__).parents[1])},
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "an editor starts this" in done.stderr


def test_its_help_loads_no_language_server() -> None:
    code = "import sys, sidecar.cli; sidecar.cli.run_command(['lsp', '--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=LIMIT_S, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(sidecar.__file__).parents[1])},
    )  # fmt: skip
    assert "over stdin and stdout" in done.stdout
    assert "pygls" not in done.stdout.splitlines()[-1]
