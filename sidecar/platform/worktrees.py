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
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.platform.concurrency import run_to_its_end
from sidecar.platform.environments import known_environments
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
NO_BRANCH: Final = "agents' work goes into your branch, and none is checked out. Type: git switch -c NAME"
CHECKED_OUT: Final = ("symbolic-ref", "--quiet", "HEAD")
CHECKOUT: Final = ("checkout", "--quiet", "--force", "--detach")
ANEW: Final = ("--force", "--force")
"""To git, also what was cut short while a worktree was made, and is locked since, is nobody's any more."""
SCRATCH: Final = "merge"
"""The name of the worktree in which merges are tried."""

CheckOut = Callable[[str], Awaitable[object]]
"""Takes a commit, and turns a worktree into it."""
Accept = Callable[[Path, str, str, CheckOut], Awaitable[str]]
"""Takes the folder of a merged tree, the commits before and after, and how to check out one of them there;
returns why it is refused."""
Look = Callable[[Path], Awaitable[object]]
"""Takes the folder of the tree before a merge."""
Furnish = Callable[[Path, Path, Iterable[str]], object]
"""Takes the user's tree, a worktree and the paths of ignored files, and puts there what is needed of them."""


class MergeEnd(Struct, frozen=True):
    """How a merge ended: `why` it was refused, "" where it was not, and the files in conflict, or merged."""

    why: str = ""
    files: tuple[str, ...] = ()


class InTheWayError(BadInputError):
    """Changes of the user's are in the way of a merge. The message says which, and what to do."""


