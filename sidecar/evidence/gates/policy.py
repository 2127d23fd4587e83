"""The gate policy, the table "Gates" of the design: which gates apply at a stop, and what they decide.

    required    named by --check, by the goal's own words, or by a configuration; all must pass completely
    advisory    every other approved gate; it counts only for failures that are new since the goal was set
    never       a gate that was not approved (law 12): if required, it could not run; else it is skipped
    decides     a condition that says no more than "the tests pass" holds if they do pass on these files, the
                old checks show nothing else, no run was flaky, and no file changed meanwhile; one that asks
                for a repair ("fix minus") holds if besides a check of it failed on the old code

docs/gates.md has the whole table with the test of each row.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from msgspec.structs import replace

from sidecar.evidence.gates.conditions import (
    RequestedProof,
    asks_only_for_tasks,
    gate_kinds_named,
    named_tests,
    parse_condition,
)
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import CheckChange
from sidecar.kernel.gate import (
    NOTHING_SHOWN,
    REMOTE_GATE_KINDS,
    CheckComparison,
    Gate,
    GateOrigin,
    GateRun,
    Kind,
    Outcome,
)
from sidecar.kernel.goal import GateBaseline, Goal
from sidecar.kernel.text import clean_line

PYTEST_LINE = re.compile(r"(?:python3? -m )?pytest(?: -\S+)*")
"""A command to which tests can be added."""
COMMAND_SIGNS = frozenset(" /")
"""What tells a command from a word."""
NAMED_COMMANDS = 3
"""Commands that a sentence names."""
APPROVE_HINT = "to approve it: /supervisor:trust, or in a shell: supervisor trust"


def required_gates(goal: Goal | None, project_state: ProjectState) -> tuple[Gate, ...]:
    """Return the gates that must pass: --check first, then those the goal names, then configured ones."""
    if goal is None:
        return tuple(
            gate
            for gate in project_state.catalog.gates
            if gate.required and _gate_folder_changed(gate, project_state)
        )
    checks = tuple(
        _with_gate_kind(
            Gate(id=f"check:{number}", command=command, why="you named it with --check", required=True),
            project_state,
        )
        for number, command in enumerate(goal.checks, start=1)
    )
    checks += _gates_of_named_tests(goal.condition, project_state)
    kinds, named, others = gate_kinds_named(goal.condition), list[Gate](), list[Gate]()
    asked = proof_asked_for(goal, project_state)
    shown_by_tests = (
        "a repair is shown by tests"
        if asked is not None and asked.repairs
        else "tests decide beside the tasks"
        if asks_only_for_tasks(goal.condition)
        else ""
    )
    for gate in project_state.catalog.gates:
        if _is_typed_check(gate, goal):
            continue  # it already runs as that --check
        if gate.kind in kinds or _names_command(goal.condition, gate):
            named.append(_required_by_goal(gate))
        elif shown_by_tests and gate.kind is Kind.TESTS and (gate.approved or gate.changed):
            named.append(replace(gate, required=True, why=f"{shown_by_tests}; {gate.why}"))
        elif gate.required and _gate_folder_changed(gate, project_state):
            others.append(gate)
    return (*checks, *named, *others)


def proof_asked_for(goal: Goal, project_state: ProjectState) -> RequestedProof | None:
    """Return what checks must show for the goal to hold; None where they cannot show all of it."""
    gates = (gate for gate in project_state.catalog.gates if _names_command(goal.condition, gate))
    return parse_condition(goal.condition, (*goal.checks, *(gate.command for gate in gates)))


def _names_command(condition: str, gate: Gate) -> bool:
    """Whether a condition names a gate by its command; one plain word may be a word of the sentence."""
    if gate.folder or not COMMAND_SIGNS.intersection(gate.command):
        return False
    return re.search(rf"(?<![\w./-]){re.escape(gate.command)}(?![\w-])", condition) is not None


def _gates_of_named_tests(condition: str, project_state: ProjectState) -> tuple[Gate, ...]:
    """Return a gate that runs only the tests that a condition names, with the project's own pytest."""
    runner = next(
        (
            gate
            for gate in project_state.catalog.gates
            if gate.kind is Kind.TESTS and PYTEST_LINE.fullmatch(gate.command) and not gate.folder
        ),
        None,
    )
    names = named_tests(condition)
    if runner is None or not names:
        return ()
    placed = [shlex.quote(name) for name in names if "/" in name or "::" in name]
    others = " or ".join(name for name in names if shlex.quote(name) not in placed)
    lines = [" ".join(placed)] * bool(placed) + [f"-k {shlex.quote(others)}"] * bool(others)
    return tuple(
        replace(
            _required_by_goal(runner),
            id=f"named-tests{number or ''}",
            command=f"{runner.command} {line}",
            why="the goal names them",
        )
        for number, line in enumerate(lines)
    )


