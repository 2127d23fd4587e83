"""The gate policy, the table "Gates" of the design: which gates apply at a stop, and what they decide.

    required    named by --check, by the goal's own words, or by a configuration; all must pass completely
    advisory    every other approved gate; it counts only for failures that are new since the goal was set
    never       a gate that was not approved (law 12): if required, it could not run; else it is skipped
    decides     a goal that says no more than that checks pass holds if they do pass on these files, the old
                checks show nothing else, no run was flaky, and no file changed meanwhile. What passes are
                worth for any other goal is in evidence/proof/worth.py

docs/gates.md has the whole table with the test of each row.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from msgspec.structs import replace

from sidecar.evidence.gates.goal_checks import NamedChecks, asks_only_for_tasks, named_checks
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import CheckChange
from sidecar.kernel.gate import (
    NOTHING_SHOWN,
    REMOTE_GATE_KINDS,
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
NAMED_COMMANDS = 3
"""Commands that a sentence names."""
NAME_CHECK = 'to name a check: /supervisor:goal CONDITION --check "command"'
APPROVE_HINT = "to approve it: /supervisor:trust"


def required_gates(goal: Goal | None, project_state: ProjectState) -> tuple[Gate, ...]:
    """Return the gates that must pass: --check first, then those the goal names, then configured ones."""
    if goal is None:
        return tuple(
            gate
            for gate in project_state.catalog.gates
            if gate.required and _gate_folder_changed(gate, project_state)
        )
    typed = (
        Gate(id=f"check:{number}", command=command, why="you named it with --check", required=True)
        for number, command in enumerate(goal.checks, start=1)
    )
    checks = tuple(_with_gate_kind(gate, project_state) for gate in typed)
    named = checks_of_goal(goal, project_state)
    checks += _gates_of_named_tests(named.tests, project_state)
    tasks, wanted, others = asks_only_for_tasks(goal), list[Gate](), list[Gate]()
    for gate in _gates_and_members(project_state):
        if _is_typed_check(gate, goal):
            continue  # it already runs as that --check
        if _is_named(gate, named, project_state):
            wanted.append(_required_by_goal(gate))
        elif gate.covered:
            continue
        elif tasks and gate.kind is Kind.TESTS and (gate.approved or gate.changed):
            wanted.append(replace(gate, required=True, why=f"tests decide beside the tasks; {gate.why}"))
        elif gate.required and _gate_folder_changed(gate, project_state):
            others.append(gate)
    return (*checks, *wanted, *others)


def checks_of_goal(goal: Goal, project_state: ProjectState) -> NamedChecks:
    """Return the checks that a goal names; where no code host can be asked, CI is what its files run."""
    named = named_checks(goal.condition, _gates_and_members(project_state), goal.checks)
    gates = project_state.catalog.gates
    changed = any(one.change is CheckChange.CI_CHANGED for one in project_state.findings)
    if Kind.CI not in named.kinds or changed or any(gate.kind is Kind.CI for gate in gates):
        return named
    kinds = frozenset(gate.kind for gate in gates if gate.ci)
    return replace(named, kinds=named.kinds - {Kind.CI} | kinds) if kinds else named


def _gates_and_members(project_state: ProjectState) -> tuple[Gate, ...]:
    return (*project_state.catalog.gates, *project_state.catalog.members)


def _is_named(gate: Gate, named: NamedChecks, project_state: ProjectState) -> bool:
    """Whether a goal names a gate; where it names folders of packages, those of others do not count."""
    if not gate.folder and gate.command in named.commands:
        return True
    listed = {one.folder for one in _gates_and_members(project_state) if one.kind in named.kinds}
    within = listed.intersection(named.folders)
    return gate.kind in named.kinds and (gate.folder in within if within else not gate.covered)


def _gates_of_named_tests(names: tuple[str, ...], project_state: ProjectState) -> tuple[Gate, ...]:
    """Return a gate that runs only the tests that a condition names, with the project's own pytest."""
    tests = (gate for gate in project_state.catalog.gates if gate.kind is Kind.TESTS and not gate.folder)
    runner = next((gate for gate in tests if PYTEST_LINE.fullmatch(gate.command)), None)
    if runner is None or not names:
        return ()
    placed = [shlex.quote(name) for name in names if "/" in name or "::" in name]
    others = " or ".join(name for name in names if shlex.quote(name) not in placed)
    lines = [" ".join(placed)] * bool(placed) + [f"-k {shlex.quote(others)}"] * bool(others)
    asked = replace(_required_by_goal(runner), why="the goal names them")
    return tuple(
        replace(asked, id=f"named-tests{number or ''}", command=f"{runner.command} {line}")
        for number, line in enumerate(lines)
    )


