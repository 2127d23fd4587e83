"""The merge lane of a team's list: a worktree of ours at a branch of the remote, and pushing from there.

Rules of this module:

- The user's tree and branches are not touched. The lane is a worktree on the private branch
  `supervisor/LIST/lane`, which is set to what the remote has before each merge.
- A push is never forced, so it is a compare and swap: it is refused where somebody else pushed.
- Each task is one merge commit with a trailer of its own. The trailer counts in the lane's own commits alone,
  which are the first parents: what an agent writes into its commits proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.platform.git import Git, split_at_nul
from sidecar.platform.worktrees import CHECKED_OUT, Furnish, Worktrees, find_worktrees, first_lines

LANE: Final = "lane"
"""The name of the lane's worktree and branch; those of tasks end in a number."""
TRAILER: Final = "Supervisor-Task"
NETWORK_S: Final = 60.0
"""Deadline of a call that asks the remote, in seconds."""
NETWORK_VARIABLES: Final = ("GIT_ASKPASS", "GIT_CONFIG", "GIT_PROXY", "GIT_SSH", "GIT_SSL")
"""Beginnings of the variables of the user's that say how a remote is reached."""
NO_REMOTE: Final = (
    "a team's machines meet at a remote, and {remote!r} is none of this repository. "
    "Type: git remote add {remote} URL"
)
NO_BRANCH_THERE: Final = "{why}. Where {remote} has no branch {branch} yet, type: git push {remote} {branch}"


DIED: Final = 128
"""The exit code of git where it could not ask the remote; that of a refusal is another one."""


class RemoteAwayError(OSError):
    """The remote does not answer."""


class MergeLane:
    """The lane, whose `trees` are the worktrees of the list's tasks. Raises OSError where git fails."""

    def __init__(self, own: Worktrees, trees: Worktrees, network: Git, branch: tuple[str, str]) -> None:
        """`own` makes the lane of the user's repository, and `trees` merge into it.

        `network` asks the remote; `branch`: its name and that of its branch.
        """
        self._own, self.trees, self._network = own, trees, network
        self._remote, self._branch = branch
        own.changing = trees.changing  # one repository

    async def open(self) -> None:
        """Make the lane, at what the remote has."""
        await self.update()
        await self._own.open(LANE)

    async def update(self) -> None:
        """Fetch the remote's branch; worktrees are made of it from now on."""
        await self._fetch(self._branch, self.trees.base)

    async def reset(self) -> str:
        """Set the lane to what was fetched, and return that; a merge that was not pushed is undone."""
        await _output(self.trees.git, "reset", "--quiet", "--hard", self.trees.base)
        return (await _output(self.trees.git, "rev-parse", "HEAD")).decode().strip()

    async def delivered(self, task: str) -> bool:
        """Return whether what was fetched holds the work of a task, named LIST/ID."""
        values = f"--format=%(trailers:key={TRAILER},valueonly,separator=%x00)%x00"
        found = ("--first-parent", "--fixed-strings", f"--grep={TRAILER}: {task}", values, self.trees.base)
        listed = await _output(self._own.git, "log", *found)
        return task in (one.strip() for one in split_at_nul(listed))

    async def push(self) -> str:
        """Push what is merged to the remote's branch; return why that was refused, "" where it was not."""
        merged = f"refs/heads/{self._own.branch(LANE)}"
        why = await self._ask_remote("push", "--quiet", self._remote, f"{merged}:refs/heads/{self._branch}")
        if not why:
            await _output(self._own.git, "update-ref", self.trees.base, merged)
        return why

    async def push_branch(self, name: str) -> str:
        """Push the branch of a task, over an earlier one of that name; return the branch."""
        branch = self.trees.branch(name)
        if why := await self._ask_remote("push", "--quiet", self._remote, f"+{branch}:refs/heads/{branch}"):
            raise OSError(why)
        return branch

    async def drop_branch(self, branch: str) -> None:
        """Remove a branch of a task from the remote, if it is there."""
        if branch:
            await self._ask_remote("push", "--quiet", self._remote, f":refs/heads/{branch}")

    async def fetch_branch(self, branch: str) -> None:
        """Fetch the branch of a task that another machine pushed, under its own name, if it is there.

        A pattern may match nothing, where git ends with DIED for the name of a branch that is gone.
        """
        await self._fetch(f"{branch}*", f"refs/heads/{branch}*")

    async def close(self) -> None:
        """Remove the lane's worktree and branch."""
        await self._own.remove(LANE)
        await self._own.delete(LANE)

    async def _fetch(self, branch: str, to: str) -> None:
        how = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=")
        if why := await self._ask_remote("fetch", *how, self._remote, f"+refs/heads/{branch}:{to}"):
            raise OSError(why)

    async def _ask_remote(self, *arguments: str) -> str:
        """Return why the remote refused, "" where it did not. Raises RemoteAwayError."""
        async with self.trees.changing:
            done = await self._network.ask(*arguments)
        why = f"git {arguments[0]} {self._remote}: {first_lines(done)}"
        if done.exit_code in (None, DIED):
            raise RemoteAwayError(why)
        return why if done.exit_code else ""


async def find_lane(  # noqa: PLR0913 - what find_worktrees takes, and the remote
    project: str,
    environment: Mapping[str, str],
    list_name: str,
    folder: Path,
    furnish: Furnish,
    *,
    remote: str,
) -> MergeLane:
    """Return the lane of a list, for the branch that the user has checked out.

    Raises BadInputError where the project or the remote is not fit, OSError.
    """
    own = await find_worktrees(project, environment, list_name, folder, lambda *_: None, clean=False)
    if (await own.git.ask("remote", "get-url", remote)).exit_code:
        raise BadInputError(NO_REMOTE.format(remote=remote))
    branch = (await own.git.ask(*CHECKED_OUT)).output.decode().strip().removeprefix("refs/heads/")
    lane = replace(own.git, folder=own.place(LANE))
    trees = Worktrees(lane, list_name, folder, furnish, f"refs/heads/{own.branch(LANE)}\n".encode())
    trees.user, trees.merge_options = own.git, ("--no-ff",)
    trees.base = own.base = f"refs/supervisor/{list_name}/base"
    reach = {name: value for name, value in environment.items() if name.startswith(NETWORK_VARIABLES)}
    network = replace(own.git, environment={**own.git.environment, **reach}, seconds=NETWORK_S)
    made = MergeLane(own, trees, network, (remote, branch))
    try:
        await made.update()
    except OSError as error:
        raise BadInputError(NO_BRANCH_THERE.format(why=error, remote=remote, branch=branch)) from error
    return made


async def _output(git: Git, *arguments: str) -> bytes:
    done = await git.ask(*arguments)
    if done.exit_code:
        raise OSError(f"git {arguments[0]}: {first_lines(done)}")
    return done.output
