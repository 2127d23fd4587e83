"""What a comparison of old and new checks is rated as: the table of the policy, row by row."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.evidence.proof.policy import (
    describe_finding,
    describe_findings,
    finding_digest,
    grave_findings,
    rate_comparison,
    rate_surroundings,
    relevant_findings,
)
from sidecar.kernel.evidence import CheckChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import NOTHING_EXECUTED, CheckComparison, Gate, GateRun, Kind, Outcome

GATE = Gate(id="tests", command="pytest -q", why="", kind=Kind.TESTS, required=True)
PASSED = GateRun(gate=GATE, outcome=Outcome.PASSED, tree="t", executed=3)
NAME = "tests/test_a.py::test_minus"
FAILED = replace(PASSED, outcome=Outcome.FAILED, failing=(NAME,), failures=(f"{NAME}: assert 3 == 1",))
OTHERWISE = replace(FAILED, failures=(f"{NAME}: assert 2 == 1",))
TWO_FAIL = replace(FAILED, failing=(NAME, "tests/test_a.py::test_plus"))
NAMELESS = replace(PASSED, outcome=Outcome.FAILED, failures=("make: *** Error 1",), executed=None)
EMPTY = replace(
    PASSED,
    outcome=Outcome.FAILED,
    executed=0,
    reason=NOTHING_EXECUTED,
    idle=True,
    failures=(NOTHING_EXECUTED,),
)
NOT_RUN = replace(PASSED, outcome=Outcome.COULD_NOT_RUN, executed=None, reason="pytest is not installed")
PRINTED = replace(
    NOT_RUN, idle=True, reason=f"{NOTHING_EXECUTED}: `npm test` only prints or prepares: `true`"
)
GRAVE, SHOWN = FindingSeverity.GRAVE, FindingSeverity.SHOWN


def seen(
    old: GateRun | None,
    base: GateRun | None = None,
    copy: GateRun | None = PASSED,
    now: GateRun = PASSED,
) -> CheckComparison:
    files = ("conftest.py", "tests/test_a.py")
    return CheckComparison(
        now=now, files=files, old=old, base=base, copy=copy, unseen="" if old else "no git"
    )


@pytest.mark.parametrize(
    ("comparison", "rated"),
    [
        (seen(PASSED), []),
        (seen(replace(PASSED, executed=2)), []),
        (seen(replace(PASSED, executed=None)), []),
        (seen(replace(PASSED, executed=4)), [(CheckChange.CHECKS_DROPPED, SHOWN)]),
        (seen(FAILED, FAILED), [(CheckChange.OLD_FAILURE_REMAINS, GRAVE)]),
        (seen(FAILED, OTHERWISE), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(FAILED, PASSED), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(NAMELESS, NAMELESS), [(CheckChange.OLD_FAILURE_REMAINS, GRAVE)]),
        (seen(NAMELESS, PASSED), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(EMPTY, EMPTY), []),
        (seen(PRINTED, PRINTED), []),
        (seen(PRINTED, FAILED), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(EMPTY, PASSED), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(NOT_RUN, NOT_RUN), [(CheckChange.NOT_COMPARED, SHOWN)]),
        (seen(NOT_RUN, PASSED), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(NOT_RUN, PASSED, NOT_RUN), [(CheckChange.NOT_COMPARED, SHOWN)]),
        (seen(FAILED, NOT_RUN), [(CheckChange.NOT_COMPARED, SHOWN)]),
        (seen(FAILED), [(CheckChange.NOT_COMPARED, SHOWN)]),
        (seen(FAILED, FAILED, None), [(CheckChange.NOT_COMPARED, SHOWN)]),
        (seen(FAILED, FAILED, FAILED), [(CheckChange.NOT_COMPARED, SHOWN)]),
        (seen(FAILED, FAILED, FAILED, FAILED), []),  # a failure that was there, and is
        (seen(TWO_FAIL, FAILED, FAILED, FAILED), [(CheckChange.EXPECTATION_CHANGED, SHOWN)]),
        (seen(None), [(CheckChange.NOT_COMPARED, SHOWN)]),
    ],
)
def test_every_outcome_has_its_rating(
    comparison: CheckComparison, rated: list[tuple[CheckChange, FindingSeverity]]
) -> None:
    assert [(one.change, one.weight) for one in rate_comparison(comparison)] == rated


@pytest.mark.parametrize(
    ("command", "absent", "rated"),
    [
        ("python -m pytest -q ./tests/test_a.py::test_minus", ["tests/test_a.py"], 0),
        ("python -m unittest -q tests.test_a", ["tests/test_a.py"], 0),
        ("bash -c 'python tests/test_a.py'", ["tests/test_a.py"], 0),
        ("python -m unittest -q tests.test_a", [], 1),
        ("pytest -q", ["conftest.py", "tests/test_a.py"], 1),
    ],
)
def test_a_check_whose_own_file_came_with_the_work_has_no_older_one(
    command: str, absent: list[str], rated: int
) -> None:
    now = replace(PASSED, gate=replace(GATE, command=command))
    for failed in (FAILED, NAMELESS, NOT_RUN):
        comparison = replace(seen(failed, failed, now=now), absent=tuple(absent))
        assert len(rate_comparison(comparison)) == rated


def test_with_another_version_of_a_dependency_an_old_failure_is_weighed() -> None:
    (found,) = rate_comparison(seen(FAILED, FAILED), upgraded=True)
    assert (found.change, found.weight) == (CheckChange.OLD_FAILURE_REMAINS, SHOWN)


def test_each_test_is_rated_by_itself_and_named_with_its_file_and_its_failure() -> None:
    other = "tests/test_b.py::test_plus"
    lines = (f"{NAME}: assert 3 == 1", f"{other}: assert 5 == 4")
    both = replace(FAILED, failing=(NAME, other), failures=lines)
    assert [describe_finding(one) for one in rate_comparison(seen(both, FAILED))] == [
        f"tests/test_a.py: as it was when the work began, it still fails: {lines[0]}",
        f"conftest.py: as it was when the work began, it fails on the new code: {lines[1]}",
    ]


def test_a_failure_without_a_file_is_of_a_file_that_something_runs() -> None:
    shown = replace(seen(NAMELESS, NAMELESS), files=(".circleci/config.yml", "z_test.go"))
    assert [one.file for one in rate_comparison(shown)] == ["z_test.go"]
    said = replace(NAMELESS, failures=("b_test.go: undefined: x",))
    shown = replace(seen(said, said), files=("a_test.go", "b_test.go"))
    assert [one.file for one in rate_comparison(shown)] == ["b_test.go"]


def test_what_is_asked_about_once_is_not_asked_about_again_whatever_the_failure_prints() -> None:
    (first,) = rate_comparison(seen(FAILED, FAILED))
    (again,) = rate_comparison(seen(OTHERWISE, OTHERWISE))
    assert grave_findings([first]) == (first,)
    assert grave_findings([again], [finding_digest(first)]) == ()


def test_only_findings_of_the_kinds_that_ran_bear_on_a_goal() -> None:
    silenced = IntegrityFinding(
        change=CheckChange.CHECK_SILENCED, weight=GRAVE, file="a.py", line=1, kinds=(Kind.LINT,)
    )
    general = replace(silenced, kinds=())
    assert relevant_findings([silenced, general], [Kind.TESTS]) == (general,)
    assert relevant_findings([silenced, general], [Kind.TESTS, Kind.LINT]) == (silenced, general)


def test_what_a_gate_loaded_from_outside_and_nobody_explains_is_grave_and_told_once() -> None:
    run = replace(PASSED, unexplained=("/usr/lib/_pytest/runner.py",))
    (found,) = rate_surroundings([run, run])
    assert grave_findings([found]) == (found,)
    assert describe_finding(found) == (
        "/usr/lib/_pytest/runner.py: changed since the work began, outside of what the project holds"
    )


def test_many_findings_are_counted() -> None:
    many = [
        IntegrityFinding(
            change=CheckChange.CODE_EXITS, weight=GRAVE, file=f"{number}.py", line=2, after="_exit(0)"
        )
        for number in range(12)
    ]
    said = describe_findings(many)
    assert said[0] == "0.py:2: code exits: `_exit(0)`"
    assert said[10:] == ("and 2 more",)
