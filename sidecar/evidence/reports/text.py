"""Reads the plain output of a run that has no report: how many tests ran, and what failed.

Summaries are read line by line with patterns for each runner; what no pattern matches stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from sidecar.evidence.reports.report import (
    ReportedFailure,
    RunReport,
    build_report,
    number_equal_failures,
)
from sidecar.kernel.text import without_line_numbers
from sidecar.platform.tools import known_tools

OUTPUT_TAIL: Final = 4_000
"""Characters of output that are stored."""
HEAD_LINES: Final = 4_000
TAIL_LINES: Final = 16_000
"""Number of lines of a long output that are examined, from its start and from its end."""
NESTED_LINES: Final = 8
"""Maximum number of lines that one test name may span."""
DEEP_INDENT: Final = " " * 7
LINE_LENGTH: Final = 2_000
"""Characters of a line that are examined."""

TERMINAL_CODES: Final = re.compile(
    r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Terminal colours, cursor movements and titles, and other characters that cannot be shown."""

# --- counts -------------------------------------------------------------------------------------------------

COUNT_PAIR: Final = re.compile(r"(?<!\d)(\d{1,9}) (?:passed|failed|passing|failing|xfailed|xpassed)\b")
PAIR_SUMMARIES: Final = tuple(
    re.compile(pattern) for tool in known_tools().tools for pattern in tool.output.counts
)
"""Summary lines with pairs like "3 passed, 1 failed", which are added up."""
FAILED_COUNT: Final = re.compile(
    r"(?<![\d,.])[1-9]\d{0,8} (?:tests? )?(?:failed|failing|failures?|errors?|fails?)\b"
    r"|(?:Failures|Errors|Failed): *[1-9]|\bfail +[1-9]"
)
"""Failed tests, in any summary line."""
SKIPPED_COUNT: Final = re.compile(
    r"(?<!\d)(\d{1,9}) (?:skipped|ignored|pending|todo|excluded|invalid|skips|omissions|pendings)\b"
    r"|(?:Skipped: *|Incomplete: |skipped=)(\d{1,9})"
)
"""Skipped tests, in any summary line."""
TOTAL_SUMMARIES: Final = (
    *(re.compile(pattern) for tool in known_tools().tools for pattern in tool.output.total),
    re.compile(r"^(?:=* ?no tests ran in|No tests? (?:files? )?found\b|No tests executed!)(?P<ran>)"),
)
"""Summary lines with a total. It includes the skipped tests in `less`, but not those in `beside`."""
SKIPPED_ONLY: Final = re.compile(
    r"^\s*(?:(?:#|\u2139) (?:skipped|todo) (?P<skip>\d{1,9})|(?P<more>\d{1,9}) (?:pending|skip|todo))$"
)
"""Lines of node, mocha and bun that only count skipped tests."""
TAP_LINE: Final = re.compile(r"^(?:not )?ok \d{1,9}\b(?P<left>.*# (?:skip|todo)\b)?", re.IGNORECASE)
"""One test in the Test Anything Protocol, counted where no summary is."""
GO_PACKAGE: Final = re.compile(r"^(?:ok|FAIL|---) ?\s")
GO_EMPTY: Final = re.compile(r"\[no test files\]|\[no tests to run\]")

EXPLANATION: Final = re.compile(
    r"^\s*(?P<why>[\w.$]*(?:Error|Exception|Failure)\b(?: \[\w+\])?: \S.*|assertion .*failed.*"
    r"|expect\(.+|Failed asserting .+|Expected: .+|Assertion with .+)$"
    r"|^\s+error: (?:\|-|'(?P<tap>.+)')$"
)
"""The line below a failed test's name that says what was compared, or what was raised."""
TAP_LOCATION: Final = re.compile(r"^\s+location: '(?P<file>.+?)(?::\d+)*'$")
WORKSPACE: Final = re.compile(r"^> (?P<package>\S+)@\S+ \S+")
"""What npm prints before it runs a script of a package."""
COMPARED_VALUE: Final = re.compile(r"^(?:left|right|Expected|Received|Actual):")
"""A line below an assertion that shows a value."""
VALUE_LINES: Final = 6
EXPLANATION_LINES: Final = 30

# --- names --------------------------------------------------------------------------------------------------

