"""Gates: checks of the project's own that Supervisor runs itself."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.model.settings import Gates


class Outcome(StrEnum):
    """Could not run is neither passed nor failed (law 3)."""

    PASSED = "passed"
    FAILED = "failed"
    COULD_NOT_RUN = "could-not-run"


class Kind(StrEnum):
    """What a gate checks."""

    TESTS = "tests"
    BUILD = "build"
    TYPES = "types"
    LINT = "lint"
    SECURITY = "security"
    COVERAGE = "coverage"
    PR = "pr"
    CI = "ci"
    CHECK = "check"


REMOTE = frozenset((Kind.PR, Kind.CI))
"""Kinds that ask a remote, not a command of the project."""


class Origin(StrEnum):
    """Whose word names the command: it decides whether it may run unasked (law 12)."""

    TYPED = "typed"
    """By the user, with --check."""
    USER = "user"
    """By the user's own config.toml."""
    PROJECT = "project"
    """By the project's .supervisor/config.toml."""
    DETECTED = "detected"
    """By a sign in the project."""


class Gate(Struct, frozen=True, kw_only=True):
    """A command whose exit code decides.

    `id` is stable within a project ("tests", "lint:packages/web", "check:1"). `command` is a shell line, run
    in `folder` below the project ("" is the project itself). `why` says why it applies. `counts` tells a test
    runner, whose green with nothing executed is not a pass. `alone`: it may not run beside other gates of the
    same stop. `seconds`: its own deadline, None where the settings' holds. `least`: the least coverage in
    percent. `behind`: what the command stands for where a file of the project says it (the script of a
    package.json), so that approving it approves that. `approved`: the user approved exactly this.
    """

    id: str
    command: str
    why: str
    kind: Kind = Kind.CHECK
    origin: Origin = Origin.TYPED
    folder: str = ""
    required: bool = False
    counts: bool = False
    alone: bool = True
    seconds: int | None = None
    least: float | None = None
    behind: str = ""
    approved: bool = False


class Catalog(Struct, frozen=True):
    """What a project offers to check: its gates, and what is wrong with the files that name them.

    `settings` are those in force here: the user's, over the project's.
    """

    gates: tuple[Gate, ...] = ()
    problems: tuple[str, ...] = ()
    settings: Gates = Gates()


class GateRun(Struct, frozen=True, kw_only=True):
    """One finished run, bound to the tree it ran on.

    `seconds` is wall time. `output` is the end of standard output and error together, at most 4,000
    characters. `failures` are the first failing tests or lines, at most 5; `failing` names every one of
    them, at most 500, so that it is the same in the next run (no line numbers, no addresses). `executed` is
    the number of tests that ran and `skipped` of those that did not, None where unknown. `percent` is the
    coverage measured. `reason` says why it could not run. `cached`: an earlier pass on this very tree.
    `flaky`: it failed on this very tree and passed when it was run again. `moved`: files changed while it
    ran.
    """

    gate: Gate
    outcome: Outcome
    tree: str
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    executed: int | None = None
    skipped: int | None = None
    percent: float | None = None
    reason: str = ""
    cached: bool = False
    flaky: bool = False
    moved: bool = False
