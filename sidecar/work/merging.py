"""Work in worktrees: an agent has one of its own, and what it did is merged when our checks pass with it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.reports.report import NAMED_FAILURES
from sidecar.evidence.tree.checkout import map_environment, place_ignored_files
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.runs import CheckRun, MergeChecks
from sidecar.kernel.session import Environment
from sidecar.platform.lane import MergeLane, find_lane
from sidecar.platform.paths import cache_folder, project_digest
from sidecar.platform.worktrees import NAMES_SHOWN, CheckOut, Look, MergeEnd, Worktrees, find_worktrees

ASKED_ONCE: Final = (
    "Undo that. Where it is right, do it again and say why in a note: it is merged then, and judged"
)


@dataclass(frozen=True)
class Workplace:
    """Where an agent works, and with which environment; `branch` is "" in the project itself."""

    folder: str
    environment: Environment
    branch: str = ""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How a merged tree is tried. `checks` runs our checks there, all that bear on the work or these.

    `asked_about`: changes of checks that its agent was told of; what else is found is added. `required`:
    commands that must pass, also where they fail without the work. `look`: see `Worktrees.merge`.
    """

    checks: Callable[[Workplace, tuple[str, ...]], Awaitable[MergeChecks]]
    asked_about: set[str]
    required: tuple[str, ...] = ()
    look: Callable[[Workplace], Awaitable[object]] | None = None


class WorkMerging:
    """The worktrees of one session, named TASK-NUMBER. `tell` is told what its person should know."""

    def __init__(
        self,
        trees: Worktrees,
        project: str,
        environment: Mapping[str, str],
        mask: SecretMask,
        tell: Callable[[str], None],
    ) -> None:
        self.trees, self._environment, self._mask, self._tell = trees, dict(environment), mask, tell
        self._inside = Path(project).resolve().relative_to(trees.top.resolve())
        self._merging = asyncio.Lock()
        self._known: dict[str, tuple[CheckRun, ...]] = {}
        """How checks ended on a commit: on the one before the last merge that was tried, or after it."""

    async def open(self, name: str, *, go_on: bool = False, contested: bool = False) -> Workplace:
        """Make a worktree; `go_on`: or return the one that is there, or make it of its branch.

        `contested`: it goes on with the last attempt on its task.
        """
        earlier = (await self.others(name))[-1:] if contested else []
        place = await self.trees.open(name, go_on=go_on, earlier="".join(earlier))
        return self._workplace(place, self.trees.branch(name))

    async def close(self, name: str, message: str) -> bool:
        """Commit what is in a worktree and remove it; return whether nothing of it is to be merged."""
        await self.trees.close(name, message)
        async with self._merging:  # else it is our own merge that moves the branch
            moved = await self.trees.moved()
        if moved:
            self._tell(f"your branch moved without this run. Not you? Type: git log {moved}")
        return await self.trees.is_merged(name)

    def kept(self, name: str, why: str) -> str:
        """Say why the work of a branch is not merged, and where it is."""
        branch = self.trees.branch(name)
        return self._mask(
            f"{why.rstrip('.')}. What was done is on the branch {branch}: git diff HEAD...{branch}"
        )

    async def merge(self, name: str, message: str, trial: Trial) -> MergeEnd:
        """Merge a branch, one at a time.

        Raises InTheWayError, OSError, BadInputError.
        """
        accept, look = partial(self._accept, trial), trial.look
        see: Look | None = look and (lambda place: look(self._workplace(place)))
        async with self._merging:
            return await self.trees.merge(name, message, accept, see)

    async def delete(self, name: str, *, earlier: bool) -> None:
        """Delete a branch that was merged, and those of earlier attempts on its task."""
        await self.trees.delete(name, *(await self.others(name) if earlier else ()))

    async def others(self, name: str) -> list[str]:
        """Return the names of other attempts on the same task, the last one last."""
        task = name.rpartition("-")[0]
        others = (one for one in await self.trees.names() if one.rpartition("-")[0] == task and one != name)
        return sorted(others, key=lambda one: int(one.rpartition("-")[2]))

    async def _accept(self, trial: Trial, place: Path, before: str, after: str, go: CheckOut) -> str:
        work = self._workplace(place)
        merged = await trial.checks(work, ())
        weakened = tuple(sorted(frozenset(merged.weakened) - trial.asked_about))
        base = MergeChecks(runs=self._known.get(before, ()))
        unknown = tuple(one for one in merged.failed if one not in {run.id for run in base.runs})
        if weakened or unknown:
            await go(before)
            found = await trial.checks(work, () if weakened else unknown)
            base = replace(found, runs=(*base.runs, *found.runs))
            trial.asked_about.update(weakened)
        if merge_objection(replace(merged, weakened=()), base, trial.required):
            await go(after)  # unless they pass when they are run again
            again = await trial.checks(work, merged.failed)
            merged = replace(merged, runs=(*(run for run in merged.runs if run.passed), *again.runs))
        why = merge_objection(replace(merged, weakened=weakened), base, trial.required)
        self._known = {before: base.runs} if why else {after: merged.runs}
        return why

    def _workplace(self, place: Path, branch: str = "") -> Workplace:
        environment = map_environment(self._environment, self.trees.top, place)
        return Workplace(str(place / self._inside), environment, branch)


def merge_objection(merged: MergeChecks, before: MergeChecks, required: tuple[str, ...] = ()) -> str:
    """Return why work may not be merged, "" where it may.

    What passes without it, or is `required`, does not pass with it, or fails in more tests, or is not the
    check any more that it is without it.
    """
    known, why = {run.id: run for run in before.runs}, list[str]()
    for run in merged.runs:
        if not run.passed and run.command in required:
            why.append(f"with it `{run.command}` does not pass: {run.why}")
        elif not run.passed and (was := known.get(run.id)):
            named = 0 < len(was.failing) < NAMED_FAILURES
            more = [name for name in run.failing if named and name not in was.failing]
            if was.passed or more:
                where = f" in {', '.join(more[:NAMES_SHOWN])}" if more else ""
                why.append(f"with it `{run.command}` does not pass any more{where}: {run.why}")
    if weakened := [line for line in merged.weakened if line not in before.weakened]:
        why += f"it changes checks: {'; '.join(weakened)}", ASKED_ONCE
    return "\n".join(why)


async def find_merge_lane(project: str, list_name: str, remote: str) -> MergeLane:
    """Return the merge lane of a team's list for this process's user; see `find_lane`."""
    furnish = partial(place_ignored_files, since=time.time())
    folder = cache_folder() / "worktrees" / f"team-{list_name}-{project_digest(project)}"
    return await find_lane(project, dict(os.environ), list_name, folder, furnish, remote=remote)


async def find_session_worktrees(
    project: str, session: str, *, clean: bool = True, onto: str = ""
) -> Worktrees:
    """Return the worktrees of a session of this process's user; see `find_worktrees`."""
    furnish = partial(place_ignored_files, since=time.time())
    folder = cache_folder() / "worktrees" / session
    return await find_worktrees(project, dict(os.environ), session, folder, furnish, clean=clean, onto=onto)
