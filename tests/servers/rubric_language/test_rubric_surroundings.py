"""What a rubric can name in its project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.kernel.rubric import RubricContext
from sidecar.servers.rubric_language import checking
from sidecar.servers.rubric_language.checking import RubricCheck
from support.git_projects import git

pytestmark = pytest.mark.process

SHIPPED = Path(__file__).parents[3] / "rubric" / "rubric.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "src" / "a.py").write_text("")
    (shop / "left.tmp").write_text("")
    (shop / "Makefile").write_text("test:\n\tpytest\n")
    (shop / ".gitignore").write_text("*.tmp\n")
    return shop


def own(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


async def around(project: Path) -> RubricContext:
    return await checking.find_surroundings(str(project), own(project.parent), project.parent / "state")


async def test_gates_rules_and_the_files_that_are_not_ignored_are_known(project: Path) -> None:
    git(project, "init", "-q")
    found = await around(project)
    assert found.gates == ("tests",)
    assert "permission-seeking" in found.rules
    assert (set(found.paths or ()), found.more) == ({".gitignore", "Makefile", "src/a.py"}, False)


async def test_a_project_inside_of_a_repository_knows_only_its_own_files(project: Path) -> None:
    git(project, "init", "-q")
    found = await around(project / "src")
    assert found.paths == ("a.py",)


async def test_without_git_all_files_are_known(project: Path) -> None:
    (project / "node_modules").mkdir()
    (project / "node_modules" / "x.js").write_text("")
    found = await around(project)
    assert set(found.paths or ()) == {".gitignore", "Makefile", "left.tmp", "src/a.py"}


async def test_of_too_many_files_it_is_said_that_there_are_more(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "PATHS_LIMIT", 2)
    found = await around(project)
    assert (len(found.paths or ()), found.more) == (2, True)


async def test_of_a_project_that_is_gone_nothing_is_known_but_the_rules(project: Path) -> None:
    found = await around(project / "gone")
    assert (found.paths, found.rules) == (None, checking.ANY_PROJECT.rules)


def test_a_check_knows_the_project_of_a_rubric_after_it_looked(project: Path) -> None:
    check = RubricCheck(SHIPPED, own(project.parent), project.parent / "state")
    path = str(project / ".supervisor" / "rubric.md")
    assert check.around(path).paths is None
    assert check.refresh(path)
    assert not check.refresh(path), "nothing is new"
    assert check.around(path).gates == ("tests",)
    assert not check.refresh(str(SHIPPED)), "it belongs to no project"
    assert not check.refresh(str(project / "README.md"))
