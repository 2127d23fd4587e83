"""`supervisor acp` as an editor starts it: one process, its pipes, and the agent below."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import sidecar
from support.acp_agent import GREETING, Scripted
from support.acp_editor import HELLO, AcpEditor

pytestmark = pytest.mark.process

SUPERVISOR: Final = (sys.executable, "-m", "sidecar", "acp", "--")


def started(folder: Path, *agent: str) -> AcpEditor:
    home = str(Path(sidecar.__file__).parents[1])
    return AcpEditor((*SUPERVISOR, *agent), folder, {**os.environ, "PYTHONPATH": home})


def test_what_the_agent_says_passes_and_it_ends_when_the_editor_leaves(tmp_path: Path) -> None:
    agent = Scripted(
        tmp_path, {**GREETING, "initialize": [*GREETING["initialize"], ("complain", "a warning")]}
    )
    with started(tmp_path, *agent.command) as editor:
        assert editor.call("initialize", **HELLO)["protocolVersion"] == 1
        assert editor.close() == 0
    assert agent.told("initialize") == HELLO


def test_an_agent_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    marker = tmp_path / "ended"
    script = f"trap 'echo > {marker}; exit 0' TERM; cat > /dev/null; while :; do sleep 0.1; done"
    with started(tmp_path, "sh", "-c", script) as editor:
        assert editor.close() == 0
    assert marker.exists()


def test_it_ends_as_the_agent_ends(tmp_path: Path) -> None:
    with started(tmp_path, "sh", "-c", "echo no >&2; exit 3") as editor:
        assert editor.process.wait(timeout=60) == 3


def test_an_agent_that_is_not_there_is_told(tmp_path: Path) -> None:
    with started(tmp_path, "no-such-agent") as editor:
        assert editor.process.wait(timeout=60) == 1


def test_files_in_place_of_an_editor_are_refused(tmp_path: Path) -> None:
    home = str(Path(sidecar.__file__).parents[1])
    done = subprocess.run(
        [*SUPERVISOR, "cat"],
        env={**os.environ, "PYTHONPATH": home},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, b"an editor starts this" in done.stderr) == (2, True)


def test_the_agent_knows_that_its_stops_are_reported(tmp_path: Path) -> None:
    with started(tmp_path, "sh", "-c", f"echo $SUPERVISOR_PROXIED > {tmp_path}/told") as editor:
        assert editor.process.wait(timeout=60) == 0
    assert (tmp_path / "told").read_text() == "1\n"
