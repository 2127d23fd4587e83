"""What the turn's own commands show of a check: each run of it, and what they come to together.

A green run shows something only where the line's exit code tells its end, it could have failed, it ran
something, and nothing was edited afterwards. A red run shows a failure where the line's exit code can have
come from nothing else, or where its own summary says so.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from sidecar.model.claim import Standing
from sidecar.model.command import Fate, Run
from sidecar.model.gate import Kind
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.claims.edits import Place, edits
from sidecar.policy.claims.output import prints_failure, says_failed, says_none_ran, says_passed
from sidecar.policy.claims.reach import Reach, kind_runs, names_part, reach

COULD_NOT_START: Final = frozenset({126, 127})
CUT_OFF: Final = frozenset({124, 137, 143})
"""Exit codes of a command that was not found, and of one that was stopped (timeout(1), 128 + signal)."""
NO_TESTS: Final = 5
"""pytest's exit code when no test was collected."""
WORD: Final = {Kind.TESTS: "test run", Kind.BUILD: "build", Kind.TYPES: "type check", Kind.LINT: "lint run"}


class Shown(StrEnum):
    """What one run of a check shows."""

    PASSED = "passed"
    FAILED = "failed"
    PART = "part"
    """A part passed."""
    HIDDEN = "hidden"
    """Its end is not seen."""
    EMPTY = "empty"
    """It checked nothing."""
    UNSTARTED = "unstarted"
    RUNNING = "running"
    STOPPED = "stopped"


class Showing(Struct, frozen=True, kw_only=True):
    """One run of a check in the turn.

    `why` says in words what it lacks. `certain`: a failure that the exit code shows. `looks_good`: its
    output says that it passed, which shows nothing where its end is hidden.
    """

    call: ToolCall
    run: Run
    at: Place
    shown: Shown
    why: str = ""
    certain: bool = False
    looks_good: bool = False


class Proof(Struct, frozen=True, kw_only=True):
    """What the turn's own runs of a check come to. `showing` is the one that decides, or that is lacking."""

    standing: Standing
    because: str
    showing: Showing | None = None
    stale: bool = False


def showings(turn: Turn, kind: Kind) -> tuple[Showing, ...]:
    """Every run of a check in the turn, in order."""
    found: list[Showing] = []
    for number, call in enumerate(turn.calls):
        if call.doing is Doing.RUN:
            runs = kind_runs(call.runs, kind)
            found.extend(_shown(call, run, (number, at), kind, only=len(runs) == 1) for at, run in runs)
    return tuple(found)


def proof(turn: Turn, kind: Kind, claim: str = "") -> Proof:
    """What the turn's own runs show, the newest first; `claim` is the sentence that they are held against."""
    changed = edits(turn)
    word = WORD.get(kind, "check")
    lacking: Proof | None = None
    looked_good = False
    for each in reversed(showings(turn, kind)):
        old = any(place > each.at for place in changed)
        if each.shown is Shown.PASSED or (each.shown is Shown.PART and names_part(each.run, claim)):
            if old:
                because = f"files were edited after the last {word}"
                return lacking or Proof(standing=Standing.UNKNOWN, because=because, showing=each, stale=True)
            return Proof(standing=Standing.CONFIRMED, because=f"`{_text(each)}` passed", showing=each)
        if each.shown is Shown.FAILED and not (looked_good and old):
            return Proof(standing=Standing.CONTRADICTED, because=_failure(each, word), showing=each)
        looked_good = looked_good or each.shown is Shown.PART or each.looks_good
        if lacking is None and each.shown is not Shown.FAILED:
            because = f"the {word} `{_text(each)}` {each.why}"
            lacking = Proof(standing=Standing.UNKNOWN, because=because, showing=each)
    return lacking or Proof(standing=Standing.UNKNOWN, because=f"this turn ran no {word}")


