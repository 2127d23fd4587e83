"""`supervisor rubric`: shows what is in force, and lets a person accept exactly what was shown."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidecar
from sidecar.platform.paths import user_paths
from sidecar.wiring.platform import build_steering
from support.scene import end_sidecar

pytestmark = pytest.mark.process

LIMIT_S = 60.0
OLD = "## Patterns\n- **DONE**: it is\n## Antipatterns\n- **NO-PRINT**: x\n"
NEW = OLD.replace("NO-PRINT", "TALK\x1b[31m")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project whose agent edited the rubric."""
    file = tmp_path / "shop" / ".supervisor" / "rubric.md"
    file.parent.mkdir(parents=True)
    file.write_text(OLD)
    steering = build_steering(user_paths().state)
    steering.decide(lambda: False)
    steering.watch(str(tmp_path / "shop"), os.environ)
    file.write_text(NEW)
    assert steering.settle()[0].waits
    yield tmp_path / "shop"
    end_sidecar(user_paths().state)


def is_held(project: Path) -> bool:
    """Whether an edit waits, as the sidecar keeps it."""
    return bool(build_steering(user_paths().state).held(str(project)))


def outside(**environment: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(sidecar.__file__).parents[1]), **environment}


def rubric(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type it where there is no terminal."""
    return subprocess.run(
        [sys.executable, "-m", "sidecar", "rubric", *arguments],
        capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=project,
        stdin=subprocess.DEVNULL, env=outside(**environment),
    )  # fmt: skip


def answered(project: Path, answer: str) -> tuple[int, str]:
    """Type `accept` on a terminal, and this when it asks."""
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "rubric", "accept"],
        cwd=project, env=outside(), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said, _ = process.communicate(timeout=LIMIT_S)
    os.close(theirs)
    os.close(ours)
    return process.returncode, said


def test_what_is_in_force_is_shown_with_the_reason_and_what_is_held(project: Path) -> None:
    done = rubric(project, "show")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith(f"rubric in force: {project}/.supervisor/rubric.md (the project's own;")
    assert second.startswith(f"held: {project}/.supervisor/rubric.md: 1 antipattern gone (NO-PRINT)")
    assert "\x1b" not in done.stdout


def test_a_yes_on_a_terminal_accepts_what_was_shown(project: Path) -> None:
    code, said = answered(project, "y\n")
    assert code == 0, said
    assert "  -- **NO-PRINT**: x" in said
    assert "  +- **TALK\\x1b[31m**: x" in said
    assert "in force now" in said
    assert not is_held(project)
    assert rubric(project, "accept").stdout == "Nothing is held.\n"


def test_a_no_accepts_nothing(project: Path) -> None:
    code, said = answered(project, "n\n")
    assert code == 1
    assert said.endswith("Nothing was accepted; it is held as before.\n")
    assert is_held(project)


def test_where_nobody_can_be_asked_it_is_shown_and_needs_a_yes(project: Path) -> None:
    done = rubric(project, "accept")
    assert done.returncode == 2
    assert "NO-PRINT" in done.stdout
    assert "then add --yes" in done.stderr
    assert is_held(project)
    assert rubric(project, "accept", "--yes").returncode == 0
    assert not is_held(project)


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE"])
def test_an_agents_shell_may_look_but_not_accept(project: Path, marker: str) -> None:
    done = rubric(project, "accept", "--yes", **{marker: "1"})
    assert done.returncode == 1
    assert "only the user may do this" in done.stderr
    (held,) = json.loads(rubric(project, "accept", "--json", **{marker: "1"}).stdout)
    shown = json.loads(rubric(project, "show", "--json", **{marker: "1"}).stdout)
    assert held["path"] == shown["origin"] == shown["held"]["path"]
    assert [one["id"] for one in shown["antipatterns"]] == ["no-print"]
    assert is_held(project)
