"""Where the work under a lock stands, and what becomes of a change, for any order of events."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.governance import (
    ConductInput,
    Decision,
    ErrorType,
    GovernedPhase,
    ImplementInput,
    PlanInput,
    ReviewInput,
    TestInput,
)
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.settings import Mode, ModeRules
from sidecar.systems.governance.policy.table import ACTIONS, AFTER_ANSWER, MAY_CALL, MODES, NEXT_STAGE, Stage
from sidecar.systems.governance.policy.work import check_order, decide, find_contradiction, fold_work

pytestmark = pytest.mark.proves("governed phases")

NFRS = {"performance": "", "maintainability": "", "security": "", "compatibility": ""}
PAYLOADS: dict[GovernedPhase, dict[str, Any]] = {
    GovernedPhase.ANALYZE: {"verifiability": "HARD", "nfrs": NFRS, "risks": [], "unknowns": []},
    GovernedPhase.PLAN: {
        "tasks": [{"todo": "a", "done_when": "b", "verify_by": "run: c"}],
        "dependencies": [],
    },
    GovernedPhase.IMPLEMENT: {
        "artifacts": {"files": ["a"], "diff": "", "metadata": {"iteration": 1, "changes_count": 1}}
    },
    GovernedPhase.REVIEW: {"result": "APPROVED", "issues": []},
    GovernedPhase.TEST: {"result": "PASSED", "evidence": {"test_output": ""}, "failed_clauses": []},
    GovernedPhase.CONDUCT: {"decision": "ITERATE", "reason": ""},
}
NOTHING_SAID = ConductInput()


def ended(
    phase: GovernedPhase,
    result: str = "OK",
    *,
    error: ErrorType | None = None,
    subject: str = "",
    **more: Any,
) -> AuditEntry:
    """What the audit holds after a phase ended so."""
    payload: dict[str, Any] | None = {**PAYLOADS[phase], **more}
    if payload and phase in (GovernedPhase.REVIEW, GovernedPhase.TEST):
        payload["result"] = "REJECTED" if result == "QUICK_FIX" else result
    payload = None if result == "ERROR" else payload
    told = {"type": error, "message": "why", "action": ACTIONS[error]} if error else None
    output = {"payload": payload, "error": told, "commands": ["make c"]}
    return AuditEntry(
        tool=f"phase_{phase}",
        lock="gov-1",
        mode=Mode.FULL,
        input=msgspec.Raw(b'{"problem_statement":"it is slow"}'),
        output=msgspec.Raw(msgspec.json.encode(output)),
        result=result,
        subject=subject,
    )


def said(answer: str, text: str = "") -> AuditEntry:
    return AuditEntry(
        tool="answer",
        lock="gov-1",
        mode=Mode.FULL,
        input=msgspec.Raw(msgspec.json.encode({"text": text})),
        result=answer,
    )


VAGUE = ended(GovernedPhase.ANALYZE, "NON-VERIFIABLE", error=ErrorType.NON_VERIFIABLE)
UNLIKED = ended(GovernedPhase.PLAN, error=ErrorType.PERSON_ASKED)
PLANNED = (ended(GovernedPhase.ANALYZE), ended(GovernedPhase.PLAN))
MADE = (*PLANNED, ended(GovernedPhase.IMPLEMENT, subject="d1"))
APPROVED = (*MADE, ended(GovernedPhase.REVIEW, "APPROVED", subject="d1"))
TESTED = (*APPROVED, ended(GovernedPhase.TEST, "PASSED", subject="d1"))
ITERATED = (
    *MADE,
    ended(GovernedPhase.REVIEW, "REJECTED", subject="d1", error=ErrorType.MAJOR_ISSUE),
    ended(GovernedPhase.CONDUCT, "ITERATE", subject="d1", error=ErrorType.MAJOR_ISSUE),
)
ASKED = (*MADE, ended(GovernedPhase.REVIEW, "APPROVED", subject="d1", error=ErrorType.PERSON_ASKED))
OVERFLOWN = (*ITERATED[:-1], ended(GovernedPhase.CONDUCT, "STOP", error=ErrorType.ITERATION_OVERFLOW))


@pytest.mark.parametrize(
    ("entries", "stage"),
    [
        ((), Stage.NEW),
        (PLANNED[:1], Stage.ANALYZED),
        (PLANNED, Stage.PLANNED),
        (MADE, Stage.IMPLEMENTED),
        (APPROVED, Stage.REVIEWED),
        (TESTED, Stage.TESTED),
        (ITERATED, Stage.PLANNED),
        ((*MADE, ended(GovernedPhase.REVIEW, "QUICK_FIX", subject="d1")), Stage.QUICK_FIX),
        ((*APPROVED, ended(GovernedPhase.TEST, "FAILED", error=ErrorType.FAILED_CLAUSE)), Stage.FAILED),
        (
            (
                *APPROVED,
                ended(GovernedPhase.TEST, "EVIDENCE_UNAVAILABLE", error=ErrorType.EVIDENCE_UNAVAILABLE),
            ),
            Stage.NOT_SHOWN,
        ),
        ((*PLANNED, ended(GovernedPhase.IMPLEMENT, "ERROR", error=ErrorType.RULE_VIOLATION)), Stage.STOPPED),
        ((*PLANNED, ended(GovernedPhase.IMPLEMENT, "ERROR", error=ErrorType.INVALID_ANSWER)), Stage.PLANNED),
        ((VAGUE, said("yes")), Stage.ANALYZED),
        ((VAGUE, said("no")), Stage.STOPPED),
        ((*ASKED, said("yes")), Stage.REVIEWED),
        ((*ASKED, said("no")), Stage.REJECTED),
        ((PLANNED[0], UNLIKED, said("no")), Stage.ANALYZED),
        ((*OVERFLOWN, said("yes")), Stage.PLANNED),
        ((*OVERFLOWN, said("no")), Stage.STOPPED),
        (
            (*TESTED, ended(GovernedPhase.CONDUCT, "ERROR", error=ErrorType.CONFLICT), said("yes")),
            Stage.TESTED,
        ),
        ((*TESTED, ended(GovernedPhase.CONDUCT, "DELIVER")), Stage.DELIVERED),
        ((*MADE, AuditEntry(tool="lock", lock="gov-1", mode=Mode.FULL, result="expired")), Stage.STOPPED),
    ],
)
def test_the_stage_follows_from_the_audit(entries: tuple[AuditEntry, ...], stage: Stage) -> None:
    assert fold_work("gov-1", entries).stage is stage


@pytest.mark.parametrize("entries", [ASKED, OVERFLOWN])
def test_nothing_may_be_called_while_a_person_is_asked(entries: tuple[AuditEntry, ...]) -> None:
    work = fold_work("gov-1", entries)
    assert work.question is not None
    for phase in GovernedPhase:
        with pytest.raises(ToolRuleError, match="governance-waits"):
            check_order(work, phase)


def test_a_person_who_says_no_rejects_the_review_with_their_words_and_was_asked_either_way() -> None:
    rules = [{"rule": "R004", "passed": False, "why": "a person is asked"}]
    asked = ended(GovernedPhase.REVIEW, "APPROVED", subject="d1", error=ErrorType.PERSON_ASKED, rules=rules)
    for answer in ("yes", "no"):
        work = fold_work("gov-1", (*MADE, asked, said(answer, "the name is wrong")))
        assert work.review is not None
        assert (work.review.result, work.requirements) == (
            "APPROVED" if answer == "yes" else "REJECTED",
            ("the name is wrong",),
        )
        assert [rule.passed for rule in work.review.rules] == [True]
        issues = [(issue.task_ref, issue.description) for issue in work.review.issues]
        assert issues == ([] if answer == "yes" else [("person", "the name is wrong")])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (PlanInput(analysis={"section": "[ANALYSIS]", "payload": PAYLOADS[GovernedPhase.ANALYZE]}), None),
        (PlanInput(analysis={"verifiability": "SOFT"}), "analysis"),
        (ImplementInput(tasks=tuple(PAYLOADS[GovernedPhase.PLAN]["tasks"]), iteration=1), None),
        (ImplementInput(tasks=PAYLOADS[GovernedPhase.PLAN], iteration=2), "iteration"),
        (ReviewInput(tasks=({"todo": "other"},)), "tasks"),
        (ReviewInput(implementation=PAYLOADS[GovernedPhase.IMPLEMENT]), None),
        (TestInput(implementation={"payload": {"artifacts": {"files": ["b"]}}}), "implementation"),
        (ConductInput(review_result={"payload": PAYLOADS[GovernedPhase.REVIEW]}), None),
        (ConductInput(test_result={"payload": {"result": "FAILED"}}), "test_result"),
    ],
)
def test_what_a_caller_passes_is_compared_with_the_audit(given: Struct, field: str | None) -> None:
    assert find_contradiction(fold_work("gov-1", TESTED), given).get("field") == field


def test_a_person_may_allow_as_many_iterations_again_and_the_commands_of_a_plan() -> None:
    work = fold_work("gov-1", (*OVERFLOWN, said("yes")))
    assert (work.iteration, work.extra) == (2, 1)
    asked = (PLANNED[0], UNLIKED)
    assert fold_work("gov-1", (*asked, said("yes"))).commands == {"make c"}
    assert fold_work("gov-1", (*asked, said("no"))).commands == frozenset()


@pytest.mark.parametrize(
    ("entries", "mode", "claims", "decision", "error"),
    [
        (TESTED, Mode.FAST, NOTHING_SAID, "DELIVER", None),
        (
            TESTED,
            Mode.FAST,
            ConductInput(review_result="APPROVED", test_result="PASSED", iteration_count=1),
            "DELIVER",
            None,
        ),
        (TESTED, Mode.SAFE, NOTHING_SAID, "STOP", ErrorType.PERSON_ASKED),
        (ITERATED[:-1], Mode.FAST, NOTHING_SAID, "ITERATE", ErrorType.MAJOR_ISSUE),
        (
            (*APPROVED, ended(GovernedPhase.TEST, "FAILED", subject="d1")),
            Mode.FAST,
            NOTHING_SAID,
            "ITERATE",
            ErrorType.FAILED_CLAUSE,
        ),
        (
            ITERATED[:-1],
            Mode.FAST,
            ConductInput(review_result="APPROVED"),
            "STOP",
            ErrorType.STRUCTURAL_VIOLATION,
        ),
        (
            ITERATED[:-1],
            Mode.FAST,
            ConductInput(test_result="PASSED"),
            "STOP",
            ErrorType.STRUCTURAL_VIOLATION,
        ),
        (TESTED, Mode.FAST, ConductInput(iteration_count=2), "STOP", ErrorType.STRUCTURAL_VIOLATION),
        (
            (*ITERATED, *ITERATED[2:-1]),
            Mode.FAST,
            NOTHING_SAID,
            "STOP",
            ErrorType.ITERATION_OVERFLOW,
        ),
        ((*ITERATED, *TESTED[2:]), Mode.FAST, NOTHING_SAID, "DELIVER", None),
    ],
)
def test_the_decision(
    entries: tuple[AuditEntry, ...],
    mode: Mode,
    claims: ConductInput,
    decision: Decision,
    error: ErrorType | None,
) -> None:
    """The last two rows are the last iteration of the mode: it delivers what holds, and asks else."""
    found, trouble = decide(fold_work("gov-1", entries), MODES.get(mode, ModeRules()), claims)
    assert (found, trouble and trouble.error) == (decision, error)


def test_every_question_has_a_stage_for_both_answers_and_every_stage_its_phases() -> None:
    asking = {error for error, action in ACTIONS.items() if action == "HUMAN_INTERVENTION"}
    assert {error for _, error in AFTER_ANSWER} == asking
    assert set(MAY_CALL) == set(Stage)
    assert {stage for stage in NEXT_STAGE.values() if not MAY_CALL[stage]} == {Stage.DELIVERED, Stage.STOPPED}


OUTCOMES: dict[GovernedPhase, list[tuple[str, ErrorType | None]]] = {
    GovernedPhase.ANALYZE: [("OK", None), ("NON-VERIFIABLE", ErrorType.NON_VERIFIABLE)],
    GovernedPhase.PLAN: [("OK", None), ("OK", ErrorType.PERSON_ASKED), ("ERROR", ErrorType.INVALID_ANSWER)],
    GovernedPhase.IMPLEMENT: [
        ("OK", None),
        ("OK", None),
        ("ERROR", ErrorType.INVALID_ANSWER),
        ("ERROR", ErrorType.RULE_VIOLATION),
    ],
    GovernedPhase.REVIEW: [
        ("APPROVED", None),
        ("APPROVED", ErrorType.PERSON_ASKED),
        ("REJECTED", ErrorType.MAJOR_ISSUE),
        ("QUICK_FIX", ErrorType.MAJOR_ISSUE),
        ("ERROR", ErrorType.CONFLICT),
    ],
    GovernedPhase.TEST: [
        ("PASSED", None),
        ("FAILED", ErrorType.FAILED_CLAUSE),
        ("EVIDENCE_UNAVAILABLE", ErrorType.EVIDENCE_UNAVAILABLE),
    ],
}


@given(data=st.data(), mode=st.sampled_from(Mode))
def test_nothing_is_delivered_without_review_and_tests_of_that_very_change(data: Any, mode: Mode) -> None:
    """Any legal history: a change that is delivered was approved and tested after it was made."""
    rules, made, approved, passed, agreed = MODES.get(mode, ModeRules()), 0, 0, 0, 0
    entries: list[AuditEntry] = []
    for _ in range(30):
        work = fold_work("gov-1", entries)
        if work.question is not None:
            answer = data.draw(st.sampled_from(["yes", "no"]))
            if work.question.phase is GovernedPhase.REVIEW and work.question.error is ErrorType.PERSON_ASKED:
                approved = made if answer == "yes" else 0
            if work.question.phase is GovernedPhase.CONDUCT and work.question.error is ErrorType.PERSON_ASKED:
                agreed = made if answer == "yes" else agreed
            entries.append(said(answer))
            continue
        if not MAY_CALL[work.stage]:
            break
        phase = data.draw(st.sampled_from(MAY_CALL[work.stage]))
        check_order(work, phase)
        if phase is not GovernedPhase.CONDUCT:
            result, error = data.draw(st.sampled_from(OUTCOMES[phase]))
            made += phase is GovernedPhase.IMPLEMENT and result == "OK"
            if phase is GovernedPhase.REVIEW:
                approved = made if (result, error) == ("APPROVED", None) else 0
            if phase is GovernedPhase.TEST:
                passed = made if result == "PASSED" else 0
            entries.append(ended(phase, result, error=error, subject=f"d{made}"))
            continue
        decision, trouble = decide(work, rules, NOTHING_SAID)
        if decision == "DELIVER":
            assert made == approved == passed
            assert not rules.forced_human_intervention or agreed == made
        error = trouble.error if trouble else None
        entries.append(ended(phase, decision, error=error, subject=work.subject, decision=decision))


AGAIN = (*TESTED, ended(GovernedPhase.IMPLEMENT, subject="d2"))
AGREED = (
    *TESTED,
    ended(GovernedPhase.CONDUCT, "STOP", subject="d1", error=ErrorType.PERSON_ASKED),
    said("yes"),
)
REVIEWED_AGAIN = ended(GovernedPhase.REVIEW, "APPROVED", subject="d2")
TESTED_AGAIN = ended(GovernedPhase.TEST, "PASSED", subject="d2")


@pytest.mark.parametrize(
    ("entries", "mode", "decision"),
    [
        ((*AGAIN, REVIEWED_AGAIN), Mode.FAST, "ITERATE"),
        ((*AGAIN, TESTED_AGAIN), Mode.FAST, "ITERATE"),
        ((*AGAIN, REVIEWED_AGAIN, TESTED_AGAIN), Mode.FAST, "DELIVER"),
        (AGREED, Mode.SAFE, "DELIVER"),
        ((*AGREED, AGAIN[-1], REVIEWED_AGAIN, TESTED_AGAIN), Mode.SAFE, "STOP"),
    ],
)
def test_a_change_that_was_made_again_needs_evidence_and_leave_of_its_own(
    entries: tuple[AuditEntry, ...], mode: Mode, decision: Decision
) -> None:
    """Also in orders that the table does not allow."""
    found, _ = decide(fold_work("gov-1", entries), MODES.get(mode, ModeRules()), NOTHING_SAID)
    assert found is decision