def _shown(call: ToolCall, run: Run, at: Place, kind: Kind, *, only: bool) -> Showing:
    shown, why = _end(call, run, kind, only=only)
    certain = shown is Shown.FAILED and call.outcome is CallOutcome.FAILED and run.fate is Fate.DECIDES
    good = kind is Kind.TESTS and says_passed(call.output) and not _echoes(call)
    return Showing(call=call, run=run, at=at, shown=shown, why=why, certain=certain, looks_good=good)


def _end(call: ToolCall, run: Run, kind: Kind, *, only: bool) -> tuple[Shown, str]:  # noqa: PLR0911 - a list of cases
    if call.outcome is CallOutcome.PENDING:
        return Shown.RUNNING, "has not ended"
    if call.outcome is CallOutcome.INTERRUPTED:
        return Shown.STOPPED, "was interrupted"
    if call.output.startswith("<tool_use_error>") or call.exit_code in COULD_NOT_START:
        return Shown.UNSTARTED, "could not start"
    if call.exit_code in CUT_OFF:
        return Shown.UNSTARTED, "was cut off before its end"
    far = reach(run, kind)
    if far is Reach.NOTHING:
        return Shown.EMPTY, "checks nothing"
    if call.outcome is CallOutcome.FAILED:
        return _red(call, run, kind)
    return _green(call, run, kind, far, only=only)


def _red(call: ToolCall, run: Run, kind: Kind) -> tuple[Shown, str]:
    """The line failed."""
    if call.exit_code == NO_TESTS and run.blamed and says_none_ran(call.output):
        return Shown.EMPTY, "ran no test"
    if run.shadowed:
        return Shown.HIDDEN, "runs something that the line itself puts in its place"
    if run.fate is Fate.DECIDES and (run.blamed or says_failed(kind, call.output)):
        return Shown.FAILED, ""
    if says_failed(kind, call.output):
        return Shown.FAILED, ""
    return Shown.HIDDEN, "is in a line that failed, perhaps elsewhere"


def _green(call: ToolCall, run: Run, kind: Kind, far: Reach, *, only: bool) -> tuple[Shown, str]:
    """The line did not fail."""
    printed = only and not run.background and prints_failure(call.output)
    if run.fate is not Fate.DECIDES and (printed or says_failed(kind, call.output)):
        return Shown.FAILED, ""
    none = kind is Kind.TESTS and says_none_ran(call.output)
    uncounted = far is Reach.COUNTED and not says_passed(call.output)
    unseen = run.background or call.exit_code is None
    swallowed = far is Reach.TOOTHLESS or run.fate is Fate.SWALLOWED
    lacks = (
        (run.shadowed, Shown.HIDDEN, "runs something that the line itself puts in its place"),
        (unseen, Shown.HIDDEN, "went on in the background, and its end is not known"),
        (swallowed, Shown.HIDDEN, "cannot show a failure"),
        (run.fate is Fate.UNKNOWN, Shown.HIDDEN, "is in a line whose exit code may not show a failure"),
        (not run.implied, Shown.HIDDEN, "may not have run at all"),
        (none, Shown.EMPTY, "ran no test"),
        (uncounted, Shown.EMPTY, "passes where there is nothing to run"),
        (run.silenced, Shown.HIDDEN, "hides what it says"),
        (far is Reach.PART, Shown.PART, "took only a part"),
    )
    return next(((shown, why) for lacking, shown, why in lacks if lacking), (Shown.PASSED, ""))


def _failure(showing: Showing, word: str) -> str:
    call = showing.call
    if not showing.certain:
        return f"the output of the last {word} says that it failed: {call.command[:200]}"
    code = "" if call.exit_code is None else f" with exit code {call.exit_code}"
    return f"the last {word} of this turn failed{code}: {call.command[:200]}"


def _text(showing: Showing) -> str:
    """The line as far as it bears on the run."""
    return re.sub(r"\s+", " ", showing.call.command)[:200]


def _echoes(call: ToolCall) -> bool:
    """Whether the line itself prints what looks like a summary."""
    speaks = (run for run in call.runs if run.argv[:1] in {("echo",), ("printf",), ("cat",)})
    return any(re.search(r"pass|ok|green|success|<<", run.text, re.IGNORECASE) for run in speaks)
