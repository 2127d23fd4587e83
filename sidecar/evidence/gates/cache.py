"""Remembers earlier gate runs on the same files: in a project, in its copies and in its other worktrees.

A pass is reused only if everything it depends on is the same: the files, the command and the environment, but
not where the files lie. A failure is reused in copies alone; in a project it tells which gates are flaky.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import REMOTE_GATE_KINDS, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.session import Environment
from sidecar.platform import environments
from sidecar.platform.data import load_data
from sidecar.platform.git import find_checkout
from sidecar.platform.ports import remember_newest

MEMORY_SIZE: Final = 256
"""Runs kept, and failures known; beyond that, the least recently used one is removed."""


class RunEnvironment(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the surroundings of a run: data/run_environment.toml, which explains each list."""

    in_copies: dict[str, str]
    uncached: dict[str, str]
    lock_files: tuple[str, ...]
    install_records: tuple[str, ...]
    runtimes: tuple[str, ...]
    version_files: tuple[str, ...]


def environment_for_copies(environment: Environment) -> dict[str, str]:
    """Return an environment in which runners tell of all tests that they can load."""
    words = load_data("run_environment", RunEnvironment).in_copies
    added = {name: f"{word} {environment.get(name, '')}".strip() for name, word in words.items()}
    return {**environment, **added}


def without_result_caches(environment: Environment) -> dict[str, str]:
    """Return an environment in which task runners replay no earlier result."""
    return {**environment, **load_data("run_environment", RunEnvironment).uncached}


class Circumstances(Struct, frozen=True, kw_only=True):
    """Everything that must be equal for a pass to be reused. `tree` is never empty in a `GateMemory`.

    `project`: its place in its repository. `others`: the rest of the gate and of the environment, and the
    digest of what lies outside the tree; see `digest_run_environment`. `copied`: it runs in a copy; where a
    pass was seen does not matter.
    """

    project: str
    tree: str
    command: str
    folder: str
    others: tuple[object, ...]
    copied: bool = False


def describe_circumstances(gate: Gate, at: GateContext, world: str = "") -> Circumstances:
    """Describe the circumstances of a run that is about to start."""
    own = (at.origin or at).project
    checkout = find_checkout(Path(own))
    inside = os.path.relpath(os.path.realpath(own), checkout.top) if checkout else ""
    return Circumstances(
        project=f"{checkout.common}:{inside}" if checkout else own,
        tree=at.tree,
        command=gate.command,
        folder=gate.folder,
        others=(gate.python, gate.kind, gate.counts, gate.least, at.names, world),
        copied=at.origin is not None,
    )


async def observe_circumstances(gate: Gate, at: GateContext) -> Circumstances:
    """Look at what a run depends on, in a thread because it reads many files."""
    return describe_circumstances(gate, at, await asyncio.to_thread(digest_run_environment, gate, at))


def may_reuse_pass(gate: Gate) -> bool:
    """Whether a pass of this gate may be reused at all.

    Not if the gate depends on things outside the tree (the pull request, CI, security advisories, which are
    updated hourly), nor if it is a configured check of unknown kind, which may use a server or a database.
    """
    if gate.kind in REMOTE_GATE_KINDS or gate.kind is Kind.SECURITY:
        return False
    return gate.kind is not Kind.CHECK or gate.origin is GateOrigin.DETECTED


class GateMemory:
    """Runs, with what they were asked to tell, by their circumstances, and flaky gates; kept in memory."""

    def __init__(self, size: int = MEMORY_SIZE) -> None:
        self._size = size
        self._runs: OrderedDict[Circumstances, tuple[GateRun, GateContext]] = OrderedDict()
        self._failures: OrderedDict[Circumstances, None] = OrderedDict()
        self._flaky: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._seconds: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    def recall(self, at: Circumstances, gate: Gate, asked: GateContext) -> GateRun | None:
        """Return an earlier run, marked as cached; None where none told all that is asked for."""
        for key in (replace(at, copied=False), at):
            run, told = self._runs.get(key, (None, asked))
            if run and {*asked.watch} <= {*told.watch} and (not asked.since or 0 < told.since <= asked.since):
                self._runs.move_to_end(key)
                opened = run.opened and tuple(path for path in run.opened if path in asked.watch)
                return replace(run, gate=gate, tree=asked.tree, cached=True, opened=opened)
        return None

    def weigh(self, at: Circumstances, run: GateRun) -> GateRun:
        """Remember a failure, and how long a pass took; mark one as flaky that failed like this before."""
        if run.outcome is Outcome.PASSED:
            remember_newest(self._seconds, (at.project, at.folder, at.command), run.seconds, self._size)
        if not at.tree:
            return run
        if run.flaky or run.outcome is Outcome.FAILED:
            remember_newest(self._failures, at, None, self._size)
        if run.outcome is Outcome.PASSED and at in self._failures:
            run = replace(run, flaky=True)
        if run.flaky:
            remember_newest(self._flaky, (at.project, at.folder, at.command), None, self._size)
        return run

    def seconds(self, at: Circumstances) -> float:
        """Return how long this gate took when it passed last; infinite where that is not known."""
        return self._seconds.get((at.project, at.folder, at.command), float("inf"))

    def was_flaky(self, at: Circumstances | None) -> bool:
        """Whether this gate failed and passed on one tree, whichever that was."""
        return at is not None and (at.project, at.folder, at.command) in self._flaky

    def keep(self, at: Circumstances, run: GateRun, asked: GateContext) -> None:
        """Remember a pass, and of a copy any run; not if it is flaky, cached, or files moved."""
        passed = run.outcome is Outcome.PASSED
        whole = passed or (at.copied and run.outcome is Outcome.FAILED)
        if at.tree and whole and not (run.flaky or run.moved or run.cached):
            told = replace(asked, environment={}, hear=None, origin=None)
            remember_newest(self._runs, replace(at, copied=not passed), (run, told), self._size)


