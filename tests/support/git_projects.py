"""Real git repositories to look at."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git; what it printed."""
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path, *, commit: bool = True) -> Path:
    """A repository with one file, `a.txt`, which holds "a"."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "a.txt").write_text("a\n")
    if commit:
        commit_all(folder, "first")
    return folder


def commit_all(folder: Path, message: str) -> None:
    git(folder, "add", "--all", ".")
    git(folder, "commit", "--quiet", f"--message={message}")


def conflict(project: Path) -> None:
    """Stop in the middle of a merge: `a.txt` is "theirs" on one side and "ours" on the other."""
    git(project, "checkout", "--quiet", "-b", "other")
    for branch, text in (("other", "theirs\n"), ("main", "ours\n")):
        git(project, "checkout", "--quiet", branch)
        (project / "a.txt").write_text(text)
        git(project, "commit", "--quiet", "--all", f"--message={branch}")
    merge = subprocess.run(
        ["git", "merge", "--quiet", "other"], cwd=project, check=False, capture_output=True
    )
    assert merge.returncode == 1


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, with its time of change where that is no business of git's."""
    return {
        str(path.relative_to(folder)): (
            0 if "objects" in path.parts or "sharedindex" in path.name else path.lstat().st_mtime_ns,
            path.read_bytes(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
