"""Whether the tests still find what they found before: the differences between two readings, weighed.

A legitimate change to tests is no accusation. What is renamed, moved, split, merged, parametrised, laid out
anew or converted from one style to another has its counterpart, and gives no finding. GRAVE is what as a rule
makes tests find less; what is as often right as wrong is SHOWN. This file knows no language and no file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileReading, Reading, Role, TestCase
from sidecar.policy.kept.asserts import Added, added, compare
from sidecar.policy.kept.forms import LITERAL, plain
from sidecar.policy.kept.matching import ENOUGH, Matching, Pair, Spot, comparable, live, matched
from sidecar.policy.kept.skips import honest
from sidecar.policy.kept.spread import keys_of_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE: Final = 300
"""Characters of what is shown of a change."""
MOST: Final = 200
"""Findings that are told."""
ALIKE: Final = 3
"""Findings of one cause in one file that are told one by one."""


def findings(reading: Reading) -> tuple[Finding, ...]:
    """What changed in the tests, by file and line; of more than 200 the grave ones first."""
    matching = matched(reading)
    news = added(matching)
    gone_code = _gone_code(reading, matching)
    found = [
        *_deleted(matching, news, gone_code),
        *(one for pair in matching.pairs for one in _changed(pair, news, gone_code)),
        *_helpers_emptied(matching, news),
        *_arrived(matching),
        *_snapshots(reading),
        *_unreadable(reading),
    ]
    found = _gathered(found)
    worst = sorted(found, key=lambda one: one.weight is not Weight.GRAVE)[:MOST]
    return tuple(sorted(worst, key=lambda one: (one.file, one.line, one.change)))


# --- tests that are gone ------------------------------------------------------------------------------------


def _deleted(matching: Matching, news: Added, gone_code: frozenset[str]) -> Iterator[Finding]:
    bodies = {pair.after.test.body for pair in matching.pairs if pair.after.test.body}
    for spot in matching.gone:
        test, wanted = spot.test, live(spot.test)
        if test.body and test.body in bodies:
            continue
        found = sum(news.holds(one, test) for one in wanted)
        known = news.knows(test) or (found == len(wanted) and all(map(news.calls, wanted)))
        if wanted and found / len(wanted) >= ENOUGH and known:
            nothing = TestCase(name=test.name, line=test.line, cases=0)
            emptied = Pair(spot, Spot(spot.file, spot.file, nothing, 0, spot.weak))
            yield from compare(emptied.before, emptied.after, news)
            yield from _cases(emptied, news)
            continue
        idle = bool(_out(test)) or not test.body or (bool(test.assertions) and not wanted)
        again = all(news.holds(one, test) or news.nearly(one, test) for one in wanted)
        idle = idle or (bool(wanted) and again and news.knows(test))
        retired = gone_code.intersection(test.uses)
        yield Finding(
            change=Change.TEST_DELETED,
            weight=Weight.SHOWN if idle or retired else Weight.GRAVE,
            file=spot.old_file,
            line=test.line,
            before=_name(test),
            after=f"gone, together with {min(retired)}"[:LINE] if retired else "",
            weak=spot.weak,
        )


def _gone_code(reading: Reading, matching: Matching) -> frozenset[str]:
    """What sources defined and no changed file defines or tests any more."""
    before = {name for file in reading.files if file.before for name in file.before.defines}
    after = {name for file in reading.files if file.after for name in file.after.defines}
    if not before - after:
        return frozenset()
    tests = [pair.after.test for pair in matching.pairs] + [spot.test for spot in matching.new]
    return frozenset(before - after).difference(name for test in tests for name in test.uses)


# --- tests that are still there -----------------------------------------------------------------------------


def _changed(pair: Pair, news: Added, gone_code: frozenset[str]) -> Iterator[Finding]:
    yield from _stopped(pair)
    yield from _focused(pair.after, pair.before.test.focused)
    yield from _cases(pair, news)
    out = _out(pair.after.test)
    if out and not _out(pair.before.test) and not honest(out):
        return
    for one in compare(pair.before, pair.after, news):
        if any(name in one.before for name in gone_code):
            yield _shown(one)
        else:
            yield one


def _out(test: TestCase) -> str:
    return test.skipped or test.expected_to_fail


def _stopped(pair: Pair) -> Iterator[Finding]:
    before, after = pair.before.test, pair.after.test
    if after.skipped and (not before.skipped or (honest(before.skipped) and not honest(after.skipped))):
        milder = bool(before.expected_to_fail) or honest(after.skipped)
        yield _about(pair.after, Change.TEST_SKIPPED, after.skipped, milder=milder, before=before.skipped)
    elif after.expected_to_fail and not before.expected_to_fail:
        milder = bool(before.skipped) or honest(after.expected_to_fail)
        yield _about(pair.after, Change.TEST_EXPECTED_TO_FAIL, after.expected_to_fail, milder=milder)


def _focused(spot: Spot, before: str) -> Iterator[Finding]:
    if spot.test.focused and not before:
        yield _about(spot, Change.TEST_FOCUSED, spot.test.focused, milder=False)


def _cases(pair: Pair, news: Added) -> Iterator[Finding]:
    before, after = pair.before.test, pair.after.test
    if not before.cases or (after.cases is None and after.parameters):
        return
    if after.parameters and not set(before.parameters) & set(after.parameters):
        return
    left = Counter(map(plain, before.sets)) - Counter(map(plain, after.sets))
    missing = [one for one in before.sets if plain(one) in left]
    count = after.cases or 0
    if count < before.cases:
        missing = [one for one in missing if not _elsewhere(before, one, news)]
        if not missing and before.sets:
            return
        anew = pair.after.weak or 0 < len(after.parameters) != len(before.parameters)
        change, weight = Change.CASES_REMOVED, Weight.SHOWN if anew else Weight.GRAVE
    elif missing and len(before.parameters) == len(after.parameters):
        change, weight = Change.EXPECTATION_CHANGED, Weight.SHOWN
    else:
        return
    new = [one for one in after.sets if plain(one) not in set(map(plain, before.sets))]
    yield Finding(
        change=change,
        weight=weight,
        file=pair.after.file,
        line=after.line,
        before=f"{before.name}: {before.cases} cases, {'; '.join(missing)}"[:LINE],
        after=f"{count} cases{', ' if new else ''}{'; '.join(new)}"[:LINE],
        weak=pair.after.weak,
    )


def _elsewhere(test: TestCase, case: str, news: Added) -> bool:
    """Whether a parameter set went to another test, or became expectations of its own."""
    keys = keys_of_case(test, case)
    if plain(case) in news.sets or (keys and keys <= news.keys):
        return True
    values = [plain(value) for value in LITERAL.findall(case)]
    return bool(values) and any(all(value in "".join(one) for value in values) for one in news.keys)


def _helpers_emptied(matching: Matching, news: Added) -> Iterator[Finding]:
    """Helpers of the same file and name that expect less."""
    now = {(spot.file, spot.test.name): spot for spot in matching.helpers_after}
    for spot in matching.helpers_before:
        after = now.get((spot.file, spot.test.name))
        if after:
            yield from compare(spot, after, news)


# --- new tests ----------------------------------------------------------------------------------------------


def _arrived(matching: Matching) -> Iterator[Finding]:
    expecting = {spot.file for spot in matching.new if live(spot.test)}
    expecting |= {pair.after.file for pair in matching.pairs if live(pair.after.test)}
    for spot in matching.new:
        test = spot.test
        yield from _focused(spot, "")
        if test.skipped and not honest(test.skipped) and not test.skipped.endswith("return"):
            yield _about(spot, Change.TEST_SKIPPED, test.skipped, milder=True)
        elif test.expected_to_fail:
            yield _about(spot, Change.TEST_EXPECTED_TO_FAIL, test.expected_to_fail, milder=True)
        elif test.assertions and not live(test):
            yield _about(spot, Change.ASSERTION_VOID, test.assertions[0].text, milder=spot.weak)
        elif not test.assertions and not test.body and spot.file in expecting:
            yield _about(spot, Change.ASSERTION_VOID, "it does nothing", milder=True)


# --- files --------------------------------------------------------------------------------------------------


def _snapshots(reading: Reading) -> Iterator[Finding]:
    for file in reading.files:
        if file.role is Role.SNAPSHOT and (file.before is not None or file.unread):
            said = "gone" if file.after is None and not file.unread else "written anew"
            yield Finding(
                change=Change.SNAPSHOT_REGENERATED,
                weight=Weight.SHOWN,
                file=file.path,
                line=1,
                before=file.old_path or file.path,
                after=said,
            )


def _unreadable(reading: Reading) -> Iterator[Finding]:
    for file in reading.files:
        if comparable(file) or not (file.role is Role.TEST or _has_tests(file)):
            continue
        if file.unread or (file.after and file.after.broken):
            said = file.unread or "it does not parse"
            yield Finding(
                change=Change.UNREADABLE, weight=Weight.SHOWN, file=file.path, line=1, after=said[:LINE]
            )


def _has_tests(file: FileReading) -> bool:
    return bool(file.before and file.before.tests)


# --- saying it ----------------------------------------------------------------------------------------------


def _about(spot: Spot, change: Change, after: str, *, milder: bool, before: str = "") -> Finding:
    return Finding(
        change=change,
        weight=Weight.SHOWN if milder else Weight.GRAVE,
        file=spot.file,
        line=spot.test.line,
        before=f"{_name(spot.test)}: {before}"[:LINE] if before else _name(spot.test),
        after=after[:LINE],
        weak=spot.weak,
    )


def _name(test: TestCase) -> str:
    return test.name[:LINE]


def _shown(one: Finding) -> Finding:
    return Finding(
        change=one.change,
        weight=Weight.SHOWN,
        file=one.file,
        line=one.line,
        before=one.before,
        after=one.after,
        weak=one.weak,
    )


def _gathered(found: Iterable[Finding]) -> list[Finding]:
    """Say once what one cause did to many tests: a skipped class, a focused block, a deleted file."""
    alike: dict[tuple[Change, Weight, str, str], list[Finding]] = defaultdict(list)
    for one in dict.fromkeys(found):
        alike[one.change, one.weight, one.file, one.after].append(one)
    told = list[Finding]()
    for group in alike.values():
        if len(group) <= ALIKE:
            told += group
            continue
        first, *rest = group
        names = f"{first.before}, {rest[0].before} and {len(rest) - 1} more"[:LINE]
        told.append(
            Finding(
                change=first.change,
                weight=first.weight,
                file=first.file,
                line=first.line,
                before=names,
                after=first.after,
                weak=first.weak,
            )
        )
    return told
