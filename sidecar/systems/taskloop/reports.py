"""Finds out what is true about a report of completion: changed files, scope, gates, weakened checks.

- The files are those that really changed since the task began; the agent's own list is only compared.
- Gates take the road of `gates_run`. One that passed while files changed has shown nothing.
- Where a file that bears on a check changed, what passed runs once more as it was when the task began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from sidecar.evidence.ports import GateContext, HearGates
from sidecar.evidence.proof.old_checks import find_weakenings
from sidecar.evidence.proof.policy import describe_findings, grave_findings
from sidecar.evidence.reports.measures import Severities, count_severities
from sidecar.kernel.evidence import ProjectChanges
from sidecar.kernel.gate import NOTHING_SHOWN, REMOTE_GATE_KINDS, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.journal import Author
from sidecar.kernel.loop import GateResult, GateVerdict
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_line, escape_unencodable
from sidecar.systems.taskloop.policy.agents import TaskWork
from sidecar.systems.taskloop.policy.loop import Report
from sidecar.systems.taskloop.policy.transitions import LoopOrderError
from sidecar.systems.taskloop.ports import LoopServices

RUN_KINDS: Final = frozenset((Kind.TESTS, Kind.TYPES, Kind.LINT, Kind.SECURITY, Kind.COVERAGE, Kind.CHECK))
ERRORS_SHOWN: Final = 5
ERROR_LENGTH: Final = 300
NAMED: Final = 50
"""Files and findings of one report that are kept."""
FILES_UNKNOWN: Final = "changes"
"""The id of what stands for a gate where nobody can tell which files changed."""
OWN_WORD: Final = "worker"
"""The id of what stands for a gate where the one at work says that the task is not done."""
MOVED: Final = "files changed while it ran"


def choose_gates(offered: Sequence[Gate], settings: Settings) -> dict[str, bool]:
    """Return the ids of the gates that a task's completion asks for, and whether each is required.

    Beside a check that the user typed, one that was only detected and is not approved advises. Raises
    LoopOrderError where only a person can let a required one run.
    """
    chosen = {}
    typed = any(gate.origin is GateOrigin.TYPED for gate in offered)
    for gate in offered:
        configured = settings.gate.get(gate.id)
        excepted = configured is not None and configured.required is False
        wanted = gate.kind in settings.loop.required and not excepted and (gate.approved or not typed)
        required = gate.required or wanted
        if gate.kind not in REMOTE_GATE_KINDS and (required or gate.kind in RUN_KINDS):
            chosen[gate.id] = required
    if blocked := [gate.id for gate in offered if chosen.get(gate.id) and not gate.approved]:
        raise LoopOrderError("loop-not-approved", gates=", ".join(blocked[:ERRORS_SHOWN]))
    return chosen


class WorkerReport(Struct, frozen=True, kw_only=True):
    """What whoever worked on a task says of it. `files_changed`: paths relative to the project.

    `done`: whether every criterion holds. The checks decide; but what is not done is not complete.
    """

    summary: str
    files_changed: tuple[str, ...] = ()
    done: bool = True


async def examine_report(
    services: LoopServices,
    work: TaskWork,
    required: Mapping[str, bool],
    said: WorkerReport,
    hear: HearGates | None,
) -> Report:
    """Find out what is true. `required`: the gates to run by their ids, and whether each is.

    Raises ToolRuleError where gates may not run now.
    """
    session, mask = work.session, services.gates.mask(work.session)
    environment = services.gates.permitted_environment(session)
    changes = await services.shared.workspace.since(work.loop.base, session.project, environment)
    runs = await services.gates.run(session, tuple(required), hear) if required else ()
    tree = changes.tree
    results = [build_gate_result(run, tree, work.settings, required=required[run.gate.id]) for run in runs]
    if not said.done:
        results.append(_own_result(OWN_WORD, GateVerdict.FAIL, mask(said.summary) or "it says so"))
    weakened: tuple[str, ...] = ()
    if changes.unseen:
        results.append(_own_result(FILES_UNKNOWN, GateVerdict.COULD_NOT_RUN, mask(changes.unseen)))
    elif all(one.verdict is GateVerdict.PASS for one in results if one.required):
        passed = [run for run in runs if required[run.gate.id]]
        weakened = await _find_weakened(services, work, changes, passed)
    files = tuple(mask(path) for path in _paths(changes))
    listed = {path.removeprefix("./") for path in said.files_changed}
    return Report(
        gates=tuple(results),
        files=files[:NAMED],
        outside=work.files_outside(files)[:NAMED],
        weakened=tuple(map(mask, weakened))[:NAMED],
        unreported=tuple(path for path in files if path not in listed)[:NAMED],
        unchanged=tuple(sorted(listed - set(files)))[:NAMED],
        summary=mask(said.summary),
        by=work.model,
    )


async def _find_weakened(
    services: LoopServices, work: TaskWork, changes: ProjectChanges, passed: Sequence[GateRun]
) -> tuple[str, ...]:
    """Describe the checks that were changed so that a failure went away, and code that gets around one.

    Words of a task of the user's own may ask for that; those of an agent's may not.
    """
    task, base, project = work.task, work.loop.base, work.session.project
    environment = services.gates.permitted_environment(work.session)
    if work.loop.accepted.snapshot not in ("", base.snapshot):
        since = await services.shared.workspace.since(work.loop.accepted, project, environment)
        if not since.unseen:  # else it was kept for too long
            base, changes = work.loop.accepted, since
    asked = "\n".join((task.content, *task.acceptance_criteria)) if task.by is Author.USER else ""
    at = GateContext(project=project, tree=changes.tree, environment=environment, base=base)
    seconds = float(work.settings.gates.seconds)
    compare = partial(services.shared.old_checks.compare, at, seconds=seconds)
    found = await find_weakenings(compare, changes.files, passed, asked)
    return describe_findings(grave_findings(found))


def build_gate_result(run: GateRun, tree: str, settings: Settings, *, required: bool) -> GateResult:
    """Return what a run says of a report on files with this digest."""
    gate, reason = run.gate, run.reason
    halts = gate.kind in settings.loop.halt
    scans = halts or gate.kind is Kind.SECURITY
    found = count_severities("\n".join((run.output, *run.failures))) if scans else Severities()
    verdict = GateVerdict.COULD_NOT_RUN
    if run.outcome in NOTHING_SHOWN:
        reason = reason or run.outcome.value
    elif found.critical and halts:
        verdict = GateVerdict.HALT
    elif run.outcome is Outcome.FAILED:
        verdict = GateVerdict.FAIL
    elif run.moved or (tree and run.tree and run.tree != tree):
        reason = MOVED
    else:
        verdict = GateVerdict.PASS
    result = GateResult(
        id=gate.id,
        kind=gate.kind,
        verdict=verdict,
        required=required,
        **asdict(found),
        passed=max(0, run.executed - len(run.failing)) if run.executed is not None else None,
        failed=len(run.failing),
        warnings=run.warnings,
        percent=run.percent,
        reason=clean_line(reason, ERROR_LENGTH),
    )
    if verdict not in {GateVerdict.FAIL, GateVerdict.HALT}:
        return result
    lines = run.failures or tuple(filter(None, run.output.splitlines()[-ERRORS_SHOWN:]))
    errors = tuple(clean_line(line, ERROR_LENGTH) for line in lines[:ERRORS_SHOWN])
    more = max(0, max(len(run.failing), len(lines)) - len(errors))
    return replace(result, errors=errors, more=more, failing=run.failing[:NAMED])


def _own_result(name: str, verdict: GateVerdict, why: str) -> GateResult:
    """Return what stands for a gate and was no run of one."""
    line = clean_line(why, ERROR_LENGTH)
    return GateResult(id=name, kind=name, verdict=verdict, required=True, reason=line)


def _paths(changes: ProjectChanges) -> tuple[str, ...]:
    """Return every changed path, old names among them, without undecodable bytes."""
    paths = dict.fromkeys(path for file in changes.files for path in (file.path, file.old_path) if path)
    return tuple(map(escape_unencodable, paths))
