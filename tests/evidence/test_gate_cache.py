"""What a pass depends on outside the tree: each of it makes an older pass void."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.gates.cache import RunEnvironment, digest_run_environment
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, Kind
from sidecar.platform.data import load_data

GATE: Final = Gate(
    id="tests", command="tool --check sub", why="the test says so", kind=Kind.TESTS, folder="sub"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("bin", "home", "p/sub", "p/node_modules", "v/bin", "v/lib/python3.11/site-packages"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "v/bin/python").symlink_to(sys.executable)
    for name in ("tool", "node"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path / "p"


def site(project: Path, **more: str) -> GateContext:
    root = project.parent
    environment = {
        "PATH": str(root / "bin"),
        "HOME": str(root / "home"),
        "VIRTUAL_ENV": str(root / "v"),
        "CI": "1",
    }
    return GateContext(project=str(project), tree="t1", environment=environment | more)


def write(path: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("other")

    return change


def install(root: Path) -> None:
    (root / "v/lib/python3.11/site-packages/new").mkdir()
    os.utime(root / "v/lib/python3.11/site-packages", ns=(1, 1))


def exchange_python(root: Path) -> None:
    (root / "v/bin/python").unlink()
    (root / "v/bin/python").symlink_to("/bin/sh")


KNOWN = load_data("run_environment", RunEnvironment)


@pytest.mark.parametrize(
    "change",
    [
        *(
            pytest.param(write(f"p/{name}"), id=name)
            for name in load_data("run_environment", RunEnvironment).lock_files
        ),
        pytest.param(write("p/sub/package-lock.json"), id="a lock file beside the gate"),
        pytest.param(write("p/node_modules/.package-lock.json"), id="what npm installed"),
        pytest.param(write("p/node_modules/.yarn-integrity"), id="what yarn installed"),
        pytest.param(write("p/node_modules/.modules.yaml"), id="what pnpm installed"),
        pytest.param(install, id="what pip installed"),
        pytest.param(write("v/pyvenv.cfg"), id="the virtual environment's settings"),
        pytest.param(exchange_python, id="the virtual environment's interpreter"),
        pytest.param(write("bin/tool"), id="the tool"),
        pytest.param(write("bin/node"), id="an interpreter"),
        pytest.param(write("home/.pyenv/version"), id="the choice of a version"),
    ],
)
def test_another_world_is_told_by(change: Callable[[Path], None], project: Path) -> None:
    before = digest_run_environment(GATE, site(project))
    assert digest_run_environment(GATE, site(project)) == before
    change(project.parent)
    assert digest_run_environment(GATE, site(project)) != before


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("PYTHONPATH", True),
        ("PERL5OPT", True),
        ("CLAUDE_SESSION", False),
        ("SHLVL", False),
    ],
)
def test_variables_that_a_check_gets_matter_and_others_do_not(
    name: str, project: Path, *, matters: bool
) -> None:
    assert (
        digest_run_environment(GATE, site(project))
        != digest_run_environment(GATE, site(project, **{name: "other"}))
    ) is matters


def test_a_project_that_is_not_there_has_a_world() -> None:
    assert digest_run_environment(GATE, GateContext(project="/no/such", tree="t1", environment={}))
    assert digest_run_environment(
        GATE, GateContext(project="/no/\0such", tree="t1", environment={"PATH": "\0", "HOME": "\0"})
    )


@pytest.mark.process
async def test_a_pass_does_not_hold_once_something_else_is_installed(project: Path) -> None:
    gates, at = ProjectGates(), site(project)
    cached = []
    for number in range(4):
        if number == 2:
            write("p/node_modules/.package-lock.json")(project.parent)
        cached += [run.cached for run in await gates.run([GATE], at, 30)]
    assert cached == [False, True, False, True]
