"""Which Python runs a project's commands, in which environment, and what is first on PATH there."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sidecar.evidence.detection.python import PYTEST_COMMAND
from sidecar.platform import processes
from sidecar.platform.environments import (
    PythonMissingError,
    describe_environment,
    project_environment,
    with_project_python,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
"""Deadline of a run that is to end by itself, in seconds."""
OURS: Final = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath))}
"""A session whose `python3` is the one that runs these tests, which has pytest."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "packages" / "a").mkdir(parents=True)
    return project


@pytest.fixture
def member(project: Path) -> Path:
    return project / "packages" / "a"


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def environment(folder: Path, *, has_pytest: bool = True) -> Path:
    """Make what passes for a virtual environment with pytest, or without it."""
    isolated = "" if has_pytest else "-S "
    python = f'VIA={shlex.quote(str(folder))} exec {sys.executable} {isolated}"$@"'
    program(folder / "bin" / "python", python)
    return folder


async def said(
    line: str, folder: Path, session: Mapping[str, str] = OURS, project: Path | None = None
) -> str:
    """Make a line ready and run it in the folder; what it says, or why no Python was found."""
    try:
        ready, own = await with_project_python(line, str(folder), session, str(project or ""))
    except PythonMissingError as error:
        return str(error)
    done = await processes.run_process(ready, cwd=str(folder), environment=own, seconds=LIMIT_S)
    return done.output.decode()


async def used(folder: Path, session: Mapping[str, str], project: Path | None = None) -> str:
    """Name the Python that runs the tests, and the active environment."""
    names = "str((os.environ.get('VIA'), os.environ.get('VIRTUAL_ENV')))"
    (folder / f"test_{folder.name}.py").write_text(
        f"import os\ndef test_a(): open('used', 'w').write({names})\n"
    )
    told = await said(PYTEST_COMMAND, folder, session, project)
    found = folder / "used"
    return found.read_text() if found.exists() else told


@pytest.mark.parametrize("named", ["../kept", "{tmp_path}/kept"])
async def test_the_environment_that_is_named_to_uv_comes_before_others_of_its_folder(
    named: str, member: Path, project: Path, tmp_path: Path
) -> None:
    environment(project / ".venv")
    kept = environment(tmp_path / "kept")
    session = OURS | {"UV_PROJECT_ENVIRONMENT": named.format(tmp_path=tmp_path)}
    assert await used(member, session, project) == f"('{project / '.venv'}', '{project / '.venv'}')"
    (project / "uv.lock").touch()
    assert await used(member, session, project) == f"('{kept}', '{kept}')"
    own = environment(member / ".venv")
    assert await used(member, session, project) == f"('{own}', '{own}')"


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


async def test_one_of_the_project_without_pytest_ends_the_search(project: Path, member: Path) -> None:
    own = environment(project / ".venv", has_pytest=False)
    assert await used(project, OURS) == f"pytest is not installed in {own}"
    assert await used(member, OURS, project) == f"pytest is not installed in {own}"


async def test_no_python_with_pytest_could_not_run(project: Path, tmp_path: Path) -> None:
    bare = environment(tmp_path / "bare", has_pytest=False) / "bin"
    (bare / "python3").symlink_to(bare / "python")
    for path in (f"{bare}", "/no-such-folder"):
        assert (await used(project, {"PATH": path})).startswith("no Python with pytest")


async def test_a_project_reached_by_a_link_is_the_same_project(
    project: Path, member: Path, tmp_path: Path
) -> None:
    own = environment(project / ".venv")
    link = tmp_path / "link"
    link.symlink_to(project, target_is_directory=True)
    assert await used(member, OURS, link) == f"('{own}', '{own}')"


async def test_a_tool_of_node_is_found_the_nearest_first(project: Path, member: Path) -> None:
    program(project / "node_modules" / ".bin" / "one", "echo one of the project")
    program(project / "node_modules" / ".bin" / "two", "echo two of the project")
    program(member / "node_modules" / ".bin" / "two", "echo two of the package")
    assert await said("one; two", member, OURS, project) == "one of the project\ntwo of the package\n"
    assert await said("two", project) == "two of the project\n"


@pytest.mark.parametrize(
    "line", ["python tool.py", "python -m", "pythonx -m pytest", "FOO=1 python -m pytest"]
)
async def test_only_a_line_that_begins_with_a_module_is_changed(line: str, project: Path) -> None:
    environment(project / ".venv")
    assert (await with_project_python(line, str(project), OURS))[0] == line


def test_marks_of_agents_and_of_ours_are_taken_away(project: Path) -> None:
    session = {"CLAUDECODE": "1", "SUPERVISOR_X": "1", "AI_AGENT": "x", "PATH": "/bin", "CI": "1"}
    assert project_environment(str(project), session) == {
        "PATH": "/bin",
        "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.mark.parametrize("name", ["env", ".env312", ".tox/py311", ".nox/tests-3-11"])
async def test_an_environment_of_any_name_is_found(name: str, project: Path) -> None:
    own = environment(project / name)
    (own / "pyvenv.cfg").write_text("version = 3.12.1\n")
    bare = environment(project / ".tox" / "lint", has_pytest=False)
    assert await used(project, {"PATH": os.defpath}) == f"('{own}', '{own}')", bare
    assert describe_environment(own, str(project)) == f"{name} (Python 3.12.1)"


async def test_a_package_manager_is_asked_for_the_environment_that_it_keeps(
    project: Path, member: Path, tmp_path: Path
) -> None:
    kept = environment(tmp_path / "cache" / "kept")
    program(tmp_path / "tools" / "poetry", f'echo "Using it"; [ "$*" = "env info --path" ] && echo {kept}')
    session = {"PATH": f"{tmp_path}/tools{os.pathsep}{os.defpath}"}
    assert (await said("echo $VIRTUAL_ENV", member, session, project)) == "\n"
    (project / "poetry.lock").touch()
    assert await used(member, session, project) == f"('{kept}', '{kept}')"
    assert await said("echo $VIRTUAL_ENV", member, session, project) == f"{kept}\n"
    (project / "poetry.lock").unlink()
    (project / "pdm.lock").touch()
    (project / ".pdm-python").write_text(f"{kept}/bin/python\n")
    assert await used(member, session, project) == f"('{kept}', '{kept}')"
    own = environment(project / ".venv")
    assert await used(member, session, project) == f"('{own}', '{own}')", "one of the project comes first"


async def test_a_gate_may_name_its_python(project: Path) -> None:
    environment(project / ".venv")
    own = environment(project / "tools" / "py")
    for named in ("tools/py", "tools/py/bin/python", str(own)):
        ready, active = await with_project_python("python3 -m pytest -q", str(project), OURS, python=named)
        assert (ready, active["VIRTUAL_ENV"]) == (f"{own}/bin/python -m pytest -q", str(own))
    ready, active = await with_project_python("make test", str(project), OURS, python="tools/py")
    assert (ready, active["VIRTUAL_ENV"]) == ("make test", str(own))
    with pytest.raises(PythonMissingError, match="there is no Python at gone"):
        await with_project_python("make test", str(project), OURS, python="gone")
