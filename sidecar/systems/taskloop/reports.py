"""Finds out what is true about a report of completion: changed files, scope, gates, weakened checks.

- The files are those that really changed since the task began; the agent's own list is only compared.
- Gates take the road of `gates_run`. One that passed while files changed has shown nothing.
- Where a file that bears on a check changed, what passed runs once more as it was when the task began.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec import Struct

from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof import policy as proof
from sidecar.evidence.proof.check_files import changes_dependencies, may_bear_on_checks
from sidecar.evidence.reports.severities import count_severities
from sidecar.kernel.changes import ProjectChanges
from sidecar.kernel.gate import NOTHING_SHOWN, REMOTE_GATE_KINDS, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.journal import Author, Task
from sidecar.kernel.loop import GateResult, GateVerdict, Loop
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_line
from sidecar.systems.taskloop.policy.agents import Scope
from sidecar.systems.taskloop.policy.loop import Report
from sidecar.systems.taskloop.policy.scope import files_outside
from sidecar.systems.taskloop.policy.transitions import LoopOrderError
from sidecar.systems.taskloop.ports import HearGates, LoopServices

RUN_KINDS: Final = frozenset((Kind.TESTS, Kind.TYPES, Kind.LINT, Kind.SECURITY, Kind.COVERAGE, Kind.CHECK))
ERRORS_TOLD: Final = 5
ERROR_LENGTH: Final = 300
NAMED: Final = 50
"""Files and findings of one report that are kept."""
FILES_UNKNOWN: Final = "changes"
"""The id of what stands for a gate where nobody can tell which files changed."""
OWN_WORD: Final = "worker"
"""The id of what stands for a gate where the one at work says that the task is not done."""
MOVED: Final = "files changed while it ran"


class Examined(Struct, frozen=True, kw_only=True):
    """What was found out. `unreported` changed and was not listed by the agent, `unchanged` the reverse."""

    report: Report
    unreported: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


class ReportSubject(NamedTuple):
    """What a report is about: the gates with whether each is required, the agent's scope, its claims."""

    session: Session
    loop: Loop
    task: Task
    scope: Scope
    chosen: tuple[tuple[Gate, bool], ...]
    claimed: Claimed


class Claimed(Struct, frozen=True, kw_only=True):
    """What the agent says of its work. `model` is the name of the one at work, `undone` as in the service."""

    files: tuple[str, ...] = ()
    summary: str = ""
    model: str = ""
    undone: str = ""


def choose_gates(offered: Iterable[Gate], settings: Settings) -> tuple[tuple[Gate, bool], ...]:
    """Return the gates that a task's completion asks for, and whether each is required."""
    chosen = []
    for gate in offered:
        configured = settings.gate.get(gate.id)
        excepted = configured is not None and configured.required is False
        required = gate.required or (gate.kind in settings.loop.required and not excepted)
        if gate.kind not in REMOTE_GATE_KINDS and (required or gate.kind in RUN_KINDS):
            chosen.append((gate, required))
    return tuple(chosen)


def check_approved(chosen: Iterable[tuple[Gate, bool]], may: frozenset[str]) -> tuple[tuple[Gate, bool], ...]:
    """Return them, or raise LoopOrderError where only a person can let a required gate run.

    Beside a check that the user typed, one that was only detected and is not approved advises.
    """
    chosen = tuple(chosen)
    typed = any(gate.origin is GateOrigin.TYPED for gate, _ in chosen)
    known = tuple(
        (gate, required and (gate.id in may or gate.required or not typed)) for gate, required in chosen
    )
    if blocked := [gate.id for gate, required in known if required and gate.id not in may]:
        raise LoopOrderError("loop-not-approved", gates=", ".join(blocked[:ERRORS_TOLD]))
    return known


