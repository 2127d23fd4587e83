"""Remembers earlier gate runs on the same tree: reusable passes, and failures, to detect flaky gates.

A pass is reused only if everything it depends on is unchanged: the files, the command and the environment.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import REMOTE_GATE_KINDS, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.session import Environment
from sidecar.platform.data import load_data
from sidecar.platform.environments import environments_in, folders_up_to_project, project_environment

K = TypeVar("K")
T = TypeVar("T")

MEMORY_SIZE: Final = 256
"""Passes kept, and failures kept; beyond that, the least recently used one is removed."""


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

    `others`: the rest of the gate and of the environment, and the digest of what lies outside the tree; see
    `digest_run_environment`.
    """

    project: str
    tree: str
    command: str
    folder: str
    others: tuple[object, ...]


def describe_circumstances(gate: Gate, at: GateContext, world: str = "") -> Circumstances:
    """Describe the circumstances of a run that is about to start."""
    return Circumstances(
        project=at.project,
        tree=at.tree,
        command=gate.command,
        folder=gate.folder,
        others=(gate.python, gate.kind, gate.counts, gate.least, world),
    )


def may_reuse_pass(gate: Gate) -> bool:
    """Whether a pass of this gate may be reused at all.

    Not if the gate depends on things outside the tree (the pull request, CI, security advisories, which are
    updated hourly), nor if it is a configured check of unknown kind, which may use a server or a database.
    """
    if gate.kind in REMOTE_GATE_KINDS or gate.kind is Kind.SECURITY:
        return False
    return gate.kind is not Kind.CHECK or gate.origin is GateOrigin.DETECTED


class GateMemory:
    """Passes and failures by their circumstances, and flaky gates, kept in memory."""

    def __init__(self, size: int = MEMORY_SIZE) -> None:
        self._size = size
        self._passes: OrderedDict[Circumstances, tuple[GateRun, frozenset[str]]] = OrderedDict()
        self._failures: OrderedDict[Circumstances, None] = OrderedDict()
        self._flaky: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def recall(self, at: Circumstances, gate: Gate, watch: Sequence[str] = ()) -> GateRun | None:
        """Return an earlier pass, marked as cached; None where none told of all these files."""
        run, watched = self._passes.get(at, (None, frozenset[str]()))
        if run is None or not watched.issuperset(watch):
            return None
        self._passes.move_to_end(at)
        opened = tuple(path for path in run.opened or () if path in watch)
        return replace(run, gate=gate, cached=True, opened=None if run.opened is None else opened)

    def weigh(self, at: Circumstances, run: GateRun) -> GateRun:
        """Remember a failure, and mark a pass as flaky if it failed before under the same circumstances."""
        if not at.tree:
            return run
        if run.flaky or run.outcome is Outcome.FAILED:
            self._keep(self._failures, at, None)
        if run.outcome is Outcome.PASSED and at in self._failures:
            run = replace(run, flaky=True)
        if run.flaky:
            self._keep(self._flaky, (at.project, at.folder, at.command), None)
        return run

    def was_flaky(self, gate: Gate, project: str) -> bool:
        """Whether this gate failed and passed on one tree, whichever that was."""
        return (project, gate.folder, gate.command) in self._flaky

    def keep(self, at: Circumstances, run: GateRun, watch: Sequence[str] = ()) -> None:
        """Remember a pass that told of these files, unless it is flaky, cached, or files moved."""
        if at.tree and run.outcome is Outcome.PASSED and not (run.flaky or run.moved or run.cached):
            self._keep(self._passes, at, (run, frozenset(watch)))

    def _keep(self, kept: OrderedDict[K, T], at: K, value: T) -> None:
        kept[at] = value
        kept.move_to_end(at)
        if len(kept) > self._size:
            kept.popitem(last=False)


