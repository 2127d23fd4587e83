"""Test suites before they are put into a language: tests, their checks, and what the bug makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from endings.functions import Case, Function
from endings.words import chance

OCCASIONS: Final = (
    "at the edge",
    "below the edge",
    "of a plain one",
    "with little",
    "with much",
    "as ordered",
    "as in the manual",
    "of the last one",
    "in a usual case",
    "in a rare case",
    "from the report",
    "of a short one",
    "of a long one",
    "for a new customer",
    "for an old customer",
    "on a quiet day",
    "on a busy day",
    "when nothing is special",
    "when it counts",
    "as agreed",
    "after the change",
    "with the old data",
    "with the new data",
    "as the docs say",
)


@dataclass
class Check:
    """One expectation: a case of a function, with the `lines` that check it where they are not the usual."""

    function: Function
    case: Case
    lines: list[str] | None = None

    @property
    def failing(self) -> bool:
        """Whether it fails as the code is now."""
        return self.case.shows and not self.function.fixed


@dataclass
class Test:
    """One test. With `table` its checks are the rows of one; `raw` lines stand for all of it.

    `marks` are decorators or attributes, `head` and `tail` lines around the checks, `arguments` fixtures.
    `options` is what else a language needs to know.
    """

    __test__ = False

    words: str
    checks: list[Check]
    table: bool = False
    marks: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    raw: list[str] | None = None

    @property
    def failing(self) -> bool:
        """Whether it fails as the code is now."""
        return any(check.failing for check in self.checks)

    @property
    def function(self) -> Function:
        """The function it is about."""
        return self.checks[0].function


@dataclass
class Suite:
    """One file of tests. `imports` and `top` stand before the tests, `bottom` after them."""

    path: str
    module: str
    tests: list[Test] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    top: list[str] = field(default_factory=list)
    bottom: list[str] = field(default_factory=list)

    def functions(self) -> list[Function]:
        """The functions that it tests, each once."""
        return list({id(test.function): test.function for test in self.tests}.values())


def tests_of(rng: Random, function: Function, spare: list[str]) -> list[Test]:
    """Some tests of a function: single ones, one with several checks, a table. `spare` names go first."""
    showing = [case for case in function.cases if case.shows]
    hiding = [case for case in function.cases if not case.shows]
    shapes: list[list[Case]] = [[hiding[0]], [showing[0]]]
    rest = [*hiding[1:], *showing[1:]]
    tests = [_named(function, cases, spare) for cases in shapes]
    if chance(rng, 60) and len(rest) > 1:
        tests.append(_named(function, rest, spare))
        tests[-1].table = True
    elif len(rest) > 1:
        tests.append(_named(function, [rest[0], rest[-1]], spare))
    rng.shuffle(tests)
    return tests


def _named(function: Function, cases: list[Case], spare: list[str]) -> Test:
    words = f"{function.name.replace('_', ' ')} {spare.pop()}"
    return Test(words, [Check(function, case) for case in cases])


def failing(suites: list[Suite]) -> list[Test]:
    """Every test that fails as the code is now."""
    return [test for suite in suites for test in suite.tests if test.failing]


def with_suite(suites: list[Suite], wanted: Callable[[Test], bool]) -> Iterator[tuple[Suite, Test]]:
    """The tests that are wanted, with their files; the list may be changed meanwhile."""
    for suite in suites:
        for test in list(suite.tests):
            if wanted(test):
                yield suite, test
