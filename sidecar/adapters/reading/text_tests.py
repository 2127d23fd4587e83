"""The tests of languages without a parser here, told by their lines: weak evidence, and said to be so.

A test begins at the line that declares it and ends where the lines are indented no deeper. An expectation is
a line that names one. What stands in a comment does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from sidecar.adapters.reading.found import bounded, digest, names_in, one_line
from sidecar.adapters.reading.text_words import (
    ASSERTS,
    CLASS,
    COMMENT,
    DECLARED,
    FOCUS,
    FUNCTION,
    GROUP,
    MARK,
    OFF,
    SKIP,
    SKIP_INSIDE,
    VOID,
)
from sidecar.model.inspection import Assertion, TestCase

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE: Final = 1_000
"""Characters of a line that are read."""
MOST: Final = 5_000
"""Tests of one file that are read."""
LINES: Final = 2_000
"""Lines of one test that are read."""


class Group(NamedTuple):
    """A class or describe block: how deep it is indented, what skips it, and what focuses it."""

    depth: int
    skipped: str = ""
    focused: str = ""


def text_tests(_path: str, text: str) -> tuple[TestCase, ...]:
    """What looks like a test in a text."""
    scan = Scan([line[:LINE] for line in text.split("\n")])
    for number in range(len(scan.lines)):
        scan.read(number)
    return tuple(scan.found)


class Scan:
    """One way through the lines of a file."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.found: list[TestCase] = []
        self._groups: list[Group] = []
        self._marked = False
        self._skips: list[str] = []

    def read(self, number: int) -> None:
        """Read one line: a block, a test, a mark above a test, or anything else."""
        line = self.lines[number]
        bare = line.strip()
        if not bare or (COMMENT.match(line) and not MARK.match(line)):
            return
        depth = len(line) - len(line.lstrip())
        if bare not in ("{", "("):
            self._groups = [one for one in self._groups if one.depth < depth]
        name, declared = _declared(line, marked=self._marked)
        if GROUP.match(line) or CLASS.match(line):
            self._open(line, depth)
        elif name and len(self.found) < MOST:
            self._declare(number, name, declared)
        elif MARK.match(line) or SKIP.match(line) or bare.startswith(("@", "[", "#[")):
            self._marked = self._marked or MARK.match(line) is not None
            self._skips += [one_line(line)] if SKIP.match(line) or SKIP_INSIDE.search(line) else []
        elif not bare.startswith(("*", "/*", ")")):
            self._marked, self._skips = False, []

    def _open(self, line: str, depth: int) -> None:
        block = GROUP.match(line)
        crossed = one_line(line) if block and block["skip"] == "x" else ""
        focused = one_line(line) if block and FOCUS.match(line) else ""
        self._groups.append(Group(depth, crossed or next(iter(self._skips), ""), focused))
        self._marked, self._skips = False, []

    def _declare(self, number: int, name: str, declared: str) -> None:
        off = (declared, *self._skips, *(one.skipped for one in self._groups))
        focused = next((one.focused for one in self._groups if one.focused), "")
        skipped = next(filter(None, off), "")
        self.found.append(
            _test(self.lines, number, TestCase(name=name, line=number + 1, skipped=skipped, focused=focused))
        )
        self._marked, self._skips = False, []


def _declared(line: str, *, marked: bool) -> tuple[str, str]:
    """The name of the test that a line declares, and the line where it is switched off there."""
    for pattern in DECLARED:
        found = pattern.match(line)
        if found:
            head = found.groupdict().get("head") or ""
            off = OFF.fullmatch(head) or SKIP_INSIDE.search(line[found.end("name") :])
            return one_line(found["name"]), one_line(line) if off else ""
    function = FUNCTION.match(MARK.sub("", line, count=1)) if marked or MARK.match(line) else None
    return (one_line(function["name"]), "") if function else ("", "")


def _test(lines: Sequence[str], start: int, test: TestCase) -> TestCase:
    """The same test with what its lines say."""
    depth = len(lines[start]) - len(lines[start].lstrip())
    body, assertions, skipped = list[str](), list[Assertion](), test.skipped
    for number in range(start + 1, min(len(lines), start + LINES)):
        line = lines[number]
        bare = line.strip()
        if not bare or COMMENT.match(line):
            continue
        if len(line) - len(line.lstrip()) <= depth and bare not in ("{", "(", "do"):
            break
        body.append(bare)
        if SKIP.match(line):
            skipped = skipped or one_line(bare)
        elif ASSERTS.search(bare):
            assertions.append(_assertion(number, bare))
    if not body and ASSERTS.search(lines[start]):
        assertions.append(_assertion(start, lines[start].strip()))
    text = "\n".join(" ".join(line.split()) for line in body if not SKIP.match(line))
    return structs.replace(
        test,
        skipped=skipped,
        assertions=bounded(assertions),
        body=digest(text),
        focused=one_line(lines[start]) if FOCUS.match(lines[start]) else test.focused,
        uses=names_in(text),
    )


def _assertion(number: int, bare: str) -> Assertion:
    return Assertion(line=number + 1, text=one_line(bare), void=VOID.search(bare) is not None)
