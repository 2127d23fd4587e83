"""The digest moves when content moves, rests when it rests, and git leaves the repository as it was."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sidecar.evidence.tree import work_tree as walk
from sidecar.evidence.tree import workspace
from sidecar.evidence.tree.checkout import map_environment
from sidecar.evidence.tree.workspace import GitWorkspace
from support.git_projects import git, repository
from support.loops import run
from support.projects import lay

pytestmark = pytest.mark.process


def digest(folder: Path, **environment: str) -> str:
    with TemporaryDirectory() as kept:
        return run(GitWorkspace(Path(kept)).fingerprint(str(folder), os.environ | environment))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def test_the_same_content_has_the_same_digest_wherever_it_lies(project: Path, tmp_path: Path) -> None:
    assert digest(project) == digest(project) == digest(repository(tmp_path / "other"))
    assert len(digest(project)) == 32


def test_a_copy_uses_the_environment_that_is_named_to_uv_and_imports_from_the_copy(tmp_path: Path) -> None:
    files = {"uv.lock": "", "../kept/bin/python": "", "../kept/lib/python3.12/site-packages/shop.pth": ""}
    project, kept = lay(tmp_path / "project", files), str(tmp_path / "kept")
    (tmp_path / "kept/lib/python3.12/site-packages/shop.pth").write_text(f"{project}/src\n")
    for said in ("../kept", kept):
        mapped = map_environment({"UV_PROJECT_ENVIRONMENT": said}, project, tmp_path / "copy")
        assert mapped == {"UV_PROJECT_ENVIRONMENT": kept, "PYTHONPATH": f"{tmp_path}/copy/src"}
    (project / "uv.lock").unlink()
    mapped = map_environment({"UV_PROJECT_ENVIRONMENT": "../kept"}, project, tmp_path / "copy")
    assert mapped == {"UV_PROJECT_ENVIRONMENT": "../kept"}


def test_a_copy_is_imported_where_the_python_on_path_has_the_project_installed(tmp_path: Path) -> None:
    files = {"bin/python3": "", "lib/python3.12/site-packages/shop.pth": f"{tmp_path}/project/src\n"}
    ours = lay(tmp_path / "ci", files)
    (ours / "bin/python3").chmod(0o755)
    mapped = map_environment({"PATH": str(ours / "bin")}, tmp_path / "project", tmp_path / "copy")
    assert mapped == {"PATH": str(ours / "bin"), "PYTHONPATH": f"{tmp_path}/copy/src"}


@pytest.mark.parametrize("change", ["edit", "new file", "deletion", "mode", "staged edit"])
def test_every_change_moves_the_digest_and_its_undoing_moves_it_back(change: str, project: Path) -> None:
    before = digest(project)
    file = project / "a.txt"
    match change:
        case "new file":
            (project / "new.txt").write_text("new\n")
        case "deletion":
            file.unlink()
        case "mode":
            file.chmod(0o755)
        case _:
            file.write_text("b\n")
    if change == "staged edit":
        git(project, "add", ".")
    assert digest(project) not in (before, "")
    git(project, "reset", "--quiet", "--hard")
    git(project, "clean", "--quiet", "--force")
    assert digest(project) == before


def test_what_is_ignored_does_not_move_the_digest(project: Path) -> None:
    (project / ".gitignore").write_text("build/\n")
    before = digest(project)
    (project / "build").mkdir()
    (project / "build" / "x").write_text("x")
    assert digest(project) == before


WRITTEN_BY_CHECKS = (
    *(".nyc_output/index.json", "coverage/lcov-report/src/a.js.html", "coverage/src/a.tsx.html"),
    *("coverage/tmp/coverage-21201-1795448162562-0.json", "coverage/lcov.info", "coverage/sorter.js"),
    *("coverage/coverage-final.json", "coverage/clover.xml", "coverage/index.html", "htmlcov/z_a.html"),
    *(".coverage", ".coverage.vm.pid18148.XXCGs3Fx.HoDSTBMQx3Bh", "coverage.xml", "coverage.out"),
    *("tsconfig.tsbuildinfo", ".eslintcache", "node_modules/.vite/vitest/results.json"),
)


@pytest.mark.parametrize("name", ["coverage/tables.js", "src/coverage/index.html", ".coverage.toml"])
def test_a_file_named_like_a_result_may_be_the_projects_own(project: Path, name: str) -> None:
    before = digest(project)
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).touch()
    assert digest(project) != before


@pytest.mark.parametrize("name", WRITTEN_BY_CHECKS)
def test_what_checks_write_does_not_move_the_digest_unless_it_is_tracked(project: Path, name: str) -> None:
    """Tools write into the project, and published packages have no `.gitignore`."""
    before = digest(project)
    report = project / "packages" / "web" / name
    report.parent.mkdir(parents=True)
    report.write_text("94 %")
    assert digest(project) == before
    git(project, "add", ".")
    tracked = digest(project)
    report.write_text("95 %")
    assert before != tracked != digest(project)


@pytest.mark.parametrize("commit", [True, False], ids=["with a commit", "without a commit"])
def test_an_edit_in_a_repository_inside_the_repository_is_seen(commit: bool, project: Path) -> None:  # noqa: FBT001
    inner = repository(project / "vendor" / "inner", commit=commit)
    before = digest(project)
    (inner / "a.txt").write_text("b\n")
    assert digest(project) not in (before, "")


def test_what_git_cannot_read_has_no_digest(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git" / "index").write_bytes(b"not an index")
    assert digest(project) == ""
    monkeypatch.setattr(workspace, "LIMIT_S", 0.0)
    assert digest(project) == ""


class TestWithoutGit:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "folder"
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "a.txt").write_text("a\n")
        (folder / "node_modules").mkdir()
        return folder

    @pytest.mark.parametrize("path", [None, "/no-such-folder"], ids=["git looks", "we look"])
    def test_every_edit_is_seen(self, path: str | None, folder: Path) -> None:
        environment = {"PATH": path} if path else {}
        before = digest(folder, **environment)
        assert before == digest(folder, **environment) != ""
        file = folder / "sub" / "a.txt"
        about = file.stat()
        file.write_text("b\n")
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
        assert digest(folder, **environment) not in (before, "")

    def test_its_own_rules_are_obeyed(self, folder: Path) -> None:
        (folder / ".gitignore").write_text("*.log\n")
        before = digest(folder)
        (folder / "x.log").write_text("x")
        assert digest(folder) == before

    def test_what_tools_made_is_left_out(self, folder: Path) -> None:
        before = digest(folder)
        (folder / "node_modules" / "x").write_text("x")
        assert digest(folder) == before

    def test_a_link_is_not_followed(self, folder: Path) -> None:
        (folder / "loop").symlink_to(folder)
        before = digest(folder)
        (folder / "loop").unlink()
        (folder / "loop").symlink_to("sub")
        assert digest(folder) not in (before, "")

    def test_too_many_files_have_no_digest(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(walk, "LIMIT", 3)
        assert digest(folder, PATH="") == digest(folder, PATH="") != ""
        (folder / "b.txt").touch()
        assert digest(folder, PATH="") == ""

    def test_no_folder_has_no_digest(self, folder: Path) -> None:
        assert digest(folder / "missing") == ""

    def test_without_a_git_program_a_repository_is_walked(self, project: Path) -> None:
        walked = digest(project, PATH="/no-such-folder")
        assert walked not in (digest(project), "")

    def test_a_bare_repository_is_a_folder(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet", "--bare", "bare.git")
        assert digest(tmp_path / "bare.git") != ""

    def test_a_folder_that_the_repository_around_ignores_is_seen(self, project: Path) -> None:
        (project / ".gitignore").write_text("*\n")
        (project / "mine").mkdir()
        (project / "mine" / "x").write_text("x\n")
        before = digest(project / "mine")
        (project / "mine" / "x").write_text("yy\n")
        assert digest(project / "mine") not in (before, "")
