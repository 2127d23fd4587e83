"""The rules of red, green and refactor: what a phase may change, and how the tests must end.

Each rule takes what Supervisor itself saw, and returns itself where it is broken. The worker's own word is
not among the facts. Names of rules are sections of rubric/tdd.md; which rules a phase has is the table RULES.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from sidecar.kernel.gate import NOTHING_EXECUTED, NOTHING_SHOWN, GateRun, Outcome
from sidecar.platform.data import load_data

NAMED: Final = 5
"""Files or tests that a refusal names."""
WORD_LENGTH: Final = 3
"""Shorter words of a spec name nothing."""
WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
"""The words of an identifier: `makeSlug` and `make_slug` have two."""

OUTER_NAMES: Final = re.compile(r"^.*(?: > |: )")
"""What stands before the name of a test: its class or suites."""


class Phase(StrEnum):
    """The three phases."""

    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A changed file: whether what changed bears on a check, and whether it is product code.

    `new`: it was not there before. `setting`: it belongs to the test runner and not to a test. `added` are
    its new lines. `defined` counts the new lines that define a test, `lost` those that are gone; both are 0
    where its language is unknown.
    """

    path: str
    check: bool
    product: bool
    new: bool = False
    setting: bool = False
    added: tuple[str, ...] = ()
    defined: int = 0
    lost: int = 0


class PhaseFacts(Struct, frozen=True, kw_only=True):
    """What was seen of one attempt.

    `test`: the file that the caller names as the test's, "" where the run tells it; `text` is its content.
    """

    before: GateRun
    after: GateRun
    files: tuple[ChangedFile, ...] = ()
    test: str = ""
    text: str = ""

    @property
    def failing(self) -> list[str]:
        """The tests that fail now and did not before."""
        return [name for name in self.after.failing if name not in self.before.failing]

    @property
    def told(self) -> str:
        """What the tests say now and did not say before."""
        old = {*self.before.failures, *self.before.output.splitlines()}
        lines = (*self.after.failures, *self.after.output.splitlines())
        return "\n".join(line for line in lines if line not in old)

    @property
    def missing(self) -> tuple[str, ...]:
        """The names that are missing now and were not before."""
        return missing_names(self.told)

    @property
    def counted(self) -> int | None:
        """How many tests more there are; None where the runner counts none."""
        if self.before.executed is None or self.after.executed is None:
            return None
        skipped = (self.after.skipped or 0) - (self.before.skipped or 0)
        return self.after.executed - self.before.executed + skipped

    @property
    def defined(self) -> int:
        """How many new lines define a test."""
        return sum(file.defined for file in self.files)

    @property
    def more(self) -> int:
        """How many tests more there are; of a runner that counts none, as many as the files define."""
        return self.defined if self.counted is None else self.counted


class BrokenRule(Struct, frozen=True):
    """A rule of rubric/tdd.md that is broken, and the values for its placeholders."""

    rule: str
    values: Mapping[str, str] = {}


class FailureReasons(Struct, frozen=True, forbid_unknown_fields=True):
    """How runners word why a test failed: data/tdd.toml, which explains each list."""

    missing: tuple[str, ...]
    broken: tuple[str, ...]
    unspecific: tuple[str, ...]
    definitions: tuple[tuple[str, str], ...]


def broken_rule(phase: Phase, facts: PhaseFacts, measure: str) -> BrokenRule | None:
    """Return the first rule of a phase that is broken, None where the attempt is verified.

    `measure` is the spec in red, else the path of the test.
    """
    return next(RULES[phase](facts, measure), None)


# --- the rules of each phase, in the order in which they are tried ------------------------------------------


def _red_rules(facts: PhaseFacts, spec: str) -> Iterator[BrokenRule]:
    missing, failing, more = facts.missing, facts.failing, facts.more
    if not facts.files:
        yield BrokenRule("nothing-changed")
    if others := _beside_the_test(facts):
        yield BrokenRule("red-product", {"files": _name_some(others)})
    if not missing:  # a module that is missing, elsewhere a fault of the installation, may be the point here
        yield from _tests_ran(facts)
    if not _fails_anew(facts):
        yield BrokenRule("red-passes")
    # A file that cannot be loaded for want of a name counts as one test, so there the definitions count.
    number = max(more, len(failing), 0 if more > 0 and not missing else facts.defined)
    if number > 1:
        yield BrokenRule("red-several", {"tests": _name_some(failing), "number": str(number)})
    lost = [name for name in facts.before.failing if name not in (*facts.after.failing, NOTHING_EXECUTED)]
    if lost or more < 0 or any(file.lost for file in facts.files):
        yield BrokenRule("red-others", {"tests": _name_some(lost or [file.path for file in facts.files])})
    asked = _words(spec)
    if missing and not any(
        asked & _words(line) for name in missing for line in _lines_with(name, facts.files)
    ):
        yield BrokenRule("red-own-import", {"names": _name_some(missing)})
    if not missing and any(_hits(load_data("tdd", FailureReasons).broken, facts.told)):
        yield BrokenRule("red-broken", {"error": _output(facts.after)})