def advisory_gates(goal: Goal | None, project_state: ProjectState) -> tuple[Gate, ...]:
    """Return the approved gates that are advisory, where files that they cover changed.

    Where all that changed lies in packages, the tests of these packages stand for one that runs all.
    """
    required = required_gates(goal, project_state)
    must = {gate.id for gate in required}
    tested = any(gate.kind is Kind.TESTS for gate in required)
    members = () if tested else _changed_members(project_state)
    return tuple(
        gate
        for gate in (*project_state.catalog.gates, *members)
        if not (members and gate.kind is Kind.TESTS and not gate.folder and not gate.covered)
        and gate.id not in must
        and not (goal and _is_typed_check(gate, goal))
        and not gate.required
        and gate.approved
        and gate.kind not in REMOTE_GATE_KINDS
        and _gate_folder_changed(gate, project_state)
    )


def _changed_members(project_state: ProjectState) -> tuple[Gate, ...]:
    """Return the tests of the packages in which all that changed lies; empty where something does not."""
    changed, members = project_state.changed or (), project_state.catalog.members
    inside = {path: [gate for gate in members if path.startswith(f"{gate.folder}/")] for path in changed}
    if not all(inside.values()):
        return ()
    return tuple(gate for gate in members if any(gate in gates for gates in inside.values()))


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


def gates_prove_condition(goal: Goal, runs: Iterable[GateRun], project_state: ProjectState) -> bool:
    """Whether gates that passed on this very tree are all that a goal asks for.

    "The checks pass" is proven by any gate, "the tests pass" only by a gate that counts tests; each kind that
    the condition names needs a gate of that kind. Where the project has none, a --check stands for it: the
    user typed it for this condition.
    """
    named = checks_of_goal(goal, project_state)
    musts = [run for run in runs if run.gate.required]
    if not named.alone or named.tasks or not required_gates_are_green(musts, project_state):
        return False
    known = {
        kind for gate in project_state.catalog.gates for kind in (gate.kind, Kind.TESTS)[: 1 + gate.counts]
    }
    wanted = named.kinds & (known if goal.checks else frozenset(Kind))
    return wanted <= {kind for run in musts for kind in proven_gate_kinds(run)}


def required_gates_are_green(runs: Iterable[GateRun], project_state: ProjectState) -> bool:
    """Whether there are required gates, all passed on this very tree, and no check was changed."""
    changed = any(one.change is not CheckChange.CI_CHANGED for one in project_state.findings)
    musts = [run for run in runs if run.gate.required]
    return (
        bool(musts)
        and not changed
        and not project_state.unseen
        and all(is_proven_pass(run, project_state.tree) for run in musts)
    )


def is_proven_pass(run: GateRun, tree: str) -> bool:
    """Whether a gate passed on this very tree, and no doubt is left about that run."""
    return run.outcome is Outcome.PASSED and run.tree == tree and not run.flaky and not run.moved


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