class ReportExaminer:
    """Examines reports."""

    def __init__(self, services: LoopServices) -> None:
        self._services = services

    async def examine(self, about: ReportSubject, hear: HearGates | None) -> Examined:
        """Examine a report. Raises ToolRuleError where gates may not run now."""
        session, loop, task, scope, chosen, claimed = about
        services, settings = self._services, self._services.configuration.load()[0]
        environment, mask = services.gates.permitted_environment(session), services.gates.mask(session)
        changes = await services.workspace.since(loop.base, session.project, environment)
        ids = [gate.id for gate, _ in chosen]
        runs = await services.gates.run(session, ids, hear) if ids else ()
        required = {gate.id for gate, must in chosen if must}
        results = tuple(
            build_gate_result(run, changes.tree, settings, required=run.gate.id in required) for run in runs
        )
        if claimed.undone:
            why = clean_line(mask(claimed.undone), ERROR_LENGTH)
            said = GateResult(
                id=OWN_WORD, kind=OWN_WORD, verdict=GateVerdict.FAIL, required=True, errors=(why,)
            )
            results += (said,)
        files = tuple(mask(path) for path in _paths(changes))
        weakened: tuple[str, ...] = ()
        if not changes.unseen and all(one.verdict is GateVerdict.PASS for one in results if one.required):
            passed = tuple(run for run in runs if run.gate.id in required)
            weakened = await self._weakened(about, changes, passed)
        if changes.unseen:
            results += (
                GateResult(
                    id=FILES_UNKNOWN,
                    kind=FILES_UNKNOWN,
                    verdict=GateVerdict.COULD_NOT_RUN,
                    required=True,
                    reason=clean_line(mask(changes.unseen), ERROR_LENGTH),
                ),
            )
        outside = files_outside(files, task.scope_files, scope.can_modify, scope.cannot_modify)
        report = Report(
            gates=results,
            files=files[:NAMED],
            outside=outside[:NAMED],
            weakened=weakened[:NAMED],
            summary=mask(claimed.summary),
            model=claimed.model,
        )
        told = {path.removeprefix("./") for path in claimed.files}
        return Examined(
            report=report,
            unreported=tuple(path for path in files if path not in told)[:NAMED],
            unchanged=tuple(sorted(told - set(files)))[:NAMED],
        )

    async def _weakened(
        self, about: ReportSubject, changes: ProjectChanges, passed: tuple[GateRun, ...]
    ) -> tuple[str, ...]:
        """Describe the checks that were changed so that a failure went away, and code that gets around one.

        Words of a task of the user's own may ask for that; those of an agent's may not.
        """
        from sidecar.evidence.proof.product_marks import find_product_marks  # noqa: PLC0415 - a cold start does without

        services, task, base = self._services, about.task, about.loop.base
        environment = services.gates.permitted_environment(about.session)
        if about.loop.accepted.snapshot not in ("", base.snapshot):
            since = await services.workspace.since(about.loop.accepted, about.session.project, environment)
            if not since.unseen:  # else it was kept for too long
                base, changes = about.loop.accepted, since
        asked = "\n".join((task.content, *task.acceptance_criteria)) if task.by is Author.USER else ""
        kinds = {run.gate.kind for run in passed}
        found = proof.relevant_findings(find_product_marks(changes.files), kinds)
        if passed and may_bear_on_checks(changes.files):
            at = GateContext(
                project=about.session.project,
                tree=changes.tree,
                environment=environment,
                base=base,
            )
            seconds = float(services.configuration.load()[0].gates.seconds)
            upgraded = changes_dependencies(changes.files)
            for one in await services.old_checks.compare(base, at, passed, seconds):
                found += proof.rate_comparison(one, asked, upgraded=upgraded)
        mask = services.gates.mask(about.session)
        return tuple(mask(line) for line in proof.describe_findings(proof.grave_findings(found)))


def build_gate_result(run: GateRun, tree: str, settings: Settings, *, required: bool) -> GateResult:
    """Return what a run says of a report on files with this digest."""
    gate, reason = run.gate, run.reason
    verdict = GateVerdict.COULD_NOT_RUN
    moved = run.moved or bool(tree and run.tree and run.tree != tree)
    halts = gate.kind in settings.loop.halt
    scans = halts or gate.kind is Kind.SECURITY
    found = count_severities("\n".join((run.output, *run.failures))) if scans else None
    critical = found.critical if found else 0
    if run.outcome in NOTHING_SHOWN:
        reason = reason or run.outcome.value
    elif critical and halts:
        verdict = GateVerdict.HALT
    elif run.outcome is Outcome.FAILED:
        verdict = GateVerdict.FAIL
    elif moved:
        reason = MOVED
    else:
        verdict = GateVerdict.PASS
    failed = verdict in {GateVerdict.FAIL, GateVerdict.HALT}
    lines = run.failures or tuple(filter(None, run.output.splitlines()[-ERRORS_TOLD:])) if failed else ()
    errors = tuple(clean_line(line, ERROR_LENGTH) for line in lines[:ERRORS_TOLD])
    return GateResult(
        id=gate.id,
        kind=gate.kind,
        verdict=verdict,
        required=required,
        errors=errors,
        more=max(0, max(len(run.failing), len(lines)) - len(errors)) if failed else 0,
        failing=run.failing[:NAMED] if failed else (),
        critical=critical,
        high=found.high if found else 0,
        medium=found.medium if found else 0,
        low=found.low if found else 0,
        passed=max(0, run.executed - len(run.failing)) if run.executed is not None else None,
        failed=len(run.failing),
        warnings=run.warnings,
        percent=run.percent,
        reason=clean_line(reason, ERROR_LENGTH),
    )


def _paths(changes: ProjectChanges) -> tuple[str, ...]:
    """Return every changed path, old names among them, without undecodable bytes."""
    paths = dict.fromkeys(path for file in changes.files for path in (file.path, file.old_path) if path)
    return tuple(path.encode("utf-8", "backslashreplace").decode() for path in paths)