def _green_rules(facts: PhaseFacts, test_path: str) -> Iterator[BrokenRule]:
    yield from _tests_untouched(facts, test_path)
    if not facts.files:
        yield BrokenRule("nothing-changed")
    yield from _tests_ran(facts)
    own, left = (own_failures(run, test_path, facts.text) for run in (facts.before, facts.after))
    still = [name for name in facts.after.failing if name in (*(own or facts.before.failing), *left)]
    if still or (facts.after.outcome is Outcome.FAILED and not facts.after.failing):
        yield BrokenRule("green-fails", {"tests": _name_some(still), "output": _output(facts.after)})
    yield from _others_end_as_before(facts)


def _refactor_rules(facts: PhaseFacts, test_path: str) -> Iterator[BrokenRule]:
    yield from _tests_untouched(facts, test_path)
    yield from _tests_ran(facts)
    yield from _others_end_as_before(facts)


RULES: Final[Mapping[Phase, Callable[[PhaseFacts, str], Iterator[BrokenRule]]]] = {
    Phase.RED: _red_rules,
    Phase.GREEN: _green_rules,
    Phase.REFACTOR: _refactor_rules,
}


def _tests_untouched(facts: PhaseFacts, test_path: str) -> Iterator[BrokenRule]:
    if checks := [file.path for file in facts.files if file.check or file.path == test_path]:
        yield BrokenRule("touched-tests", {"files": _name_some(checks)})


def _tests_ran(facts: PhaseFacts) -> Iterator[BrokenRule]:
    if facts.after.outcome in NOTHING_SHOWN:
        yield BrokenRule("could-not-run", {"why": facts.after.reason, "output": _output(facts.after)})


def _others_end_as_before(facts: PhaseFacts) -> Iterator[BrokenRule]:
    before, after = facts.before.outcome, facts.after.outcome
    if facts.failing or (after is Outcome.FAILED and before is Outcome.PASSED):
        yield BrokenRule("broke-others", {"tests": _name_some(facts.failing), "output": _output(facts.after)})
    if facts.more < 0:
        yield BrokenRule("lost-tests")


# --- which file is the test's -------------------------------------------------------------------------------


def find_test_file(facts: PhaseFacts) -> ChangedFile | None:
    """Return the changed file that holds the test: the one that the new failure names, as far as it does."""
    failing, told = "\n".join(facts.failing), facts.told

    def order(file: ChangedFile) -> tuple[bool, ...]:
        named, written = mentions(failing, file.path), file.check and file.defined > 0
        told_of = mentions(told, file.path)
        return file.path != facts.test, file.setting, not named, not written, not told_of

    return min(facts.files, key=order, default=None)


def mentions(text: str, path: str) -> bool:
    """Whether a text names this file, and not one whose path ends so."""
    return re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?!\w)", text) is not None


def _beside_the_test(facts: PhaseFacts) -> list[str]:
    """Return what changed but the file of the test, and new files without tests that belong to it.

    A file that is no check by its name is the test's if the caller says so, or if it is new and fails.
    """
    told, test = "\n".join((*facts.failing, facts.told)), find_test_file(facts)

    def may_change(file: ChangedFile) -> bool:
        if file is not test:
            return file.new and file.check and not file.setting and not file.defined
        if file.check:
            return not file.product and not file.setting
        fails = file.new and facts.counted in (None, 1) and mentions(told, file.path)
        return fails or file.path == facts.test

    return [file.path for file in facts.files if not may_change(file)]


def own_failures(run: GateRun, test_path: str, text: str) -> tuple[str, ...]:
    """Return the failing tests of a file: by their names or reports, else by where their names stand."""
    said = {name: next((line for line in run.failures if name in line), name) for name in run.failing}
    return tuple(
        name
        for name in run.failing
        if mentions(f"{name} {said[name]}", test_path)
        or ("::" not in name and OUTER_NAMES.sub("", name) in text)
    )


# --- how a test fails ---------------------------------------------------------------------------------------


def _fails_anew(facts: PhaseFacts) -> bool:
    before, after = facts.before, facts.after
    unnamed = after.outcome is not Outcome.PASSED and (after.executed is None or not after.failing)
    other = before.outcome is not Outcome.FAILED or before.output != after.output
    return bool(facts.failing) or (unnamed and other) or after.outcome in NOTHING_SHOWN


def missing_names(text: str) -> tuple[str, ...]:
    """Return the names that tests say are missing."""
    hits = _hits(load_data("tdd", FailureReasons).missing, text)
    return tuple(dict.fromkeys(next(filter(None, hit.groups()), "") for hit in hits))


def _hits(patterns: Iterable[str], text: str) -> Iterator[re.Match[str]]:
    for pattern in patterns:
        yield from re.finditer(pattern, text, re.MULTILINE)


def _lines_with(name: str, files: Iterable[ChangedFile]) -> Iterator[str]:
    """Yield the missing name, and the new lines that use it: they say what it was wanted for."""
    last = re.split(r"[./\\:]+", re.sub(r"\.\w{1,4}$", "", name) if "/" in name else name)[-1]
    yield last
    yield from (line for file in files for line in file.added if last and last in line)


def _words(text: str) -> set[str]:
    """The words of a text in small letters, singular; those of identifiers are told apart."""
    found = {word.lower().removesuffix("s") for word in WORD.findall(text) if len(word) >= WORD_LENGTH}
    return found - {*load_data("tdd", FailureReasons).unspecific}


def _name_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _output(run: GateRun) -> str:
    return "\n".join(run.failures) or run.output
