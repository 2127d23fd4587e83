"""Only what was run or returned is evidence (law 2)."""

from __future__ import annotations

from sidecar.model.evidence import Evidence, Source
from sidecar.model.gate import Outcome
from sidecar.model.turn import CallOutcome, Doing
from sidecar.policy.evidence import CALLS, gather
from support.cases import PYTEST, TREE, called, edited, gate_run, ran, talk, todos, turn


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
    looked = turn(*(called(doing) for doing in (Doing.READ, Doing.TODO, Doing.ASK, Doing.OTHER)))
    assert gather(looked, (), TREE) == ()


def test_a_passed_gate_is_good_and_says_how_many_tests_ran() -> None:
    assert gather(talk(), [gate_run()], TREE) == (
        Evidence(
            id="E1",
            source=Source.GATE,
            fact="Supervisor ran `pytest -q`: passed, 5 tests executed",
            tree=TREE,
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
    assert fact.fact.endswith(", flaky: it failed before on these very files")


def test_a_gate_that_ran_on_another_tree_is_stale() -> None:
    (fact,) = gather(talk(), [gate_run(tree="another")], TREE)
    assert fact.stale


def test_a_run_before_the_last_edit_is_stale_and_one_after_it_is_not() -> None:
    facts = gather(turn(ran("make"), edited(), ran("make"), edited(), ran("make")), (), TREE)
    assert [fact.stale for fact in facts] == [True, False, True, False, False]


def test_a_call_tells_its_outcome_and_exit_code() -> None:
    calls = (
        ran("make", 2, output="o" * 1000),
        ran("sleep 9", None, outcome=CallOutcome.INTERRUPTED),
        edited("a.py", "b.py"),
        called(Doing.EDIT, CallOutcome.FAILED),
    )
    facts = gather(turn(*calls), (), TREE)
    assert [(fact.fact, fact.bad) for fact in facts] == [
        ("the agent ran `make`: failed, exit code 2", True),
        ("the agent ran `sleep 9`: interrupted", True),
        ("the agent edited a.py, b.py: ok", False),
        ("the agent edited a file: failed", True),
    ]
    assert len(facts[0].detail) == 600


def test_only_the_last_calls_become_evidence_and_they_know_of_all_edits() -> None:
    calls = (*(ran(f"make {number}") for number in range(40)), edited())
    facts = gather(turn(*calls), (), TREE)
    assert len(facts) == CALLS
    assert facts[0].fact == "the agent ran `make 16`: ok, exit code 0"
    assert all(fact.stale for fact in facts[:-1])


def test_open_todos_speak_against_being_done_and_only_the_first_ten_are_named() -> None:
    facts = gather(talk(todos=todos(*"abcdefghijkl")), (), TREE)
    assert [fact.fact[-1] for fact in facts] == list("abcdefghij")
    assert all(fact.bad for fact in facts)
