"""The rules R001 to R005, and what is beyond the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from sidecar.kernel.gate import Gate, Kind
from sidecar.kernel.governance import Analysis, ErrorType, Phase, Plan, RuleResult, Verifiability
from sidecar.systems.governance.policy.clauses import ClauseKind, plan_clauses
from sidecar.systems.governance.policy.phases import ImplementAnswer, ReviewAnswer
from sidecar.systems.governance.policy.table import MAY_CALL, Rule, Stage
from sidecar.systems.governance.policy.work import Trouble, Work

ONLY, NEVER = "only", "never"


def rule_result(rule: Rule, passed: bool, why: str) -> RuleResult:  # noqa: FBT001 - as the rules answer it
    """Return what a payload shows of a rule."""
    return RuleResult(rule=rule, passed=passed, why=why)


def review_was_not_skipped(work: Work) -> tuple[bool, str]:
    """R001: the change before was reviewed, and after this one nothing else than a review may follow."""
    seen = not work.subject or work.reviewed == work.subject
    follows = MAY_CALL[Stage.IMPLEMENTED] == (Phase.REVIEW,)
    return seen and follows, "only a review may follow" if seen else "the change before was not reviewed"


def tests_are_there(plan: Plan, analysis: Analysis | None, gates: Iterable[Gate]) -> tuple[bool, str]:
    """R002: what commands can decide is decided by one: an approved test gate, or a clause that runs one."""
    if analysis is not None and analysis.verifiability is not Verifiability.HARD:
        return True, "the problem is not decided by commands, so each task's clause is judged"
    if any(gate.approved and gate.kind in {Kind.TESTS, Kind.CHECK} for gate in gates):
        return True, "the project's tests run"
    if any(clause.kind is ClauseKind.RUN for clause in plan_clauses(plan)):
        return True, "a task is verified by a command"
    return (
        False,
        "nothing runs: approve the project's tests (supervisor trust), or plan a task with `run: COMMAND`",
    )


def missing_nfrs(analysis: Analysis | None, answer: ReviewAnswer) -> tuple[str, ...]:
    """R003: return the non-functional requirements of which the review does not say how they are met."""
    if analysis is None:
        return ()
    asked, met = msgspec.structs.asdict(analysis.nfrs), msgspec.structs.asdict(answer.nfrs)
    return tuple(name for name, text in asked.items() if text.strip() and not met[name].strip())


def beyond_tasks(
    paths: Sequence[str], answer: ImplementAnswer, plan: Plan, rules: Iterable[str]
) -> Trouble | None:
    """Return a violation where a changed file belongs to no task, or is forbidden by a rule of the user's."""
    numbers = {str(number) for number in range(1, len(plan.tasks) + 1)}
    told = {file.path.removeprefix("./") for file in answer.files if file.task_ref.strip("# ") in numbers}
    if beyond := [path for path in paths if path not in told]:
        return Trouble(ErrorType.RULE_VIOLATION, "beyond-tasks", {"files": ", ".join(beyond)})
    for rule in rules:
        word, *globs = rule.split()
        for path in paths:
            named = any(fnmatchcase(path, glob) or path.startswith(f"{glob.rstrip('/')}/") for glob in globs)
            if (word.lower() == ONLY and not named) or (word.lower() == NEVER and named):
                return Trouble(ErrorType.RULE_VIOLATION, "against-rule", {"file": path, "rule": rule})
    return None
