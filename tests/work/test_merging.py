"""Work in worktrees, with git in memory: who is told what, and when."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from sidecar.kernel.runs import CheckRun, MergeChecks
from sidecar.platform.worktrees import MergeEnd, Worktrees
from sidecar.work.merging import Trial, WorkMerging, Workplace

LIMIT_S = 60.0


class Trees:
    """Worktrees of which a merge moves the branch first, and notes that it did when it is let."""

    def __init__(self, top: Path) -> None:
        self.top, self.tip, self.head = top, "a", "a"
        self.merging, self.go = asyncio.Event(), asyncio.Event()

    async def merge(self, *_: Any) -> MergeEnd:
        self.head = "b"
        self.merging.set()
        await self.go.wait()
        self.tip = self.head
        return MergeEnd()

    async def close(self, *_: str) -> None:
        asyncio.get_running_loop().call_soon(self.go.set)

    async def moved(self) -> str:
        before, self.tip = self.tip, self.head
        return f"{before}..{self.head}" if before != self.head else ""

    async def is_merged(self, _name: str) -> bool:
        return False


async def test_a_merge_of_ours_is_not_told_as_somebody_elses(tmp_path: Path) -> None:
    trees, told = Trees(tmp_path), list[str]()
    work = WorkMerging(cast("Worktrees", trees), str(tmp_path), {}, str, told.append)

    async def checks(_at: Workplace, _only: tuple[str, ...]) -> MergeChecks:
        return MergeChecks()

    async with asyncio.timeout(LIMIT_S):
        merging = asyncio.create_task(work.merge("T1-1", "one", Trial(checks=checks, asked_about=set())))
        await trees.merging.wait()
        await work.close("T2-1", "two")
        await merging
        assert told == []
        trees.head = "c"
        await work.close("T2-1", "two")
    assert told == ["your branch moved without this run. Not you? Type: git log b..c"]


class Commits(Trees):
    """Worktrees in which a branch is a commit, whose checks fail in these tests, run by run."""

    def __init__(self, top: Path, **failing: str) -> None:
        super().__init__(top)
        self.at, self.tip, self.ran = "", "start", list[str]()
        self._failing = {name: told.split("|") for name, told in failing.items()}

    async def merge(self, name: str, _message: str, accept: Any, _look: Any) -> MergeEnd:
        await self.go_to(name)
        end = MergeEnd(await accept(self.top, self.tip, name, self.go_to))
        self.tip = self.tip if end.why else name
        return end

    async def go_to(self, commit: str) -> None:
        self.at = commit

    async def checks(self, _at: Workplace, only: tuple[str, ...]) -> MergeChecks:
        assert only in ((), ("unit",))
        self.ran.append(self.at)
        told = self._failing.get(self.at, [""])
        failing = tuple((told.pop(0) if len(told) > 1 else told[0]).split())
        unit = CheckRun(id="unit", command="make", passed=not failing, why="E", failing=failing)
        return MergeChecks(runs=(unit,) if only else (CheckRun(id="lint", command="l", passed=True), unit))


NO_MORE = "with it `make` does not pass any more"


@pytest.mark.parametrize(
    ("failing", "why", "ran"),
    [
        ({}, "", "one two three"),
        ({"two": "a"}, f"{NO_MORE}: E", "one two two three"),  # how it ends before is known from "one"
        ({"two": "a|"}, "", "one two two three"),  # a flaky check
        ({"start": "a", "one": "a", "two": "a", "three": "a"}, "", "one start two three"),
        (
            {"start": "a", "one": "a", "two": "a b", "three": "a"},
            f"{NO_MORE} in b: E",
            "one start two two three",
        ),
        ({"start": "a", "two": "a"}, f"{NO_MORE}: E", "one two two three"),
    ],
)
async def test_no_check_runs_twice_on_the_same_files_and_none_gets_redder(
    tmp_path: Path, failing: dict[str, str], why: str, ran: str
) -> None:
    trees = Commits(tmp_path, **failing)
    work = WorkMerging(cast("Worktrees", trees), str(tmp_path), {}, str, list[str]().append)
    trial = Trial(checks=trees.checks, asked_about=set())
    ends = [(await work.merge(name, name, trial)).why for name in ("one", "two", "three")]
    assert (ends, trees.ran) == (["", why, ""], ran.split())
