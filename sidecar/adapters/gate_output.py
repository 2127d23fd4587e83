"""What a run's output says: how many tests ran, and which failed first.

A JUnit report of pytest is exact. The summaries of other runners are read line by line, each by its own
words; what no pattern knows stays unknown. None of it decides but one thing: "nothing ran" is not a pass.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FAILURES: Final = 5
"""Failures that are named."""
FAILURE_LIMIT: Final = 300
"""Characters of one of them."""
TAIL: Final = 4_000
"""Characters of output that are kept."""
REPORT_LIMIT: Final = 32 << 20
"""Bytes of a JUnit report; a bigger one is not read."""

ANSI: Final = re.compile(
    r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Colours, cursor moves and titles of terminals, and what else cannot be shown."""
ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
"""An address in memory: another one in every run, so that the same failure would look new."""

PAIR: Final = re.compile(r"(?<!\d)(\d{1,9}) (?:passed|failed|passing|failing|xfailed|xpassed)\b")
PAIRED: Final = (
    re.compile(
        r"^=* ?\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b.* in [\d.]+s"
    ),
    re.compile(r"^Tests:\s"),  # jest
    re.compile(r"^\s*Tests  "),  # vitest
    re.compile(r"^\s*\d+ (?:passing|failing)\b"),  # mocha
    re.compile(r"^test result: "),  # cargo
)
"""Summary lines in which "3 passed, 1 failed" is to be added up. The first is pytest's."""
TOTAL: Final = (
    re.compile(r"^(?P<ran>\d{1,9}) examples?, \d+ failures?(?:, (?P<less>\d{1,9}) pending)?"),  # rspec
    re.compile(
        r"^(?:\d+ doctests?, )?(?P<ran>\d{1,9}) tests?, \d+ failures?(?:, (?P<less>\d{1,9}) \w+)?"
    ),  # mix
    re.compile(r"^Ran (?P<ran>\d{1,9}) tests? in "),  # unittest
    re.compile(r"^(?:#|\u2139) (?:pass|fail) (?P<ran>\d{1,9})$"),  # node --test
    re.compile(r"^(?:=* ?no tests ran in|No tests? (?:files? )?found\b)(?P<ran>)"),  # pytest; jest, vitest
)
"""Summary lines with a total, from which what was left out is taken."""
GO_PACKAGE: Final = re.compile(r"^(?:ok|FAIL|---) ?\s")
GO_EMPTY: Final = re.compile(r"\[no test files\]|\[no tests to run\]")

FAILED_TEST: Final = (
    re.compile(r"^(?:FAILED|ERROR) (?P<what>\S+(?: - .*)?)$"),  # pytest
    re.compile(r"^\s*--- FAIL: (?P<what>\S+)"),  # go
    re.compile(r"^test (?P<what>\S.*) \.\.\. FAILED$"),  # cargo
    re.compile(r"^ {2}\u25cf (?P<what>(?!Console\b|Test suite\b).+)$"),  # jest
    re.compile(r"^ FAIL {2}(?P<what>\S.*)$"),  # vitest
    re.compile(r"^ {2}\d+\) (?P<what>\S.*)$"),  # mocha, mix
    re.compile(
        r"^\s*(?:not ok \d+ - |\u2716 (?!failing tests))(?P<what>.+?)(?: \([\d.]+ms\))?$"
    ),  # node --test
    re.compile(r"^(?P<what>rspec \S+:\d+)"),
    re.compile(r"^(?:FAIL|ERROR): (?P<what>\S.*)$"),  # unittest
)
"""Lines that name a failing test, by runner."""
ERROR_LINE: Final = (
    re.compile(r"^(?P<what>\S*\.\w+:\d+(?::\d+)?:? .+)$"),  # most compilers and linters
    re.compile(r"^(?P<what>\S+\(\d+,\d+\): error .+)$"),  # tsc
    re.compile(r"^(?P<what>error(?:\[\w+\])?: .+)$"),  # rustc, git
    re.compile(r"^(?:E {3})?(?P<what>\w*(?:Error|Exception): .+)$"),  # the last line of a Python traceback
)
"""Lines that name another fault; looked for where no test is named. A warning is none."""


