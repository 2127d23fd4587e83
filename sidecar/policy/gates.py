"""Which checks apply to a goal, and which conditions they decide alone.

Required is what the user named: by --check, or by a condition that speaks of tests; then the detected test
runner is meant (ADR 0004). A condition that says no more than "the tests pass" is decided by the gates: no
model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from sidecar.model.gate import Gate, GateRun, Outcome
from sidecar.model.goal import Goal

SPEAKS_OF_TESTS = re.compile(r"\b(tests?|test suite|pytest|specs?)\b", re.IGNORECASE)
SAYS_NO_MORE = re.compile(
    r"(?:(?:please|make sure|ensure|see to it|that|get|make|until|all|every|each|the|our|my|this|project'?s?"
    r"|unit|whole|entire|of) )*(?:tests?|test suite|suite|specs?|checks?|pytest)"
    r"(?: (?:is|are|really|now|must|should|will|all|do|does|can|to))*"
    r" (?:pass(?:es|ing)?|green|succeeds?)(?: again| now)?[.!]*",
    re.IGNORECASE,
)


def applicable(goal: Goal, runner: Gate | None) -> tuple[Gate, ...]:
    """The gates of this goal, all required."""
    checks = tuple(
        Gate(id=f"check:{number}", command=command, why="you named it with --check", required=True)
        for number, command in enumerate(goal.checks, start=1)
    )
    if runner is None or not SPEAKS_OF_TESTS.search(goal.condition):
        return checks
    return (*checks, replace(runner, required=True, why=f"the goal speaks of tests; {runner.why}"))


def decided(goal: Goal, runs: Iterable[GateRun], tree: str) -> bool:
    """Whether gates that passed on this very tree show alone that the condition holds.

    "The checks pass" is decided by any gate, "the tests pass" only by a gate that counts tests.
    """
    if not SAYS_NO_MORE.fullmatch(goal.condition.strip()):
        return False
    passed = [run for run in runs if run.outcome is Outcome.PASSED and run.tree == tree]
    wants_tests = SPEAKS_OF_TESTS.search(goal.condition)
    return any(run.gate.counts or not wants_tests for run in passed)


def failed(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """The required gates that ran and did not pass."""
    return tuple(run for run in runs if run.gate.required and run.outcome is Outcome.FAILED)


def unrunnable(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """The required gates that could not run."""
    return tuple(run for run in runs if run.gate.required and run.outcome is Outcome.COULD_NOT_RUN)