FAILED_TEST: Final = tuple(
    re.compile(pattern) for tool in known_tools().tools for pattern in tool.output.failing
)
"""Lines that name a failing test, by runner."""
ERROR_LINE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?P<what>\[ERROR\] \S+\.\w+:\[\d+,\d+\] .+)$",  # javac below maven
        r"^(?P<what>\S*\.\w+:\d+(?::\d+)?:? .+)$",  # most compilers and linters
        r"^(?P<what>\S+\(\d+,\d+\): error .+)$",  # tsc, MSBuild
        r"^(?P<what>error(?:\[\w+\])?: (?!aborting|could not compile).+)$",  # rustc, git
        r"^(?:E {3})?(?P<what>\w*(?:Error|Exception): .+)$",  # the last line of a Python traceback
        r"^(?P<what>[Ww]ould reformat:? \S.*)$",  # ruff, black
        r"^\[(?:warn|error)\] (?P<what>\S+\.\w+)$",  # prettier
        r"^(?:FAIL )?(?P<what>Required test coverage .*|Coverage failure: .*)$",
        r"^(?P<what>g?make(?:\[\d+\])?: \*\*\* .+)$",
    )
)
"""Lines that name another fault (not a warning); used only if no failing test is named."""
ARROW_PLACE: Final = re.compile(r"^ *--> (?P<file>\S+?):(?P<line>\d+)(?::\d+)?$")
"""The location, on the line below the message: rustc, ruff."""
ARROW_MESSAGE: Final = re.compile(r"^(?:error|unformatted|invalid-syntax|[A-Z]{1,10}\d+)\b")
STYLISH_ERROR: Final = re.compile(r"^ +(?P<line>\d{1,9}):\d{1,9} +error +(?P<what>\S.*)$")
"""An error listed below the name of its file: eslint."""
FILE_LINE: Final = re.compile(r"^\S+\.\w{1,10}$")


def strip_terminal_codes(output: bytes) -> str:
    """Decode output, and remove terminal codes and overwritten progress."""
    text = TERMINAL_CODES.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")
    # A regular expression would take minutes for a line of 256 KiB.
    return "\n".join(line[line.rfind("\r", 0, -1) + 1 :] for line in text.split("\n"))


def read_text_report(text: str, folder: Path) -> RunReport:
    """Read counts and failures from the output."""
    lines = _bounded_lines(text.split("\n"))
    executed, skipped = _count_tests(lines)
    tests = _explained_once(_failed_tests(lines))
    tests = [test for test in tests if test.name.startswith("rspec ")] or tests  # others may be pending
    faults = tests or number_equal_failures(_other_failures(lines))
    return build_report(faults, folder, executed=executed, skipped=skipped)


@lru_cache(maxsize=64)  # the rules ask again and again about the calls of one turn
def read_test_summary(output: str) -> tuple[int | None, bool]:
    """Return how many tests ran, None where it is not told, and whether a failed one is counted."""
    lines = _bounded_lines(output.split("\n"))
    summaries = (line for line in filter(_may_be_summary, lines) if _pair_counts(line) or _total_counts(line))
    return _count_tests(lines)[0], any(map(FAILED_COUNT.search, summaries))


def _bounded_lines(lines: list[str]) -> list[str]:
    if len(lines) > HEAD_LINES + TAIL_LINES:
        lines = [*lines[:HEAD_LINES], *lines[-TAIL_LINES:]]
    return [line[:LINE_LENGTH] for line in lines]


# --- counting -----------------------------------------------------------------------------------------------


