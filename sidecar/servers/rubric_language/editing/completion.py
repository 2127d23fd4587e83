"""Completions at a place of a rubric.

The row up to the cursor decides, as an incomplete row is not parsed yet: after `#` the missing sections are
offered, after `Evidence:`, `Severity:` and `Applies to:` the possible values, and at the start of a row of a
criterion its missing keys. Nothing is offered within code.
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

from sidecar.kernel.rubric import (
    CriterionKey,
    LocatedCriterion,
    RubricContext,
    RubricOutline,
    SectionRole,
    Severity,
    TextSpan,
)
from sidecar.servers.rubric_language.editing.formatting import in_code, row_at
from sidecar.servers.rubric_language.editing.hover import (
    KEY_MEANINGS,
    ROLE_MEANINGS,
    SEVERITY_MEANINGS,
    SOURCE_MEANINGS,
)

MAX_GLOBS: Final = 100
"""Maximum number of globs that are offered, those with the most files first."""
MAX_FOLDER_DEPTH: Final = 3
"""Number of folder levels that are offered as globs."""
ROW_LIMIT: Final = 1000
"""Maximum length in characters of a row that is examined."""


class CompletionKind(Enum):
    """The kind of a completion."""

    SECTION = auto()
    KEY = auto()
    VALUE = auto()
    SOURCE = auto()
    GLOB = auto()


class CompletionOffer(Struct, frozen=True, kw_only=True):
    """`text` replaces `place`, which is what was typed of it so far. `about` describes it."""

    kind: CompletionKind
    label: str
    text: str
    place: TextSpan
    about: str = ""


def find_completions(
    outline: RubricOutline, place: int, around: RubricContext
) -> tuple[CompletionOffer, ...]:
    """Return all completions, best first, not filtered by what was typed so far."""
    row = row_at(outline.text, place)
    typed = outline.text[row.begin : place].removeprefix("\ufeff")
    if len(typed) > ROW_LIMIT or in_code(outline, place):
        return ()
    if heading := _compile_pattern(r" {0,3}##?#?\s*(?:[A-Za-z][A-Za-z ]*)?").fullmatch(typed):
        return tuple(_section_offers(outline, TextSpan(place - len(heading[0].lstrip(" ")), place)))
    if said := _compile_pattern(_SAID).fullmatch(typed):
        return tuple(_value_offers(said, place, around))
    if begun := _compile_pattern(
        r"(?P<lead>\s{0,8}(?:[-*+]\s{1,4})?)(?P<word>[a-z]+|applies[ -]t?o?)?"
    ).fullmatch(typed):
        return tuple(_key_offers(outline, begun, place))
    return ()


def _section_offers(outline: RubricOutline, place: TextSpan) -> Iterator[CompletionOffer]:
    there = {section.role for section in outline.sections if place.end not in section.title}
    for role in SectionRole:
        if role not in there:
            yield CompletionOffer(
                kind=CompletionKind.SECTION,
                label=f"## {role}",
                text=f"## {role}",
                place=place,
                about=ROLE_MEANINGS[role],
            )


# --- criteria -----------------------------------------------------------------------------------------------

_SAID: Final = (
    r"\s{0,8}(?:[-*+]\s{1,4})?(?:\*\*|__)?(?P<key>severity|applies[- ]to|evidence)"
    r"(?:\*\*|__)?\s?:(?:\*\*|__)?(?P<gap>\s*)(?P<value>.*)"
)


def _key_offers(outline: RubricOutline, begun: re.Match[str], place: int) -> Iterator[CompletionOffer]:
    """Yield the missing keys of the criterion of this row; outside of criteria, the missing sections."""
    one, word = _criterion_at(outline, place), begun["word"] or ""
    if one is None:
        if not begun["lead"]:
            yield from _section_offers(outline, TextSpan(place - len(word), place))
        return
    said = {line.key for line in one.lines if place not in line.whole}
    lead = "" if one.heading or begun["lead"] else "  "
    for key in CriterionKey:
        if key not in said:
            yield CompletionOffer(
                kind=CompletionKind.KEY,
                label=key,
                text=f"{lead}{key}: ",
                place=TextSpan(place - len(word), place),
                about=KEY_MEANINGS[key],
            )


def _criterion_at(outline: RubricOutline, place: int) -> LocatedCriterion | None:
    """Return the criterion of a row below its first one, or of a blank row after its last one."""
    section = next((each for each in reversed(outline.sections) if each.whole.begin <= place), None)
    above = [one for one in section.criteria if one.whole.begin <= place] if section else []
    if not above or place in row_at(outline.text, above[-1].name.begin):
        return None
    return above[-1]


def _value_offers(said: re.Match[str], place: int, around: RubricContext) -> Iterator[CompletionOffer]:
    """Yield the possible values of a key. Directly after the colon, a space is inserted first."""
    value = said["value"]
    token = re.split(r"[\s,;`]", value)[-1]
    earlier = value[: len(value) - len(token)]
    others = set(re.split(r"[\s,;`]+", earlier))
    key = CriterionKey(said["key"].capitalize().replace("-", " "))
    gap = "" if said["gap"] or value else " "
    quote = "`" if key is CriterionKey.APPLIES_TO and not earlier.endswith("`") else ""
    for kind, label, about in _possible_values(key, around):
        if label not in others and (key is not CriterionKey.SEVERITY or not earlier):
            text = f"{gap}{quote}{label}{quote}"
            yield CompletionOffer(
                kind=kind, label=label, text=text, place=TextSpan(place - len(token), place), about=about
            )


def _possible_values(key: CriterionKey, around: RubricContext) -> Iterator[tuple[CompletionKind, str, str]]:
    """Yield the possible values of a key, each with a description."""
    if key is CriterionKey.SEVERITY:
        yield from (
            (CompletionKind.VALUE, severity.value, SEVERITY_MEANINGS[severity]) for severity in Severity
        )
    elif key is CriterionKey.APPLIES_TO:
        yield from ((CompletionKind.GLOB, glob, about) for glob, about in _project_globs(around.paths or ()))
    else:
        yield from (
            (CompletionKind.SOURCE, f"gate:{name}", "a check of this project") for name in around.gates or ()
        )
        yield from (
            (CompletionKind.SOURCE, f"rule:{name}", "a rule, without a model") for name in around.rules
        )
        yield from ((CompletionKind.SOURCE, name, about) for name, about in SOURCE_MEANINGS.items())


@lru_cache(maxsize=2)
def _project_globs(paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return globs of folders and of extensions, each with the number of files that it matches."""
    counts: Counter[str] = Counter()
    for path in paths:
        *folders, name = path.split("/")
        counts.update(f"{folder}/**" for folder in accumulate(folders[:MAX_FOLDER_DEPTH], "{}/{}".format))
        _, dot, extension = name.rpartition(".")
        if dot and extension.isalnum():
            counts[f"*.{extension}"] += 1
    return tuple(
        (glob, f"{count:,} files" if count > 1 else "1 file") for glob, count in counts.most_common(MAX_GLOBS)
    )


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
