"""Finds wording in a text. The wording is data: `data/wording/en.toml`, and a file per other language.

English decides. A text in another language is not understood: its file, if there is one, can only raise a
suspicion. Every pattern starts at the beginning of a word and ignores case; it is compiled when it is first
looked for. Every gap in a pattern has a limit, so that no text makes it slow.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.evidence.message import drop_backtick_names
from sidecar.platform.data import list_data, load_data

Lines = tuple[str, ...]
"""Regular expressions, any of which may match."""
ENGLISH: Final = "en"
SAMPLE: Final = 4_000
"""Characters at the end of a text from which its language is told."""
NAMES: Final = r"`[^`\n]{0,200}`|\S{0,80}[/\\_.]\w\S{0,80}"
"""Names of code and paths, which belong to no language."""
WORD: Final = r"[^\W\d_]+"
COMMON_SHARE: Final = 0.08
"""Least share of a text's words that are common words of English."""
FOREIGN_SHARE: Final = 0.02
"""Share of letters outside ASCII from which on a text is not English."""
FOUND_LIMIT: Final = 40
"""Number of places with one kind of wording that are compared."""


class EnglishWording(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The English wording; en.toml explains each field."""

    common: str
    ignored: str
    patterns: dict[str, Lines]


class OtherWording(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The wording of another language: signs that a stop may be premature, none of which decides.

    `common`: small words by which the language is told. `leave` asks for permission, `promise` announces a
    step, `narration` describes an action under way, `rest` mentions work that is left.
    """

    common: str
    leave: Lines = ()
    promise: Lines = ()
    narration: Lines = ()
    rest: Lines = ()


# --- English ------------------------------------------------------------------------------------------------


@cache
def english() -> EnglishWording:
    """Load the English wording."""
    return load_data(f"wording/{ENGLISH}", EnglishWording)


@cache
def words(field: str) -> frozenset[str]:
    """Return a field that is a list of words."""
    return frozenset(getattr(english(), field).split())


@cache
def pattern(*fields: str) -> re.Pattern[str]:
    """Return a pattern that finds any of these fields at the beginning of a word."""
    return re.compile(rf"(?<!\w)(?:{_alternatives(*fields)})", re.IGNORECASE)


@cache
def opening(field: str) -> re.Pattern[str]:
    """Return a pattern for a sentence that opens with this field, after what may lead up to it."""
    lead = rf"(?:(?:{_alternatives('lead')})[\W_]{{0,3}}){{0,3}}"
    return re.compile(rf"[\W_]{{0,8}}{lead}(?:{_alternatives(field)})", re.IGNORECASE)


@cache
def clause_opening(field: str) -> re.Pattern[str]:
    """Return a pattern for this field where it opens a sentence or a clause, or follows a polite word."""
    before = rf"(?:^|[,;:(]\s?)[\W\d_]{{0,8}}|(?<!\w)(?:{_alternatives('before_order')})[ ,:]{{1,3}}"
    return re.compile(rf"(?:{before})(?:{_alternatives(field)})", re.IGNORECASE)


def _alternatives(*fields: str) -> str:
    return "|".join(line for field in fields for line in english().patterns[field])


def has(text: str, *fields: str) -> bool:
    """Whether a text has wording of any of these fields."""
    return pattern(*fields).search(text) is not None


def found(text: str, *fields: str) -> list[str]:
    """Return such wording in a text, at most FOUND_LIMIT, in lower case."""
    hits = pattern(*fields).finditer(text)
    return [hit[0].lower() for hit, _ in zip(hits, range(FOUND_LIMIT), strict=False)]


def opens(text: str, field: str) -> re.Match[str] | None:
    """Return the wording with which a sentence opens."""
    return opening(field).match(text)


def without(text: str, field: str) -> str:
    """Return a text without such wording."""
    return pattern(field).sub(" ", text)


def mentions_trouble(text: str, *other_fields: str) -> bool:
    """Whether a text mentions a failure or a limit that it does not call solved."""
    return has(without(drop_backtick_names(text), "trouble_solved"), "trouble", *other_fields)


# --- Languages ----------------------------------------------------------------------------------------------


def is_english(text: str, context: str = "") -> bool:
    """Whether a text is English: ASCII letters, and enough of the small words that English cannot do without.

    A text that shows neither ("Done.") is in the language of its context; if that shows none, it is not known
    to be English.
    """
    return next((told for each in (text, context) if (told := _shows_english(each)) is not None), False)


def _shows_english(text: str) -> bool | None:
    plain = re.sub(NAMES, " ", text[-SAMPLE:])
    found_words = re.findall(WORD, plain.lower())
    letters = sum(map(len, found_words))
    if sum(not each.isascii() for word in found_words for each in word) > FOREIGN_SHARE * letters:
        return False
    common = sum(word in words("common") for word in found_words)
    if common >= COMMON_SHARE / 2 * len(found_words) > 0:  # a table has few, so that its context tells
        return True if common >= COMMON_SHARE * len(found_words) else None
    if common:
        return False
    return None if len(found_words) < 1 / COMMON_SHARE else False


@cache
def _other_languages() -> dict[str, OtherWording]:
    codes = (code for code in list_data("wording") if code != ENGLISH)
    return {code: load_data(f"wording/{code}", OtherWording) for code in codes}


def suspicious_fields(text: str, ending: str) -> tuple[str, ...]:
    """Return the fields of OtherWording that match the ending, in the language that the text is in."""
    spoken = re.findall(WORD, text[-SAMPLE:].lower())
    common = {code: frozenset(one.common.split()) for code, one in _other_languages().items()}
    counts = {code: sum(word in each for word in spoken) for code, each in common.items()}
    code = max(counts, key=lambda each: counts[each], default="")
    if not code or not counts[code]:
        return ()
    fields = (each for each in OtherWording.__struct_fields__ if each != "common")
    return tuple(each for each in fields if _other_pattern(code, each).search(ending))


@cache
def _other_pattern(code: str, field: str) -> re.Pattern[str]:
    lines: Lines = getattr(_other_languages()[code], field)
    return re.compile(rf"(?<!\w)(?:{'|'.join(lines)})" if lines else r"(?!)", re.IGNORECASE)
