"""Worktrees of a user's repository for agents that work at once, and merging what they did.

Rules of this module:

- Each agent has a worktree and a branch of its own, `supervisor/SESSION/NAME`. The user's tree is touched by
  one command alone, `git merge --ff-only`: git itself refuses it, whole, where changes of the user's that are
  not committed are in its way. It is never cut short.
- What is merged was merged in a scratch worktree before, and accepted there.
- No hook of the repository runs and nothing is signed, because nobody is there to answer.
- What is ignored is linked or copied into a worktree, and never committed.
- No worktree is made while others are pruned: git prunes what is not whole yet.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.platform.git import (
    Git,
    UnseenError,
    clean_git_environment,
    git_config_arguments,
    split_at_nul,
)
from sidecar.platform.processes import ProcessResult, find_program

PREFIX: Final = "supervisor"
SETTINGS: Final = git_config_arguments(
    "advice.graftFileDeprecated=false",
    "commit.gpgSign=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
)
GIT_S: Final = 600.0
"""Deadline of one git command, in seconds: a checkout may be large."""
MERGE_TRIES: Final = 3
"""How often a merge is tried where the user's branch moves meanwhile."""
NAMES_SHOWN: Final = 5
CHECKED_OUT: Final = ("symbolic-ref", "--quiet", "HEAD")
BACK: Final = ("checkout", "--quiet", "--force", "--detach")
SCRATCH: Final = "merge"
"""The name of the worktree in which merges are tried."""

Accept = Callable[[Path, Callable[[], Awaitable[object]]], Awaitable[str]]
"""Takes the folder of a merged tree and what turns it into the tree before; returns why it is refused."""
Furnish = Callable[[Path, Path, Iterable[str]], object]
"""Takes the user's tree, a worktree and the paths of ignored files, and puts there what is needed of them."""


class InTheWayError(BadInputError):
    """Changes of the user's are in the way of a merge. The message says which, and what to do."""


class Worktrees:
    """Worktrees of one session. All methods raise OSError where git fails."""

    def __init__(self, git: Git, session: str, folder: Path, furnish: Furnish, checked_out: bytes) -> None:
        """`git` runs in the top folder of the user's tree; the worktrees are made in `folder`.

        `checked_out`: the user's branch, b"" for none.
        """
        self._git, self._prefix, self._folder, self._furnish = git, f"{PREFIX}/{session}/", folder, furnish
        self._checked_out = checked_out
        self._changing = asyncio.Lock()
        self._tip = ""

    @property
    def top(self) -> Path:
        """The top folder of the user's tree."""
        return self._git.folder

    def branch(self, name: str) -> str:
        """Return the branch of this name."""
        return self._prefix + name

    def place(self, name: str) -> Path:
        """Return the folder of the worktree of this name."""
        return self._folder / name

    async def open(self, name: str) -> Path:
        """Make a worktree of what is committed now, with a branch of that name; return its folder."""
        self._tip = self._tip or await _head(self._git)
        return await self._add(name, "-B", self.branch(name))

    async def close(self, name: str, message: str) -> None:
        """Commit what is left in a worktree to its branch, and remove the worktree."""
        place = self.place(name)
        if not (place / ".git").exists():
            await self.remove(name)
            return
        git = replace(self._git, folder=place)
        await _told(git, "add", "--all")
        if (await git.ask("diff", "--cached", "--quiet")).exit_code:
            await _told(git, "commit", "--quiet", "--no-verify", "--message", message)
        tip = await _head(git)
        await self.remove(name)
        await _told(self._git, "branch", "--force", self.branch(name), tip)

    async def remove(self, name: str) -> None:
        """Remove a worktree, if it is there, with all that is in it."""
        await asyncio.to_thread(shutil.rmtree, self.place(name), ignore_errors=True)
        async with self._changing:
            await _told(self._git, "worktree", "prune")
            with suppress(OSError):
                self._folder.rmdir()

    async def names(self) -> list[str]:
        """Return the names of all branches of the session that end in a number."""
        listed = await _told(
            self._git, "for-each-ref", "--format=%(refname)%00", f"refs/heads/{self._prefix}"
        )
        names = [ref.strip().removeprefix(f"refs/heads/{self._prefix}") for ref in split_at_nul(listed)]
        return [name for name in names if name.rpartition("-")[2].isdecimal()]

    async def delete(self, *names: str) -> None:
        """Delete branches."""
        if names:
            await _told(self._git, "branch", "--quiet", "-D", *map(self.branch, names))

    async def is_merged(self, name: str) -> bool:
        """Return whether the user's branch holds all of a branch."""
        asked = await self._git.ask("merge-base", "--is-ancestor", self.branch(name), "HEAD")
        return asked.exit_code == 0

    async def moved(self) -> str:
        """Return the commits by which the user's branch moved without us since the last look, "" for none."""
        before, self._tip = self._tip, await _head(self._git)
        return f"{before[:10]}..{self._tip[:10]}" if before not in ("", self._tip) else ""

    async def merge(self, name: str, message: str, accept: Accept) -> str:
        """Merge a branch into the user's; return why that was refused. Raises InTheWayError."""
        for _ in range(MERGE_TRIES):
            if (await self._git.ask(*CHECKED_OUT)).output != self._checked_out:
                raise InTheWayError(
                    "another branch is checked out than when the run began. Check that one out again, and go "
                    "on with the same --session"
                )
            before = await _head(self._git)
            place = await self._add(SCRATCH, "--detach")
            git = replace(self._git, folder=place)
            try:
                tried = await git.ask(
                    "merge", "--quiet", "--no-edit", "-m", f"Merge: {message}", self.branch(name)
                )
                if tried.exit_code:
                    return await _conflict(git, tried)
                tip = await _head(git)
                if why := await accept(place, partial(_told, git, *BACK, before)):
                    return why
            finally:
                await self.remove(SCRATCH)
            moved = await _unbroken(self._git.ask("merge", "--quiet", "--ff-only", "--no-autostash", tip))
            if moved.exit_code == 0:
                self._tip = tip
                return ""
            if await _head(self._git) == before:
                raise InTheWayError(
                    f"your own changes are in the way of a merge ({_first_line(moved)}). Commit or stash "
                    "them, and go on with the same --session"
                )
        return "your branch moved each time it was to be merged"

    async def _add(self, name: str, *how: str) -> Path:
        place = self.place(name)
        if place.exists():
            await self.remove(name)
        async with self._changing:
            self._folder.mkdir(parents=True, exist_ok=True)
            await _told(self._git, "worktree", "add", "--quiet", *how, str(place), "HEAD")
        listed = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        ignored = split_at_nul(await _told(self._git, *listed))
        await asyncio.to_thread(self._furnish, self.top, place, ignored)
        return place


