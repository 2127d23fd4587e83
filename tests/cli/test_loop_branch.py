"""`supervisor loop --branch` and `--pr`: a branch of its own, and a pull request through a scripted `gh`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cli.test_loop import MAKE, SUB, Shell, reports, shell
from support.git_projects import commit_all, git

__all__ = ["shell"]
pytestmark = pytest.mark.process

GH = f"""#!{sys.executable}
import sys, pathlib
pathlib.Path(__file__).with_name("asked").write_text("\\n".join((*sys.argv[1:], sys.stdin.read())))
print("https://example.org/pull/7")
"""


def test_a_loop_works_on_a_branch_of_its_own_and_opens_a_pull_request(
    shell: Shell, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path_factory.mktemp("beside")
    git(beside, "init", "--quiet", "--bare", "remote.git")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "remote", "add", "origin", str(beside / "remote.git"))
    for name in ("user.name", "user.email"):
        git(tmp_path, "config", name, "a@b")
    commit_all(tmp_path, "first")
    (tmp_path / "mine.txt").touch()
    git(tmp_path, "branch", "taken")
    taken = shell.types("add sub(a, b)", "--branch", "taken", steps=(SUB,))
    assert "there is a branch taken already, and not of this session" in str(taken.exception)

    asked = ("--session", "shop", "--branch", "work", "--pr")
    without = shell.types("add sub(a, b)", *asked, "--yes", steps=(SUB,))
    assert (without.exit_code, "no program gh on PATH" in without.stderr) == (4, True), without.output
    gh = beside / "gh"
    gh.write_text(GH)
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{beside}{os.pathsep}{os.environ['PATH']}")
    unasked = shell.types("add mul(a, b)", *asked, steps=(reports(MAKE, "sub", "mul"),))
    assert "there is no terminal to ask on" in unasked.stderr, unasked.output
    assert not (beside / "asked").exists()
    done = shell.types("add mod(a, b)", *asked, "--yes", steps=(reports(MAKE, "sub", "mul", "mod"),))
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (4, "https://example.org/pull/7"), done.output
    pushed = git(beside / "remote.git", "log", "--format=%s", "work").splitlines()
    assert pushed == ["add mod(a, b)", "add mul(a, b)", "add sub(a, b)", "first"]
    told = (beside / "asked").read_text().splitlines()
    assert told[:6] == ["pr", "create", "--head", "work", "--title", "add sub(a, b)"]
    assert any(line.startswith("- T1 add sub(a, b)") for line in told)
    status = git(tmp_path, "status", "--porcelain", "--branch").splitlines()
    assert status == ["## work...origin/work", "?? mine.txt"]
    assert git(tmp_path, "log", "--format=%s", "main") == "first\n"
