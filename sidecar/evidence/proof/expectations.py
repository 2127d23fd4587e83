"""Finds what tests expect in their text, and turns it wrong: data/expectations.toml says how, by language.

What is found is a literal that a result is compared with (`== 90`, `assertEqual(x, "a")`, `toBe(true)`), else
the condition of an assertion. Conditions joined by "or", where one that is turned wrong may not count, are
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.platform.data import load_data

PLACE: Final = re.compile(r"""([\w.@+/-]+\.\w+)(?:["']?, line | line |:|\()(\d{1,7})\b""")
"""A file and a line, as runners and languages report them."""
LITERAL: Final = (
    r"""(?P<text>"s*"|'s*'|`s*`)|(?<![\w.])(?P<number>\d+)(?![\dxXbBoO_])|\b(?P<flag>{flags})\b"""
)
STRING: Final = (
    r"""\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|(["`])(?:(?!\1)[^\\]|\\.)*\1|'(?:[^'\\\n]|\\.)*'"""
)
BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
SPAN_LIMIT: Final = 4_000
"""Characters of one expectation that are read."""


class Language(Struct, frozen=True, forbid_unknown_fields=True):
    """How tests of a language say what they expect; the data file explains the fields."""

    files: str
    comment: str
    same: str
    equal: str = "(?!)"
    holds: str = "(?!)"
    fails: str = "(?!)"
    truth: str = "(?!)"
    negation: tuple[str, str] = ("", "")
    other: str = "(?!)"
    either: tuple[str, str] = (r"\|\||\bor\b", r"&&|\band\b")


class Expectations(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    around: str
    flags: dict[str, str]
    languages: tuple[Language, ...]


class Expectation(Struct, frozen=True):
    """One expectation: its first and last line, and what takes the place of which parts of the text."""

    first: int
    last: int
    edits: tuple[tuple[int, int, str], ...]


@cache
def _known() -> tuple[Expectations, str]:
    known = load_data("expectations", Expectations)
    return known, LITERAL.format(flags="|".join(known.flags))


def _language_of(path: str) -> Language | None:
    return next((one for one in _known()[0].languages if re.search(one.files, path)), None)


def may_hold_expectations(path: str) -> bool:
    """Whether a file of this name is in a language that is known here."""
    return _language_of(path) is not None


def find_places(text: str) -> Iterator[tuple[str, int]]:
    """Yield the files and lines that a report names."""
    return ((found[1].lstrip("/"), int(found[2])) for found in PLACE.finditer(text))


def expectation_at(path: str, text: str, line: int) -> Expectation | None:
    """Return the expectation that stands in a line, None for none."""
    found = (one for one in find_expectations(path, text) if one.first <= line <= one.last)
    return next(found, None)


def falsify(text: str, expectations: Iterable[Expectation]) -> str:
    """Return the text with these expectations turned wrong."""
    edits = sorted({edit for one in expectations for edit in one.edits}, reverse=True)
    for start, end, new in edits:
        text = text[:start] + new + text[end:]
    return text


def find_expectations(path: str, text: str) -> Iterator[Expectation]:
    """Yield the expectations of a test file that can be turned wrong."""
    language = _language_of(path)
    if language is None:
        return
    blank = re.sub(f"(?s:{STRING}|{language.comment})", _blanked, text) + "\n"
    starts = re.compile(f"(?:{language.equal})|(?:{language.holds})|(?:{language.fails})")
    for start in starts.finditer(blank):
        end = _span_end(blank, start.end())
        span = (start.end() + (blank[start.end() : start.end() + 1] == "("), end)
        edits = _edits(language, start[0], blank, span, text)
        if edits:
            first, last = (text.count("\n", 0, at) + 1 for at in (start.start(), end))
            yield Expectation(first, last, edits)


def _blanked(found: re.Match[str]) -> str:
    """Return as many characters: of a string only its quotes, of a comment nothing but its lines."""
    whole = found[0]
    if whole[0] not in "\"'`":
        return re.sub(r"[^\n]", " ", whole)
    return f"{whole[0]}{'s' * (len(whole) - 2)}{whole[-1]}"


def _span_end(blank: str, begin: int) -> int:
    """Return where a call, or else a statement, ends."""
    called = blank[begin - 1] in "([" or blank[begin : begin + 1] == "("
    depth = int(blank[begin - 1] in "([")
    for at in range(begin, min(len(blank), begin + SPAN_LIMIT)):
        character = blank[at]
        if character in BRACKETS:
            depth += 1
        elif character in BRACKETS.values():
            depth -= 1
            if depth < 0 or (called and depth == 0):
                return at
        elif depth == 0 and character in "\n;":
            return at
    return begin


def _edits(
    language: Language, start: str, blank: str, span: tuple[int, int], text: str
) -> tuple[tuple[int, int, str], ...]:
    """Return how one expectation is turned wrong; nothing where that is not sure."""
    known, literal = _known()
    arguments = list(_arguments(blank, *span))
    if re.fullmatch(language.equal, start):
        whole = re.compile(rf"\s*{known.around}(?:{literal})")
        values = (whole.match(blank, begin, end) for begin, end in reversed(arguments[:2]))
        return next((_wrong(one, text) for one in values if one), ())
    for form, sign, joined in (
        (language.holds, language.same, language.either[0]),
        (language.fails, language.other, language.either[1]),
    ):
        if not re.fullmatch(form, start) or re.search(joined, blank[span[0] : span[1]]):
            continue
        compared = re.compile(rf"(?<![=!<>])(?:{sign})(?![=])\s*{known.around}(?:{literal})")
        before = re.compile(rf"(?:{literal})\s*(?:{sign})(?![=])")
        if found := compared.search(blank, *span) or before.search(blank, *span):
            return _wrong(found, text)
    if re.fullmatch(language.truth, start) and arguments:
        (begin, end), (before_it, behind) = arguments[0], language.negation
        begin += len(blank[begin:end]) - len(blank[begin:end].lstrip())
        return ((begin, end, f"{before_it}{text[begin:end]}{behind}"),) if begin < end else ()
    return ()


def _arguments(blank: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans between commas that stand in no bracket."""
    depth = 0
    for at in range(begin, end):
        depth += (blank[at] in BRACKETS) - (blank[at] in BRACKETS.values())
        if depth == 0 and blank[at] == ",":
            yield begin, at
            begin = at + 1
    yield begin, end


def _wrong(found: re.Match[str], text: str) -> tuple[tuple[int, int, str], ...]:
    """Return the edit by which a literal says something else."""
    if found["text"] is not None:
        start, end = found.span("text")
        end -= 3 if text[start : start + 3] in ('"""', "'''") else 1
        return ((end, end, "!"),)
    kind = "number" if found["number"] is not None else "flag"
    start, end = found.span(kind)
    old = text[start:end]
    return ((start, end, str(int(old) + 1) if kind == "number" else _known()[0].flags[old]),)
