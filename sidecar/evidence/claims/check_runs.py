"""Assesses the runs of a check among the turn's own commands, singly and together.

A passed run is proof only if the line's exit code shows how the check ended, the check could have failed, it
ran something, and nothing was edited afterwards. A failed run is proof if the line's exit code can have no
other cause, or if the check's own summary reports the failure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.turn_effects import CallPlace, edit_places
from sidecar.evidence.commands.kinds import command, kinds_of
from sidecar.evidence.reports.text import read_test_summary
from sidecar.kernel.evidence import ClaimStatus
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.tools import Tool, find_tool, known_tools

# --- What the output of a check shows where its exit code does not ------------------------------------------
# Only summaries are read, in the format in which runners print them; a log line that mentions failures is no
# summary.


KINDS_WITH_SUMMARIES: Final = (Kind.TESTS, Kind.TYPES, Kind.LINT, Kind.BUILD)
GO_PASSED: Final = re.compile(r"^ok\s+\S+(?!.*\[no tests to run\])", re.MULTILINE)
"""A package whose tests passed, of which Go tells no number."""
NOTHING_TO_TEST: Final = re.compile(r"Nothing to be done for|no test specified")
"""What make and npm say where they start no runner."""


def summary_says_failed(kind: Kind, output: str) -> bool:
    """Whether the summary of such a check reports a failure."""
    if kind is Kind.TESTS and read_test_summary(output)[1]:
        return True
    return kind in KINDS_WITH_SUMMARIES and re.search(_failed_summary(kind), output, re.MULTILINE) is not None


@cache
def _failed_summary(kind: Kind) -> str:
    return "|".join(pattern for tool in known_tools().tools for pattern in tool.output.failed.get(kind, ()))


def summary_says_tests_passed(output: str) -> bool:
    """Whether a summary reports that tests ran and passed, and none reports a failure."""
    ran, _ = read_test_summary(output)
    passed = ran or GO_PASSED.search(output) is not None
    return bool(passed) and not summary_says_failed(Kind.TESTS, output)


def summary_says_no_tests_ran(output: str) -> bool:
    """Whether the output reports that no tests ran, in any package."""
    ran, _ = read_test_summary(output)
    return ran == 0 or (ran is None and NOTHING_TO_TEST.search(output) is not None)


# --- Assessing each run, and all runs together --------------------------------------------------------------


NOT_STARTED_CODES: Final = frozenset({126, 127})
CUT_OFF_CODES: Final = frozenset({124, 137, 143})
"""`NOT_STARTED_CODES`: command not found or not executable. These: stopped (timeout(1), or 128 + signal)."""
NO_TESTS_CODE: Final = 5
"""pytest's exit code when no test was collected."""
CHECK_RUN_NAMES: Final = {
    Kind.TESTS: "test run",
    Kind.BUILD: "build",
    Kind.TYPES: "type check",
    Kind.LINT: "lint run",
}


class CheckRunOutcome(StrEnum):
    """What one run of a check shows."""

    PASSED = "passed"
    FAILED = "failed"
    PART = "part"
    """Passed, but ran only a part."""
    HIDDEN = "hidden"
    """How it ended is not seen."""
    EMPTY = "empty"
    """It checked nothing."""
    UNSTARTED = "unstarted"
    RUNNING = "running"
    STOPPED = "stopped"


class ObservedCheckRun(Struct, frozen=True, kw_only=True):
    """One run of a check in the turn.

    `why` says what keeps it from being proof. `certain`: the exit code shows the failure. `looks_good`: its
    output says that tests passed, which shows nothing where its end is hidden.
    """

    call: ToolCall
    run: CommandRun
    at: CallPlace
    shown: CheckRunOutcome
    why: str = ""
    certain: bool = False
    looks_good: bool = False


class CheckProof(Struct, frozen=True):
    """The result of the turn's own runs of a check. `showing` is the run that decides, or the one lacking."""

    status: ClaimStatus
    because: str
    showing: ObservedCheckRun | None = None
    stale: bool = False


def find_check_runs(turn: Turn, kind: Kind) -> tuple[ObservedCheckRun, ...]:
    """Return every run of a check in the turn, in order."""
    return tuple(
        _observe_check_run(call, run, (number, at), kind)
        for number, call in enumerate(turn.calls)
        if call.doing is ToolAction.RUN
        for at, run in enumerate(call.runs)
        if kind in kinds_of(run)
    )