# --- Digest of what a pass depends on besides the files of the tree -----------------------------------------
# It costs a few hundred file accesses, and covers, by the lists of data/run_environment.toml:
#
# - the environment variables;
# - the content of lock files (`lock_files`) in the gate's folder, in those above it, and in the project, even
#   if git ignores them;
# - installed packages: the lists that package managers keep in node_modules, and the folders into which they
#   install for Python, by modification time;
# - tools and interpreters: every word of the command that names a program, and `runtimes`, each by resolved
#   path, size and modification time, in place of its version, which would require running it; a file of the
#   project by its content;
# - files in the user's home that choose a version (`version_files`).
#
# Paths below the project, its origin or its main checkout are relative, so that the same files have the same
# digest in each of them. It does not cover packages installed in editable mode from outside the project,
# services that tests use, the clock, or the kernel. Passes of gates that by nature depend on more than the
# tree are never kept: see `may_reuse_pass`.


PROGRAM_WORD: Final = re.compile(r"[\w.+/-]{1,200}")
PROGRAM_LIMIT: Final = 16
"""Words of a command that are looked up as programs."""
CONTENT_LIMIT: Final = 64 << 20
"""Bytes of a file up to which its content is digested; of a bigger one, size and time are."""


def digest_run_environment(gate: Gate, at: GateContext) -> str:
    """Digest everything listed above. Never raises; a missing file is part of the digest as missing."""
    project, folder, own = Path(at.project), Path(at.project, gate.folder), at.origin or at
    environment = environments.project_environment(str(folder), own.environment, at.project, gate.python)
    main, home = environments.folders_in_main_checkout([project]), Path(environment.get("HOME", "/"))
    places = "|".join(re.escape(str(place)) for place in (project, own.project, *main))
    below = re.compile(f"({places})(?=[/:]|$)")
    known = load_data("run_environment", RunEnvironment)
    digest = hashlib.blake2b(digest_size=20)
    for part in (
        *(f"{name}={value}" for name, value in sorted(environment.items())),
        *(
            _signature(place / name, content=True)
            for place in environments.folders_up_to_project(str(folder), at.project)
            for name in (*known.lock_files, *known.install_records)
        ),
        *_program_signatures(gate.command, project, folder, environment, known.runtimes),
        *_python_signatures(folder, environment),
        *(_signature(home / name, content=True) for name in known.version_files),
    ):
        digest.update(below.sub("", part).encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _signature(path: Path, *, content: bool) -> str:
    """Return the digest of a file's content, or what stands for a program's version.

    That is its resolved path, size and modification time.
    """
    try:
        status = path.stat()
        if not content or status.st_size > CONTENT_LIMIT:
            return f"{path.resolve()}:{status.st_size}:{status.st_mtime_ns}"
        with path.open("rb") as file:
            return f"{path}:{hashlib.file_digest(file, 'blake2b').hexdigest()}"
    except (OSError, RuntimeError, ValueError):
        return ""


def _program_signatures(
    line: str, project: Path, folder: Path, environment: Mapping[str, str], runtimes: tuple[str, ...]
) -> Iterator[str]:
    words = dict.fromkeys(found[0] for found in islice(PROGRAM_WORD.finditer(line), 4 * PROGRAM_LIMIT))
    path = environment.get("PATH", os.defpath)
    for word in (*islice(words, PROGRAM_LIMIT), *runtimes):
        found = str(folder / word) if "/" in word else shutil.which(word, path=path) or ""
        inside = found.startswith(f"{project}/")
        own = inside and environments.installed_folders().isdisjoint(Path(found).parts)
        yield _signature(Path(found), content=own) if found else ""


def _python_signatures(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield settings and times of the active environment, and of those that a tool may find."""
    found = shutil.which("python3", path=environment.get("PATH", os.defpath))
    roots = [Path(environment.get("HOME", "/"), ".local")]
    if environment.get("VIRTUAL_ENV"):
        roots.append(Path(environment["VIRTUAL_ENV"]))
    if found:
        roots += [Path(found).parent.parent, Path(found).resolve().parent.parent]
    for root in dict.fromkeys((*roots, *environments.environments_in(folder))):
        yield _signature(root / "pyvenv.cfg", content=True)
        yield _signature(root / "bin" / "python", content=False)
        for name in ("dist-packages", "site-packages"):
            for packages in sorted(islice(root.glob(f"lib/python3*/{name}"), PROGRAM_LIMIT)):
                yield _signature(packages, content=False)
