"""What no evidence of a stop can ever show: feelings, other people's minds, the future, production."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from sidecar.model.flaw import Fix, Flaw, Weight
from sidecar.model.outline import Key, Outline, Role, Span
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.edits import without
from sidecar.policy.advice.passage import CACHED, Passage, Place

UNSEEN = (".git", ".hg", ".svn")
"""Folders whose files are never among the changed ones."""


def by_wording(place: Place) -> Iterator[Flaw]:
    """A demand that only someone absent, or later, could confirm. English only; at most one flaw."""
    passage = place.passage
    if passage.role is Role.LEGITIMATE or place.located.criterion.evidence:
        return
    if found := _found(passage):
        kind, span = found
        yield Flaw(
            Code.UNDECIDABLE,
            _why(kind),
            place.begin + span.begin,
            place.begin + span.end,
            Weight.WARNING,
            "Say what can be seen when the agent stops: in the changed files, in what a command returned,"
            " or in the last message.",
        )


def by_paths(outline: Outline, place: Place) -> Iterator[Flaw]:
    """A criterion for files alone that no change ever shows."""
    for line in place.located.lines:
        globs = place.located.criterion.applies_to
        if line.key is Key.APPLIES_TO and globs and all(map(unseen, globs)):
            yield Flaw(
                Code.UNDECIDABLE,
                "files of the version control itself are never among the changed ones, so it never applies",
                line.value.begin,
                line.value.end,
                Weight.WARNING,
                "Leave the line out, or name files of the project.",
                (Fix("Leave the line out", (without(outline.text, line.whole),)),),
            )


@lru_cache(maxsize=CACHED)
def _found(passage: Passage) -> tuple[str, Span] | None:
    for number, span in enumerate(passage.sentences):
        if found := _beyond().search(passage.sentence(number)):
            return str(found.lastgroup), Span(span.begin + found.start(), span.begin + found.end())
    return None


def unseen(glob: str) -> bool:
    """Whether a glob is for such files alone."""
    return glob.removeprefix("./").lstrip("/").split("/", 1)[0] in UNSEEN


def _why(kind: str) -> str:
    return {
        "feelings": "what people feel or think is in no evidence of a stop",
        "agent": "what the agent thinks is in no evidence of a stop; what it did and wrote is",
        "later": "what will be is in no evidence of a stop",
        "production": "how it fares in production is in no evidence of a stop",
    }[kind]


@cache
def _beyond() -> re.Pattern[str]:
    people = (
        r"(?:users?|customers?|clients?|stakeholders?|reviewers?|(?:the |our )?team|managers?|management"
        r"|everyone|everybody|people|developers?|maintainers?|colleagues)"
    )
    mood = r"(?:happy|satisfied|pleased|delighted|comfortable|impressed|excited|convinced|content)"
    return re.compile(
        rf"(?P<feelings>\b{people} (?:(?:is|are|will be|should be|must be|feels?) {mood}"
        r"|(?:will |should |must )?(?:likes?|loves?|enjoys?|agrees?|trusts?|appreciates?|understands?) ))"
        r"|(?P<agent>\bthe agent (?:(?:does not|did not|doesn't|didn't|should|must|has to|is|was) )?"
        r"(?:really |truly |fully )?"
        r"(?:understands?|thinks?|believes?|feels?|cares?|confident|motivated|sure)\b)"
        r"|(?P<later>\bfuture[- ]proof\b|\bin the (?:future|long (?:run|term))\b"
        r"|\bin \w{1,20} (?:years?|months?)\b|\bnext (?:year|quarter|month)\b"
        r"|\bwill (?:never|always|still) (?:break|fail|be|work|scale)\b)"
        r"|(?P<production>\b(?:works?|runs?|behaves?|performs?|is|are|stays?|stable|healthy|verified|proven|tested)"
        r"(?: (?:well|fine|stable|reliably|correctly|smoothly|properly|healthy|fast|proven|tested|verified))?"
        r" in production\b)",
        re.IGNORECASE,
    )
