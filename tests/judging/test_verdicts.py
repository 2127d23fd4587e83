"""When a judge's answer may be believed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.judging.verdicts import describe_judgement, is_near_threshold, upheld_gaps, verdict_objection
from sidecar.kernel.evidence import (
    Complete,
    Evidence,
    EvidenceStrength,
    FileDiff,
    Incomplete,
    Met,
    Source,
    Verdict,
)
from sidecar.kernel.gate import Kind
from support.cases import abstain, complete, impossible, waiting
from support.table import over_table
from support.verdict_cases import (
    BROKEN,
    CHANGED,
    CODE,
    COMMENT,
    EDITED,
    FAILED,
    LEDGER,
    NEUTRAL,
    OWN_RED,
    PASSED,
    PRINTED,
    RAN,
    README,
    SAID,
    SHOWN,
    STEERED,
    TESTED,
    TODO,
    case,
    gap,
)

UNSHOWN = "the evidence cited for 'The condition holds' is stale, a mere claim, or speaks against it"
IDLE = "nothing cited for 'The condition holds' could have failed"
UNBROKEN = "the checks that passed show only that nothing broke: none of them looked at what is new"
TWO = Complete(criteria=(Met("one", ("E1",)), Met("two", ("E3",))), confidence=0.9)
OBJECTIONS: list[tuple[Verdict, bool, str]] = [
    (complete("E1", "E3"), True, ""),
    (complete("E1", "E2", "E3"), True, ""),
    (complete("E1"), True, "the verdict does not weigh what failed: E3"),
    (complete("E1"), False, "the verdict does not weigh what failed: E3"),
    (complete("E2", "E3"), True, UNSHOWN),
    (complete("E3"), True, UNSHOWN),
    (TWO, True, "the evidence cited for 'two' is stale, a mere claim, or speaks against it"),
    (complete("E4"), True, "the verdict cites evidence that is not there: E4"),
    (complete("E1", "E9", "E4"), True, "the verdict cites evidence that is not there: E4, E9"),
    (complete("E1", "E3", confidence=0.5), True, ""),
    (complete("E1", confidence=0.49), True, "the judge was not sure enough (0.49 of 0.50)"),
    (gap(), True, ""),
    (replace(gap(), confidence=0.4), True, "the judge was not sure enough (0.40 of 0.50)"),
    (replace(gap("verified"), confidence=0.7), False, ""),
    (replace(gap("verified"), confidence=0.6), False, "the judge was not sure enough (0.60 of 0.70)"),
    (waiting(confidence=0.5), True, ""),
    (waiting(confidence=0.1), True, "the judge was not sure enough (0.10 of 0.50)"),
    (impossible("E3"), True, ""),
    (impossible("E1"), True, "nothing that the verdict cites was tried and failed"),
    (impossible("E7"), True, "the verdict cites evidence that is not there: E7"),
    (impossible("E1", confidence=0.2), True, "the judge was not sure enough (0.20 of 0.50)"),
    (abstain(), True, "the judge abstained: too little evidence"),
    (abstain(confidence=1.0), False, "the judge abstained: too little evidence"),
]


@over_table(("verdict", "asked", "why"), OBJECTIONS)
def test_a_verdict_counts_only_without_an_objection(verdict: Verdict, asked: bool, why: str) -> None:  # noqa: FBT001 - a column
    assert verdict_objection(verdict, case(*LEDGER), asked=asked) == why


# --- complete: what contradicts it --------------------------------------------------------------------------

CONTRADICTIONS: dict[str, tuple[tuple[Evidence, ...], str]] = {
    "a failed gate": ((RAN, BROKEN), "checks failed or could not run: E11"),
    "a failed gate on other files": (
        (RAN, replace(BROKEN, stale=True)),
        "checks failed or could not run: E11",
    ),
    "the agent's own failed tests": ((RAN, OWN_RED), "checks failed or could not run: E13"),
}


@pytest.mark.parametrize(("facts", "why"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_some_facts_contradict_a_complete_even_where_all_are_cited(
    facts: tuple[Evidence, ...], why: str
) -> None:
    verdict = complete(*(fact.id for fact in facts))
    assert verdict_objection(verdict, case(*facts), asked=True) == why
    assert verdict_objection(verdict, case(*facts), asked=False) == why
    assert verdict_objection(complete("E1"), case(RAN), asked=True) == ""


UNWEIGHED: dict[str, tuple[Evidence, str]] = {
    "a run that failed": (FAILED, "the verdict does not weigh what failed: E3"),
    "an open to-do": (TODO, "the verdict does not weigh what is open on the agent's own list: E12"),
    "a grave change": (CHANGED, "the verdict does not weigh changes to the checks: E5"),
    "a false claim": (replace(SAID, bad=True), "the verdict does not weigh claims that are contradicted: E7"),
}


@pytest.mark.parametrize(("fact", "why"), UNWEIGHED.values(), ids=UNWEIGHED)
def test_what_speaks_against_must_be_cited_unless_it_is_stale(fact: Evidence, why: str) -> None:
    assert verdict_objection(complete("E1"), case(RAN, fact, NEUTRAL), asked=True) == why
    assert verdict_objection(complete("E1", fact.id), case(RAN, fact), asked=True) == ""
    assert verdict_objection(complete("E1"), case(RAN, replace(fact, stale=True)), asked=True) == ""


TESTS, LINTED = replace(PASSED, kinds=(Kind.TESTS,)), replace(PASSED, kinds=(Kind.LINT,))
NAMED = replace(PASSED, call="check:1")
DOCUMENTED = "the parser accepts comments, and the README says so"
RESTS: dict[str, tuple[tuple[Evidence, ...], str, bool]] = {
    "nothing but a run of the agent's own": ((RAN,), "the parser accepts comments", True),
    "a check that the goal does not name": ((RAN, PASSED), "the parser accepts comments", True),
    "a check that --check names": ((RAN, NAMED), "the parser accepts comments", False),
    "the same check, before the last edit": (
        (RAN, replace(NAMED, stale=True)),
        "the parser accepts comments",
        True,
    ),
    "a check whose command the goal names": ((RAN, PASSED), "`make` passes with comments", False),
    "a check of the kind that the goal asks to pass": ((RAN, TESTS), "all tests pass with comments", False),
    "a check of another kind": ((RAN, LINTED), "all tests pass with comments", True),
    "a named check, and a part about documents": ((RAN, NAMED, EDITED), DOCUMENTED, True),
}


@pytest.mark.parametrize(("facts", "condition", "looks"), RESTS.values(), ids=RESTS)
def test_text_for_the_judge_makes_a_person_look_where_its_word_is_all_that_a_goal_rests_on(
    facts: tuple[Evidence, ...],
    condition: str,
    looks: bool,  # noqa: FBT001 - a column
) -> None:
    asked = case(*facts, STEERED, condition=condition)
    why = verdict_objection(complete(*(fact.id for fact in asked.evidence)), asked, asked=True)
    assert why == (f"{STEERED.fact}: a person must look" if looks else "")
    assert verdict_objection(complete("E1"), asked, asked=False) == ""


JUDGEMENTS: list[tuple[tuple[Evidence, ...], tuple[FileDiff, ...], str]] = [
    ((RAN,), (CODE, TESTED), "nothing was executed by Supervisor that bears on it"),
    ((RAN, PASSED), (CODE,), "nothing was executed by Supervisor that bears on it"),
    ((RAN, BROKEN), (CODE, TESTED), "nothing was executed by Supervisor that bears on it"),
    ((RAN, PASSED), (CODE, TESTED), "on tests that the agent changed; Supervisor saw `make` pass"),
    ((RAN, NAMED), (CODE, TESTED), "Supervisor saw `make` pass"),
]


@over_table(("facts", "edits", "how"), JUDGEMENTS)
def test_a_judgement_says_what_supervisor_executed_that_bears_on_the_goal(
    facts: tuple[Evidence, ...], edits: tuple[FileDiff, ...], how: str
) -> None:
    assert describe_judgement(case(*facts, edits=edits)) == f"by judgement, {how}"


def test_text_for_a_judge_that_is_not_by_the_workers_hand_leaves_the_verdict_alone() -> None:
    assert verdict_objection(complete("E1"), case(RAN, SHOWN), asked=True) == ""


def test_where_the_work_is_about_judging_only_what_the_worker_says_itself_counts_as_steering() -> None:
    in_a_file = replace(STEERED, worth=EvidenceStrength.WORK)
    about: dict[str, Any] = {"condition": "the judge prompt asks for one verdict per criterion"}
    assert "a person must look" in verdict_objection(complete("E1"), case(RAN, in_a_file), asked=True)
    assert verdict_objection(complete("E1"), case(RAN, in_a_file, **about), asked=True) == ""
    assert "a person must look" in verdict_objection(complete("E1"), case(RAN, STEERED, **about), asked=True)


# --- complete: what proves it -------------------------------------------------------------------------------

PROOFS: list[tuple[str, tuple[FileDiff, ...], tuple[Evidence, ...], str, str]] = [
    ("a run of the program", (CODE,), (RAN,), "", ""),
    ("a run of the program on unchanged code", (), (RAN,), "", ""),
    ("a gate, with tests changed", (CODE, TESTED), (PASSED,), "", ""),
    ("a gate, and the agent saw it run", (CODE,), (PASSED, RAN), "", ""),
    ("a gate that nobody pointed at it", (CODE,), (PASSED,), "", UNBROKEN),
    ("a gate on unchanged code", (), (PASSED,), "", UNBROKEN),
    ("a gate where only a comment changed", (COMMENT,), (PASSED,), "", UNBROKEN),
    ("a gate where only a document changed", (README,), (PASSED,), "", UNBROKEN),
    ("a check that the user typed", (), (replace(PASSED, call="check:1"),), "", ""),
    ("a gate that is the goal", (), (PASSED,), "make passes", ""),
    ("checks are the goal", (README,), (PASSED,), "all tests pass again", ""),
    ("tests are named last", (README,), (PASSED,), "uploads are limited to 64 kB, and tests pass", UNBROKEN),
    ("own tests on unchanged code", (), (replace(OWN_RED, bad=False),), "", UNBROKEN),
    ("an echo", (CODE, TESTED), (PRINTED,), "", IDLE),
    ("an edit", (CODE, TESTED), (EDITED,), "", IDLE),
    ("an edit of what was asked for", (README,), (EDITED,), "README.md explains comments", ""),
    (
        "an edit, and code changed",
        (README, CODE),
        (EDITED,),
        "README.md explains comments",
        "nothing cited could have failed, and the goal is about more than files",
    ),
    (
        "an edit named like a document",
        (README,),
        (EDITED,),
        "the parser accepts comments as README.md says",
        "nothing cited could have failed, and the goal is about more than files",
    ),
    ("a commit", (), (replace(EDITED, source=Source.REPOSITORY),), "everything is committed", ""),
]


@over_table(
    ("edits", "facts", "condition", "why"), [row[1:] for row in PROOFS], ids=[row[0] for row in PROOFS]
)
def test_each_part_needs_a_fact_that_could_have_been_otherwise(
    edits: tuple[FileDiff, ...], facts: tuple[Evidence, ...], condition: str, why: str
) -> None:
    shown = case(*facts, condition=condition or "uploads are limited to 64 kB", edits=edits)
    assert verdict_objection(complete(*(fact.id for fact in facts)), shown, asked=True) == why


def test_without_a_goal_a_complete_needs_no_proof_for_it_only_lets_the_agent_rest() -> None:
    assert verdict_objection(complete("E8"), case(PRINTED, condition=""), asked=False) == ""
    assert verdict_objection(complete("E7"), case(SAID, condition=""), asked=False) == UNSHOWN


def test_where_it_is_not_known_what_changed_a_gate_counts() -> None:
    assert verdict_objection(complete("E10"), case(PASSED, edits=(), edits_unseen="no git"), asked=True) == ""
    assert verdict_objection(complete("E10"), case(PASSED, EDITED, edits=()), asked=True) == ""


def test_a_goal_of_files_and_checks_needs_a_run_for_one_part_and_files_for_the_other() -> None:
    both: dict[str, Any] = {
        "condition": "CHANGELOG.md names the change and all tests pass",
        "edits": (CODE, TESTED, README),
    }
    parts = (Met("CHANGELOG.md names the change", ("E9",)), Met("all tests pass", ("E10",)))
    assert verdict_objection(Complete(parts, 0.9), case(EDITED, PASSED, **both), asked=True) == ""
    swapped = (replace(parts[0], evidence=("E10",)), replace(parts[1], evidence=("E9",)))
    assert "'all tests pass'" in verdict_objection(
        Complete(swapped, 0.9), case(EDITED, PASSED, **both), asked=True
    )


# --- incomplete, and how sure -------------------------------------------------------------------------------

POINTS: list[tuple[Incomplete, bool, str]] = [
    (gap("request", "E10", point="x"), True, "gates that passed on these very files contradict every point"),
    (gap("goal", "E10", "E3"), True, ""),
    (gap(point="the tests fail"), True, "gates that passed on these very files contradict every point"),
    (gap(point="`make` still fails"), True, "gates that passed on these very files contradict every point"),
    (gap("goal", "E3", point="the tests fail"), True, ""),
    (gap(point="a test for comments that fail to close is missing"), True, ""),
    (gap("goal", "E4"), True, "the verdict cites evidence that is not there: E4"),
    (gap("unheard-of"), True, "no point that is missing rests on a criterion in force: unheard-of"),
    (gap("long-lines"), True, "no point that is missing rests on a criterion in force: long-lines"),
    (gap("credentials"), True, "no point that is missing rests on a criterion in force: credentials"),
    (gap("verified"), False, ""),
    (
        gap("request"),
        False,
        "no goal is set, and neither the rubric nor evidence says that anything is missing",
    ),
    (
        gap("request", "E1"),
        False,
        "no goal is set, and neither the rubric nor evidence says that anything is missing",
    ),
    (gap("request", "E3"), False, ""),
]


@over_table(("verdict", "asked", "why"), POINTS)
def test_a_point_that_is_missing_needs_a_reason_that_holds(
    verdict: Incomplete,
    asked: bool,  # noqa: FBT001 - a column
    why: str,
) -> None:
    assert verdict_objection(verdict, case(RAN, FAILED, PASSED), asked=asked) == why


def test_only_the_points_that_stand_are_upheld() -> None:
    points = (*gap("long-lines").missing, *gap(point="the tests fail").missing, *gap("verified").missing)
    verdict = Incomplete(missing=points, next_step="Go on.", confidence=0.9)
    assert verdict_objection(verdict, case(PASSED), asked=True) == ""
    assert upheld_gaps(verdict, case(PASSED)) == gap("verified").missing


@over_table(
    ("confidence", "asked", "is_near"),
    [
        (0.39, True, False),
        (0.4, True, True),
        (0.6, True, True),
        (0.61, True, False),
        (0.59, False, False),
        (0.6, False, True),
        (0.8, False, True),
        (0.81, False, False),
    ],
)
def test_a_second_answer_is_wanted_near_the_threshold(
    confidence: float,
    asked: bool,  # noqa: FBT001 - a column
    is_near: bool,  # noqa: FBT001 - a column
) -> None:
    assert is_near_threshold(waiting(confidence=confidence), asked=asked) is is_near
    assert not is_near_threshold(abstain(confidence=confidence), asked=asked)
