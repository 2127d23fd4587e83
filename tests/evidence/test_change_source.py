"""Who made a change is read of its commits and its branch, and an agent that nobody knows is not guessed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from sidecar.evidence.tree.change_source import ChangeSource, read_change_source
from support.git_projects import git, repository

pytestmark = [pytest.mark.process, pytest.mark.proves("seeing and asking back")]

GITHUB = "198982749+Copilot@users.noreply.github.com"


@pytest.mark.parametrize(
    ("branch", "message", "author", "agents"),
    [
        ("work", "Add it", "Ada <ada@x.org>", ()),
        ("work", "Add it\n\nCo-Authored-By: Claude Opus <noreply@anthropic.com>", "", ("claude-code",)),
        ("work", "Add it\n\nGenerated-by: Codex", "", ("codex",)),
        ("work", f"Add it\n\nco-authored-by: X <{GITHUB}>", "", ("copilot",)),
        ("work", "Add it", f"copilot <{GITHUB}>", ("copilot",)),
        ("cursor/add-it", "Add it", "", ("cursor",)),
        ("HEADcodex/it", "Add it", "", ()),
        ("cursor/it", "Add it\n\nCo-authored-by: aider (m) <aider@aider.chat>", "", ("aider", "cursor")),
        ("cursors", "Add it\n\nCo-authored-by: Claude <claude@dupont.fr>", "Claude <c@x.org>", ()),
        ("work", "Claude did it\n\nwith Codex\n\nSigned-off-by: Codex", "", ()),
        ("work", "Add it\n\nGenerated-by: Nobody's Agent 3", "", ()),
    ],
)
def test_agents_are_those_that_authors_trailers_or_the_branch_name(
    tmp_path: Path, branch: str, message: str, author: str, agents: tuple[str, ...]
) -> None:
    project = repository(tmp_path / "p")
    git(project, "checkout", "--quiet", "-b", branch)
    by = [f"--author={author}"] if author else []
    git(project, "commit", "--quiet", "--allow-empty", f"--message={message}", *by)
    began, commit = git(project, "rev-parse", "main", "HEAD").split()
    source = read(project, began, commit)
    assert (source.branch, source.agents) == (branch, agents)
    assert len(source.authors) == 1
    assert not author or source.authors == (author,)


def test_the_branch_is_the_one_that_the_service_or_the_command_names(tmp_path: Path) -> None:
    project = repository(tmp_path / "p")
    git(project, "branch", "codex/it")
    git(project, "remote", "add", "fork", str(project))
    git(project, "fetch", "--quiet", "fork")
    commit = git(project, "rev-parse", "HEAD").strip()
    git(project, "checkout", "--quiet", "--detach")
    assert read(project, commit, commit) == ChangeSource()
    assert read(project, commit, commit, "fork/codex/it").branch == "codex/it"
    for variable in ("GITHUB_HEAD_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"):
        told = asyncio.run(
            read_change_source(str(project), {**os.environ, variable: "devin/1"}, commit, commit, "")
        )
        assert (told.branch, told.agents) == ("devin/1", ("devin",))


def read(project: Path, began: str, commit: str, head: str = "") -> ChangeSource:
    return asyncio.run(read_change_source(str(project), os.environ, began, commit, head))
