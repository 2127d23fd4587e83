"""What it costs to see all files of a large repository, against `git status` on the same files."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

from measure import Figure, Job, Report, in_turn
from msgspec import Struct
from stage import Unfit

from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.evidence import ProjectChanges

FOLDERS: Final = 2_500
EACH: Final = 20
"""Files of a folder: 50,000 together, which is what the aim speaks of."""
QUICK_FOLDERS: Final = 250
SOME: Final = 100
"""Files changed, and files that are new."""
ROUNDS: Final = 20
FIRST_ROUNDS: Final = 5
AIM: Final = 1.3
SECOND: Final = 1_500_000_000
"""Seconds since the epoch: when the files were written. Those of this second are read again by git."""


class Scene(Struct, frozen=True):
    """A repository, and the environment for git."""

    folder: Path
    git: str
    environment: Mapping[str, str]

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    def run(self, *arguments: str) -> bytes:
        """Run git in the project; what it printed."""
        return subprocess.run(  # noqa: S603 - git, with our own arguments
            [self.git, *arguments], cwd=self.project, env=self.environment, check=True, capture_output=True
        ).stdout

    def status(self) -> float:
        """Milliseconds of `git status --porcelain`."""
        begun = time.perf_counter()
        self.run("status", "--porcelain")
        return (time.perf_counter() - begun) * 1000


def measured(*, quick: bool) -> Report:
    """A digest of a clean tree, of one with changes, and with changes made just now; what changed since."""
    git = shutil.which("git")
    if git is None:
        raise Unfit("git is not on PATH")
    folder = Path(tempfile.mkdtemp(prefix="sv-bench-"))
    try:
        scene = Scene(folder, git, environment(folder))
        files = laid(scene, QUICK_FOLDERS if quick else FOLDERS)
        with asyncio.Runner() as runner:
            return Report(tuple(_figures(scene, runner, files, quick=quick)))
    finally:
        shutil.rmtree(folder)


def environment(folder: Path) -> Mapping[str, str]:
    """What git gets, with a home below this folder."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def _figures(scene: Scene, runner: asyncio.Runner, files: list[Path], *, quick: bool) -> list[Figure]:
    workspace = GitWorkspace(scene.kept)
    at = (str(scene.project), scene.environment)
    against = "git status --porcelain"
    name = f"{len(files):,} files"

    def timed(make: Coroutine[Any, Any, str | ProjectChanges]) -> float:
        begun = time.perf_counter()
        said = runner.run(make)
        if not said or (isinstance(said, ProjectChanges) and said.unseen):
            raise Unfit(f"the workspace saw nothing: {said}")
        return (time.perf_counter() - begun) * 1000

    def first() -> float:
        shutil.rmtree(scene.kept, ignore_errors=True)
        return timed(workspace.fingerprint(*at))

    def just_changed() -> float:
        _change(files)
        return timed(workspace.fingerprint(*at))

    def figure(what: str, ours: Job, times: int, aim: float | None = None) -> Figure:
        one, other = in_turn(times, ours, scene.status)
        return Figure(
            name=f"{name}, {what}", ours=one, against=against, peer=other, aim=None if quick else aim
        )

    found = [
        figure("first look", first, FIRST_ROUNDS),
        figure("clean", lambda: timed(workspace.fingerprint(*at)), ROUNDS, AIM),
    ]
    base = runner.run(workspace.remember(*at))
    what = f"{SOME} changed and {SOME} new"
    found.append(figure(f"{what}, just now", just_changed, ROUNDS))
    found.append(figure(what, lambda: timed(workspace.fingerprint(*at)), ROUNDS, AIM))
    found.append(figure(f"{what}, told with their texts", lambda: timed(workspace.since(base, *at)), ROUNDS))
    return found


def laid(scene: Scene, folders: int) -> list[Path]:
    """Lay the repository out: source files of 0.2 to 3 KB, all committed and packed."""
    files = []
    for number in range(folders):
        place = scene.project / f"package{number % 50}" / f"module{number}"
        place.mkdir(parents=True)
        for count in range(EACH):
            file = place / f"file_{count}.py"
            file.write_text(f"# {number} {count}\n" * (20 + number * count % 200))
            os.utime(file, (SECOND, SECOND))
            files.append(file)
    scene.run("init", "--quiet")
    scene.run("add", "--all")
    scene.run("-c", "user.name=B", "-c", "user.email=b@example.invalid", "commit", "--quiet", "--message=all")
    scene.run("repack", "-a", "-d", "--quiet")
    return files


def _change(files: list[Path]) -> None:
    """Other contents in some files, and in some that the repository does not know."""
    text = f"# {time.time_ns()}\n"
    for file in files[:: len(files) // SOME][:SOME]:
        file.write_text(text)
        (file.parent / "new.py").write_text(text)
