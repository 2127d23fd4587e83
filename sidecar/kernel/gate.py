"""Gates: the project's own checks, which Supervisor runs itself."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.kernel.settings import GateSettings


class Outcome(StrEnum):
    """The result of a gate. The last two are neither passed nor failed (law 3)."""

    PASSED = "passed"
    FAILED = "failed"
    COULD_NOT_RUN = "could-not-run"
    NOT_APPROVED = "not-approved"
    """The user has not approved the command, so it was not started (law 12)."""


NOTHING_SHOWN = frozenset((Outcome.COULD_NOT_RUN, Outcome.NOT_APPROVED))
"""Outcomes that say nothing of the project."""
NOTHING_EXECUTED = "nothing was executed"
"""The reason of a test runner's failure that found no test to run."""


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


REMOTE_GATE_KINDS = frozenset((Kind.PR, Kind.CI))
"""Kinds that query a remote service instead of running a command of the project."""


class GateOrigin(StrEnum):
    """Who named the command; this decides whether it may run without approval (law 12)."""

    TYPED = "typed"
    """By the user, with --check."""
    USER = "user"
    """By the user's own config.toml."""
    PROJECT = "project"
    """By the project's .supervisor/config.toml."""
    DETECTED = "detected"
    """By files found in the project."""


class Gate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command whose exit code decides.

    `id` is stable within a project ("tests", "lint:packages/web", "check:1"). `command` is a shell line, run
    in `folder` below the project ("" is the project itself). `why` says why the gate applies. `counts`: the
    command is a test runner, and success without an executed test is not a pass. `alone`: it may not run in
    parallel with other gates of the same stop. `seconds` is its own deadline, None for the one in the
    settings. `least` is the minimum coverage in percent. `behind` is the command that a project file defines
    for it (the script in a package.json), so that approving the gate approves that too. `python`: the folder
    of the Python environment in which it runs, or its Python, relative to the project; "" for the one that is
    found there. `approved`: the user approved exactly this; `changed`: not this, but what it was before.
    `covered`: a gate of a folder above runs it, too. `ci`: the project's CI files run checks of this kind.
    `lent`: it counts as approved for this stop, because the agent ran it.
    """

    id: str
    command: str
    why: str
    kind: Kind = Kind.CHECK
    origin: GateOrigin = GateOrigin.TYPED
    folder: str = ""
    required: bool = False
    counts: bool = False
    alone: bool = True
    seconds: int | None = None
    least: float | None = None
    behind: str = ""
    python: str = ""
    approved: bool = False
    changed: bool = False
    covered: bool = False
    ci: bool = False
    lent: bool = False

    @property
    def named(self) -> str:
        """The command as a sentence names it, with the folder of a member."""
        return f"`{self.command}`" + (f" in {self.folder}" if self.folder else "")


class AvailableGates(Struct, frozen=True):
    """The gates of a project, and problems in the files that define them.

    `settings` are those in force here: the user's take precedence over the project's. `instructions`
    are no gates and never run: the project's files for agents, which the user approves in the same way.
    `members` are tests of packages that one of the gates runs, too.
    """

    gates: tuple[Gate, ...] = ()
    problems: tuple[str, ...] = ()
    settings: GateSettings = GateSettings()
    instructions: tuple[Gate, ...] = ()
    members: tuple[Gate, ...] = ()

    @property
    def approvable(self) -> tuple[Gate, ...]:
        """Everything that a user can approve."""
        return (*self.gates, *self.instructions)


class GateRun(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finished run of a gate, bound to the tree on which it ran.

    `seconds` is wall time, without those that it `waited` for a slot of this machine before. `output` is the
    end of standard output and error together, usually at most 4,000 characters. `failures` are the first
    failing tests or lines, at most 5. `failing` names all of them, at most 500, without line numbers and
    addresses, so that a name is the same in the next run. `executed` is the number of tests that ran and
    `skipped` of those that did not, None where unknown. `percent` is the measured coverage, `warnings` what a
    linter or type checker reports besides failures. `reason` says why it could not run. `cached`: the result
    is an earlier pass on this tree. `flaky`: it failed on this tree and passed when it was run again.
    `moved`: it is not known of which files it is the result, for they changed while it ran, or it rests on
    ignored ones that changed since the work began; `reason` names them. `environment` names the Python
    environment in which it ran, and its program. `unexplained`: files outside the project that it loaded,
    that changed since the work began, and that no record explains. `idle`: it executed nothing. `opened`:
    which of the watched files it opened, relative to the project; None where none was watched. `ran` names
    the tests that ran, where that was asked for and a report tells. `noticed`: where others fail as they did
    at the baseline, the tests that pass and fail on the old code.
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
    warnings: int = 0
    reason: str = ""
    cached: bool = False
    flaky: bool = False
    moved: bool = False
    environment: str = ""
    unexplained: tuple[str, ...] = ()
    idle: bool = False
    opened: tuple[str, ...] | None = None
    ran: tuple[str, ...] | None = None
    noticed: tuple[str, ...] = ()
    waited: float = 0.0


class CheckComparison(Struct, frozen=True, kw_only=True):
    """A gate that passed now, and what its check says as it was at the baseline (proof by execution).

    `files` are the changed files that bear on a check; `absent`: tests that were not there then. `old`: the
    old checks on today's code. Where that did not pass, `base` is the old checks on the old code, and `copy`
    today's checks on today's code in a copy of the project, which shows whether the copy can run them at all;
    None where there was no time. `fresh`: today's checks on the old code, where it was asked whether they
    fail there. `product`: the old checks in the old surroundings with nothing but today's product files,
    where something failed at the baseline.
    `gone`: tests that passed at the baseline, run no more, and fail by assertion as they were. `unseen` says
    why nothing could be compared, else "".
    """

    now: GateRun
    files: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    old: GateRun | None = None
    base: GateRun | None = None
    copy: GateRun | None = None
    fresh: GateRun | None = None
    product: GateRun | None = None
    gone: tuple[str, ...] = ()
    unseen: str = ""


class CheckTrial(Struct, frozen=True, kw_only=True):
    """Whether a gate that passed could have failed, tried in copies.

    `on_base`: today's checks and surroundings with the product files of the baseline. `falsified`: the gate
    with one expectation turned wrong, which `expectation` names ("tests/test_a.py:12"). `answers`: by product
    file, values of the tests that are new in it. None, or "", where that was not tried; `unseen` says why,
    else "".
    """

    now: GateRun
    on_base: GateRun | None = None
    falsified: GateRun | None = None
    expectation: str = ""
    answers: dict[str, tuple[str, ...]] = {}
    unseen: str = ""
