"""The rules of red, green and refactor: what a phase may change, and how the tests must end.

Each rule takes what Supervisor itself saw, and returns itself where it is broken. The worker's own word is
not among the facts. Names of rules are sections of rubric/tdd.md; which rules a phase has is the table RULES.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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


class Phase(StrEnum):
    """The three phases."""

    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A changed file: whether what changed bears on a check, and whether it is product code.

    `added` are its new lines. `defined` counts the new lines that define a test, `lost` those that are gone;
    both are 0 where its language is unknown.
    """

    path: str
    check: bool
    product: bool
    added: tuple[str, ...] = ()
    defined: int = 0
    lost: int = 0


class PhaseFacts(Struct, frozen=True, kw_only=True):
    """What was seen of one attempt. `marks` are lines by which product code gets around its checks."""

    before: GateRun
    after: GateRun
    files: tuple[ChangedFile, ...] = ()
    marks: tuple[str, ...] = ()


class BrokenRule(Struct, frozen=True):
    """A rule of rubric/tdd.md that is broken, and the values for its placeholders."""

    rule: str
    values: Mapping[str, str] = {}


class FailureReasons(Struct, frozen=True, forbid_unknown_fields=True):
    """How runners word why a test failed: data/tdd.toml, which explains each list."""

    missing: tuple[str, ...]
    broken: tuple[str, ...]
    assertion: tuple[str, ...]
    unspecific: tuple[str, ...]
    definitions: tuple[tuple[str, str], ...]


def broken_rule(phase: Phase, facts: PhaseFacts, measure: str) -> BrokenRule | None:
    """Return the first rule of a phase that is broken, None where the attempt is verified.

    `measure` is the spec in red, else the path of the test.
    """
    return next(filter(None, (rule(facts, measure) for rule in RULES[phase])), None)


# --- rules of one phase -------------------------------------------------------------------------------------


def _product_untouched(facts: PhaseFacts, _: str) -> BrokenRule | None:
    product = [file.path for file in facts.files if file.product]
    return BrokenRule("red-product", {"files": _names(product)}) if product else None


def _tests_ran_but_for_missing(facts: PhaseFacts, _: str) -> BrokenRule | None:
    """As `_tests_ran`; a missing module, elsewhere a fault of the installation, may be the point here."""
    return None if misses_name("\n".join(_new_lines(facts))) else _tests_ran(facts, _)


def _new_test_fails(facts: PhaseFacts, _: str) -> BrokenRule | None:
    unnamed = facts.after.executed is None and facts.after.outcome is not Outcome.PASSED
    unnamed = unnamed or facts.after.outcome in NOTHING_SHOWN
    return None if unnamed or _new_failures(facts) else BrokenRule("red-passes")


def _exactly_one_test(facts: PhaseFacts, _: str) -> BrokenRule | None:
    """A file that cannot be loaded for want of a name counts as one test, so there the definitions count."""
    failing, more = _new_failures(facts), _more_tests(facts)
    counted = more > 0 and not misses_name("\n".join(_new_lines(facts)))
    number = max(more, len(failing), 0 if counted else _defined(facts.files))
    return (
        BrokenRule("red-several", {"tests": _names(failing), "number": str(number)}) if number > 1 else None
    )


def _other_tests_stay(facts: PhaseFacts, _: str) -> BrokenRule | None:
    kept = set(facts.after.failing)
    lost = [name for name in facts.before.failing if name not in kept and name != NOTHING_EXECUTED]
    if not lost and _more_tests(facts) >= 0 and not any(file.lost for file in facts.files):
        return None
    return BrokenRule("red-others", {"tests": _names(lost or [file.path for file in facts.files])})


def _test_passes(facts: PhaseFacts, test_path: str) -> BrokenRule | None:
    wanted = [name for name in facts.before.failing if test_path in name] or facts.before.failing
    still = [name for name in facts.after.failing if name in wanted or test_path in name]
    if still or (facts.after.outcome is Outcome.FAILED and not facts.after.failing):
        return BrokenRule("green-fails", {"tests": _names(still), "output": _output(facts.after)})
    return None


# --- rules that phases share --------------------------------------------------------------------------------


def _something_changed(facts: PhaseFacts, _: str) -> BrokenRule | None:
    return None if facts.files else BrokenRule("nothing-changed")


def _tests_untouched(facts: PhaseFacts, _: str) -> BrokenRule | None:
    checks = [file.path for file in facts.files if file.check]
    return BrokenRule("touched-tests", {"files": _names(checks)}) if checks else None


