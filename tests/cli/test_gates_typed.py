"""`supervisor gates` typed in a shell, with the real adapters: no sidecar is there and none is started."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sidecar

pytestmark = pytest.mark.process

LIMIT_S = 60.0


def typed(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sidecar", "gates", *arguments],
        capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=folder,
        stdin=subprocess.DEVNULL, env=outside(**environment),
    )  # fmt: skip


def outside(**environment: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(sidecar.__file__).parents[1]), **environment}


@pytest.fixture
def config() -> Path:
    """The user's own file."""
    path = Path(os.environ["XDG_CONFIG_HOME"], "supervisor", "config.toml")
    path.parent.mkdir(parents=True)
    return path


def test_typed_in_a_folder_it_runs_the_users_gates_for_real(tmp_path: Path, config: Path) -> None:
    config.write_text('[gate.a]\ncommand = "true"\n[gate.b]\ncommand = "echo broken; false"\n')
    done = typed(tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "1 passed, 1 failed" in done.stdout
    assert "\x1b" not in done.stdout
    assert typed(tmp_path, "--only", "a").returncode == 0
    assert json.loads(typed(tmp_path, "--json").stdout)["exit_code"] == 1


def test_a_projects_own_gate_waits_for_an_approval_and_yes_runs_it_once(tmp_path: Path) -> None:
    (tmp_path / ".supervisor").mkdir()
    (tmp_path / ".supervisor" / "config.toml").write_text('[gate.mark]\ncommand = "touch ran"\n')
    assert typed(tmp_path).returncode == 2
    assert not (tmp_path / "ran").exists()
    assert typed(tmp_path, "--yes").returncode == 0
    assert (tmp_path / "ran").exists()
    assert typed(tmp_path).returncode == 2


def test_wrong_usage_ends_in_2(tmp_path: Path) -> None:
    assert typed(tmp_path, "nowhere").returncode == 2
    assert typed(tmp_path, "--only", "x").returncode == 2


def test_ctrl_c_ends_what_runs_and_the_command_with_130(tmp_path: Path, config: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    config.write_text(f"[gate.slow]\ncommand = 'exec 9>{fifo}; echo started >&9; tail -f /dev/null'\n")
    with subprocess.Popen(
        [sys.executable, "-m", "sidecar", "gates"],
        cwd=tmp_path, env=outside(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process, fifo.open() as alive:  # fmt: skip
        assert alive.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert alive.read() == ""  # nobody holds it any more
        assert process.wait(LIMIT_S) == 130


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_on_a_terminal_it_is_coloured_unless_no_color_says_otherwise(
    tmp_path: Path,
    config: Path,
    no_color: str,
    coloured: bool,  # noqa: FBT001 - a column of the table
) -> None:
    config.write_text('[gate.a]\ncommand = "true"\n')
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "gates"],
        cwd=tmp_path, env=outside(TERM="xterm-256color", NO_COLOR=no_color),
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while chunk := _read(ours):
        said += chunk
    os.close(ours)
    assert process.wait(LIMIT_S) == 0
    assert (b"\x1b[32m" in said) is coloured
    assert b"1 passed" in said


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # EIO: nobody is at the other end any more
        return b""
