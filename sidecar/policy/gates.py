"""The table "Gates" of the design: which checks apply at a stop, and what they decide.

    required    named by --check, by the goal's own words, or by a configuration; all must pass whole
    advisory    every other approved gate; it counts for failures that are new since the goal was set
    never       what nobody approved (law 12): required, it could not run; else it is left alone
    decides     a condition that says no more than "the tests pass", when they do, on these files, nothing
                about the checks was changed, no run was flaky and no file moved meanwhile

docs/gates.md has the whole table with the test of each row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from sidecar.model.events import Surveyed
from sidecar.model.gate import REMOTE, Gate, GateRun, Kind, Origin, Outcome
from sidecar.model.goal import Goal, Known

SPEAKS_OF: dict[Kind, re.Pattern[str]] = {
    kind: re.compile(words, re.IGNORECASE)
    for kind, words in {
        Kind.TESTS: r"\b(tests?|test suite|pytest|specs?)\b",
        Kind.TYPES: r"\b(type[- ]?checks?|type[- ]?checking|types? (check|are)|typecheck|mypy|pyright|tsc)\b",
        Kind.LINT: r"\b(lint(s|er|ing)?|ruff|eslint|biome|clippy|flake8)\b",
        Kind.BUILD: r"\b(builds? (is|are|pass(es)?|succeeds?|works?|runs?)|(clean|green|passing) build"
        r"|it builds|compiles)\b",
        Kind.COVERAGE: r"\bcoverage\b",
        Kind.SECURITY: r"\b(vulnerabilit(y|ies)|security (scan|check|audit)|(pip|npm)[- ]audit|bandit)\b",
        Kind.PR: r"\b(pull requests?|merge requests?|PRs?)\b",
        Kind.CI: r"\b(CI|ci (is|passes)|github actions|gitlab ci)\b",
    }.items()
}
"""The words by which a goal names a kind of gate, wherever they stand."""
SUBJECTS: dict[Kind, re.Pattern[str]] = {
    Kind.TESTS: re.compile(r"\b(tests?|suite|specs?|pytest)\b", re.IGNORECASE),
    Kind.LINT: re.compile(r"\b(lint|linter|linting|ruff|eslint)\b", re.IGNORECASE),
    Kind.TYPES: re.compile(r"\b(types?|type[- ]?check\w*|mypy|pyright|tsc)\b", re.IGNORECASE),
    Kind.BUILD: re.compile(r"\bbuild\b", re.IGNORECASE),
}
"""The same in a condition that says no more than that such things pass."""

_FILLER = (
    r"please|make sure|ensure|see to it|that|get|make|until|all|every|each|the|our|my|this|project'?s?"
    r"|unit|whole|entire|of|a|both"
)
_SUBJECT = (
    r"(?:tests?|test suite|suite|specs?|checks?|pytest|lint(?:er|ing)?|ruff|eslint|mypy|pyright|tsc"
    r"|types?|type[- ]?checks?|type[- ]?checking|build)"
)
SAYS_NO_MORE = re.compile(
    rf"(?:(?:{_FILLER}) )*{_SUBJECT}(?:(?:,| and|, and| &) (?:(?:{_FILLER}) )*{_SUBJECT})*"
    r"(?: (?:is|are|really|now|must|should|will|all|do|does|can|to))*"
    r" (?:pass(?:es|ing)?|green|clean|succeeds?|check(?:s|ed)?)(?: again| now)?[.!]*",
    re.IGNORECASE,
)
NOT_APPROVED = "you have not approved this command; type in a shell: supervisor trust"


def required(goal: Goal | None, survey: Surveyed) -> tuple[Gate, ...]:
    """The gates that must pass whole: --check first, then those the goal names, then the configured ones."""
    if goal is None:
        return tuple(gate for gate in survey.catalog.gates if gate.required and _touched(gate, survey))
    checks = tuple(
        _checking(
            Gate(id=f"check:{number}", command=command, why="you named it with --check", required=True),
            survey,
        )
        for number, command in enumerate(goal.checks, start=1)
    )
    kinds, named, others = kinds_named(goal.condition), list[Gate](), list[Gate]()
    for gate in survey.catalog.gates:
        if _typed(gate, goal):
            continue  # it runs as that check
        if gate.kind in kinds:
            named.append(_by_the_goal(gate))
        elif gate.required and _touched(gate, survey):
            others.append(gate)
    return (*checks, *named, *others)


def advisory(goal: Goal | None, survey: Surveyed) -> tuple[Gate, ...]:
    """The approved gates that only advise, where something that they look at changed."""
    must = {gate.id for gate in required(goal, survey)}
    return tuple(
        gate
        for gate in survey.catalog.gates
        if gate.id not in must
        and not (goal and _typed(gate, goal))
        and not gate.required
        and gate.approved
        and _advises(gate, survey)
    )


def _typed(gate: Gate, goal: Goal) -> bool:
    """Whether a check that the user typed is this very gate of the project."""
    return gate.command in goal.checks and not gate.folder


def _checking(check: Gate, survey: Surveyed) -> Gate:
    """A typed check that is the very command of a gate of the project shows what that gate shows."""
    for gate in survey.catalog.gates:
        if gate.command == check.command and not gate.folder:
            return replace(check, kind=gate.kind, counts=gate.counts)
    return check


def runnable(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """Those that somebody approved: the user by typing or configuring, or by `supervisor trust`."""
    return tuple(gate for gate in gates if gate.approved or gate.origin in (Origin.TYPED, Origin.USER))


def unapproved(gates: Iterable[Gate], tree: str) -> tuple[GateRun, ...]:
    """What is to be said of required gates that may not run."""
    gates = tuple(gates)
    may = set(runnable(gates))
    return tuple(
        GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=tree, reason=NOT_APPROVED)
        for gate in gates
        if gate not in may
    )


def decided(goal: Goal, runs: Iterable[GateRun], survey: Surveyed) -> bool:
    """Whether gates that passed on this very tree show alone that the condition holds.

    "The checks pass" is decided by any gate, "the tests pass" only by a gate that counts tests, and each
    kind that the condition names by a gate of that kind.
    """
    if not SAYS_NO_MORE.fullmatch(goal.condition.strip()) or survey.findings or survey.unseen:
        return False
    musts = [run for run in runs if run.gate.required]
    if not musts or any(not _proves(run, survey.tree) for run in musts):
        return False
    return kinds_named(goal.condition) <= {kind for run in musts for kind in shows(run)}


def kinds_named(condition: str) -> frozenset[Kind]:
    """The kinds of gates that a condition speaks of."""
    named = {kind for kind, words in SPEAKS_OF.items() if words.search(condition)}
    if SAYS_NO_MORE.fullmatch(condition.strip()):
        named |= {kind for kind, words in SUBJECTS.items() if words.search(condition)}
    return frozenset(named)


def failed(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """The required gates that ran and did not pass."""
    return tuple(run for run in runs if run.gate.required and run.outcome is Outcome.FAILED)


def unrunnable(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """The required gates that could not run."""
    return tuple(run for run in runs if run.gate.required and run.outcome is Outcome.COULD_NOT_RUN)


def new_failures(run: GateRun, baseline: Iterable[Known]) -> tuple[str, ...] | None:
    """What fails now and did not when the goal was set; None where that is not known."""
    known = next(
        (one for one in baseline if (one.gate, one.command) == (run.gate.id, run.gate.command)), None
    )
    if run.outcome is not Outcome.FAILED:
        return ()
    if known is None or known.outcome is Outcome.COULD_NOT_RUN:
        return None
    if known.outcome is Outcome.PASSED:
        return run.failing or run.failures or (f"`{run.gate.command}` passed before",)
    if not run.failing or not known.failing:
        return None
    return tuple(line for line in run.failing if line not in known.failing)


def baseline(runs: Iterable[GateRun]) -> tuple[Known, ...]:
    """How these gates stand, to be compared with later."""
    return tuple(
        Known(gate=run.gate.id, command=run.gate.command, outcome=run.outcome, failing=run.failing)
        for run in runs
    )


def _by_the_goal(gate: Gate) -> Gate:
    """A gate that the user's own words name: that is approval enough (ADR 0004)."""
    approved = gate.approved or gate.origin is Origin.DETECTED
    return replace(gate, required=True, approved=approved, why=f"the goal speaks of {gate.kind}; {gate.why}")


def _advises(gate: Gate, survey: Surveyed) -> bool:
    """PR and CI advise nobody; a package in which nothing changed has nothing new to say."""
    return gate.kind not in REMOTE and _touched(gate, survey)


def _touched(gate: Gate, survey: Surveyed) -> bool:
    if not gate.folder or survey.changed is None:
        return True
    return any(path.startswith(f"{gate.folder}/") for path in survey.changed)


def _proves(run: GateRun, tree: str) -> bool:
    return run.outcome is Outcome.PASSED and run.tree == tree and not run.flaky and not run.moved


def shows(run: GateRun) -> tuple[Kind, ...]:
    """What a passed gate shows; one that counts tests shows that tests pass, whoever named it."""
    return (run.gate.kind, Kind.TESTS) if run.gate.counts else (run.gate.kind,)
