"""What the agent's own calls show, and which of their failures still speak against being done."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.evidence.ledger import EVIDENCE_CALLS_LIMIT, EVIDENCE_FAILURES_LIMIT
from sidecar.evidence.ledger import gather_evidence as gather_all
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Evidence, EvidenceStrength, Source
from sidecar.kernel.gate import GateRun
from sidecar.kernel.turn import CallOutcome, ToolCall, Turn
from support.cases import PYTEST, RUBRIC, TREE, edited, gate_run, ran, turn
from support.table import over_table


def gather(seen: Turn, *runs: GateRun) -> tuple[Evidence, ...]:
    """The facts of calls and of required gates."""
    musts = [replace(run, gate=replace(PYTEST, required=True)) for run in runs]
    facts = gather_all(seen, musts, ProjectState(tree=TREE, rubric=RUBRIC, changed=())).evidence
    return tuple(fact for fact in facts if fact.source in (Source.TOOL, Source.GATE))


PASSES = "5 passed in 0.10s"
WORTHS: list[tuple[ToolCall, EvidenceStrength]] = [
    (ran("pytest -q", output=PASSES), EvidenceStrength.CHECK),
    (ran("pytest -q tests/test_a.py", output=PASSES), EvidenceStrength.CHECK),
    (ran("npm run build"), EvidenceStrength.CHECK),
    (ran("mypy ."), EvidenceStrength.CHECK),
    (ran("ruff check ."), EvidenceStrength.WORK),
    (ran("python parser.py sample.txt"), EvidenceStrength.WORK),
    (ran("python -m parser sample.txt"), EvidenceStrength.WORK),
    (ran("./parse sample.txt > out.log"), EvidenceStrength.WORK),
    (ran("node src/main.js"), EvidenceStrength.WORK),
    (ran("cargo run -- sample.txt"), EvidenceStrength.WORK),
    (ran("npm run demo"), EvidenceStrength.WORK),
    (ran("make demo"), EvidenceStrength.WORK),
    (ran("parse sample.txt"), EvidenceStrength.WORK),
    (ran("python -c 'import parser; parser.parse(1)'"), EvidenceStrength.WORK),
    (ran("git commit -m x"), EvidenceStrength.FILES),
    (ran("mv a.py b.py"), EvidenceStrength.FILES),
    (edited("a.py"), EvidenceStrength.FILES),
    (ran("pytest -q || true", output=PASSES), EvidenceStrength.NOTHING),
    (ran("pytest -q | tail -1", output=PASSES), EvidenceStrength.NOTHING),
    (ran("pytest --collect-only"), EvidenceStrength.NOTHING),
    (ran("pytest -q", output="no tests ran in 0.01s"), EvidenceStrength.NOTHING),
    (ran("python parser.py &"), EvidenceStrength.NOTHING),
    (ran("python parser.py", None), EvidenceStrength.NOTHING),
    (ran("python /tmp/ok.py"), EvidenceStrength.NOTHING),
    (ran("python -c \"print('5 passed')\""), EvidenceStrength.NOTHING),
    (ran("python -c 'import json; print(1)'"), EvidenceStrength.NOTHING),
    (ran("python - <<'EOF'\nprint('5 passed')\nEOF"), EvidenceStrength.NOTHING),
    (ran("node -e \"console.log('ok')\""), EvidenceStrength.NOTHING),
    (ran("./parse --help"), EvidenceStrength.NOTHING),
    (ran("echo 5 passed"), EvidenceStrength.NOTHING),
    (ran("printf ok"), EvidenceStrength.NOTHING),
    (ran("cat result.txt"), EvidenceStrength.NOTHING),
    (ran("bash -c 'echo ok'"), EvidenceStrength.NOTHING),
    (ran("ls && pwd && head a && true && :"), EvidenceStrength.NOTHING),
    (ran("git log -1 && git status"), EvidenceStrength.NOTHING),
    (ran("sleep 1"), EvidenceStrength.NOTHING),
    (ran("unheard-of --of"), EvidenceStrength.NOTHING),
    (ran("npm run clean"), EvidenceStrength.NOTHING),
    (ran("pip install parser"), EvidenceStrength.NOTHING),
]


@over_table(("call", "worth"), WORTHS, ids=[call.command or "edit" for call, _ in WORTHS])
def test_a_call_shows_only_what_could_have_been_otherwise(call: ToolCall, worth: EvidenceStrength) -> None:
    seen = turn(edited("src/parser.py"), call, prompts=("Make `parse` accept comments.",))
    assert gather(seen)[-1].worth is worth


REPAIRS: dict[str, tuple[tuple[ToolCall, ...], bool]] = {
    "the same command passed": ((ran("./a", 1), ran("./a")), True),
    "the same command passed after an edit": ((ran("./a", 1), edited(), ran("./a")), True),
    "it failed again": ((ran("./a"), ran("./a", 1)), False),
    "another one passed": ((ran("./a", 1), ran("./b")), False),
    "all tests passed": ((ran("pytest tests/test_a.py", 1), ran("pytest -q", output=PASSES)), True),
    "a part passed": ((ran("pytest -q", 1), ran("pytest tests/test_a.py", output=PASSES)), False),
    "its failure was swallowed": ((ran("pytest -q", 1), ran("pytest -q || true", output=PASSES)), False),
}


@pytest.mark.parametrize(("calls", "repaired"), REPAIRS.values(), ids=REPAIRS)
def test_a_failure_that_was_made_good_for_speaks_no_longer_against(
    calls: tuple[ToolCall, ...],
    repaired: bool,  # noqa: FBT001 - a column
) -> None:
    facts = gather(turn(*calls))
    assert any(fact.bad for fact in facts) is not repaired
    assert any("made good for" in fact.fact for fact in facts) is repaired


def test_a_gate_that_passed_makes_good_for_the_agents_own_failure_of_that_kind() -> None:
    failed = ran("pytest -q", 1, output="1 failed in 0.1s")
    assert [fact.bad for fact in gather(turn(failed), gate_run())] == [False, False]
    assert [fact.bad for fact in gather(turn(failed), gate_run(flaky=True))] == [False, True]
    assert [fact.bad for fact in gather(turn(ran("mypy .", 1)), gate_run())] == [False, True]


def test_an_edit_that_failed_and_then_succeeded_speaks_no_longer_against() -> None:
    failed = replace(edited("a.py"), outcome=CallOutcome.FAILED)
    assert [fact.bad for fact in gather(turn(failed, edited("a.py")))] == [False, False]
    assert [fact.bad for fact in gather(turn(failed, edited("b.py")))] == [True, False]


def test_a_failure_of_what_only_looks_says_nothing() -> None:
    looked = turn(ran("grep -r parse src", 1), ran("cd src && cat missing.py", 1), ran("git diff --quiet", 1))
    assert [fact.bad for fact in gather(looked)] == [False, False, False]
    assert [fact.bad for fact in gather(turn(ran("cd src && ./parse", 1)))] == [True]


def test_a_check_whose_summary_says_that_it_failed_speaks_against_whatever_the_exit_code() -> None:
    (fact,) = gather(turn(ran("pytest -q | tail -3", output="2 failed, 3 passed in 0.2s")))
    assert (fact.bad, fact.worth) == (True, EvidenceStrength.CHECK)


def test_a_shell_line_that_edits_makes_earlier_runs_stale() -> None:
    facts = gather(turn(ran("./a"), ran("sed -i s/x/y/ a.py"), ran("./a && git checkout b.py")))
    assert [fact.stale for fact in facts] == [True, False, True]


def test_later_calls_do_not_hide_a_failure_that_still_holds() -> None:
    many = [ran(f"./a {number}", 1) for number in range(EVIDENCE_FAILURES_LIMIT + 2)]
    facts = gather(turn(*many, *(ran("echo ok") for _ in range(EVIDENCE_CALLS_LIMIT))))
    assert len(facts) == EVIDENCE_CALLS_LIMIT + EVIDENCE_FAILURES_LIMIT
    assert [fact.bad for fact in facts[: EVIDENCE_FAILURES_LIMIT + 1]] == [True] * EVIDENCE_FAILURES_LIMIT + [
        False
    ]
    assert facts[0].fact.startswith("the agent ran `./a 2`")