class Worktrees:
    """Worktrees of one session. All methods raise OSError where git fails."""

    def __init__(self, git: Git, session: str, folder: Path, furnish: Furnish, checked_out: bytes) -> None:
        """`git` runs in the top folder of the user's tree; the worktrees are made in `folder`.

        `checked_out`: the user's branch.
        """
        self.git, self._prefix, self._folder, self._furnish = git, f"{PREFIX}/{session}/", folder, furnish
        self._checked_out = checked_out
        self.user = git
        """Runs in the tree whose ignored files are put into worktrees."""
        self.base = "HEAD"
        """The commit that worktrees are made of."""
        self.merge_options: tuple[str, ...] = ()
        """Options to git where a merge is tried."""
        self.changing = asyncio.Lock()
        """Held while a worktree is made or pruned: a fetch, too, fails at one that is not whole."""
        self._tip = ""
        self.kept: tuple[str, ...] = ()
        """Paths from the top of which nothing is committed here, because they are the user's alone."""

    @property
    def top(self) -> Path:
        """The top folder of the user's tree."""
        return self.user.folder

    def branch(self, name: str) -> str:
        """Return the branch of this name."""
        return self._prefix + name

    def place(self, name: str) -> Path:
        """Return the folder of the worktree of this name."""
        return self._folder / name

    async def open(self, name: str, *, go_on: bool = False, earlier: str = "") -> Path:
        """Make a worktree of what is committed now, with a branch of that name; return its folder.

        `go_on`: where there is such a branch, it goes on, in its worktree if that is there and whole.
        `earlier`: all of that branch is put into a new worktree, with git's marks where it is in conflict.
        """
        self._tip = self._tip or await _head(self.git)
        if go_on and self._is_whole(name):
            await self._furnish_place(name)
            return self.place(name)
        branch = self.branch(name)
        known = go_on and not (await self.git.ask("rev-parse", "--verify", f"refs/heads/{branch}")).exit_code
        place = await self._add(name, branch) if known else await self._add(name, self.base, "-B", branch)
        await self.put_into(name, earlier)
        return place

    async def put_into(self, name: str, earlier: str) -> tuple[str, ...]:
        """Put all of a branch, "" for none, into a worktree; return the files that are in conflict."""
        if not earlier:
            return ()
        git = replace(self.git, folder=self.place(name))
        await git.ask("merge", "--ff", "--squash", self.branch(earlier))  # ends with 1 where there is one
        return await _changed_files(git, "--diff-filter=U")

    async def close(self, name: str, message: str) -> None:
        """Commit what is left in a worktree to its branch, and remove the worktree."""
        if not self._is_whole(name):
            await self.remove(name)
            return
        git = replace(self.git, folder=self.place(name))
        kept = (f":(top,exclude,literal){path}" for path in self.kept)
        caches = (f":(top,exclude,glob)**/{name}/**" for name in known_environments().written)
        await _told(git, "add", "--all", "--", ":/", *kept, *caches)
        if (await git.ask("diff", "--cached", "--quiet")).exit_code:
            await _told(git, "commit", "--quiet", "--no-verify", "--message", message)
        tip = await _head(git)
        await self.remove(name)
        await _told(self.git, "branch", "--force", self.branch(name), tip)

    async def remove(self, name: str) -> None:
        """Remove a worktree, if it is there, with all that is in it."""
        await asyncio.to_thread(shutil.rmtree, self.place(name), ignore_errors=True)
        async with self.changing:
            await _told(self.git, "worktree", "prune")
            with suppress(OSError):
                self._folder.rmdir()

    async def uncommitted(self) -> str:
        """Name what the user changed and did not commit."""
        listed = split_at_nul(await _told(self.git, "status", "--porcelain", "-z", "--no-renames"))
        more = f" and {len(listed) - NAMES_SHOWN} more" if len(listed) > NAMES_SHOWN else ""
        return ", ".join(line[3:] for line in listed[:NAMES_SHOWN]) + more

    async def names(self) -> list[str]:
        """Return the names of all branches of the session that end in a number."""
        listed = await _told(self.git, "for-each-ref", "--format=%(refname)%00", f"refs/heads/{self._prefix}")
        names = [ref.strip().removeprefix(f"refs/heads/{self._prefix}") for ref in split_at_nul(listed)]
        return [name for name in names if name.rpartition("-")[2].isdecimal()]

    async def delete(self, *names: str) -> None:
        """Delete branches."""
        if names:
            await _told(self.git, "branch", "--quiet", "-D", *map(self.branch, names))

    async def is_merged(self, name: str) -> bool:
        """Return whether the user's branch holds all of a branch."""
        asked = await self.git.ask("merge-base", "--is-ancestor", self.branch(name), "HEAD")
        return asked.exit_code == 0

    async def moved(self) -> str:
        """Return the commits by which the user's branch moved without us since the last look, "" for none."""
        before, self._tip = self._tip, await _head(self.git)
        return f"{before[:10]}..{self._tip[:10]}" if before not in ("", self._tip) else ""

    async def merge(self, name: str, message: str, accept: Accept, look: Look | None = None) -> MergeEnd:
        """Merge a branch into the user's. Raises InTheWayError.

        `look`: what is on the branch was accepted already. Only where something else is merged with it, that
        sees the tree before, and the merged one is to be accepted.
        """
        for _ in range(MERGE_TRIES):
            if (await self.git.ask(*CHECKED_OUT)).output != self._checked_out:
                raise InTheWayError(
                    "another branch is checked out than when the run began. Check that one out again, and go "
                    "on with the same --session"
                )
            before, tip = await _head(self.git), self.branch(name)
            alone = (await self.git.ask("merge-base", "--is-ancestor", before, tip)).exit_code == 0
            if not (look and alone):
                tip, refused = await self._try(name, message, accept, look)
                if refused.why:
                    return refused
            moved = await run_to_its_end(self.git.ask("merge", "--quiet", "--ff-only", "--no-autostash", tip))
            if moved.exit_code == 0:
                self._tip = await _head(self.git)
                return MergeEnd(files=await _changed_files(self.git, before, self._tip))
            if await _head(self.git) == before:
                raise InTheWayError(
                    f"your own changes are in the way of a merge ({first_lines(moved)}). Commit or stash "
                    "them, and go on with the same --session"
                )
        return MergeEnd("your branch moved each time it was to be merged")

    async def _try(self, name: str, message: str, accept: Accept, look: Look | None) -> tuple[str, MergeEnd]:
        """Merge a branch in the scratch worktree; return the merged commit, and why it is refused."""
        place = await self._add(SCRATCH, "HEAD", "--detach")
        git = replace(self.git, folder=place)
        try:
            before = await _head(git)
            if look:
                await look(place)
            how = ("--quiet", "--no-edit", *self.merge_options, "-m", f"Merge: {message}")
            tried = await git.ask("merge", *how, self.branch(name))
            if tried.exit_code:
                return "", await _conflict(git, tried)
            after, marks = await _head(git), f"-G^>>>>>>> {self._prefix}"
            if left := await _changed_files(git, marks, before, after):
                return "", MergeEnd(f"marks of a conflict are left in {', '.join(left[:NAMES_SHOWN])}", left)
            return after, MergeEnd(await accept(place, before, after, partial(_told, git, *CHECKOUT)))
        finally:
            await self.remove(SCRATCH)

    def _is_whole(self, name: str) -> bool:
        """Whether a worktree is there, and was not cut short while git made it, which git locks meanwhile."""
        with suppress(OSError):
            own = (self.place(name) / ".git").read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            return not Path(own, "locked").exists()
        return False

    async def _add(self, name: str, what: str, *how: str) -> Path:
        place = self.place(name)
        if place.exists():
            await self.remove(name)
        async with self.changing:
            self._folder.mkdir(parents=True, exist_ok=True)
            await _told(self.git, "worktree", "add", "--quiet", *ANEW, *how, str(place), what)
        await self._furnish_place(name)
        return place

    async def _furnish_place(self, name: str) -> None:
        listed = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        ignored = split_at_nul(await _told(self.user, *listed))
        await asyncio.to_thread(self._furnish, self.top, self.place(name), ignored)