class Report(Struct, frozen=True):
    """How many tests ran (None where unknown) and the first failures, in order of appearance."""

    executed: int | None = None
    failures: tuple[str, ...] = ()


def plain(output: bytes) -> str:
    """Output as text without terminal codes and overwritten progress."""
    text = ANSI.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")
    return "\n".join(map(_last_written, text.split("\n"))) if "\r" in text else text


def _last_written(line: str) -> str:
    """What a line shows in the end: a carriage return lets be written over, as progress bars do.

    Without a pattern, as one would take minutes for a line of 256 KiB.
    """
    return line[line.rfind("\r", 0, -1) + 1 :]


def read_text(text: str) -> Report:
    """What the summary lines say."""
    lines = text.split("\n")
    faults = (line for line in lines if "warning" not in line.lower())
    failing = list(_named(lines, FAILED_TEST)) or _named(faults, ERROR_LINE)
    return Report(_executed(lines), _first(failing))


def read_junit(path: Path) -> Report | None:
    """What pytest reported in the xunit1 form; None where there is no whole report."""
    executed, failures = 0, list[str]()
    try:
        if path.stat().st_size > REPORT_LIMIT:
            return None
        for _, case in ET.iterparse(path):  # noqa: S314 - written by our own run, bounded above
            if case.tag == "testcase":
                executed += _ran(case)
                failures += _failure(case) if len(failures) < FAILURES else []
                case.clear()
    except (OSError, ET.ParseError):
        return None
    return Report(executed, _first(failures))


# --- text ---------------------------------------------------------------------------------------------------


def _executed(lines: list[str]) -> int | None:
    counts = [count for line in lines for count in _counts(line)]
    if counts:
        return sum(counts)
    go = [line for line in lines if GO_PACKAGE.match(line) and not GO_EMPTY.search(line)]
    return 0 if not go and any(GO_EMPTY.search(line) for line in lines) else None


def _counts(line: str) -> Iterator[int]:
    if any(pattern.match(line) for pattern in PAIRED):
        yield sum(int(number) for number in PAIR.findall(line))
        return
    for total in filter(None, (pattern.match(line) for pattern in TOTAL)):
        yield int(total["ran"] or 0) - int(total.groupdict().get("less") or 0)


def _named(lines: Iterable[str], patterns: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    for line in lines:
        for found in filter(None, (pattern.match(line) for pattern in patterns)):
            yield found["what"].replace(" - ", ": ", 1)
            break


def _first(failures: Iterable[str]) -> tuple[str, ...]:
    """Name each failure once, in one bounded line that is the same in the next run."""
    steady = (ADDRESS.sub("0x...", " ".join(failure.split()))[:FAILURE_LIMIT] for failure in failures)
    return tuple(islice(dict.fromkeys(steady), FAILURES))


# --- JUnit --------------------------------------------------------------------------------------------------


def _ran(case: ET.Element) -> bool:
    """Whether a test ran. An expected failure did; what was skipped or not collected did not."""
    skipped, error = case.find("skipped"), case.find("error")
    if skipped is not None:
        return skipped.get("type") == "pytest.xfail"
    return error is None or error.get("message") != "collection failure"


def _failure(case: ET.Element) -> list[str]:
    for fault in (case.find("failure"), case.find("error")):
        if fault is not None:
            message = (fault.get("message") or "").partition("\n")[0]
            return [f"{_node(case)}: {_cause(fault) if message == 'collection failure' else message}"]
    return []


def _cause(fault: ET.Element) -> str:
    """The last line of a collection failure that pytest marks as the error."""
    marked = [line[1:].strip() for line in (fault.text or "").split("\n") if line.startswith("E ")]
    return marked[-1] if marked else "it could not be collected"


def _node(case: ET.Element) -> str:
    """The name by which pytest would run this test alone."""
    name, file, dotted = case.get("name") or "", case.get("file") or "", case.get("classname") or ""
    if not file or not dotted:
        return file or name
    module = file.removesuffix(".py").replace("/", ".")
    classes = dotted.removeprefix(module).strip(".")
    return "::".join(part for part in (file, classes.replace(".", "::"), name) if part)
