"""Gates: checks of the project's own that Supervisor runs itself."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Outcome(StrEnum):
    """Could not run is neither passed nor failed (law 3)."""

    PASSED = "passed"
    FAILED = "failed"
    COULD_NOT_RUN = "could-not-run"


class Gate(Struct, frozen=True, kw_only=True):
    """A command whose exit code decides.

    `id` is stable within a project ("tests", "check:1"). `command` is a shell line. `why` says why it
    applies. `counts` tells a test runner, whose green with nothing executed is not a pass.
    """

    id: str
    command: str
    why: str
    required: bool = False
    counts: bool = False


class GateRun(Struct, frozen=True, kw_only=True):
    """One finished run, bound to the tree it ran on.

    `seconds` is wall time. `output` is the end of standard output and error together, at most 4,000
    characters. `failures` are the first failing tests or lines, at most 5. `executed` is the number of
    tests that ran, None where unknown. `reason` says why it could not run. `cached`: an earlier pass on
    this very tree. `flaky`: failed before on this very tree.
    """

    gate: Gate
    outcome: Outcome
    tree: str
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    failures: tuple[str, ...] = ()
    executed: int | None = None
    reason: str = ""
    cached: bool = False
    flaky: bool = False