async def find_worktrees(  # noqa: PLR0913 - what Worktrees takes, and where to look
    project: str,
    environment: Mapping[str, str],
    session: str,
    folder: Path,
    furnish: Furnish,
    *,
    clean: bool = True,
    onto: str = "",
) -> Worktrees:
    """Return the worktrees of a session. Raises BadInputError where its project is not fit, OSError.

    `clean`: nothing of the user's may be left to commit. `onto`: the session's own branch, which is checked
    out first, and made of what is committed now where it is not there.
    """
    if not (program := find_program("git", environment, project)):
        raise BadInputError("worktrees (--jobs, --team) need git, and none is on PATH outside of the project")
    git = Git((program, *SETTINGS), Path(project), clean_git_environment(environment), GIT_S)
    top, head = await git.ask("rev-parse", "--show-toplevel"), await git.ask("rev-parse", "--verify", "HEAD")
    if top.exit_code or head.exit_code:
        raise BadInputError(
            "worktrees (--jobs, --team) need a git repository with a commit. Go to one, or type: "
            "git init && git add --all && git commit -m start"
        )
    git = replace(git, folder=Path(top.output.decode().strip()))
    if onto:
        await _switch(git, onto, session)
    branch = await git.ask(*CHECKED_OUT)
    if branch.exit_code:
        raise BadInputError(NO_BRANCH)
    if (await git.ask("var", "GIT_COMMITTER_IDENT")).exit_code:
        raise BadInputError('git knows no name for commits. Type: git config user.email "you@example.org"')
    trees = Worktrees(git, session, folder, furnish, branch.output)
    if clean and (changed := await trees.uncommitted()):
        raise BadInputError(
            f"--jobs needs a clean work tree: its agents begin with what is committed, and these are not "
            f"({changed}). Add --commit-mine, or type: git stash --include-untracked"
        )
    return trees


async def _switch(git: Git, branch: str, session: str) -> None:
    """Check out the session's own branch. Raises BadInputError, also where somebody else made it."""
    owner, there = f"branch.{branch}.supervisor", ("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
    known = (await git.ask("config", "--get", owner)).output.decode().strip() == session
    exists = (await git.ask(*there)).exit_code == 0
    if exists and not known:
        raise BadInputError(f"there is a branch {branch} already, and not of this session. Take another name")
    if not known:
        await _told(git, "config", owner, session)
    done = await git.ask("switch", "--quiet", *(() if exists else ("--create",)), branch)
    if done.exit_code:
        raise BadInputError(f"--branch {branch}: {first_lines(done)}")


async def _told(git: Git, *arguments: str, stdin: bytes = b"") -> bytes:
    try:
        return await git.told(*arguments, stdin=stdin)
    except UnseenError as error:
        raise OSError(str(error)) from error


async def _head(git: Git) -> str:
    return (await _told(git, "rev-parse", "HEAD")).decode().strip()


async def _conflict(git: Git, tried: ProcessResult) -> MergeEnd:
    files = await _changed_files(git, "--diff-filter=U")
    if not files:
        return MergeEnd(f"git could not merge it: {first_lines(tried)}")
    shown = ", ".join(files[:NAMES_SHOWN])
    return MergeEnd(f"it is in conflict with what was merged before, in {shown}", files)


async def _changed_files(git: Git, *what: str) -> tuple[str, ...]:
    return tuple(split_at_nul(await _told(git, "diff", "--name-only", "--no-renames", "-z", *what)))


def first_lines(done: ProcessResult) -> str:
    """Return why a call did not end, or the beginning of what it said, as one line."""
    said = (done.errors + done.output).decode("utf-8", "replace").split("\n")
    return done.reason or " ".join(" ".join(said[:NAMES_SHOWN]).split())
