"""What it costs to save and restore all files of a large repository, against `git stash` on the same."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import tree
from measure import Figure, Job, Report, in_turn, rounds
from stage import Unfit

from sidecar.evidence.tree.checkpoints import GitCheckpoints

ROUNDS: Final = 5
FIRST_ROUNDS: Final = 2
MANY: Final = 10
"""Of how many files one is changed."""
MANY_ROUNDS: Final = 2
SOME: Final = 100


def measured(*, quick: bool) -> Report:
    """Save and restore, with few files changed and with many, against stash push and pop."""
    git = shutil.which("git")
    if git is None:
        raise Unfit("git is not on PATH")
    folder = Path(tempfile.mkdtemp(prefix="sv-bench-"))
    try:
        scene = tree.Scene(folder, git, tree.environment(folder))
        files = tree.laid(scene, tree.QUICK_FOLDERS if quick else tree.FOLDERS)
        with asyncio.Runner() as runner:
            return Report(tuple(_Run(scene, runner, files, quick=quick).figures()))
    finally:
        shutil.rmtree(folder)


class _Run:
    """One series of figures, on one repository."""

    def __init__(self, scene: tree.Scene, runner: asyncio.Runner, files: list[Path], *, quick: bool) -> None:
        self._scene, self._runner, self._files, self._quick = scene, runner, files, quick
        self._checkpoints = GitCheckpoints(scene.kept)
        self._at = (str(scene.project), scene.environment)
        self._clean = ""
        self._next = 0

    def figures(self) -> list[Figure]:
        """Measure. After each job the files are as in the commit, but not counted."""
        found = [
            self._figure("saved at first sight", self._files[:SOME], self._first, self._push, FIRST_ROUNDS)
        ]
        self._clean = self._saved()
        for changed, times in ((self._files[: SOME * 2 : 2], ROUNDS), (self._files[::MANY], MANY_ROUNDS)):
            what = f"{len(changed):,} changed"
            found += [
                self._figure(f"{what}, saved", changed, self._save, self._push, times),
                self._figure(f"{what}, restored", changed, self._restore, self._pop, times),
            ]
        return found

    def _figure(
        self, what: str, changed: list[Path], ours: Callable[[], float], peer: Callable[[], float], times: int
    ) -> Figure:
        def on_changed(job: Job) -> Job:
            def one() -> float:
                self._change(changed)
                cost = job()
                self._clean_up()
                return cost

            return one

        one, other = in_turn(rounds(times, quick=self._quick), on_changed(ours), on_changed(peer), warm_up=1)
        against = "git stash pop" if peer == self._pop else "git stash push -u"
        return Figure(name=f"{len(self._files):,} files, {what}", ours=one, against=against, peer=other)

    def _change(self, files: list[Path]) -> None:
        self._next += 1
        for file in files:
            file.write_text(f"# {self._next} {file}\n")
        (files[0].parent / "new.py").write_text("new\n")

    def _clean_up(self) -> None:
        self._scene.run("reset", "--quiet", "--hard")
        self._scene.run("clean", "--quiet", "--force", "-d")

    def _saved(self) -> str:
        return self._runner.run(self._checkpoints.save(*self._at))

    def _first(self) -> float:
        shutil.rmtree(self._scene.kept, ignore_errors=True)
        return _timed(self._saved)

    def _save(self) -> float:
        return _timed(self._saved)

    def _restore(self) -> float:
        """Restore the commit's files; the present is saved as a part of it."""
        begun = time.perf_counter()
        restored = self._runner.run(self._checkpoints.restore(*self._at, self._clean))
        cost = (time.perf_counter() - begun) * 1000
        if self._scene.run("status", "--porcelain") or not restored.removed:
            raise Unfit("the files were not restored")
        return cost

    def _push(self) -> float:
        cost = _timed(self._stash)
        self._scene.run("stash", "drop", "--quiet")
        return cost

    def _pop(self) -> float:
        self._stash()
        return _timed(lambda: self._scene.run("stash", "pop", "--quiet"))

    def _stash(self) -> None:
        self._scene.run(
            *("-c", "user.name=B", "-c", "user.email=b@example.invalid"),
            *("stash", "push", "--quiet", "--include-untracked"),
        )


def _timed(job: Callable[[], object]) -> float:
    begun = time.perf_counter()
    job()
    return (time.perf_counter() - begun) * 1000