def find_check_proof(turn: Turn, kind: Kind, claim: str = "") -> CheckProof:
    """Assess the turn's own runs, newest first, for `claim`, the sentence that asserts the check's result."""
    if not turn.current:
        return CheckProof(ClaimStatus.UNKNOWN, "the host has not recorded the end of this turn")
    changed = edit_places(turn)
    word = CHECK_RUN_NAMES.get(kind, "check")
    lacking: CheckProof | None = None
    looked_good = False
    for each in reversed(find_check_runs(turn, kind)):
        old = any(place > each.at for place in changed)
        if each.shown is CheckRunOutcome.PASSED or (
            each.shown is CheckRunOutcome.PART and names_checked_part(each.run, claim)
        ):
            if old:
                because = f"files were edited after the last {word}"
                return lacking or CheckProof(ClaimStatus.UNKNOWN, because, each, stale=True)
            return CheckProof(ClaimStatus.CONFIRMED, f"`{_one_line_command(each)}` passed", each)
        if each.shown is CheckRunOutcome.FAILED and not (looked_good and old):
            return CheckProof(ClaimStatus.CONTRADICTED, _failure_text(each, word), each)
        looked_good = looked_good or each.shown is CheckRunOutcome.PART or each.looks_good
        if lacking is None and each.shown is not CheckRunOutcome.FAILED:
            because = f"the {word} `{_one_line_command(each)}` {each.why}"
            lacking = CheckProof(ClaimStatus.UNKNOWN, because, each)
    return lacking or CheckProof(ClaimStatus.UNKNOWN, f"this turn ran no {word}")


def _observe_check_run(call: ToolCall, run: CommandRun, at: CallPlace, kind: Kind) -> ObservedCheckRun:
    shown, why = _check_run_outcome(call, run, kind)
    certain = (
        shown is CheckRunOutcome.FAILED
        and call.outcome is CallOutcome.FAILED
        and run.fate is FailureHandling.DECIDES
    )
    good = kind is Kind.TESTS and summary_says_tests_passed(call.output)
    return ObservedCheckRun(call=call, run=run, at=at, shown=shown, why=why, certain=certain, looks_good=good)


def _check_run_outcome(  # noqa: PLR0911 - a list of cases
    call: ToolCall, run: CommandRun, kind: Kind
) -> tuple[CheckRunOutcome, str]:
    if call.outcome is CallOutcome.PENDING:
        return CheckRunOutcome.RUNNING, "has not ended"
    if call.outcome is CallOutcome.INTERRUPTED:
        return CheckRunOutcome.STOPPED, "was interrupted"
    if call.output.startswith("<tool_use_error>") or call.exit_code in NOT_STARTED_CODES:
        return CheckRunOutcome.UNSTARTED, "could not start"
    if call.exit_code in CUT_OFF_CODES:
        return CheckRunOutcome.UNSTARTED, "was cut off before its end"
    far = find_check_scope(run, kind)
    if far is CheckScope.NOTHING:
        return CheckRunOutcome.EMPTY, "checks nothing"
    if call.outcome is CallOutcome.FAILED:
        return _failed_line_outcome(call, run, kind)
    return _passed_line_outcome(call, run, kind, far)


def _failed_line_outcome(call: ToolCall, run: CommandRun, kind: Kind) -> tuple[CheckRunOutcome, str]:
    """Assess a run in a line that failed."""
    if call.exit_code == NO_TESTS_CODE and run.blamed and summary_says_no_tests_ran(call.output):
        return CheckRunOutcome.EMPTY, "ran no test"
    if (run.fate is FailureHandling.DECIDES and run.blamed) or summary_says_failed(kind, call.output):
        return CheckRunOutcome.FAILED, ""
    return CheckRunOutcome.HIDDEN, "is in a line that failed, perhaps elsewhere"


def _passed_line_outcome(
    call: ToolCall, run: CommandRun, kind: Kind, far: CheckScope
) -> tuple[CheckRunOutcome, str]:
    """Assess a run in a line that did not fail."""
    if run.fate is not FailureHandling.DECIDES and summary_says_failed(kind, call.output):
        return CheckRunOutcome.FAILED, ""
    none = kind is Kind.TESTS and summary_says_no_tests_ran(call.output)
    uncounted = far is CheckScope.COUNTED and not summary_says_tests_passed(call.output)
    unseen = run.background or call.exit_code is None
    swallowed = far is CheckScope.TOOTHLESS or run.fate is FailureHandling.SWALLOWED
    lacks = (
        (unseen, CheckRunOutcome.HIDDEN, "went on in the background, and its end is not known"),
        (swallowed, CheckRunOutcome.HIDDEN, "cannot show a failure"),
        (
            run.fate is FailureHandling.UNKNOWN,
            CheckRunOutcome.HIDDEN,
            "is in a line whose exit code may not show a failure",
        ),
        (not run.implied, CheckRunOutcome.HIDDEN, "may not have run at all"),
        (none, CheckRunOutcome.EMPTY, "ran no test"),
        (uncounted, CheckRunOutcome.EMPTY, "passes where there is nothing to run"),
        (run.silenced, CheckRunOutcome.HIDDEN, "hides what it says"),
        (far is CheckScope.PART, CheckRunOutcome.PART, "took only a part"),
    )
    return next(((shown, why) for lacking, shown, why in lacks if lacking), (CheckRunOutcome.PASSED, ""))


