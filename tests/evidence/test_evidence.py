"""Only what was run or returned is evidence (law 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from sidecar.evidence.gates.policy import build_gate_baseline
from sidecar.evidence.ledger import EVIDENCE_CALLS_LIMIT
from sidecar.evidence.ledger import gather_evidence as gather_all
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import (
    CheckChange,
    Evidence,
    EvidenceStrength,
    FindingSeverity,
    IntegrityFinding,
    RepositoryState,
    Source,
)
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, ToolAction, Turn
from support.cases import PYTEST, RUBRIC, TREE, called, edited, gate_run, ran, talk, todos, turn


def gather(seen: Turn, runs: Iterable[GateRun], tree: str, **fields: Any) -> tuple[Evidence, ...]:
    """Gather with every gate required, and leave out what is said of claims."""
    musts = [replace(run, gate=replace(run.gate, required=True)) for run in runs]
    known = gather_all(seen, musts, ProjectState(tree=tree, rubric=RUBRIC, changed=(), **fields))
    return tuple(fact for fact in known.evidence if fact.source is not Source.CLAIM)


def test_facts_are_numbered_gates_first_then_calls_then_open_todos() -> None:
    seen = turn(edited("a.py"), ran("make"), todos=todos("write the docs"))
    facts = gather(seen, [gate_run()], TREE)
    assert [(fact.id, fact.source) for fact in facts] == [
        ("E1", Source.GATE),
        ("E2", Source.TOOL),
        ("E3", Source.TOOL),
        ("E4", Source.TODO),
    ]


def test_what_the_agent_says_of_itself_is_no_evidence() -> None:
    assert gather(talk("I ran all tests and they pass."), (), TREE) == ()


def test_reading_and_asking_are_no_evidence() -> None:
    looked = turn(
        *(called(doing) for doing in (ToolAction.READ, ToolAction.TODO, ToolAction.ASK, ToolAction.OTHER))
    )
    assert gather(looked, (), TREE) == ()


def test_a_passed_gate_is_good_and_says_how_many_tests_ran() -> None:
    assert gather(talk(), [gate_run()], TREE) == (
        Evidence(
            id="E1",
            source=Source.GATE,
            fact="Supervisor ran `pytest -q`: passed, 5 tests executed",
            call="tests",
            tree=TREE,
            worth=EvidenceStrength.CHECK,
            kinds=(Kind.TESTS, Kind.TESTS),
        ),
    )


def test_a_failed_gate_is_bad_and_quotes_its_failures_or_the_end_of_its_output() -> None:
    named = gate_run(outcome=Outcome.FAILED)
    unnamed = gate_run(outcome=Outcome.FAILED, failures=(), output="x" * 3000 + "end", exit_code=None)
    first, second = gather(talk(), [named, unnamed], TREE)
    assert (first.fact, first.detail, first.bad) == (
        "Supervisor ran `pytest -q`: failed, exit code 1",
        "test_a",
        True,
    )
    assert second.fact == "Supervisor ran `pytest -q`: failed"
    assert (len(second.detail), second.detail[-3:]) == (2000, "end")


def test_a_gate_that_could_not_run_is_bad_and_says_why() -> None:
    (fact,) = gather(talk(), [gate_run(outcome=Outcome.COULD_NOT_RUN)], TREE)
    assert (fact.fact, fact.bad) == (
        "Supervisor ran `pytest -q`: could not run: the command was not found",
        True,
    )


def test_a_flaky_pass_says_so() -> None:
    (fact,) = gather(talk(), [gate_run(PYTEST, flaky=True)], TREE)
    assert fact.fact.endswith("; flaky: it failed first on these very files and passed when it was run again")


def test_a_gate_that_ran_on_another_tree_is_stale() -> None:
    (fact,) = gather(talk(), [gate_run(tree="another")], TREE)
    assert fact.stale


def test_a_run_before_the_last_edit_is_stale_and_one_after_it_is_not() -> None:
    facts = gather(turn(ran("make"), edited(), ran("make"), edited(), ran("make")), (), TREE)
    assert [fact.stale for fact in facts] == [True, False, True, False, False]


def test_a_call_tells_its_outcome_and_exit_code() -> None:
    calls = (
        ran("make", 2, output="o" * 1000),
        ran("./wait", None, outcome=CallOutcome.INTERRUPTED),
        edited("a.py", "b.py"),
        called(ToolAction.EDIT, CallOutcome.FAILED),
    )
    facts = gather(turn(*calls), (), TREE)
    assert [(fact.fact, fact.bad) for fact in facts] == [
        ("the agent ran `make`: failed, exit code 2", True),
        ("the agent ran `./wait`: interrupted", True),
        ("the agent edited a.py, b.py: ok", False),
        ("the agent edited a file: failed", True),
    ]
    assert len(facts[0].detail) == 600


def test_only_the_last_calls_become_evidence_and_they_know_of_all_edits() -> None:
    calls = (*(ran(f"make {number}") for number in range(40)), edited())
    facts = gather(turn(*calls), (), TREE)
    assert len(facts) == EVIDENCE_CALLS_LIMIT
    assert facts[0].fact == "the agent ran `make 16`: ok, exit code 0"
    assert all(fact.stale for fact in facts[:-1])


def test_open_todos_speak_against_being_done_and_only_the_first_ten_are_named() -> None:
    facts = gather(talk(todos=todos(*"abcdefghijkl")), (), TREE)
    assert [fact.fact[-1] for fact in facts] == list("abcdefghij")
    assert all(fact.bad for fact in facts)


LINT = Gate(id="lint", command="ruff check", why="", kind=Kind.LINT, origin=GateOrigin.DETECTED)


def advised(*before: GateRun, **fields: Any) -> Evidence:
    project_state = ProjectState(tree=TREE, rubric=RUBRIC)
    run = gate_run(LINT, Outcome.FAILED, failing=("a.py: F401",), **fields)
    return gather_all(talk(), [run], project_state, build_gate_baseline(before)).evidence[0]


def test_an_advisory_gate_speaks_against_only_with_failures_that_are_new() -> None:
    new, old, unknown, less = (
        advised(gate_run(LINT)),
        advised(gate_run(LINT, Outcome.FAILED, failing=("a.py: F401",))),
        advised(),
        advised(gate_run(LINT, Outcome.FAILED, failing=("a.py: F401", "b.py: F401"))),
    )
    assert (old.worth, less.worth) == (EvidenceStrength.NOTHING, EvidenceStrength.CHECK)
    assert less.fact.endswith("; failed then, and fails no more: b.py: F401")
    assert (new.bad, old.bad, unknown.bad) == (True, False, False)
    part = advised(gate_run(LINT, Outcome.FAILED, failing=("a.py: F401",)), noticed=("test_b",))
    assert (part.worth, part.bad) == (EvidenceStrength.CHECK, False)
    assert part.fact.endswith("; passes, and fails on the code of then: test_b")
    assert new.fact.endswith("which only advises: failed, exit code 1; new since the goal was set: 1")
    assert old.fact.endswith("; nothing of it is new since the goal was set")
    assert unknown.fact.endswith("; whether that is new is not known")


def test_what_a_run_counted_is_said() -> None:
    (fact,) = gather(talk(), [gate_run(skipped=2, percent=81.25, moved=True)], TREE)
    assert fact.fact.endswith(
        "passed, 5 tests executed, 2 skipped, coverage 81.2 %; files changed while it ran"
    )


def test_changes_to_the_checks_are_evidence_and_only_grave_ones_speak_against() -> None:
    grave = IntegrityFinding(
        change=CheckChange.OLD_FAILURE_REMAINS,
        weight=FindingSeverity.GRAVE,
        file="t.py",
        line=3,
        after="@skip",
    )
    shown = IntegrityFinding(
        change=CheckChange.EXPECTATION_CHANGED,
        weight=FindingSeverity.SHOWN,
        file="t.py",
        line=9,
        before="1",
        after="2",
    )
    first, second = gather(talk(), (), TREE, findings=(grave, shown))
    assert (first.source, first.fact, first.bad) == (
        Source.CHANGE,
        "t.py:3: as it was when the work began, it still fails: @skip",
        True,
    )
    assert (second.fact, second.bad) == (
        "t.py:9: as it was when the work began, it fails on the new code: 2",
        False,
    )


def test_many_changes_are_counted_rather_than_left_out() -> None:
    many = tuple(
        IntegrityFinding(
            change=CheckChange.OLD_FAILURE_REMAINS, weight=FindingSeverity.SHOWN, file="t.py", line=n
        )
        for n in range(45)
    )
    facts = gather(talk(), (), TREE, findings=many)
    assert (len(facts), facts[-1].fact) == (41, "5 more changes to the checks")


def test_that_changes_could_not_be_seen_is_said() -> None:
    (fact,) = gather(talk(), (), TREE, unseen="git is not there")
    assert fact.fact.endswith("could not be seen whole: git is not there")
    assert not fact.bad


def test_what_git_knows_is_evidence() -> None:
    known = RepositoryState(
        head="0123456789abcdef", branch="main", upstream="origin/main", commits=1, ahead=2, dirty=3
    )
    (fact,) = gather(talk(), (), TREE, repository=known)
    assert fact.fact == (
        "git is on main at 0123456789, 1 commit since the work began, 3 files not committed, "
        "2 commits not pushed to origin/main"
    )


def test_a_claim_that_is_contradicted_speaks_against_and_names_its_evidence() -> None:
    seen = turn(edited("a.py"), message="All tests pass.")
    known = gather_all(
        seen,
        [gate_run(replace(PYTEST, required=True), Outcome.FAILED)],
        ProjectState(tree=TREE, rubric=RUBRIC),
    )
    claim = known.evidence[-1]
    assert (claim.source, claim.bad) == (Source.CLAIM, True)
    assert claim.fact.startswith("the agent says \u201cAll tests pass.\u201d: contradicted")
    assert "E1" in claim.fact


def test_a_gate_shows_the_most_unless_files_moved_or_it_only_advises_and_failed() -> None:
    assert gather(talk(), [gate_run()], TREE)[0].worth is EvidenceStrength.CHECK
    assert gather(talk(), [gate_run(moved=True)], TREE)[0].worth is EvidenceStrength.NOTHING
    assert gather(talk(), [gate_run(outcome=Outcome.FAILED)], TREE)[0].worth is EvidenceStrength.CHECK
    assert advised().worth is EvidenceStrength.NOTHING
    assert advised(gate_run(LINT)).worth is EvidenceStrength.CHECK
