"""What a run's words say where no report does: how many tests ran, and what failed.

Summaries are read line by line, each runner by its own words; what no pattern knows stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.adapters.reports.report import Fault, Report, numbered, of, placeless

TAIL: Final = 4_000
"""Characters of output that are kept."""
HEAD_LINES: Final = 4_000
TAIL_LINES: Final = 16_000
"""Lines of a long output that are looked at, from its begin and from its end."""
NESTED: Final = 8
"""Lines over which one name may go."""
DEEP: Final = " " * 7
LINE: Final = 2_000
"""Characters of a line that are looked at."""

ANSI: Final = re.compile(
    r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Colours, cursor moves and titles of terminals, and what else cannot be shown."""

# --- counts -------------------------------------------------------------------------------------------------

PAIR: Final = re.compile(r"(?<!\d)(\d{1,9}) (?:passed|failed|passing|failing|xfailed|xpassed)\b")
PAIRED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # pytest
        r"^=* ?\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b.* in [\d.]+s",
        r"^Tests:\s+(?!\d+, Assertions)",  # jest
        r"^\s*Tests  ",  # vitest
        r"^\s*\d+ (?:passing|failing)\b",  # mocha
        r"^test result: ",  # cargo
        r"^\s*Summary \[ *[\d.]+s\] ",  # nextest
        r"^(?:ok|FAILED) \| \d+ passed",  # deno
        r"^ {2}\d+ (?:passed|failed)(?: \([\d.]+m?s\))?$",  # playwright
    )
)
"""Summary lines in which "3 passed, 1 failed" is to be added up."""
LEFT: Final = re.compile(
    r"(?<!\d)(\d{1,9}) (?:skipped|ignored|pending|todo|excluded|invalid|skips|omissions|pendings)\b"
    r"|(?:Skipped: *|Incomplete: |skipped=)(\d{1,9})"
)
"""Tests that were left out, in any summary line."""
TOTAL: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?P<ran>\d{1,9}) examples?, \d+ failures?(?P<less>.*)$",  # rspec
        # mix
        r"^(?:\d+ doctests?, )?(?:\d+ propert\w+, )?(?P<ran>\d{1,9}) tests?, \d+ failures?(?P<less>.*)$",
        r"^Ran (?P<ran>\d{1,9}) tests? in ",  # unittest, whose number has those that it skipped
        r"^(?:OK|FAILED) \((?P<less>.*skipped=.*)\)$",
        r"^(?:#|\u2139) (?:pass|fail) (?P<ran>\d{1,9})$",  # node --test
        r"^OK \((?P<ran>\d{1,9}) tests?, \d+ assertions?\)",  # phpunit
        r"^Tests: (?P<ran>\d{1,9}), Assertions: \d+(?P<less>.*)$",
        # maven
        r"^(?:\[\w+\] )?Tests run: (?P<ran>\d{1,9}), Failures: \d+, Errors: \d+, (?P<less>Skipped: \d+)\s*$",
        # dotnet
        r"^\w+!\s+- Failed: +(?P<more>\d{1,9}), Passed: +(?P<ran>\d{1,9}),(?P<beside>.*)",
        r"^(?P<ran>\d{1,9}) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?P<less>.*)$",  # Ruby
        r"^(?P<ran>\d{1,9}) tests? completed(?P<less>.*)$",  # gradle
        r"^ (?P<ran>\d{1,9}) (?:pass|fail)$",  # bun
        r"^ {2}(?P<ran>\d{1,9}) tests? (?:passed|failed)$",  # ava
        r"^(?:=* ?no tests ran in|No tests? (?:files? )?found\b|No tests executed!)(?P<ran>)",
    )
)
"""Summary lines with a total. What `less` says was left out is in it, what `beside` says is not."""
LEFT_ALONE: Final = re.compile(
    r"^\s*(?:(?:#|\u2139) (?:skipped|todo) (?P<skip>\d{1,9})|(?P<more>\d{1,9}) (?:pending|skip|todo))$"
)
"""Lines of node, mocha and bun that tell nothing but what was left out."""
GO_PACKAGE: Final = re.compile(r"^(?:ok|FAIL|---) ?\s")
GO_EMPTY: Final = re.compile(r"\[no test files\]|\[no tests to run\]")

# --- names --------------------------------------------------------------------------------------------------

FAILED_TEST: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:FAILED|ERROR) (?P<what>\S+)(?: - (?P<why>.*))?$",  # pytest
        r"^\s*--- FAIL: (?P<what>\S+)",  # go
        r"^test (?P<what>\S.*) \.\.\. FAILED$",  # cargo
        r"^ {2}\u25cf (?P<what>(?!Console\b|Test suite\b).+)$",  # jest
        r"^ FAIL {2}(?P<what>\S.*)$",  # vitest
        r"^ {2}\d+\) (?P<what>(?!Failure:|Error:|Skipped:)\S.*)$",  # mocha, mix
        # node --test
        r"^\s*(?:not ok \d+ - |\u2716 (?!failing tests|\d+ problems?))(?P<what>.+?)(?: \([\d.]+ms\))?$",
        r"^(?P<what>rspec \S+:\d+.*)$",
        r"^(?:FAIL|ERROR): (?P<what>\S.*)$",  # unittest
        r"^\d+\) (?P<what>\w[\w\\]*::\S.*)$",  # phpunit
        r"^\[ERROR\] {2,}(?P<what>\w[\w$]*\.\w+)(?::\d+)? (?P<why>.*)$",  # maven
        r"^(?P<what>\w[\w.$]* > \S.*) FAILED$",  # gradle
        r"^ +Failed (?P<what>\S.*) \[[^\]]+\]$",  # dotnet
        r"^(?P<what>[A-Z]\w*(?:::\w+)*#test_\w+) \[",  # minitest
        r"^\s+FAIL \[ *[\d.]+s\] (?P<what>\S.*)$",  # nextest
        r"^\(fail\) (?P<what>.+?)(?: \[[\d.]+ms\])?$",  # bun
        r"^(?P<what>\S.*) \.\.\. FAILED \(",  # deno
    )
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
"""Lines that name another fault; looked for where no test is named. A warning is none."""
ARROW: Final = re.compile(r"^ *--> (?P<file>\S+?):(?P<line>\d+)(?::\d+)?$")
"""Where it is, on the line below what it is: rustc, ruff."""
ARROWED: Final = re.compile(r"^(?:error|unformatted|invalid-syntax|[A-Z]{1,10}\d+)\b")
STYLISH: Final = re.compile(r"^ +(?P<line>\d{1,9}):\d{1,9} +error +(?P<what>\S.*)$")
"""An error below its file's name: eslint."""
FILE: Final = re.compile(r"^\S+\.\w{1,10}$")