def _count_tests(lines: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the numbers of tests that ran and that were skipped, None if unknown."""
    ran, left, known = 0, 0, False
    for line in filter(_may_be_summary, lines):
        summary = _pair_counts(line) or _total_counts(line)
        if summary:
            known = known or summary[2]
            ran, left = ran + summary[0], left + summary[1]
        elif alone := SKIPPED_ONLY.match(line):
            left += int(alone["skip"] or alone["more"])
    if known:
        return max(ran, 0), left
    if cases := list(filter(None, map(TAP_LINE.match, lines))):
        left = sum(bool(case["left"]) for case in cases)
        return len(cases) - left, left
    go = [line for line in lines if GO_PACKAGE.match(line) and not GO_EMPTY.search(line)]
    return (0 if not go and any(GO_EMPTY.search(line) for line in lines) else None), None


def _may_be_summary(line: str) -> bool:
    """Return whether the line can be a summary: a cheap filter before the expensive patterns."""
    return "o tests" in line or "o test " in line or any(character.isdecimal() for character in line[:80])


def _pair_counts(line: str) -> tuple[int, int, bool] | None:
    """Return the counts of run and skipped tests, and True since that is a count; None for other lines."""
    if any(pattern.match(line) for pattern in PAIR_SUMMARIES):
        return sum(int(number) for number in COUNT_PAIR.findall(line)), _skipped_count(line), True
    return None


def _total_counts(line: str) -> tuple[int, int, bool] | None:
    for found in filter(None, (pattern.match(line) for pattern in TOTAL_SUMMARIES)):
        said = found.groupdict()
        ran = int(said.get("ran") or 0) + int(said.get("more") or 0)
        left = _skipped_count(said.get("less") or "")
        return ran - left, left + _skipped_count(said.get("beside") or ""), "ran" in said
    return None


def _skipped_count(text: str) -> int:
    return sum(int(one or other) for one, other in SKIPPED_COUNT.findall(text))


# --- naming -------------------------------------------------------------------------------------------------


def _failed_tests(lines: Sequence[str]) -> Iterator[ReportedFailure]:
    """Yield what failed, with its file where the report has it, else its package where several ran."""
    several = len({found["package"] for found in map(WORKSPACE.match, lines) if found}) > 1
    package = ""
    for number, line in enumerate(lines):
        if several and (banner := WORKSPACE.match(line)):
            package = banner["package"]
        for found in filter(None, (pattern.match(line) for pattern in FAILED_TEST)):
            why = found.groupdict().get("why")
            name = " > ".join((found["what"], *_nested_names(lines[number + 1 : number + 1 + NESTED_LINES])))
            below = lines[number + 1 : number + 1 + EXPLANATION_LINES]
            place = next((at["file"] for at in map(TAP_LOCATION.match, below[:5]) if at), package)
            said = ": ".join(filter(None, (place, name, why or _explanation(below))))
            yield ReportedFailure(without_line_numbers(name), said)
            break


def _explained_once(tests: Iterable[ReportedFailure]) -> list[ReportedFailure]:
    """Keep one of several lines about the same test, the first that says why it failed."""
    found: dict[str, ReportedFailure] = {}
    for test in tests:
        known = found.setdefault(test.name, test)
        if len(test.said) > len(known.said):
            found[test.name] = test
    return list(found.values())


def _explanation(lines: Sequence[str]) -> str:
    """Return the assertion or error below the name of a failed test; "" if another test comes first."""
    for number, line in enumerate(lines):
        if line == "failures:" or any(pattern.match(line) for pattern in FAILED_TEST):
            return ""
        if found := EXPLANATION.match(line):
            below = [more.strip() for more in lines[number + 1 : number + 1 + VALUE_LINES] if more.strip()]
            why = found["why"] or found["tap"] or next(iter(below), "")
            below = below[not (found["why"] or found["tap"]) :]
            values = [more for more in below if COMPARED_VALUE.match(more)][:2]
            if not values and why.endswith(":"):
                values = below[:1]
            return " ".join((why, *values))
    return ""


def _nested_names(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the rest of a name that mocha splits over deeply indented lines, the last ending in a colon."""
    names: list[str] = []
    for line in lines:
        if not line.startswith(DEEP_INDENT):
            break
        names.append(line.strip().removesuffix(":"))
        if line.endswith(":"):
            return tuple(names)
    return ()


def _other_failures(lines: Sequence[str]) -> Iterator[ReportedFailure]:
    file = ""
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        if FILE_LINE.match(line):
            file = line
        if "warning" in line.lower():
            continue
        arrow = ARROW_PLACE.match(following) if ARROW_MESSAGE.match(line) else None
        if arrow:
            place, what = arrow["file"], line.strip()
            yield ReportedFailure(
                f"{place}: {without_line_numbers(what)}", f"{place}:{arrow['line']}: {what}"
            )
        elif file and (row := STYLISH_ERROR.match(line)):
            yield ReportedFailure(f"{file}: {row['what']}", f"{file}:{row['line']}: {row['what']}")
        else:
            yield from _error_line_failures(line)


def _error_line_failures(line: str) -> Iterator[ReportedFailure]:
    for found in filter(None, (pattern.match(line) for pattern in ERROR_LINE)):
        yield ReportedFailure(without_line_numbers(found["what"]), found["what"])
        return
