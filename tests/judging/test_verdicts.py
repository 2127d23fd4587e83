"""When a judge's answer may be believed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.judging.verdicts import is_near_threshold, upheld_gaps, verdict_objection
from sidecar.kernel.evidence import (
    Complete,
    Evidence,
    EvidenceStrength,
    Incomplete,
    Met,
    Source,
    Verdict,
)
from support.cases import abstain, complete, impossible, waiting
from support.table import over_table
from support.verdict_cases import (
    BROKEN,
    CHANGED,
    EDITED,
    FAILED,
    LEDGER,
    NEUTRAL,
    OWN_RED,
    PASSED,
    PRINTED,
    RAN,
    SAID,
    SHOWN,
    STEERED,
    TODO,
    case,
    gap,
)

UNSHOWN = "the evidence cited for 'The condition holds' is stale, a mere claim, or speaks against it"
IDLE = "nothing cited for 'The condition holds' could have failed"
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


@over_table(
    ("facts", "proof", "looks"),
    [
        ((RAN,), (), True),
        ((RAN, PASSED), (), True),
        ((RAN, PASSED), ("`make` passed",), False),
        ((RAN, EDITED), ("`make` failed before, and passes by the change of the product",), False),
    ],
)
def test_text_for_the_judge_makes_a_person_look_where_its_word_is_all_that_a_goal_rests_on(
    facts: tuple[Evidence, ...],
    proof: tuple[str, ...],
    looks: bool,  # noqa: FBT001 - a column
) -> None:
    asked = case(*facts, STEERED, proof=proof)
    why = verdict_objection(complete(*(fact.id for fact in asked.evidence)), asked, asked=True)
    assert why == (f"{STEERED.fact}: a person must look" if looks else "")
    assert verdict_objection(complete("E1"), asked, asked=False) == ""


def test_text_for_a_judge_that_is_not_by_the_workers_hand_leaves_the_verdict_alone() -> None:
    assert verdict_objection(complete("E1"), case(RAN, SHOWN), asked=True) == ""


def test_where_the_work_is_about_judging_only_what_the_worker_says_itself_counts_as_steering() -> None:
    in_a_file = replace(STEERED, worth=EvidenceStrength.WORK)
    about: dict[str, Any] = {"condition": "the judge prompt asks for one verdict per criterion"}
    assert "a person must look" in verdict_objection(complete("E1"), case(RAN, in_a_file), asked=True)
    assert verdict_objection(complete("E1"), case(RAN, in_a_file, **about), asked=True) == ""
    assert "a person must look" in verdict_objection(complete("E1"), case(RAN, STEERED, **about), asked=True)


# --- complete: what proves it -------------------------------------------------------------------------------

PROOFS: dict[str, tuple[tuple[Evidence, ...], str]] = {
    "a run of the program": ((RAN,), ""),
    "a gate": ((PASSED,), ""),
    "an edit": ((EDITED,), ""),
    "a commit": ((replace(EDITED, source=Source.REPOSITORY),), ""),
    "own tests": ((replace(OWN_RED, bad=False),), ""),
    "an echo": ((PRINTED,), IDLE),
    "an echo beside a gate": ((PRINTED, PASSED), ""),
    "a claim": ((SAID,), UNSHOWN),
    "what was run before the last edit": ((replace(RAN, stale=True),), UNSHOWN),
    "a claim beside an echo": ((SAID, PRINTED), IDLE),
}


@over_table(("facts", "why"), PROOFS.values(), ids=PROOFS)
@over_table("condition", ["uploads are limited to 64 kB", "README.md explains comments", "all tests pass"])
def test_each_part_needs_a_fact_of_some_worth_whatever_the_goal_is_about(
    condition: str, facts: tuple[Evidence, ...], why: str
) -> None:
    shown = case(*facts, condition=condition)
    assert verdict_objection(complete(*(fact.id for fact in facts)), shown, asked=True) == why


def test_without_a_goal_a_complete_needs_no_proof_for_it_only_lets_the_agent_rest() -> None:
    assert verdict_objection(complete("E8"), case(PRINTED, condition=""), asked=False) == ""
    assert verdict_objection(complete("E7"), case(SAID, condition=""), asked=False) == UNSHOWN


def test_every_part_of_a_goal_needs_a_fact_of_its_own() -> None:
    shown = case(RAN, PRINTED)
    parts = (Met("comments are accepted", ("E1",)), Met("all tests pass", ("E8",)))
    why = verdict_objection(Complete(parts, 0.9), shown, asked=True)
    assert why == "nothing cited for 'all tests pass' could have failed"
    assert verdict_objection(Complete(parts[:1], 0.9), shown, asked=True) == ""


# --- incomplete, and how sure -------------------------------------------------------------------------------

POINTS: list[tuple[Incomplete, bool, str]] = [
    (gap("request", "E10", point="x"), True, "checks that passed on these very files contradict every point"),
    (gap("goal", "E10", "E3"), True, ""),
    (gap(point="the tests fail"), True, "checks that passed on these very files contradict every point"),
    (gap(point="`make` still fails"), True, "checks that passed on these very files contradict every point"),
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
