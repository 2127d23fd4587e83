"""Which Python runs a project's tests, and in which environment."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sidecar.adapters.gates import ProjectGates
from sidecar.adapters.runners import PYTEST
from sidecar.model.gate import Gate, GateRun, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_S: Final = 60.0
"""Deadline of a run that is to end by itself, in seconds."""
OURS: Final = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath))}
"""A session whose `python3` is the one that runs these tests, which has pytest."""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


async def run(line: str, project: Path, session: Mapping[str, str] = OURS) -> GateRun:
    gate = Gate(id="check:1", command=line, why="the test says so")
    return await ProjectGates().run(gate, str(project), "t1", session, LIMIT_S)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def environment(folder: Path, *, has_pytest: bool = True) -> Path:
    """Make what passes for a virtual environment with pytest, or without it."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    isolated = "" if has_pytest else "-S "
    python.write_text(f'#!/bin/sh\nVIA={shlex.quote(str(folder))} exec {sys.executable} {isolated}"$@"\n')
    python.chmod(0o755)
    return folder


async def used(project: Path, session: Mapping[str, str]) -> str:
    """Name the Python that ran the tests, and the active environment."""
    said = "os.environ.get('VIA'), os.environ.get('VIRTUAL_ENV')"
    write(project, test_a=f"import os\ndef test_a(): raise ValueError({said})\n")
    done = await run(PYTEST, project, session)
    return done.reason or done.failures[0].removeprefix("test_a.py::test_a: ValueError: ")


async def test_the_sessions_virtual_environment_comes_first(project: Path, tmp_path: Path) -> None:
    environment(project / ".venv")
    active = environment(tmp_path / "active")
    assert await used(project, OURS | {"VIRTUAL_ENV": str(active)}) == f"('{active}', '{active}')"


@pytest.mark.parametrize("name", [".venv", "venv"])
async def test_the_projects_own_comes_before_the_path(name: str, project: Path) -> None:
    own = environment(project / name)
    assert await used(project, OURS) == f"('{own}', '{own}')"


async def test_an_active_one_without_pytest_gives_way(project: Path, tmp_path: Path) -> None:
    bare = environment(tmp_path / "bare", has_pytest=False)
    assert await used(project, OURS | {"VIRTUAL_ENV": str(bare)}) == f"(None, '{bare}')"
    own = environment(project / ".venv")
    assert await used(project, OURS | {"VIRTUAL_ENV": str(bare)}) == f"('{own}', '{own}')"


async def test_one_of_the_project_without_pytest_ends_the_search(project: Path) -> None:
    own = environment(project / ".venv", has_pytest=False)
    assert await used(project, OURS) == f"pytest is not installed in {own}"


async def test_no_python_with_pytest_could_not_run(project: Path, tmp_path: Path) -> None:
    bare = environment(tmp_path / "bare", has_pytest=False) / "bin"
    (bare / "python3").symlink_to(bare / "python")
    for path in (f"{bare}", "/no-such-folder"):
        assert (await used(project, {"PATH": path})).startswith("no Python with pytest")


async def test_a_folder_named_pytest_is_not_pytest(project: Path, tmp_path: Path) -> None:
    (project / "pytest").mkdir()
    (project / "pytest" / "__init__.py").touch()
    bare = environment(tmp_path / "bare", has_pytest=False) / "bin"
    (bare / "python3").symlink_to(bare / "python")
    assert (await used(project, {"PATH": f"{bare}"})).startswith("no Python with pytest")


async def test_a_check_that_the_user_named_finds_the_environments_commands(project: Path) -> None:
    own = environment(project / ".venv")
    tool = own / "bin" / "tool"
    tool.write_text("#!/bin/sh\necho $VIRTUAL_ENV\n")
    tool.chmod(0o755)
    assert (await run("tool", project)).output == f"{own}\n"


async def test_a_pytest_that_the_line_names_and_that_is_missing_could_not_run(project: Path) -> None:
    done = await run(f"{sys.executable} -I -S -m pytest", project)
    assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, 1)
    assert done.reason == "pytest is not installed"