def advisory_gates(goal: Goal | None, project_state: ProjectState) -> tuple[Gate, ...]:
    """Return the approved gates that are advisory, where files that they cover changed."""
    must = {gate.id for gate in required_gates(goal, project_state)}
    return tuple(
        gate
        for gate in project_state.catalog.gates
        if gate.id not in must
        and not (goal and _is_typed_check(gate, goal))
        and not gate.required
        and gate.approved
        and _can_advise(gate, project_state)
    )


def changed_test_gates(project_state: ProjectState, runs: Iterable[GateRun]) -> tuple[Gate, ...]:
    """Return the tests that were approved as they were, and that nothing runs as they are now.

    Where the user typed the same command as a check, it ran.
    """
    ran = {(run.gate.command, run.gate.folder) for run in runs}
    return tuple(
        gate
        for gate in project_state.catalog.gates
        if gate.kind is Kind.TESTS and gate.changed and (gate.command, gate.folder) not in ran
    )


def _is_typed_check(gate: Gate, goal: Goal) -> bool:
    """Whether the user gave the command of this gate as --check."""
    return gate.command in goal.checks and not gate.folder


def _with_gate_kind(check: Gate, project_state: ProjectState) -> Gate:
    """Give a --check whose command is that of a project gate the kind of that gate."""
    for gate in project_state.catalog.gates:
        if gate.command == check.command and not gate.folder:
            return replace(check, kind=gate.kind, counts=gate.counts)
    return check


