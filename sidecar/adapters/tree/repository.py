"""What git knows of the user's repository without asking anybody."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.adapters.tree.git import Git, listed, text
from sidecar.adapters.tree.ground import Ground
from sidecar.model.inspection import Repository

COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
BRANCH: Final = "# branch."
STATUS: Final = (
    *("status", "--porcelain=v2", "--branch", "-z", "--ahead-behind"),
    *("--untracked-files=all", "--ignore-submodules=none", "--no-renames"),
)


async def repository(ground: Ground, base: str) -> Repository | None:
    """The repository around a project; `base`: a commit, or "". Raises UnseenError, OSError."""
    if ground.index is None:
        return Repository(head=await head(ground.git), remote=ground.remote) if ground.bare else None
    with tempfile.TemporaryDirectory(prefix="supervisor-status-", ignore_cleanup_errors=True) as scratch:
        git = await _without_flags(ground.git, ground.index, Path(scratch) / "index")
        lines = await git.names(*STATUS)
    about = dict(line.removeprefix(BRANCH).split(" ", 1) for line in lines if line.startswith(BRANCH))
    commit, branch = about.get("oid", ""), about.get("head", "")
    return Repository(
        head="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        upstream=about.get("upstream", ""),
        remote=ground.remote,
        commits=await _commits(ground.git, base),
        ahead=_ahead(about.get("ab", "")),
        dirty=sum(not line.startswith("#") for line in lines),
    )


async def head(git: Git) -> str:
    """The commit checked out, "" where there is none."""
    said = await git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    commit = text(said.output).strip()
    return commit if said.exit_code == 0 and COMMIT.fullmatch(commit) else ""


async def _without_flags(git: Git, index: Path, copy: Path) -> Git:
    """Git with a copy of the index in which no file is marked as not to be looked at, if it is there."""
    marked = [
        line[2:] for line in await git.names("ls-files", "-z", "-v") if line[0].islower() or line[0] == "S"
    ]
    there = _there(git.folder, marked)
    if not there:
        return git
    shutil.copy2(index, copy)
    own = replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(copy)})
    for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
        await own.told(
            "-c", "core.splitIndex=false", "update-index", flag, "-z", "--stdin", stdin=listed(there)
        )
    return own


def _there(top: Path, paths: list[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(f"{top}/{path}")]


async def _commits(git: Git, base: str) -> int | None:
    """Commits since the base; None where it is none, or is gone."""
    if not COMMIT.fullmatch(base):
        return None
    said = await git.ask("rev-list", "--count", f"{base}..HEAD")
    return int(said.output) if said.exit_code == 0 else None


def _ahead(said: str) -> int | None:
    """From "+1 -2"."""
    found = re.fullmatch(r"\+(\d+) -\d+", said)
    return int(found[1]) if found else None
