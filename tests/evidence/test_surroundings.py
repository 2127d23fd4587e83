"""What lies outside of a project, decides what its checks do, and changed since the work began."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sidecar.evidence.gates.origins import find_changed_surroundings
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, Kind, Outcome
from support.loops import run

LATER = 3600.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a package in it, below a home folder."""
    (tmp_path / "home" / "work" / "shop" / "app" / "node_modules").mkdir(parents=True)
    (tmp_path / "home" / "work" / "shop" / ".git").mkdir()
    return tmp_path / "home" / "work" / "shop" / "app"


def changed(project: Path, line: str = "true", since: float = 1.0) -> list[str]:
    home = project.parents[2]
    environment = {"HOME": str(home), "PATH": f"{home}/bin"}
    found = find_changed_surroundings(line, project, environment, project, since)
    return [os.path.relpath(file, home) for file in found]


@pytest.mark.parametrize(
    "name", ["work/package.json", "work/.cargo/config.toml", ".npmrc", ".config/go/env", "go.work"]
)
def test_settings_above_the_repository_and_in_the_home_folder_count(name: str, project: Path) -> None:
    file = project.parents[2] / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")
    assert changed(project) == [name]
    assert changed(project, since=file.stat().st_ctime + LATER) == []


def test_settings_in_the_repository_are_the_projects_own(project: Path) -> None:
    (project.parent / "package.json").write_text("{}")
    (project / ".npmrc").write_text("")
    assert changed(project) == []


def test_a_program_that_the_line_names_counts_wherever_the_path_leads(project: Path) -> None:
    for place in (project.parents[2] / "bin" / "go", project / "run-tests.sh"):
        place.parent.mkdir(exist_ok=True)
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    assert changed(project, "cd x && go test ./... && ./run-tests.sh go") == ["bin/go"]
    environment = project.parents[2] / "bin" / ".." / "pyvenv.cfg"
    environment.write_text("")
    assert changed(project, "go test ./...") == [], "an installer's record tells of an environment's programs"


def test_a_changed_file_of_a_package_that_was_there_before_counts(project: Path) -> None:
    for package in ("mocha", "@jest/core", "mocha/node_modules/chai", ".cache"):
        for name in ("package.json", "lib/index.js"):
            file = project / "node_modules" / package / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("{}")
    since = _tick(project)
    for package in ("@jest/core", "mocha/node_modules/chai", ".cache"):
        (project / "node_modules" / package / "lib" / "index.js").write_text("patched")
    below = "work/shop/app/node_modules"
    assert sorted(changed(project, since=since)) == [
        f"{below}/@jest/core/lib/index.js",
        f"{below}/mocha/node_modules/chai/lib/index.js",
    ]
    (project / "node_modules" / "@jest" / "core" / "package.json").write_text("{}")
    assert changed(project, since=since) == [f"{below}/mocha/node_modules/chai/lib/index.js"], (
        "installed anew"
    )


def test_what_a_link_of_the_project_leads_to_counts(project: Path) -> None:
    outside = project.parents[2] / "cases"
    outside.mkdir()
    (outside / "a.json").write_text("[1]")
    (project / "cases").symlink_to(outside)
    (project / "own").symlink_to(project.parent)
    (project / "node_modules" / "linked").symlink_to(outside)
    since = _tick(project.parents[2])
    assert changed(project, since=since) == []
    (outside / "a.json").write_text("[]")
    assert changed(project, since=since) == ["cases/a.json"]


def _tick(folder: Path) -> float:
    """Return a time after all that was written so far and before all that will be, by the files' clock."""
    begun = time.time()
    while (now := _stamp(folder / "tick")) <= begun:
        pass
    return now


def _stamp(file: Path) -> float:
    file.write_text("")
    return file.stat().st_ctime


@pytest.mark.process
def test_a_pass_of_another_runner_than_pytest_tells_what_was_changed(project: Path) -> None:
    site = project / ".venv" / "lib" / "python3.11" / "site-packages"
    (site / "pkg-1.dist-info").mkdir(parents=True)
    (site / "pkg-1.dist-info" / "RECORD").write_text("")
    (project / ".venv" / "pyvenv.cfg").write_text("")
    (project / ".venv" / "bin").mkdir()
    (project / ".venv" / "bin" / "python").symlink_to("/bin/true")
    (site / "helper.py").write_text("x = 1\n")
    (project.parent.parent / "package.json").write_text("{}")
    session = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    at = GateContext(project=str(project), tree="t", environment=session, since=1.0)
    gate = Gate(id="tests", command="true", why="", kind=Kind.CHECK)
    found = run(run_gate_once(gate, at, 60))
    assert found.outcome is Outcome.PASSED
    assert str(site / "helper.py") in found.unexplained
    assert str(project.parent.parent / "package.json") in found.unexplained