def _failure_text(showing: ObservedCheckRun, word: str) -> str:
    call = showing.call
    if not showing.certain:
        return f"the output of the last {word} says that it failed: {call.command[:200]}"
    code = "" if call.exit_code is None else f" with exit code {call.exit_code}"
    return f"the last {word} of this turn failed{code}: {call.command[:200]}"


def _one_line_command(showing: ObservedCheckRun) -> str:
    """Return the command as one line of at most 200 characters."""
    return re.sub(r"\s+", " ", showing.call.command)[:200]


# --- How much a run covers, and whether it can fail ---------------------------------------------------------


class CheckScope(StrEnum):
    """What a passed run of a command shows. COUNTED: everything, if the output says that something ran."""

    WHOLE = "whole"
    COUNTED = "counted"
    PART = "part"
    NOTHING = "nothing"
    TOOTHLESS = "toothless"


TEST_FILE_ARGUMENT: Final = re.compile(
    r"[^=]*(?:::|\.(?:py|pyi|jsx?|tsx?|mjs|cjs|rb|php|go|rs|java|kt|exs?|cs|vue|svelte)(?::\d+)?$)"
)


def find_check_scope(run: CommandRun, kind: Kind) -> CheckScope:
    """Determine what a passed run of this command shows for this kind of check."""
    argv = command(run)
    name, words = argv[0], (*argv[1:], *_options_from_variables(run))
    tool, common = find_tool(name) or Tool(), known_tools().common
    said = {*words, *map("=".join, pairwise(words))}
    flags = said | {word.partition("=")[0] for word in words}
    if flags & (common.runs_nothing | tool.runs_nothing):
        return CheckScope.NOTHING
    if name == "go" and "-c" in flags and "test" in words:
        return CheckScope.NOTHING
    if said & (common.never_fails | tool.never_fails):
        return CheckScope.TOOTHLESS
    if _is_partial_run(tool, words, kind):
        return CheckScope.PART
    return CheckScope.COUNTED if flags & (common.passes_empty | tool.passes_empty) else CheckScope.WHOLE


def names_checked_part(run: CommandRun, text: str) -> bool:
    """Whether a sentence names the part that a run covers."""
    parts = (
        word.partition("::")[0].rpartition("/")[2] for word in run.argv[1:] if TEST_FILE_ARGUMENT.match(word)
    )
    return any(part and part in text for part in parts)


def _options_from_variables(run: CommandRun) -> tuple[str, ...]:
    """Return options that a variable before the command adds."""
    pairs = (each.partition("=") for each in (*run.assignments, *run.argv))
    return tuple(
        word for name, _, value in pairs if name in known_tools().common.variables for word in value.split()
    )


def _is_partial_run(tool: Tool, words: tuple[str, ...], kind: Kind) -> bool:
    if any(TEST_FILE_ARGUMENT.match(word) for word in words if not word.startswith("--") or "::" in word):
        return True
    if kind is not Kind.TESTS:
        return False
    narrowing = tool.narrows | known_tools().common.narrows
    if any(word.partition("=")[0] in narrowing for word in words):
        return True
    return any(_narrows_tests(tool, word) for word in _part_candidates(words))


def _part_candidates(words: tuple[str, ...]) -> list[str]:
    """Return the words that may name a part: neither options nor the values that follow them."""
    found: list[str] = []
    before = ""
    for word in words:
        if not word.startswith("-") and "=" not in word and not _may_take_value(before):
            found.append(word)
        before = word
    return found


def _may_take_value(option: str) -> bool:
    """Whether an option may take the next word as its value."""
    alone = option in known_tools().common.alone
    return option.startswith("-") and "=" not in option and not alone and option != "--"


def _narrows_tests(tool: Tool, word: str) -> bool:
    """Whether a word among a test runner's arguments selects a part of the tests."""
    common = known_tools().common
    folder = word.removeprefix("./").rstrip("/") or "."
    if word in common.subcommands or folder in common.folders or word in common.folders:
        return False
    if tool.arguments == "targets":
        return bool(re.search(r"[:_-](?!ci$|all$|run$|cov$|coverage$|once$|full$)", word)) or "/" in word
    return tool.arguments == "files" or bool(re.match(r":?[\w-]+:", word))
