"""What became of the expectations of one test: kept, changed, weakened, emptied, or gone.

An expectation that stands anywhere among what was added is kept. One that changed its variables' names, its
style or its place is kept. A stronger one in its place is no finding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import Assertion, TestCase
from sidecar.policy.kept.forms import (
    EXACT,
    LITERAL,
    QUOTES,
    STRENGTH,
    UNKNOWN,
    Step,
    key,
    last_words,
    outline,
    part_of,
    plain,
    related,
    renamed,
    step,
)
from sidecar.policy.kept.matching import Matching, Spot, live
from sidecar.policy.kept.spread import called, keys_of, near, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ERROR_TEXT: Final = re.compile(r"\.value\b|\.exception\b|\.message\b|\bstr\(|\berr\w*\b|\bexc\w*\b")
QUESTIONS: Final = ("truthy", "falsy", "is not None", "called")
"""Forms that say all by their subject."""
ASSERTING: Final = re.compile(r"(?:\w+\.)?_?(?:assert|expect)", re.IGNORECASE)
"""Helpers whose name promises an expectation; one that checks or verifies may be the code that is tested."""


class Added(Struct, frozen=True):
    """What tests expect now and did not before: exactly, and in outline where parameters stand for values.

    `copies` are the outlines of the others. `sets` is the source of all parameter sets, `helpers` the names
    of functions that expect something. `uses` are the names that all these tests mention. `tests` are the
    tests that expect more than before.
    """

    keys: frozenset[tuple[str, str, str]] = frozenset()
    outlines: frozenset[tuple[str, str, str]] = frozenset()
    copies: frozenset[tuple[str, str, str]] = frozenset()
    sets: str = ""
    helpers: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    tests: tuple[TestCase, ...] = ()

    def knows(self, test: TestCase) -> bool:
        """Whether most of the names that a test mentions, but its own, are mentioned by what was added."""
        names = set(test.uses).difference(test.parameters, (name for name, _ in test.given))
        return not names or len(self.uses & names) >= len(names) / 2

    def calls(self, lost: Assertion) -> bool:
        """Whether the functions that an expectation calls itself are mentioned by what was added."""
        names = called(lost)
        return bool(names) and names <= self.uses

    def nearly(self, lost: Assertion, test: TestCase) -> bool:
        """Whether one test has the function and all the values of a lost expectation, however laid out."""
        return any(near(lost, test, one) for one in self.tests)

    def holds(self, lost: Assertion, test: TestCase) -> bool:
        """Whether an expectation of this test is found again."""
        parameters = test.parameters
        if key(lost) in self.keys or spread(test).get(key(lost), {key(lost)}) <= self.keys:
            return True
        if parameters and outline(lost, parameters) in self.copies:
            return True
        if outline(lost) not in self.outlines:
            return False
        values = LITERAL.findall(f"{lost.subject} {lost.expected}")
        return all(plain(value) in self.sets for value in values)


def added(matching: Matching) -> Added:
    """Everything that was added anywhere."""
    fresh = [(spot.test, gained(None, spot.test)) for spot in matching.new]
    fresh += [(pair.after.test, gained(pair.before.test, pair.after.test)) for pair in matching.pairs]
    fresh = [(test, found) for test, found in fresh if not (test.skipped or test.expected_to_fail)]
    more = _spread_more(matching)
    mentioned = {name for test, _ in fresh for name in test.uses}
    helpers = [spot.test for spot in matching.helpers_after if live(spot.test)]
    return Added(
        keys=frozenset(
            [one for _, _, keys in more for one in keys]
            + [key(one) for _, found in fresh for one in found]
            + [key(one) for helper in helpers if helper.name in mentioned for one in live(helper)]
        ),
        outlines=frozenset(
            outline(one, test.parameters) for test, found in fresh if test.parameters for one in found
        ),
        copies=frozenset(outline(one) for test, found in fresh if not test.parameters for one in found),
        sets=plain("\n".join(one for test, found in fresh if test.sets for one in test.sets)),
        uses=frozenset(
            [name for test, found in fresh if found for name in test.uses]
            + [name for _, test, keys in more if keys for name in test.uses]
        ),
        tests=tuple(test for _, test, keys in more if keys),
        helpers=frozenset(helper.name for helper in helpers),
    )


def _spread_more(
    matching: Matching,
) -> list[tuple[TestCase | None, TestCase, frozenset[tuple[str, str, str]]]]:
    """Each test that counts before and now, with what it expects now and did not, all values filled in."""
    sides: list[tuple[TestCase | None, TestCase]] = [(None, spot.test) for spot in matching.new]
    sides += [(pair.before.test, pair.after.test) for pair in matching.pairs]
    return [
        (before, after, keys_of(after) - (keys_of(before) if before else frozenset()))
        for before, after in sides
        if not (after.skipped or after.expected_to_fail)
    ]


def gained(before: TestCase | None, after: TestCase) -> list[Assertion]:
    """What a test expects now and did not before."""
    known = {key(one) for one in live(before)} if before else set()
    return [one for one in live(after) if key(one) not in known]


def compare(before: Spot, after: Spot, elsewhere: Added) -> list[Finding]:
    """The findings about one test that is still there."""
    kept = {key(one) for one in live(after.test)}
    spread_now, spread_then = keys_of(after.test), spread(before.test)
    lost = [one for one in live(before.test) if key(one) not in kept]
    lost = [one for one in lost if not spread_then.get(key(one), {key(one)}) <= spread_now]
    lost = [one for one in lost if not elsewhere.holds(one, before.test)]
    free = gained(before.test, after.test)
    known_void = {key(one) for one in before.test.assertions if one.void}
    void = [one for one in after.test.assertions if one.void and key(one) not in known_void]
    uses = after.test.uses
    lost = [one for one in _unique(lost) if not _taken(one, free, lambda old, new: renamed(old, new, uses))]
    lost = [one for one in lost if not _taken(one, free, _same_expectation)]
    found = list[Finding]()
    for one in lost:
        finding = _finding(one, free, void, after, elsewhere)
        removed = finding is not None and finding.change is Change.ASSERTION_REMOVED
        if finding and removed and elsewhere.nearly(one, before.test):
            finding = structs.replace(finding, weight=Weight.SHOWN)
        if finding:
            found.append(finding)
    return found


def _finding(
    lost: Assertion, free: list[Assertion], void: list[Assertion], after: Spot, elsewhere: Added
) -> Finding | None:
    same = next((one for one in void if key(one) == key(lost)), None)
    if same:
        return _say(Change.ASSERTION_VOID, lost, same, after)
    if lost.form in ("opaque", "fails"):
        return _helper_gone(lost, free, after)
    return None if _absorbed(lost, after.test) else _replaced(lost, free, void, after, elsewhere)


def _replaced(
    lost: Assertion, free: list[Assertion], void: list[Assertion], after: Spot, elsewhere: Added
) -> Finding | None:
    """What to say of an expectation in whose place another one may stand."""
    counterpart = _counterpart(lost, free)
    if counterpart:
        return _became(lost, counterpart, after)
    if void:
        return _say(Change.ASSERTION_VOID, lost, void.pop(0), after)
    helper = next((one for one in free if one.form == "opaque"), None)
    if helper:
        known = any(name in helper.text for name in elsewhere.helpers)
        return None if known else _say(Change.ASSERTION_REMOVED, lost, helper, after, Weight.SHOWN)
    return _say(Change.ASSERTION_REMOVED, lost, None, after)


def _absorbed(lost: Assertion, after: TestCase) -> bool:
    """Whether the text of an error is still expected, by `match` or by a line of its own."""
    pattern = lost.expected
    if lost.form == "raises":
        error, _, pattern = lost.expected.partition(" matching ")
        if not any(one.form == "raises" and one.expected == error for one in live(after)):
            return False
    elif not ERROR_TEXT.search(lost.subject):
        return False
    piece = QUOTES.sub("", pattern)
    forms = ("raises", "in", "matches", "==")
    return len(piece) > 1 and any(piece in one.expected for one in live(after) if one.form in forms)


def _helper_gone(lost: Assertion, free: list[Assertion], after: Spot) -> Finding | None:
    """A helper that is not called any more, unless something was expected instead."""
    if free:
        return None
    known = lost.form == "fails" or ASSERTING.match(lost.text)
    weight = Weight.GRAVE if known else Weight.SHOWN
    return _say(Change.ASSERTION_REMOVED, lost, None, after, weight)


def _became(lost: Assertion, now: Assertion, after: Spot) -> Finding | None:
    """What to say of an expectation that another one stands for."""
    if not lost.form or not now.form:
        return _say(Change.EXPECTATION_CHANGED, lost, now, after, Weight.SHOWN)
    became = step(lost, now)
    if part_of(now, lost):
        became = Step.STRONGER if STRENGTH.get(now.form, UNKNOWN) >= EXACT else Step.WEAKER
    elif became is Step.SAME and now.form in QUESTIONS and plain(lost.subject) != plain(now.subject):
        became = Step.CHANGED
    match became:
        case Step.WEAKER:
            return _say(Change.ASSERTION_WEAKENED, lost, now, after)
        case Step.CHANGED if lost.form == "snapshot":
            return _say(Change.SNAPSHOT_REGENERATED, lost, now, after, Weight.SHOWN)
        case Step.CHANGED:
            return _say(Change.EXPECTATION_CHANGED, lost, now, after, Weight.SHOWN)
        case _:
            return None


def _counterpart(lost: Assertion, free: list[Assertion]) -> Assertion | None:
    """Take the new expectation that stands for a lost one; one that pins the whole stands for many."""
    for one in free:
        if part_of(one, lost) and STRENGTH.get(one.form, UNKNOWN) >= EXACT:
            return one
    rules = (_same_subject_and_form, _same_subject, _textual, related)
    for rule in rules:
        near = [one for one in free if one.form != "opaque" and rule(lost, one)]
        if near:
            best = max(near, key=lambda one: STRENGTH.get(one.form, UNKNOWN))
            free.remove(best)
            return best
    return None


def _taken(lost: Assertion, free: list[Assertion], rule: Callable[[Assertion, Assertion], bool]) -> bool:
    """Whether a new expectation is the lost one in other words; it is used up by that."""
    for one in free:
        if rule(lost, one):
            free.remove(one)
            return True
    return False


def _same_expectation(lost: Assertion, now: Assertion) -> bool:
    """Only the way to the value changed: same comparison, same telling value, no bare part of the old one."""
    if lost.form != now.form or not lost.form:
        return False
    if plain(lost.expected) != plain(now.expected):
        return lost.text == now.text and LITERAL.findall(lost.expected) == LITERAL.findall(now.expected)
    if part_of(now, lost):
        return False
    if lost.form in QUESTIONS:
        return bool(last_words(lost.subject) & last_words(now.subject))
    return bool(lost.expected) and (related(lost, now) or lost.expected not in ("None", "0", "1"))


def _same_subject_and_form(lost: Assertion, now: Assertion) -> bool:
    return _same_subject(lost, now) and lost.form == now.form


def _same_subject(lost: Assertion, now: Assertion) -> bool:
    return bool(lost.form) and plain(lost.subject) == plain(now.subject)


def _textual(lost: Assertion, now: Assertion) -> bool:
    return not lost.form and not now.form


def _unique(assertions: Iterable[Assertion]) -> list[Assertion]:
    return list({key(one): one for one in assertions}.values())


def _say(
    change: Change, lost: Assertion, now: Assertion | None, after: Spot, weight: Weight = Weight.GRAVE
) -> Finding:
    return Finding(
        change=change,
        weight=Weight.SHOWN if after.weak else weight,
        file=after.file,
        line=now.line if now else after.test.line,
        before=lost.text,
        after=now.text if now else f"{after.test.name} without it",
        weak=after.weak,
    )
