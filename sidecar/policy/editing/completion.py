"""What could be typed at a place of a rubric.

The row up to the cursor decides what is meant, for a row that is not yet whole is not yet read: behind `#`
the sections that are missing, behind `Evidence:`, `Severity:` and `Applies to:` what can stand there, and at
the beginning of a row of a criterion what else can be said of it. Within code nothing is offered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum, auto
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

from msgspec import Struct

from sidecar.model.flaw import Surroundings
from sidecar.model.outline import Key, Located, Outline, Role, Span
from sidecar.model.rubric import Severity
from sidecar.policy.editing.hover import KEYS, ROLES, SOURCES, WEIGHTS
from sidecar.policy.editing.rows import in_code, row_at

GLOBS: Final = 100
"""Globs on offer, those of the most files first."""
DEPTH: Final = 3
"""Folders above a file that are offered as globs."""
ROW_LIMIT: Final = 1000
"""Characters of a row that is looked at."""


class Kind(Enum):
    """What is offered."""

    SECTION = auto()
    KEY = auto()
    VALUE = auto()
    SOURCE = auto()
    GLOB = auto()


class Offer(Struct, frozen=True, kw_only=True):
    """`text` comes to stand in `place`, which is what was typed of it so far. `about` says what it is."""

    kind: Kind
    label: str
    text: str
    place: Span
    about: str = ""


def complete(outline: Outline, place: int, around: Surroundings) -> tuple[Offer, ...]:
    """All that fits, best first; what was typed so far is not held against it."""
    row = row_at(outline.text, place)
    typed = outline.text[row.begin : place].removeprefix("\ufeff")
    if len(typed) > ROW_LIMIT or in_code(outline, place):
        return ()
    if heading := _pattern(r" {0,3}##?#?\s*(?:[A-Za-z][A-Za-z ]*)?").fullmatch(typed):
        return tuple(_sections(outline, Span(place - len(heading[0].lstrip(" ")), place)))
    if said := _pattern(_SAID).fullmatch(typed):
        return tuple(_values(said, place, around))
    if begun := _pattern(r"(?P<lead>\s{0,8}(?:[-*+]\s{1,4})?)(?P<word>[a-z]+|applies[ -]t?o?)?").fullmatch(
        typed
    ):
        return tuple(_at_begin(outline, begun, place))
    return ()


def _sections(outline: Outline, place: Span) -> Iterator[Offer]:
    there = {section.role for section in outline.sections if place.end not in section.title}
    for role in Role:
        if role not in there:
            yield Offer(
                kind=Kind.SECTION, label=f"## {role}", text=f"## {role}", place=place, about=ROLES[role]
            )


# --- criteria -----------------------------------------------------------------------------------------------

_SAID: Final = (
    r"\s{0,8}(?:[-*+]\s{1,4})?(?:\*\*|__)?(?P<key>severity|applies[- ]to|evidence)"
    r"(?:\*\*|__)?\s?:(?:\*\*|__)?(?P<gap>\s*)(?P<value>.*)"
)


def _at_begin(outline: Outline, begun: re.Match[str], place: int) -> Iterator[Offer]:
    """What can be said of the criterion of this row; outside of any, the sections that are missing."""
    one, word = _criterion(outline, place), begun["word"] or ""
    if one is None:
        if not begun["lead"]:
            yield from _sections(outline, Span(place - len(word), place))
        return
    said = {line.key for line in one.lines if place not in line.whole}
    lead = "" if one.heading or begun["lead"] else "  "
    for key in Key:
        if key not in said:
            yield Offer(
                kind=Kind.KEY,
                label=key,
                text=f"{lead}{key}: ",
                place=Span(place - len(word), place),
                about=KEYS[key],
            )


def _criterion(outline: Outline, place: int) -> Located | None:
    """The criterion of a row below its first one, also of a blank row behind its last one."""
    section = next((each for each in reversed(outline.sections) if each.whole.begin <= place), None)
    above = [one for one in section.criteria if one.whole.begin <= place] if section else []
    if not above or place in row_at(outline.text, above[-1].name.begin):
        return None
    return above[-1]


def _values(said: re.Match[str], place: int, around: Surroundings) -> Iterator[Offer]:
    """What can stand behind a key. Right behind its colon a blank comes first."""
    value = said["value"]
    token = re.split(r"[\s,;`]", value)[-1]
    earlier = value[: len(value) - len(token)]
    others = set(re.split(r"[\s,;`]+", earlier))
    key = Key(said["key"].capitalize().replace("-", " "))
    gap = "" if said["gap"] or value else " "
    quote = "`" if key is Key.APPLIES_TO and not earlier.endswith("`") else ""
    for kind, label, about in _fitting(key, around):
        if label not in others and (key is not Key.SEVERITY or not earlier):
            text = f"{gap}{quote}{label}{quote}"
            yield Offer(kind=kind, label=label, text=text, place=Span(place - len(token), place), about=about)


def _fitting(key: Key, around: Surroundings) -> Iterator[tuple[Kind, str, str]]:
    """What can stand behind a key, each with what it is."""
    if key is Key.SEVERITY:
        yield from ((Kind.VALUE, severity.value, WEIGHTS[severity]) for severity in Severity)
    elif key is Key.APPLIES_TO:
        yield from ((Kind.GLOB, glob, about) for glob, about in _globs(around.paths or ()))
    else:
        yield from ((Kind.SOURCE, f"gate:{name}", "a check of this project") for name in around.gates or ())
        yield from ((Kind.SOURCE, f"rule:{name}", "a rule, without a model") for name in around.rules)
        yield from ((Kind.SOURCE, name, about) for name, about in SOURCES.items())


@lru_cache(maxsize=2)
def _globs(paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Globs of folders and of extensions, each with how many files it means."""
    counts: Counter[str] = Counter()
    for path in paths:
        *folders, name = path.split("/")
        counts.update(f"{folder}/**" for folder in accumulate(folders[:DEPTH], "{}/{}".format))
        _, dot, extension = name.rpartition(".")
        if dot and extension.isalnum():
            counts[f"*.{extension}"] += 1
    return tuple(
        (glob, f"{count:,} files" if count > 1 else "1 file") for glob, count in counts.most_common(GLOBS)
    )


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
