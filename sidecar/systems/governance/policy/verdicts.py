"""What a plan, a change, a review and the tests amount to, by the rules R001 to R005.

A worker's word can only lower what our own evidence shows.

What a task is verified by is one of these:

    run: COMMAND                the command's exit code decides
    file: PATH                  the file exists
    text: PATH contains TEXT    the file holds the text
    anything else               somebody judges it, and names where it shows
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from sidecar.evidence.gates.policy import runnable_gates
from sidecar.kernel import governance as forms
from sidecar.kernel.gate import NOTHING_SHOWN, Gate, GateRun, Kind, Outcome
from sidecar.kernel.governance import ErrorType, Plan
from sidecar.kernel.settings import ModeRules
from sidecar.systems.governance.policy.table import Rule
from sidecar.systems.governance.policy.work import TroubleError, Work

CONTAINS: Final = " contains "
MUST_PASS: Final = frozenset((Kind.TESTS, Kind.CHECK))
"""Gates that must pass; others only where the configuration requires them."""


class ClauseKind(StrEnum):
    """How a clause is verified."""

    RUN = "run"
    FILE = "file"
    TEXT = "text"
    JUDGED = "judged"


class Clause(Struct, frozen=True, kw_only=True):
    """One clause. `text` is all of it.

    `subject` is the command or the path, `content` the text to be found.
    """

    kind: ClauseKind
    text: str
    subject: str = ""
    content: str = ""


class ClauseResult(Struct, frozen=True, kw_only=True):
    """Whether a clause holds, None where nothing could be had that shows it, and why."""

    clause: Clause
    holds: bool | None
    why: str


def parse_clause(text: str) -> Clause:
    """Read one clause. What is not one of the forms is judged."""
    word, _, rest = text.strip().partition(":")
    kind = word.strip().lower()
    subject, _, content = rest.partition(CONTAINS) if kind == ClauseKind.TEXT else (rest, "", "")
    marks = " `" if kind == ClauseKind.RUN else " `\"'"  # quotes belong to a command
    subject, content = subject.strip().strip(marks), content.strip().strip(marks)
    if subject and (content or kind in {ClauseKind.RUN, ClauseKind.FILE}):
        return Clause(kind=ClauseKind(kind), text=text.strip(), subject=subject, content=content)
    return Clause(kind=ClauseKind.JUDGED, text=text.strip())


def plan_clauses(plan: Plan) -> tuple[Clause, ...]:
    """Return the clauses of all tasks, in their order."""
    return tuple(parse_clause(task.verify_by) for task in plan.tasks)


def clause_commands(clauses: Iterable[Clause]) -> tuple[str, ...]:
    """Return the commands of clauses, each once."""
    return tuple(dict.fromkeys(one.subject for one in clauses if one.kind is ClauseKind.RUN))


def check_order_of_tasks(plan: Plan) -> None:
    """Raise TroubleError for dependencies on no task, or on a later one: so none waits for itself."""
    if wrong := [pair for pair in plan.dependencies if not 1 <= pair[0] < pair[1] <= len(plan.tasks)]:
        named = ", ".join(f"{first} before {then}" for first, then in wrong)
        raise TroubleError(ErrorType.INVALID_ANSWER, "plan-faults", named=named)


POINTS_SHOWN: Final = 5
"""Points that a message names; the payload holds all."""
ONLY, NEVER = "only", "never"
NOTHING_RUNS: Final = (
    "nothing runs: approve the project's tests (supervisor trust), or plan a task with `run: COMMAND`"
)
COULD_NOT: Final = "what the agent that tested was to find out: it could not"


# --- before the work, and its bounds ------------------------------------------------------------------------


def review_was_not_skipped(work: Work) -> forms.RuleResult:
    """R001: the change before was reviewed. The table lets nothing else than a review follow this one."""
    seen = not work.subject or work.review is not None
    why = "only a review may follow" if seen else "the change before was not reviewed"
    return forms.RuleResult(Rule.REVIEW_NOT_SKIPPED, seen, why)


def tests_are_there(
    plan: forms.Plan, analysis: forms.Analysis | None, gates: Iterable[Gate]
) -> forms.RuleResult:
    """R002: what commands can decide is decided by one: an approved test gate, or a clause that runs one."""
    soft = analysis is not None and analysis.verifiability != "HARD"
    reasons = {
        "the problem is not decided by commands, so each task's clause is judged": soft,
        "the project's tests run": any(gate.kind in MUST_PASS for gate in runnable_gates(gates)),
        "a task is verified by a command": bool(clause_commands(plan_clauses(plan))),
    }
    why = next((why for why, holds in reasons.items() if holds), "")
    return forms.RuleResult(Rule.TESTS_REQUIRED, bool(why), why or NOTHING_RUNS)


def check_bounds(
    paths: Sequence[str], answer: forms.ImplementAnswer, plan: forms.Plan, rules: Iterable[str]
) -> None:
    """Raise TroubleError where a changed file belongs to no task, or is forbidden by a rule of the user's."""
    numbers = {str(number) for number in range(1, len(plan.tasks) + 1)}
    listed = {file.path.removeprefix("./") for file in answer.files if file.task_ref.strip("# ") in numbers}
    if beyond := [path for path in paths if path not in listed]:
        raise TroubleError(ErrorType.RULE_VIOLATION, "beyond-tasks", files=", ".join(beyond))
    for rule in rules:
        word, *globs = rule.split() or [""]
        for path in paths:
            named = any(fnmatchcase(path, glob) or path.startswith(f"{glob.rstrip('/')}/") for glob in globs)
            if (word.lower() == ONLY and not named) or (word.lower() == NEVER and named):
                raise TroubleError(ErrorType.RULE_VIOLATION, "against-rule", file=path, rule=rule)


