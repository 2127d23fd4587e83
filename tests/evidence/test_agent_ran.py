"""What the agent ran under its host's permission may be run again, unchanged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.agent_ran import approve_what_agent_ran
from sidecar.evidence.gates.approvals import gate_digest
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, Kind
from sidecar.kernel.turn import CallOutcome, ToolCall
from support.cases import PROJECT, called, ran, turn
from support.table import over_table

PYTEST = Gate(
    id="tests",
    command="python -m pytest",
    why="",
    kind=Kind.TESTS,
    origin=GateOrigin.DETECTED,
    counts=True,
)
NPM = replace(PYTEST, command="npm test", behind="vitest run")
SCRIPT = replace(PYTEST, command="sh tests/run.sh")
WEB = replace(NPM, folder="web")


def lent(
    gate: Gate, *calls: ToolCall, changed: tuple[str, ...] | None = ("a.py",), defined: Gate | None = None
) -> bool:
    digests = (gate_digest(defined or gate),)
    found = approve_what_agent_ran(AvailableGates((gate,)), turn(*calls), PROJECT, changed, digests)
    (gate,) = found.gates
    assert gate.lent is gate.approved
    return gate.lent


RERUN: dict[str, tuple[Gate, str]] = {
    "the very command": (NPM, "npm test"),
    "its output cut": (NPM, "npm test 2>&1 | tail -5"),
    "it failed": (NPM, "npm test; echo $?"),
    "behind a cd into the project": (NPM, f"cd {PROJECT} && npm test"),
    "in its folder": (WEB, "cd web && npm test"),
    "with report flags": (PYTEST, "python -m pytest -q --tb=short"),
    "by the environment's own": (PYTEST, ".venv/bin/pytest -q"),
    "through a wrapper": (PYTEST, "timeout 60 uv run pytest -q"),
    "after another that passed": (PYTEST, "ruff check && pytest -q"),
    "the script": (SCRIPT, "sh tests/run.sh"),
}
NOT_RERUN: dict[str, tuple[Gate, str]] = {
    "another script": (NPM, "npm run build"),
    "with more words": (NPM, "npm test -- --watch=false"),
    "with a variable": (NPM, "CI=1 npm test"),
    "in another folder": (WEB, "npm test"),
    "out of the project": (NPM, "cd /tmp && npm test"),
    "in a folder that the shell knows": (NPM, "cd $DIR && npm test"),
    "a part": (PYTEST, "pytest -q tests/test_a.py"),
    "selected": (PYTEST, "pytest -q -k total"),
    "without one": (PYTEST, "pytest --deselect tests/test_a.py::test_b"),
    "collected only": (PYTEST, "pytest --collect-only"),
    "perhaps not reached": (PYTEST, "test -f x || pytest -q"),
    "in a function": (PYTEST, "t() { pytest -q; }"),
    "in the background": (PYTEST, "pytest -q &"),
    "only named": (PYTEST, "echo pytest -q"),
}


@over_table(("gate", "line"), RERUN.values(), ids=RERUN)
def test_what_the_agent_ran_may_be_run_again(gate: Gate, line: str) -> None:
    assert lent(gate, ran(line))


@over_table(("gate", "line"), NOT_RERUN.values(), ids=NOT_RERUN)
def test_what_it_did_not_run_so_may_not(gate: Gate, line: str) -> None:
    assert not lent(gate, ran(line))


def test_a_command_that_leads_elsewhere_now_is_another_one() -> None:
    call = ran("npm test")
    assert lent(NPM, call, changed=None)
    assert not lent(NPM, call, defined=replace(NPM, behind="vitest run --config x"))
    assert not lent(SCRIPT, ran("sh tests/run.sh"), changed=("tests/run.sh",))
    assert not lent(replace(NPM, python="bin/python"), call)
    assert not lent(replace(NPM, origin=GateOrigin.PROJECT), call)


@pytest.mark.parametrize(
    "call",
    [
        replace(ran("npm test"), exit_code=None),
        replace(ran("npm test"), exit_code=None, outcome=CallOutcome.INTERRUPTED),
        ran("npm test", 127),
        replace(ran("npm test"), tool="mcp__other__run"),
        called(ran("npm test").doing),
    ],
    ids=["end unknown", "refused", "not found", "no tool of the host", "no command"],
)
def test_a_call_that_the_host_did_not_carry_out_shows_nothing(call: ToolCall) -> None:
    assert not lent(NPM, call)


def test_a_folder_that_was_entered_is_not_known_in_the_next_call() -> None:
    assert not lent(NPM, ran("cd web && ls"), ran("npm test"))
    assert lent(NPM, ran("cd web && ls"), ran(f"cd {PROJECT} && npm test"))