# --- Digest of what a pass depends on besides the files of the tree -----------------------------------------
# It costs a few hundred file accesses, and covers, by the lists of data/run_environment.toml:
#
# - the environment variables;
# - the content of lock files (`lock_files`) in the gate's folder, in those above it, and in the project, even
#   if git ignores them;
# - installed packages: the lists that package managers keep in node_modules, and the folders into which they
#   install for Python, by modification time;
# - tools and interpreters: every word of the command that names a program, and `runtimes`, each by resolved
#   path, size and modification time, in place of its version, which would require running it;
# - files in the user's home that choose a version (`version_files`).
#
# It does not cover packages installed in editable mode from outside the project, services that tests use, the
# clock, or the kernel. Passes of gates that by nature depend on more than the tree are never kept: see
# `may_reuse_pass`.


PROGRAM_WORD: Final = re.compile(r"[\w.+/-]{1,200}")
PROGRAM_LIMIT: Final = 16
"""Words of a command that are looked up as programs."""
CONTENT_LIMIT: Final = 64 << 20
"""Bytes of a file up to which its content is digested; of a bigger one, size and time are."""


def digest_run_environment(gate: Gate, at: GateContext) -> str:
    """Digest everything listed above. Never raises; a missing file is part of the digest as missing."""
    folder = Path(at.project, gate.folder)
    environment = project_environment(str(folder), at.environment, at.project, gate.python)
    known = load_data("run_environment", RunEnvironment)
    digest = hashlib.blake2b(digest_size=20)
    for part in (
        *(f"{name}={value}" for name, value in sorted(environment.items())),
        *(
            _content_digest(place / name)
            for place in folders_up_to_project(str(folder), at.project)
            for name in (*known.lock_files, *known.install_records)
        ),
        *_program_signatures(gate.command, folder, environment, known.runtimes),
        *_python_signatures(folder, environment),
        *(_content_digest(Path(environment.get("HOME", "/"), name)) for name in known.version_files),
    ):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _content_digest(path: Path) -> str:
    try:
        status = path.stat()
        if status.st_size > CONTENT_LIMIT:
            return _stat_signature(path)
        with path.open("rb") as file:
            return f"{path}:{hashlib.file_digest(file, 'blake2b').hexdigest()}"
    except (OSError, ValueError):
        return ""


def _stat_signature(path: Path) -> str:
    """Return what stands for a program's version: its resolved path, size and modification time."""
    try:
        real = path.resolve()
        status = real.stat()
    except (OSError, RuntimeError, ValueError):
        return ""
    return f"{real}:{status.st_size}:{status.st_mtime_ns}"


def _program_signatures(
    line: str, folder: Path, environment: Mapping[str, str], runtimes: tuple[str, ...]
) -> Iterator[str]:
    words = dict.fromkeys(found[0] for found in islice(PROGRAM_WORD.finditer(line), 4 * PROGRAM_LIMIT))
    path = environment.get("PATH", os.defpath)
    for word in (*islice(words, PROGRAM_LIMIT), *runtimes):
        found = str(folder / word) if "/" in word else shutil.which(word, path=path)
        yield _stat_signature(Path(found)) if found else ""


def _python_signatures(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield settings and times of the active environment, and of those that a tool may find."""
    found = shutil.which("python3", path=environment.get("PATH", os.defpath))
    roots = [*environments_in(folder), Path(environment.get("HOME", "/"), ".local")]
    if environment.get("VIRTUAL_ENV"):
        roots.append(Path(environment["VIRTUAL_ENV"]))
    if found:
        roots += [Path(found).parent.parent, Path(found).resolve().parent.parent]
    for root in dict.fromkeys(roots):
        yield _content_digest(root / "pyvenv.cfg")
        yield _stat_signature(root / "bin" / "python")
        for name in ("dist-packages", "site-packages"):
            for packages in sorted(islice(root.glob(f"lib/python3*/{name}"), PROGRAM_LIMIT)):
                yield _stat_signature(packages)
