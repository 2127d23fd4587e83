"""What `supervisor gates` has found, for scripts: the schema of `--json`, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from sidecar.model.gate import Catalog, Gate, GateRun, Outcome


class ExitCode(IntEnum):
    """How the gates stand together."""

    PASSED = 0
    FAILED = 1
    COULD_NOT_RUN = 2


class Line(Struct, frozen=True, kw_only=True):
    """One gate; with `--list` there is no outcome. `why`: why it applies; the rest is as in GateRun."""

    id: str
    kind: str
    origin: str
    command: str
    folder: str
    why: str
    required: bool
    approved: bool
    outcome: str | None = None
    reason: str = ""
    exit_code: int | None = None
    seconds: float | None = None
    executed: int | None = None
    skipped: int | None = None
    percent: float | None = None
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    output: str = ""
    cached: bool = False
    flaky: bool = False
    moved: bool = False


class Report(Struct, frozen=True, kw_only=True):
    """`exit_code` is None with `--list`. `tree` is the fingerprint of the files. `problems`: of settings.

    `version` is raised when a field changes its meaning or goes; new fields may come at any time.
    """

    version: int = 1
    project: str
    tree: str = ""
    exit_code: int | None = None
    gates: tuple[Line, ...] = ()
    problems: tuple[str, ...] = ()


def listed(project: str, catalog: Catalog, gates: Sequence[Gate]) -> Report:
    """What applies."""
    return Report(project=project, gates=tuple(map(_line, gates)), problems=catalog.problems)


def ran(project: str, catalog: Catalog, tree: str, runs: Sequence[GateRun]) -> Report:
    """How it ended."""
    return Report(
        project=project,
        tree=tree,
        exit_code=verdict(runs),
        gates=tuple(map(_ended, runs)),
        problems=catalog.problems,
    )


def verdict(runs: Sequence[GateRun]) -> ExitCode:
    """Required gates decide where there are any, else all do. Nothing at all is no pass."""
    decisive = [run for run in runs if run.gate.required] or runs
    outcomes = {run.outcome for run in decisive}
    if Outcome.FAILED in outcomes:
        return ExitCode.FAILED
    return ExitCode.PASSED if outcomes == {Outcome.PASSED} else ExitCode.COULD_NOT_RUN


def _line(gate: Gate) -> Line:
    return Line(
        id=gate.id,
        kind=gate.kind,
        origin=gate.origin,
        command=_plain(gate.command),
        folder=_plain(gate.folder),
        why=_plain(gate.why),
        required=gate.required,
        approved=gate.approved,
    )


def _ended(run: GateRun) -> Line:
    gate = _line(run.gate)
    return Line(
        **{name: getattr(gate, name) for name in FROM_GATE},
        outcome=run.outcome,
        reason=_plain(run.reason),
        exit_code=run.exit_code,
        seconds=round(run.seconds, 3),
        executed=run.executed,
        skipped=run.skipped,
        percent=run.percent,
        failures=tuple(map(_plain, run.failures)),
        failing=tuple(map(_plain, run.failing)),
        output=_plain(run.output),
        cached=run.cached,
        flaky=run.flaky,
        moved=run.moved,
    )


FROM_GATE = ("id", "kind", "origin", "command", "folder", "why", "required", "approved")


def _plain(text: str) -> str:
    """Text that JSON can hold: a name that is no UTF-8 has surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()
