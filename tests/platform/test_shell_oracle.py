"""What is understood of a line is held against bash itself: lines drawn at random are really run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from sidecar.kernel.turn import CommandRun, FailureHandling
from sidecar.platform.shell.commands import unwrap_command
from sidecar.platform.shell.line import parse_simple_commands
from support.shell_lines import STUBS, Lines, put_stubs

pytestmark = pytest.mark.process

BASH = shutil.which("bash") or ""
SECONDS = 60
"""No line needs one; what hangs fails the test."""


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    put_stubs(folder)
    return folder


def really_run(line: str, stubs: Path) -> tuple[int, list[str]]:
    """Run a line with bash: its exit code, and which stubs ran with which end."""
    log = stubs / "log"
    for old in stubs.glob("log*"):
        old.unlink()
    environment = {"PATH": f"{stubs}:/usr/bin:/bin", "LOG": str(log)}
    command = [BASH, "-c", line]
    done = subprocess.run(
        command, env=environment, capture_output=True, timeout=SECONDS, check=False, input=b""
    )
    return done.returncode, log.read_text().split() if log.exists() else []


def lies(run: CommandRun, number: str, exit_code: int, ended: list[str]) -> str:
    """Name what was understood of a command and is not so."""
    came, failed = f"-{number}" in ended or f"+{number}" in ended, f"-{number}" in ended
    wrong = (
        ("decides", run.fate is FailureHandling.DECIDES and failed and exit_code == 0),
        ("implied", run.implied and exit_code == 0 and not came),
        ("blamed", run.blamed and exit_code != 0 and not failed),
    )
    return ", ".join(name for name, holds in wrong if holds)


def stub_runs(line: str) -> list[tuple[CommandRun, str]]:
    """List the runs of stubs in a line, each with its number."""
    peels = [(run, unwrap_command(run.argv)) for run in parse_simple_commands(line)]
    return [(run, argv[1]) for run, argv in peels if len(argv) > 1 and argv[0] in STUBS]


@pytest.mark.skipif(not BASH, reason="bash is not installed")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_bash_bears_out_what_is_understood(stubs: Path, seed: int) -> None:
    line = Lines(Random(seed)).line()  # noqa: S311 - no secret
    exit_code, ended = really_run(line, stubs)
    for run, number in stub_runs(line):
        event(run.fate)
        wrong = lies(run, number, exit_code, ended)
        assert not wrong, f"{wrong} of {run.text!r} in {line!r}: it ended {exit_code} after {ended}"


# What the drawing found when the reader was built, kept so that it stays found.
REGRESSIONS = (
    "! command f 1\n! timeout 5 f 2 2>/dev/null | timeout 5 f 3",
    "until t 9; do exit 1; done || t 3 | t 4 >/dev/null 2>&1 | f 5",
    "{ UID=3; f 9; } 2>/dev/null; u 10",
    "exec A=1 t 8 >/dev/null 2>&1\ncommand u 10",
    "f 1 |& ! time t 2; f 3",
    "f 1 && f 2 > /dev/null | t 3",
    "f 1 || t 2 <<E | f 3\nx\nE\n",
)


@pytest.mark.skipif(not BASH, reason="bash is not installed")
@pytest.mark.parametrize("line", REGRESSIONS)
def test_bash_bears_out_lines_that_were_once_misread(line: str, stubs: Path) -> None:
    exit_code, ended = really_run(line, stubs)
    assert not [wrong for run, number in stub_runs(line) if (wrong := lies(run, number, exit_code, ended))]
