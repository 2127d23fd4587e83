"""Commands where the shell is not what they hope for: no colour, no known terminal, no reader, no home."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from support.scene import SUPERVISOR, Stage
from support.table import over_table

COMMANDS = ("--help", "status", "doctor --no-probe", "gates --list", "explain", "config show", "history")
COLOR = re.compile(rb"\x1b\[[0-9;]*[34][0-9]m")
LIMIT_S = 60
NOWHERE = "/proc/sys/nowhere"
"""A place where nobody, not even root, can make a folder."""

pytestmark = pytest.mark.process


def _in_terminal(stage: Stage, command: str, **environment: str) -> tuple[int, bytes]:
    """Run a command whose output is a terminal; returns how it ended and what it showed."""
    reading, theirs = os.openpty()
    with subprocess.Popen(
        [str(SUPERVISOR), *command.split()],
        cwd=stage.scene.project,
        env={**stage.scene.environment, **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(reading, 65536):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        process.wait(LIMIT_S)
    os.close(reading)
    return process.returncode, shown


@over_table("command", COMMANDS)
def test_a_terminal_that_wants_no_colour_or_that_nobody_knows_gets_words(stage: Stage, command: str) -> None:
    for environment in ({"TERM": "dumb"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}):
        code, shown = _in_terminal(stage, command, **environment)
        assert code in (0, 1, 3), shown
        assert shown
        assert COLOR.search(shown) is None
    for term in ("foreign-9000", ""):
        code, shown = _in_terminal(stage, command, TERM=term)
        assert code in (0, 1, 3), shown
        assert b"Traceback" not in shown


@over_table("command", ("status", "goal set all tests pass", "off", "install opencode", "trust --yes"))
def test_a_home_that_cannot_be_written_is_named_with_what_to_type(stage: Stage, command: str) -> None:
    done = stage.supervisor(*command.split(), HOME=NOWHERE)
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    assert NOWHERE in done.stderr
    assert "\n  - " in done.stderr