def describe_checks(goal: Goal, project_state: ProjectState, judge: str | None = None) -> str:
    """Say in a line what decides a goal, what may not be run, and what to type.

    `judge`: who judges what checks do not show, "" for nobody, None where that is not known.
    """
    wanted = required_gates(goal, project_state)
    may = runnable_gates(wanted)
    tests = [gate for gate in project_state.catalog.gates if gate.kind is Kind.TESTS and gate not in wanted]
    others = [gate for gate in (wanted or tests) if gate not in may and not gate.approved]
    foreign = ", ".join(f"`{one}`" for one in checks_of_goal(goal, project_state).foreign)
    said = [_describe_decision(goal, project_state, may, judge, whole=not others)]
    if may and (joining := [gate for gate in tests if gate.approved]):
        said.append(f"New failures of {_name_commands(joining)} count, too.")
    if foreign:
        said.append(f"Not run, as only --check names commands: {foreign}.")
    if others:
        said.append(f"Not approved yet: {_name_commands(others)}; {APPROVE_HINT}.")
    return " ".join(said)


def _describe_decision(
    goal: Goal, project_state: ProjectState, may: tuple[Gate, ...], judge: str | None, *, whole: bool
) -> str:
    """Say what decides. `may` run and must pass; `whole`: none that must pass is missing."""
    rest = "is judged" if judge is None else f"is judged by {judge}"
    rest = rest if judge != "" else f"is judged by nobody ({NAME_CHECK})"
    tests = [gate for gate in project_state.catalog.gates if gate.kind is Kind.TESTS and gate.approved]
    if may and whole and checks_of_goal(goal, project_state).alone:
        return f"Decided by: {_name_commands(may)}."
    if may:
        return f"{_name_commands(may)} must pass; the rest {rest}."
    if tests:
        return (
            f"Decided by {_name_commands(tests)} where the work turns it from red to green; else it {rest}."
        )
    return f"No check decides this; it {rest}."


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
    known = _baseline_of(run, baseline)
    if run.outcome is not Outcome.FAILED:
        return ()
    if known is None or known.outcome in NOTHING_SHOWN:
        return None
    if known.outcome is Outcome.PASSED:
        return run.failing or run.failures or (f"`{run.gate.command}` passed before",)
    if set(known.failing).isdisjoint(run.failing):  # each may be what one package of several reports
        return None
    return tuple(line for line in run.failing if line not in known.failing)


def mended_gate_failures(run: GateRun, baseline: Iterable[GateBaseline]) -> tuple[str, ...]:
    """Return what failed when the goal was set and fails no more, where something still fails."""
    known = _baseline_of(run, baseline)
    if known is None or run.outcome is not Outcome.FAILED or not run.failing:
        return ()
    return tuple(name for name in known.failing if name not in run.failing)


def _baseline_of(run: GateRun, baseline: Iterable[GateBaseline]) -> GateBaseline | None:
    return next((one for one in baseline if (one.gate, one.command) == (run.gate.id, run.gate.command)), None)


def build_gate_baseline(runs: Iterable[GateRun]) -> tuple[GateBaseline, ...]:
    """Record the results of these gates for a later comparison."""
    return tuple(
        GateBaseline(gate=run.gate.id, command=run.gate.command, outcome=run.outcome, failing=run.failing)
        for run in runs
    )


def _required_by_goal(gate: Gate) -> Gate:
    """Make a gate required; for a detected gate, being named by the user is approval enough (ADR 0004)."""
    approved = gate.approved or gate.origin is GateOrigin.DETECTED
    why = f"the goal speaks of {gate.kind}; {gate.why}"
    return replace(gate, required=True, approved=approved, lent=False, why=why)


def _gate_folder_changed(gate: Gate, project_state: ProjectState) -> bool:
    if not gate.folder or gate.folder.startswith("..") or project_state.changed is None:
        return True
    return any(path.startswith(f"{gate.folder}/") for path in project_state.changed)


def proven_gate_kinds(run: GateRun) -> tuple[Kind, ...]:
    """Return the kinds that a passed gate proves; a gate that counts tests also proves that tests pass."""
    return (run.gate.kind, Kind.TESTS) if run.gate.counts else (run.gate.kind,)