# --- review and test ----------------------------------------------------------------------------------------


def _issue(found_by: str, description: str, severity: forms.Severity = "MAJOR") -> forms.ReviewIssue:
    return forms.ReviewIssue(task_ref=found_by, severity=severity, description=description)


def gate_issues(runs: Iterable[GateRun], weakened: Iterable[str]) -> tuple[forms.ReviewIssue, ...]:
    """Return what our own evidence has against a change."""
    issues = []
    for run in runs:
        if run.outcome is Outcome.FAILED:
            why = "; ".join(run.failures) or run.output.strip()[-500:]
            severity: forms.Severity = "MAJOR" if run.gate.required else "MINOR"
            issues.append(_issue(f"gate:{run.gate.id}", f"`{run.gate.command}` fails: {why}", severity))
    return (*issues, *(_issue("proof", line) for line in weakened))


def rule_on_review(
    answer: forms.ReviewAnswer,
    ours: Iterable[forms.ReviewIssue],
    analysis: forms.Analysis | None,
    rules: ModeRules,
    *,
    quick_fix: bool,
) -> tuple[forms.Review, TroubleError | None]:
    """Return the review. `ours`: our own evidence; `quick_fix`: minor issues may be mended at once.

    A person is asked where nothing is found and the mode wants one.
    """
    missing = missing_nfrs(analysis, answer) if rules.nfr_check else ()
    unmet = (_issue(Rule.NFRS_MET, f"nothing shows that it is met: {name}") for name in missing)
    issues = (*answer.issues, *ours, *unmet)
    major = [issue for issue in issues if issue.severity == "MAJOR"]
    approved = answer.result == "APPROVED" and not major
    asked = approved and rules.manual_review
    why_asked = "a person is asked" if asked else "none is needed"
    review = forms.Review(
        result="APPROVED" if approved else "REJECTED",
        issues=issues,
        quick_fix_trigger=answer.quick_fix_trigger if quick_fix and not approved and not major else None,
        rules=(
            forms.RuleResult(Rule.NFRS_MET, not missing, f"missing: {', '.join(missing) or 'none'}"),
            forms.RuleResult(Rule.HUMAN_ON_ERROR, not asked, why_asked),
        ),
    )
    if approved:
        return review, TroubleError(ErrorType.PERSON_ASKED, "ask-review") if asked else None
    named = "; ".join(issue.description for issue in (major or issues)[:POINTS_SHOWN])
    return review, TroubleError(ErrorType.MAJOR_ISSUE, "rejected", issues=named or "no reason is given")


def missing_nfrs(analysis: forms.Analysis | None, answer: forms.ReviewAnswer) -> tuple[str, ...]:
    """R003: return the non-functional requirements of which the review does not say how they are met."""
    if analysis is None:
        return ()
    asked, met = asdict(analysis.nfrs), asdict(answer.nfrs)
    return tuple(name for name, text in asked.items() if text.strip() and not met[name].strip())


def rule_on_tests(
    runs: Sequence[GateRun],
    weakened: Iterable[str],
    clauses: Sequence[ClauseResult],
    word: forms.TestingResult,
    evidence: forms.TestEvidence,
) -> tuple[forms.Testing, TroubleError | None]:
    """Return what runs, clauses and the worker's word amount to. Nothing at all is no evidence."""
    must = [run for run in runs if run.gate.required]
    failed = [
        *(f"{run.gate.named} fails" for run in must if run.outcome is Outcome.FAILED),
        *weakened,
        *(f"{one.clause.text}: {one.why}" for one in clauses if one.holds is False),
        *(["the agent that tested says that it failed"] if word == "FAILED" else ()),
    ]
    unseen = [
        *(() if runs or clauses else ["anything: there is neither a check nor a clause"]),
        *(f"{one.gate.named}: {one.reason or one.outcome}" for one in must if one.outcome in NOTHING_SHOWN),
        *(f"{one.clause.text}: {one.why}" for one in clauses if one.holds is None),
        *([COULD_NOT] if word == "EVIDENCE_UNAVAILABLE" else ()),
    ]
    why = "; ".join(unseen[:POINTS_SHOWN])
    result: forms.TestingResult = "FAILED" if failed else "EVIDENCE_UNAVAILABLE" if unseen else "PASSED"
    trouble = None
    if failed:
        named = "; ".join(failed[:POINTS_SHOWN])
        trouble = TroubleError(ErrorType.FAILED_CLAUSE, "tests-failed", failed=named)
    elif unseen:
        trouble = TroubleError(ErrorType.EVIDENCE_UNAVAILABLE, "no-evidence", unseen=why)
    rule = forms.RuleResult(Rule.EVIDENCE, not unseen, why or "each clause and each check has evidence")
    testing = forms.Testing(result=result, evidence=evidence, failed_clauses=tuple(failed), rules=(rule,))
    return testing, trouble