async def find_worktrees(
    project: str, environment: Mapping[str, str], session: str, folder: Path, furnish: Furnish
) -> Worktrees:
    """Return the worktrees of a session. Raises BadInputError where its project is not fit, OSError."""
    if not (program := find_program("git", environment, project)):
        raise BadInputError("--jobs needs git, and none is on PATH outside of the project")
    git = Git((program, *SETTINGS), Path(project), clean_git_environment(environment), GIT_S)
    top, head = await git.ask("rev-parse", "--show-toplevel"), await git.ask("rev-parse", "--verify", "HEAD")
    if top.exit_code or head.exit_code:
        raise BadInputError(
            "--jobs needs a git repository with a commit. Type: git init && git add --all && "
            "git commit -m start"
        )
    git = replace(git, folder=Path(top.output.decode().strip()))
    changed = [line[3:] for line in split_at_nul(await _told(git, "status", "--porcelain", "-z"))]
    if changed:
        more = f" and {len(changed) - NAMES_SHOWN} more" if len(changed) > NAMES_SHOWN else ""
        raise BadInputError(
            f"--jobs needs a clean work tree: its agents begin with what is committed, and these are not "
            f"({', '.join(changed[:NAMES_SHOWN])}{more}). Commit them, or type: git stash --include-untracked"
        )
    if (await git.ask("var", "GIT_COMMITTER_IDENT")).exit_code:
        raise BadInputError('git knows no name for commits. Type: git config user.email "you@example.org"')
    return Worktrees(git, session, folder, furnish, (await git.ask(*CHECKED_OUT)).output)


async def _told(git: Git, *arguments: str, stdin: bytes = b"") -> bytes:
    try:
        return await git.told(*arguments, stdin=stdin)
    except UnseenError as error:
        raise OSError(str(error)) from error


async def _head(git: Git) -> str:
    return (await _told(git, "rev-parse", "HEAD")).decode().strip()


async def _conflict(git: Git, tried: ProcessResult) -> str:
    files = split_at_nul(await _told(git, "diff", "--name-only", "--diff-filter=U", "-z"))
    if not files:
        return f"git could not merge it: {_first_line(tried)}"
    return f"it is in conflict with what was merged before, in {', '.join(files[:NAMES_SHOWN])}"


def _first_line(done: ProcessResult) -> str:
    said = (done.errors + done.output).decode("utf-8", "replace").split("\n")
    return done.reason or " ".join(" ".join(said[:NAMES_SHOWN]).split())


async def _unbroken(work: Coroutine[Any, Any, ProcessResult]) -> ProcessResult:
    """Wait for work to its end, also where this task is cancelled meanwhile; then raise that."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()