def _checks_not_evaded(facts: PhaseFacts, _: str) -> BrokenRule | None:
    return BrokenRule("marks", {"lines": _names(facts.marks)}) if facts.marks else None


def _tests_ran(facts: PhaseFacts, _: str) -> BrokenRule | None:
    if facts.after.outcome not in NOTHING_SHOWN:
        return None
    return BrokenRule("could-not-run", {"why": facts.after.reason, "output": _output(facts.after)})


def _others_end_as_before(facts: PhaseFacts, _: str) -> BrokenRule | None:
    failing = _new_failures(facts)
    if failing or (facts.after.outcome is Outcome.FAILED and facts.before.outcome is Outcome.PASSED):
        return BrokenRule("broke-others", {"tests": _names(failing), "output": _output(facts.after)})
    return None


def _no_test_lost(facts: PhaseFacts, _: str) -> BrokenRule | None:
    return BrokenRule("lost-tests") if _more_tests(facts) < 0 else None


# --- what the rules count -----------------------------------------------------------------------------------


def _new_failures(facts: PhaseFacts) -> list[str]:
    return [name for name in facts.after.failing if name not in facts.before.failing]


def _total(run: GateRun) -> int | None:
    return None if run.executed is None else run.executed + (run.skipped or 0)


def _more_tests(facts: PhaseFacts) -> int:
    """How many tests more there are; of a runner that counts none, as many as the files define."""
    before, after = _total(facts.before), _total(facts.after)
    return _defined(facts.files) if before is None or after is None else after - before


def _defined(files: Iterable[ChangedFile]) -> int:
    return sum(file.defined for file in files)


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more


def _output(run: GateRun) -> str:
    return "\n".join(run.failures) or run.output


def misses_name(text: str) -> bool:
    """Whether tests say that a module, a function or the like is missing."""
    return any(_hits(load_data("tdd", FailureReasons).missing, text))


# --- the right reason ---------------------------------------------------------------------------------------


def _right_reason(facts: PhaseFacts, spec: str) -> BrokenRule | None:
    """It fails by an assertion, or because a name is missing that the spec asks for."""
    known = load_data("tdd", FailureReasons)
    text = "\n".join(_new_lines(facts))
    missing = [next(filter(None, hit.groups()), "") for hit in _hits(known.missing, text)]
    if missing:
        asked = _words(spec)
        if any(asked & _words(line) for name in missing for line in _lines_with(name, facts.files)):
            return None
        return BrokenRule("red-own-import", {"names": _names(dict.fromkeys(missing))})
    if hit := next(_hits(known.broken, text), None):
        return BrokenRule("red-broken", {"error": _line_around(text, hit)})
    return (
        None
        if any(_hits(known.assertion, text))
        else BrokenRule("red-error", {"output": _output(facts.after)})
    )


def _new_lines(facts: PhaseFacts) -> Iterator[str]:
    """Yield what the tests say now and did not say before."""
    old = {*facts.before.failures, *facts.before.output.splitlines()}
    lines = (*facts.after.failures, *facts.after.output.splitlines())
    yield from (line for line in lines if line not in old)


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
    found = (word.lower() for word in WORD.findall(text))
    return {word.removesuffix("s") for word in found if len(word) >= WORD_LENGTH} - {
        *load_data("tdd", FailureReasons).unspecific
    }


def _line_around(text: str, hit: re.Match[str]) -> str:
    start = text.rfind("\n", 0, hit.start()) + 1
    return text[start : text.find("\n", hit.end()) if "\n" in text[hit.end() :] else len(text)].strip()


RULES: Final[Mapping[Phase, tuple[Callable[[PhaseFacts, str], BrokenRule | None], ...]]] = {
    Phase.RED: (
        _product_untouched,
        _something_changed,
        _tests_ran_but_for_missing,
        _new_test_fails,
        _exactly_one_test,
        _other_tests_stay,
        _right_reason,
    ),
    Phase.GREEN: (
        _tests_untouched,
        _checks_not_evaded,
        _something_changed,
        _tests_ran,
        _test_passes,
        _others_end_as_before,
        _no_test_lost,
    ),
    Phase.REFACTOR: (
        _tests_untouched,
        _checks_not_evaded,
        _tests_ran,
        _others_end_as_before,
        _no_test_lost,
    ),
}
"""The rules of each phase, in the order in which they are tried."""
