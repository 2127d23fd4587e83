"""Marks that came: checks told to look away, results rewritten, code that asks whether it is tested.

Counted over the whole change set, so that moved code says nothing: a mark that went in one file pays for the
same one elsewhere. A directive that names its rules may pay for another of the same tool; one for a whole
file or for every rule is paid for only by its like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileReading, Mark, Reading, Role
from sidecar.policy.kept.pairs import TEXT

WEIGHTS = {
    "silenced": (Change.CHECK_SILENCED, Weight.SHOWN),
    "uncovered": (Change.CHECK_SILENCED, Weight.SHOWN),
    "hook": (Change.RESULTS_REWRITTEN, Weight.GRAVE),
    "exit": (Change.RESULTS_REWRITTEN, Weight.GRAVE),
    "knows-test": (Change.CODE_KNOWS_TEST, Weight.GRAVE),
}
WHOLE = "(whole file)"
ASKED = re.compile(r"^[\w ]+ where it is asked for:")
"""What an option or the platform decides."""
REPLACED = re.compile(r"^(?:autouse \w+ )?replaces (?!unittest|pytest|_pytest|builtins|Test)")
"""Tests rightly replace much; what they replace is weighed by the judge."""
CUSTOM = re.compile(
    r"(?:NODE_ENV|MODE)\b.*!==?|!==?.*NODE_ENV|Rails\.env|RA(?:ILS|CK)_ENV|Mix\.env|runningUnitTests"
    r"|['\"]test['\"] in sys\.argv"
    r"|(?:APP|DJANGO|FLASK)_ENV\b"
)
"""Settings of a framework that name the environment."""
SOME, EVERY = "some rules", "every rule"
EXPECTED = "@ts-expect-error"


def findings(reading: Reading) -> tuple[Finding, ...]:
    """One finding for every mark that is more than before, in the order of files and lines."""
    left = _surplus(reading)
    found = list[Finding]()
    for file in reading.files:
        for mark in _new(file):
            key = _key(mark)
            if left[key] > 0:
                left[key] -= 1
                found.append(_finding(file, mark))
    return tuple(found)


def _surplus(reading: Reading) -> Counter[tuple[str, str, str]]:
    """How many more of each mark there are than before."""
    before, after = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for file in reading.files:
        if file.before and file.after and (file.before.broken or file.after.broken) and not file.after.marks:
            continue
        before.update(_key(mark) for mark in (file.before.marks if file.before else ()))
        after.update(_key(mark) for mark in _counted(file))
    left = after - before
    for (kind, word, rules), gone in (before - after).items():
        if rules == EVERY:  # naming rules is narrower than naming none
            left[kind, word, SOME] -= gone
    return left


def _key(mark: Mark) -> tuple[str, str, str]:
    """What must be the same for a mark to be the same."""
    if mark.kind in ("silenced", "uncovered"):
        word, _, rules = mark.text.partition(" [")
        return (mark.kind, word, SOME if rules else EVERY)
    return (mark.kind, mark.text, "")


def _counted(file: FileReading) -> Iterator[Mark]:
    for mark in file.after.marks if file.after else ():
        is_check = file.role is Role.TEST and mark.text.startswith(EXPECTED)
        if mark.kind in WEIGHTS and not is_check:
            yield mark


def _new(file: FileReading) -> Iterator[Mark]:
    """The marks that this file has more of than before, the last ones where they look the same."""
    known = Counter((mark.kind, mark.text) for mark in (file.before.marks if file.before else ()))
    left = list[Mark]()
    for mark in _counted(file):
        if known[mark.kind, mark.text]:
            known[mark.kind, mark.text] -= 1
        else:
            left.append(mark)
    yield from left


def _finding(file: FileReading, mark: Mark) -> Finding:
    change, weight = WEIGHTS[mark.kind]
    if (mark.kind == "silenced" and WHOLE in mark.text and " [" not in mark.text) or (
        mark.kind == "uncovered" and WHOLE in mark.text
    ):
        weight = Weight.GRAVE
    elif (mark.kind == "hook" and (ASKED.match(mark.text) or REPLACED.match(mark.text))) or (
        mark.kind == "knows-test" and CUSTOM.search(mark.text)
    ):
        weight = Weight.SHOWN
    return Finding(
        change=change, weight=weight, file=file.path, line=mark.line, after=mark.text[:TEXT], weak=file.weak
    )
