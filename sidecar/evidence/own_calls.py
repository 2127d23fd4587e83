"""Rates the agent's own tool calls: evidence strength, whether stale, whether it counts against the agent.

stale    A run is stale if project files were edited after it. An edit is never stale.
bad      The call did not end well, or its summary reports a failure, and nothing later repaired that: the
         same command, a complete run of the same check, a gate of that kind, or an edit of the same file.
neither  A failed command that only prints, reads or lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.edits import CallPlace, edit_places
from sidecar.evidence.claims.proof import CheckRunOutcome, ObservedCheckRun, find_check_runs
from sidecar.evidence.gates.policy import proven_gate_kinds
from sidecar.evidence.strength import collect_program_names, command_evidence_strength, is_read_only_call
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import EvidenceStrength
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn

DECISIVE_KINDS: Final = frozenset({Kind.TESTS, Kind.BUILD, Kind.TYPES})
"""Checks whose failure on the current files contradicts that the work is done, as a failed gate does."""
CHECK_KINDS: Final = (*sorted(DECISIVE_KINDS), Kind.LINT, Kind.SECURITY)
STRENGTH_RANK: Final = {worth: rank for rank, worth in enumerate(EvidenceStrength)}


class WeighedCall(Struct, frozen=True):
    """A call that ran or edited something; `at` is its number. `repaired`: it failed, and passed later."""

    at: int
    call: ToolCall
    worth: EvidenceStrength = EvidenceStrength.NOTHING
    stale: bool = False
    bad: bool = False
    repaired: bool = False


class _TurnContext(Struct, frozen=True):
    """What the calls of one turn are compared with. `passed`: kinds of gates that passed on this tree."""

    turn: Turn
    edits: tuple[CallPlace, ...]
    checks: dict[int, list[tuple[Kind, ObservedCheckRun]]]
    whole: dict[Kind, CallPlace]
    commands: dict[str, int]
    written: dict[str, int]
    passed: frozenset[Kind]
    known: frozenset[str]


def weigh_calls(turn: Turn, gates: Iterable[GateRun], project_state: ProjectState) -> tuple[WeighedCall, ...]:
    """Rate every call of the turn that ran or edited something, in order."""
    seen = _turn_context(turn, gates, project_state)
    return tuple(
        _weigh_run(at, call, seen) if call.doing is ToolAction.RUN else _weigh_edit(at, call, seen)
        for at, call in enumerate(turn.calls)
        if call.doing in (ToolAction.RUN, ToolAction.EDIT)
    )


def _turn_context(turn: Turn, gates: Iterable[GateRun], project_state: ProjectState) -> _TurnContext:
    checks: dict[int, list[tuple[Kind, ObservedCheckRun]]] = {}
    whole: dict[Kind, CallPlace] = {}
    for kind in CHECK_KINDS:
        for each in find_check_runs(turn, kind):
            checks.setdefault(each.at[0], []).append((kind, each))
            if each.shown is CheckRunOutcome.PASSED:
                whole[kind] = each.at
    calls = tuple(enumerate(turn.calls))
    passed = (run for run in gates if run.outcome is Outcome.PASSED and run.tree == project_state.tree)
    paths = (*(project_state.changed or ()), *(path for _, call in calls for path in call.paths))
    return _TurnContext(
        turn=turn,
        edits=edit_places(turn),
        checks=checks,
        whole=whole,
        commands={
            _command_key(call): at
            for at, call in calls
            if _call_passed(call) and not _failed_checks(checks.get(at, []))
        },
        written={path: at for at, call in calls if call.outcome is CallOutcome.OK for path in call.paths},
        passed=frozenset(
            kind for run in passed if not (run.moved or run.flaky) for kind in proven_gate_kinds(run)
        ),
        known=collect_program_names(turn.prompts, paths),
    )


def _call_passed(call: ToolCall) -> bool:
    return call.doing is ToolAction.RUN and call.outcome is CallOutcome.OK and call.exit_code == 0


def _command_key(call: ToolCall) -> str:
    return " ".join(call.command.split())


def _failed_checks(checks: list[tuple[Kind, ObservedCheckRun]]) -> list[tuple[Kind, ObservedCheckRun]]:
    return [(kind, each) for kind, each in checks if each.shown is CheckRunOutcome.FAILED]


def _weigh_run(at: int, call: ToolCall, seen: _TurnContext) -> WeighedCall:
    failed = _failed_checks(seen.checks.get(at, []))
    if call.outcome is CallOutcome.OK and not failed:
        worth, place = _strongest_evidence(at, call, seen)
        stale = worth is not EvidenceStrength.FILES and any(edit > place for edit in seen.edits)
        return WeighedCall(at, call, worth, stale=stale)
    stale = any(edit[0] > at for edit in seen.edits)
    repaired = _is_repaired(at, call, seen)
    worth = (
        EvidenceStrength.CHECK
        if DECISIVE_KINDS.intersection(kind for kind, _ in failed)
        else EvidenceStrength.WORK
    )
    if repaired or is_read_only_call(call):
        return WeighedCall(at, call, stale=stale, repaired=repaired)
    return WeighedCall(at, call, worth, stale=stale, bad=True)


def _strongest_evidence(at: int, call: ToolCall, seen: _TurnContext) -> tuple[EvidenceStrength, CallPlace]:
    """Return the greatest strength that a passed line shows, and the place of the command that shows it."""
    last = (at, len(call.runs))
    found = [(EvidenceStrength.NOTHING, last)]
    for number, run in enumerate(call.runs):
        found.append((command_evidence_strength(run, call, seen.known), (at, number)))
    for kind, each in seen.checks.get(at, ()):
        if each.shown in (CheckRunOutcome.PASSED, CheckRunOutcome.PART):
            found.append(
                (EvidenceStrength.CHECK if kind in DECISIVE_KINDS else EvidenceStrength.WORK, each.at)
            )
    return max(found, key=lambda one: (STRENGTH_RANK[one[0]], one[1]))


def _is_repaired(at: int, call: ToolCall, seen: _TurnContext) -> bool:
    """Whether the same command passed later, or each check that failed in it did."""
    if seen.commands.get(_command_key(call), -1) > at:
        return True
    failed = _failed_checks(seen.checks.get(at, []))
    return bool(failed) and all(
        kind in seen.passed or seen.whole.get(kind, (-1, 0)) > each.at for kind, each in failed
    )


def _weigh_edit(at: int, call: ToolCall, seen: _TurnContext) -> WeighedCall:
    if call.outcome is CallOutcome.OK:
        return WeighedCall(at, call, EvidenceStrength.FILES)
    repaired = bool(call.paths) and all(seen.written.get(path, -1) > at for path in call.paths)
    return WeighedCall(at, call, repaired=repaired, bad=not repaired)


def select_calls_to_show(
    weighed: tuple[WeighedCall, ...], newest: int, failures: int
) -> Iterator[WeighedCall]:
    """Yield the newest calls, and before them earlier failures that still hold, so that they stay visible."""
    split = max(0, len(weighed) - newest)
    held = [one for one in weighed[:split] if one.bad and not one.stale]
    yield from held[-failures:]
    yield from weighed[split:]