def runnable_gates(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """Return the approved gates: typed or configured by the user, or approved with `supervisor trust`."""
    return tuple(
        gate for gate in gates if gate.approved or gate.origin in (GateOrigin.TYPED, GateOrigin.USER)
    )


def approved_gates(kinds: frozenset[Kind], project_state: ProjectState) -> tuple[Gate, ...]:
    """Return the gates of these kinds whose files changed and which can simply be run."""
    listed = (gate for gate in project_state.catalog.gates if gate.kind in kinds)
    return runnable_gates(gate for gate in listed if _gate_folder_changed(gate, project_state))


def not_approved_run(gate: Gate, tree: str) -> GateRun:
    """Return the result of a gate that was not started, for the user has not approved it."""
    changed = "it was changed since you approved it; " if gate.changed else ""
    return GateRun(gate=gate, outcome=Outcome.NOT_APPROVED, tree=tree, reason=f"{changed}{APPROVE_HINT}")


def unapproved_gate_runs(gates: Iterable[Gate], tree: str) -> tuple[GateRun, ...]:
    """Return results for the gates that are not approved, which are not run."""
    gates = tuple(gates)
    may = set(runnable_gates(gates))
    return tuple(not_approved_run(gate, tree) for gate in gates if gate not in may)


def gates_prove_condition(
    goal: Goal,
    runs: Iterable[GateRun],
    project_state: ProjectState,
    comparisons: Iterable[CheckComparison] = (),
) -> bool:
    """Whether gates that passed on this very tree are sufficient proof that the condition holds.

    "The checks pass" is proven by any gate, "the tests pass" only by a gate that counts tests; each kind that
    the condition names needs a gate of that kind. Where the project has none, a --check stands for it: the
    user typed it for this condition.
    """
    asked = proof_asked_for(goal, project_state)
    musts = [run for run in runs if run.gate.required]
    if asked is None or not required_gates_are_green(musts, project_state):
        return False
    known = {
        kind for gate in project_state.catalog.gates for kind in (gate.kind, Kind.TESTS)[: 1 + gate.counts]
    }
    wanted = gate_kinds_named(goal.condition) & (known if goal.checks else frozenset(Kind))
    named = wanted <= {kind for run in musts for kind in proven_gate_kinds(run)}
    return named and (not asked.repairs or _repair_is_shown(asked, comparisons))


def required_gates_are_green(runs: Iterable[GateRun], project_state: ProjectState) -> bool:
    """Whether there are required gates, all passed on this very tree, and no check was changed."""
    changed = any(one.change is not CheckChange.CI_CHANGED for one in project_state.findings)
    musts = [run for run in runs if run.gate.required]
    return (
        bool(musts)
        and not changed
        and not project_state.unseen
        and all(_proves_pass(run, project_state.tree) for run in musts)
    )


def _repair_is_shown(asked: RequestedProof, comparisons: Iterable[CheckComparison]) -> bool:
    """Whether a check of each thing to repair failed on the old code; it passes now, whoever ran it."""
    failed = [
        line.lower()
        for seen in comparisons
        for run in (seen.base, seen.fresh)
        if run is not None and run.outcome is Outcome.FAILED
        for line in (*run.failing, *run.failures)
    ]
    return bool(failed) and all(any(name.lower() in line for line in failed) for name in asked.names)


def bears_on_goal(run: GateRun) -> bool:
    """Whether this gate counts for the goal: it is required, or a test gate, which joins every goal."""
    return run.gate.required or run.gate.kind is Kind.TESTS


def failed_required_runs(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """Return the runs of required gates that failed."""
    return tuple(run for run in runs if run.gate.required and run.outcome is Outcome.FAILED)


def unrunnable_required_runs(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """Return the runs of required gates that could not run, or were not allowed to."""
    return tuple(run for run in runs if run.gate.required and run.outcome in NOTHING_SHOWN)


def without_outvoted(runs: Iterable[GateRun]) -> tuple[GateRun, ...]:
    """Let a detected gate that could not run only advise where every command of the user's passed."""
    runs = tuple(runs)
    typed = [run for run in runs if run.gate.required and run.gate.origin is GateOrigin.TYPED]
    if not typed or any(run.outcome is not Outcome.PASSED for run in typed):
        return runs
    return tuple(
        replace(run, gate=replace(run.gate, required=False))
        if run.gate.origin is GateOrigin.DETECTED and run.outcome in NOTHING_SHOWN
        else run
        for run in runs
    )


def describe_checks(goal: Goal, project_state: ProjectState) -> str:
    """Say in a line what will be run for a goal, what may not be run, or that no check decides it."""
    wanted = required_gates(goal, project_state)
    may = runnable_gates(wanted)
    tests = [gate for gate in project_state.catalog.gates if gate.kind is Kind.TESTS and gate not in wanted]
    others = [gate for gate in (wanted or tests) if gate not in may and not gate.approved]
    said = []
    if may:
        said.append(f"Will be run at each stop: {_name_commands(may)}.")
    if not wanted:
        said.append('No check decides this. To name one: /supervisor:goal CONDITION --check "command".')
    if joining := [gate for gate in tests if gate.approved]:
        said.append(f"New failures of {_name_commands(joining)} count, too.")
    if others:
        said.append(f"Not approved, so not run: {_name_commands(others)}; {APPROVE_HINT}.")
    return " ".join(said)


COMMAND_SHOWN = 80
"""Characters of a command in a line that names several."""


def _name_commands(gates: Iterable[Gate]) -> str:
    """Name the first commands, and how many there are besides."""
    names = [
        f"`{clean_line(gate.command, COMMAND_SHOWN)}`" + (f" in {gate.folder}" if gate.folder else "")
        for gate in gates
    ]
    rest = [f"and {len(names) - NAMED_COMMANDS} more"] if len(names) > NAMED_COMMANDS else []
    return ", ".join((*names[:NAMED_COMMANDS], *rest))


def new_gate_failures(run: GateRun, baseline: Iterable[GateBaseline]) -> tuple[str, ...] | None:
    """Return what fails now and did not fail when the goal was set; None where that is not known."""
    known = next(
        (one for one in baseline if (one.gate, one.command) == (run.gate.id, run.gate.command)), None
    )
    if run.outcome is not Outcome.FAILED:
        return ()
    if known is None or known.outcome in NOTHING_SHOWN:
        return None
    if known.outcome is Outcome.PASSED:
        return run.failing or run.failures or (f"`{run.gate.command}` passed before",)
    if not run.failing or not known.failing:
        return None
    return tuple(line for line in run.failing if line not in known.failing)


def build_gate_baseline(runs: Iterable[GateRun]) -> tuple[GateBaseline, ...]:
    """Record the results of these gates for a later comparison."""
    return tuple(
        GateBaseline(gate=run.gate.id, command=run.gate.command, outcome=run.outcome, failing=run.failing)
        for run in runs
    )


def _required_by_goal(gate: Gate) -> Gate:
    """Make a gate required; for a detected gate, being named by the user is approval enough (ADR 0004)."""
    approved = gate.approved or gate.origin is GateOrigin.DETECTED
    return replace(gate, required=True, approved=approved, why=f"the goal speaks of {gate.kind}; {gate.why}")


def _can_advise(gate: Gate, project_state: ProjectState) -> bool:
    """Whether a gate may run as advisory: no PR or CI gate, and something changed in its folder."""
    return gate.kind not in REMOTE_GATE_KINDS and _gate_folder_changed(gate, project_state)


def _gate_folder_changed(gate: Gate, project_state: ProjectState) -> bool:
    if not gate.folder or project_state.changed is None:
        return True
    return any(path.startswith(f"{gate.folder}/") for path in project_state.changed)


def _proves_pass(run: GateRun, tree: str) -> bool:
    return run.outcome is Outcome.PASSED and run.tree == tree and not run.flaky and not run.moved


def proven_gate_kinds(run: GateRun) -> tuple[Kind, ...]:
    """Return the kinds that a passed gate proves; a gate that counts tests also proves that tests pass."""
    return (run.gate.kind, Kind.TESTS) if run.gate.counts else (run.gate.kind,)
