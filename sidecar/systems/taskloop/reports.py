"""Finds out what is true about a report of completion: changed files, scope, checks, and how the task stands.

- The files are those that really changed since the task began; the agent's own list is only compared.
- How it stands is decided by the laws of a stop, with the task as the goal. Of the checks, those count that
  the task loop asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from sidecar.evidence.ports import HearGates
from sidecar.evidence.proof.policy import describe_findings
from sidecar.evidence.reports.measures import count_severities
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import NOTHING_SHOWN, REMOTE_GATE_KINDS, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import CONDITION_LIMIT, Goal
from sidecar.kernel.journal import Author, Task
from sidecar.kernel.loop import GateResult, GateVerdict, Loop, Severities
from sidecar.kernel.session import active_goal
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_line
from sidecar.kernel.work import Standing, WorkClaim, WorkVerdict
from sidecar.systems.taskloop.policy.agents import TaskWork
from sidecar.systems.taskloop.policy.loop import Report
from sidecar.systems.taskloop.policy.transitions import LoopOrderError
from sidecar.systems.taskloop.ports import LoopServices

RUN_KINDS: Final = frozenset((Kind.TESTS, Kind.TYPES, Kind.LINT, Kind.SECURITY, Kind.COVERAGE, Kind.CHECK))
ERRORS_SHOWN: Final = 5
ERROR_LENGTH: Final = 300
WHY_LENGTH: Final = 150
"""Characters of why it stands so, which share a line with what was spent."""
NAMED: Final = 50
"""Files and findings of one report that are kept."""
NO_BASELINE: Final = "nothing was kept when the task began"
MOVED: Final = "files changed while it ran"
NOT_DONE: Final = "whoever did it says that it is not done"


def choose_gates(offered: Sequence[Gate], settings: Settings, *, typed: bool = False) -> dict[str, bool]:
    """Return the ids of the gates that a task's completion asks for, and whether each is required.

    Beside a check or a whole command that the user typed, one that was only detected and was never approved
    advises. Raises LoopOrderError where only a person can let a required one run.
    """
    chosen = {}
    typed = typed or any(gate.origin is GateOrigin.TYPED for gate in offered)
    for gate in offered:
        configured = settings.gate.get(gate.id)
        excepted = configured is not None and configured.required is False
        wanted = (
            gate.kind in settings.loop.required
            and not excepted
            and (gate.approved or gate.changed or not typed)
        )
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


def task_goal(task: Task, loop: Loop, base: FileBaseline, at: float) -> Goal:
    """Return what is asked of a task, for the laws of a stop: its words, criteria and checks."""
    criteria = "".join(f"\n- {one}" for one in task.acceptance_criteria)
    condition, checks = f"{task.content}{criteria}"[:CONDITION_LIMIT], task.checks
    known = next((one for one in loop.goals if one.id == task.id), None)
    if known is not None:
        return replace(known, condition=condition, checks=checks)
    agents = task.by is not Author.USER
    return Goal(id=task.id, condition=condition, checks=checks, set_at=at, base=base, agents=agents)


def work_claim(
    services: LoopServices, work: TaskWork, required: Mapping[str, bool], said: str = ""
) -> WorkClaim:
    """Return what is claimed of the task at work: checks of the session's goal hold for it, too.

    Raises ToolRuleError where gates may not run now.
    """
    goal = task_goal(work.task, work.loop, FileBaseline(unseen=NO_BASELINE), 0.0)
    if (asked := active_goal(work.session)) is not None:
        goal = replace(goal, checks=tuple(dict.fromkeys((*asked.checks, *goal.checks))))
    return WorkClaim(
        key=work.session.key,
        project=work.session.project,
        environment=services.gates.permitted_environment(work.session),
        goal=goal,
        required=required,
        said=said,
    )


async def judge_report(
    services: LoopServices,
    work: TaskWork,
    required: Mapping[str, bool],
    said: WorkerReport,
    hear: HearGates | None,
) -> tuple[Report, WorkVerdict]:
    """Find out what is true. `required`: the gates that count by their ids, and whether each must pass.

    Raises ToolRuleError where gates may not run now.
    """
    session, mask = work.session, services.gates.mask(work.session)
    claim = work_claim(services, work, required, said.summary)
    found = await services.gates.give_way(session, services.work.judge(claim, hear))
    changed = found.changed
    if work.loop.base.snapshot not in ("", claim.goal.base.snapshot):  # another task was left since then
        since = services.shared.workspace.since
        changed = (await since(work.loop.base, session.project, claim.environment)).paths
    files = tuple(map(mask, changed or ()))
    listed = {path.removeprefix("./") for path in said.files_changed}
    refused = (mask(clean_line(said.summary, ERROR_LENGTH)) or NOT_DONE,) if not said.done else ()
    missing = (*refused, *found.missing)
    report = Report(
        gates=tuple(build_gate_result(run, found, work.settings) for run in found.runs),
        standing=Standing.OPEN if refused else found.standing,
        why=mask(clean_line(missing[0] if missing else found.why, WHY_LENGTH)),
        missing=tuple(mask(clean_line(one, ERROR_LENGTH)) for one in missing[:NAMED]),
        next_step=found.next_step,
        files=files[:NAMED],
        outside=work.files_outside(files)[:NAMED],
        weakened=tuple(map(mask, describe_findings(found.findings)))[:NAMED],
        unreported=tuple(path for path in files if path not in listed)[:NAMED],
        unchanged=tuple(sorted(listed - set(files)))[:NAMED],
        summary=mask(said.summary),
        by=work.worker_model,
    )
    return report, found


def build_gate_result(run: GateRun, found: WorkVerdict, settings: Settings) -> GateResult:
    """Return what a run says of a report."""
    gate, reason = run.gate, run.reason
    halts = gate.kind in settings.loop.halt
    scans = halts or gate.kind is Kind.SECURITY
    severities = count_severities("\n".join((run.output, *run.failures))) if scans else Severities()
    untold = gate.required and run.outcome is Outcome.FAILED and severities == Severities()
    verdict = GateVerdict.COULD_NOT_RUN
    if run.outcome in NOTHING_SHOWN:
        reason = reason or run.outcome.value
    elif halts and (severities.critical or untold):  # a person can tell how grave it is
        verdict = GateVerdict.HALT
    elif run.outcome is Outcome.FAILED:
        verdict = GateVerdict.FAIL
    elif run.moved or (found.tree and run.tree and run.tree != found.tree):
        reason = MOVED
    else:
        verdict = GateVerdict.PASS
    result = GateResult(
        id=gate.id,
        kind=gate.kind,
        verdict=verdict,
        required=gate.required,
        **asdict(severities),
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
