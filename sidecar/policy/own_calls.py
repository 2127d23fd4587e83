"""What the agent's own calls come to: what each shows, whether it is out of date, whether it speaks against.

stale    a run, where files of the project moved after it; what was written stays written
bad      it did not end well, or its summary says so, and nothing made good for it since: not the same
         command, not a whole run of the same check, not a gate of that kind, not an edit of the same file
neither  a failure of what only prints, reads or lists
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.model.events import Surveyed
from sidecar.model.evidence import Worth
from sidecar.model.gate import GateRun, Kind, Outcome
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.claims.edits import Place, edits
from sidecar.policy.claims.proof import Showing, Shown, showings
from sidecar.policy.gates import shows
from sidecar.policy.worth import names, only_looks, worth_of

GREAT: Final = frozenset({Kind.TESTS, Kind.BUILD, Kind.TYPES})
"""Checks whose failure on these very files contradicts that the work is done, as a failed gate does."""
KINDS: Final = (*sorted(GREAT), Kind.LINT, Kind.SECURITY)
RANK: Final = {worth: rank for rank, worth in enumerate(Worth)}


class Weighed(Struct, frozen=True):
    """One call that ran or edited something; `at` is its number. `repaired`: it failed, and passed since."""

    at: int
    call: ToolCall
    worth: Worth = Worth.NOTHING
    stale: bool = False
    bad: bool = False
    repaired: bool = False


class _Seen(Struct, frozen=True):
    """All that the calls of one turn are held against. `passed`: kinds of gates that passed on this tree."""

    turn: Turn
    edits: tuple[Place, ...]
    checks: dict[int, list[tuple[Kind, Showing]]]
    whole: dict[Kind, Place]
    commands: dict[str, int]
    written: dict[str, int]
    passed: frozenset[Kind]
    known: frozenset[str]


def weigh(turn: Turn, gates: Iterable[GateRun], survey: Surveyed) -> tuple[Weighed, ...]:
    """Every call of the turn that ran or edited something, in order."""
    seen = _look(turn, gates, survey)
    return tuple(
        _run(at, call, seen) if call.doing is Doing.RUN else _edit(at, call, seen)
        for at, call in enumerate(turn.calls)
        if call.doing in (Doing.RUN, Doing.EDIT)
    )


def _look(turn: Turn, gates: Iterable[GateRun], survey: Surveyed) -> _Seen:
    checks: dict[int, list[tuple[Kind, Showing]]] = {}
    whole: dict[Kind, Place] = {}
    for kind in KINDS:
        for each in showings(turn, kind):
            checks.setdefault(each.at[0], []).append((kind, each))
            if each.shown is Shown.PASSED:
                whole[kind] = each.at
    calls = tuple(enumerate(turn.calls))
    passed = (run for run in gates if run.outcome is Outcome.PASSED and run.tree == survey.tree)
    paths = (*(survey.changed or ()), *(path for _, call in calls for path in call.paths))
    return _Seen(
        turn=turn,
        edits=edits(turn),
        checks=checks,
        whole=whole,
        commands={_key(call): at for at, call in calls if _passed(call) and not _failed(checks.get(at, []))},
        written={path: at for at, call in calls if call.outcome is CallOutcome.OK for path in call.paths},
        passed=frozenset(kind for run in passed if not (run.moved or run.flaky) for kind in shows(run)),
        known=names(turn.prompts, paths),
    )


def _passed(call: ToolCall) -> bool:
    return call.doing is Doing.RUN and call.outcome is CallOutcome.OK and call.exit_code == 0


def _key(call: ToolCall) -> str:
    return " ".join(call.command.split())


def _failed(checks: list[tuple[Kind, Showing]]) -> list[tuple[Kind, Showing]]:
    return [(kind, each) for kind, each in checks if each.shown is Shown.FAILED]


def _run(at: int, call: ToolCall, seen: _Seen) -> Weighed:
    failed = _failed(seen.checks.get(at, []))
    if call.outcome is CallOutcome.OK and not failed:
        worth, place = _shown(at, call, seen)
        stale = worth is not Worth.FILES and any(edit > place for edit in seen.edits)
        return Weighed(at, call, worth, stale=stale)
    stale = any(edit[0] > at for edit in seen.edits)
    repaired = _is_repaired(at, call, seen)
    worth = Worth.CHECK if GREAT.intersection(kind for kind, _ in failed) else Worth.WORK
    if repaired or only_looks(call):
        return Weighed(at, call, stale=stale, repaired=repaired)
    return Weighed(at, call, worth, stale=stale, bad=True)


def _shown(at: int, call: ToolCall, seen: _Seen) -> tuple[Worth, Place]:
    """The most that a green line shows, and the place of the command that does."""
    last = (at, len(call.runs))
    found = [(Worth.NOTHING, last)]
    for number, run in enumerate(call.runs):
        found.append((worth_of(run, call, seen.known), (at, number)))
    for kind, each in seen.checks.get(at, ()):
        if each.shown in (Shown.PASSED, Shown.PART):
            found.append((Worth.CHECK if kind in GREAT else Worth.WORK, each.at))
    return max(found, key=lambda one: (RANK[one[0]], one[1]))


def _is_repaired(at: int, call: ToolCall, seen: _Seen) -> bool:
    """Whether what failed passed later: the command itself, or the checks that failed in it."""
    if seen.commands.get(_key(call), -1) > at:
        return True
    failed = _failed(seen.checks.get(at, []))
    return bool(failed) and all(
        kind in seen.passed or seen.whole.get(kind, (-1, 0)) > each.at for kind, each in failed
    )


def _edit(at: int, call: ToolCall, seen: _Seen) -> Weighed:
    if call.outcome is CallOutcome.OK:
        return Weighed(at, call, Worth.FILES)
    repaired = bool(call.paths) and all(seen.written.get(path, -1) > at for path in call.paths)
    return Weighed(at, call, repaired=repaired, bad=not repaired)


def telling(weighed: tuple[Weighed, ...], newest: int, failures: int) -> Iterator[Weighed]:
    """The newest, and before them those failures that still hold: later calls hide none."""
    split = max(0, len(weighed) - newest)
    held = [one for one in weighed[:split] if one.bad and not one.stale]
    yield from held[-failures:]
    yield from weighed[split:]