class Counts(Struct, frozen=True):
    """Tests that ran and that were left out, None where unknown."""

    executed: int | None = None
    skipped: int | None = None


def plain(output: bytes) -> str:
    """Output as text without terminal codes and overwritten progress."""
    text = ANSI.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")
    return "\n".join(map(_last_written, text.split("\n"))) if "\r" in text else text


def _last_written(line: str) -> str:
    """What a line shows in the end: a carriage return lets be written over, as progress bars do.

    Without a pattern, as one would take minutes for a line of 256 KiB.
    """
    return line[line.rfind("\r", 0, -1) + 1 :]


def read(text: str, folder: Path) -> Report:
    """What the lines say."""
    lines = _bounded(text.split("\n"))
    counts = _counts(lines)
    tests = list(_tests(lines))
    tests = [test for test in tests if test.name.startswith("rspec ")] or tests  # others may be pending
    return of(tests or numbered(_others(lines)), folder, executed=counts.executed, skipped=counts.skipped)


def _bounded(lines: list[str]) -> list[str]:
    if len(lines) > HEAD_LINES + TAIL_LINES:
        lines = [*lines[:HEAD_LINES], *lines[-TAIL_LINES:]]
    return [line[:LINE] for line in lines]


# --- counting -----------------------------------------------------------------------------------------------


def _counts(lines: Sequence[str]) -> Counts:
    ran, left, known = 0, 0, False
    for line in filter(_has_digit_or_no, lines):
        summary = _paired(line) or _total(line)
        if summary:
            known = known or summary[2]
            ran, left = ran + summary[0], left + summary[1]
        elif alone := LEFT_ALONE.match(line):
            left += int(alone["skip"] or alone["more"])
    if known:
        return Counts(max(ran, 0), left)
    go = [line for line in lines if GO_PACKAGE.match(line) and not GO_EMPTY.search(line)]
    return Counts(0 if not go and any(GO_EMPTY.search(line) for line in lines) else None)


def _has_digit_or_no(line: str) -> bool:
    """Whether it can be a summary: most lines are none, and looking is dear."""
    return "o tests" in line or "o test " in line or any(character.isdecimal() for character in line[:80])


def _paired(line: str) -> tuple[int, int, bool] | None:
    """Ran, left out, and whether that is a count."""
    if any(pattern.match(line) for pattern in PAIRED):
        return sum(int(number) for number in PAIR.findall(line)), _left(line), True
    return None


def _total(line: str) -> tuple[int, int, bool] | None:
    for found in filter(None, (pattern.match(line) for pattern in TOTAL)):
        said = found.groupdict()
        ran, left = int(said.get("ran") or 0) + int(said.get("more") or 0), _left(said.get("less") or "")
        return ran - left, left + _left(said.get("beside") or ""), "ran" in said
    return None


def _left(text: str) -> int:
    return sum(int(one or other) for one, other in LEFT.findall(text))


# --- naming -------------------------------------------------------------------------------------------------


def _tests(lines: Sequence[str]) -> Iterator[Fault]:
    for number, line in enumerate(lines):
        for found in filter(None, (pattern.match(line) for pattern in FAILED_TEST)):
            why = found.groupdict().get("why")
            name = " > ".join((found["what"], *_below(lines[number + 1 : number + 1 + NESTED])))
            yield Fault(placeless(name), f"{name}: {why}" if why else name)
            break


def _below(lines: Sequence[str]) -> tuple[str, ...]:
    """The rest of a name that mocha spreads over lines: deep, and with a colon at the end of the last one."""
    names: list[str] = []
    for line in lines:
        if not line.startswith(DEEP):
            break
        names.append(line.strip().removesuffix(":"))
        if line.endswith(":"):
            return tuple(names)
    return ()


def _others(lines: Sequence[str]) -> Iterator[Fault]:
    file = ""
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        if FILE.match(line):
            file = line
        if "warning" in line.lower():
            continue
        arrow = ARROW.match(following) if ARROWED.match(line) else None
        if arrow:
            yield Fault(
                f"{arrow['file']}: {placeless(line.strip())}",
                f"{arrow['file']}:{arrow['line']}: {line.strip()}",
            )
        elif file and (row := STYLISH.match(line)):
            yield Fault(f"{file}: {row['what']}", f"{file}:{row['line']}: {row['what']}")
        else:
            yield from _error(line)


def _error(line: str) -> Iterator[Fault]:
    for found in filter(None, (pattern.match(line) for pattern in ERROR_LINE)):
        yield Fault(placeless(found["what"]), found["what"])
        return
