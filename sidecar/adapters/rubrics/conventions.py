"""What the author of a criterion says beside its text: `Severity: note`, `Applies to: ...`, `Evidence: ...`.

Each is a line of its own. A line that is not understood is prose: it stays in the text, and nothing is wrong.
The first line of a kind counts, a second one is prose. What stands in code is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from sidecar.model.outline import Key
from sidecar.model.rubric import SOURCES, Severity

PARTS: Final = 20
"""Globs, and sources of evidence."""
PART_LIMIT: Final = 200
"""Characters of one of them."""
LINE_LIMIT: Final = 1000
"""Characters of a line that is looked at."""
WHEN_LIMIT: Final = 300
"""Characters of a hint; a longer one is prose."""

_LINE: Final = re.compile(
    r"\s{0,8}(?:[-*+]\s{1,4})?(?P<bold>\*\*|__)?(?P<key>severity|applies[- ]to|when|evidence)"
    r"(?:\s?:(?P=bold)|(?P=bold)\s?:)?(?(bold)|\s?:)(?:\s+|(?=`))(?P<value>\S.*)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`{1,2}\s?([^`]+?)\s?`{1,2}")
_BETWEEN: Final = re.compile(r"(?:and|or|[,;.&\s])*", re.IGNORECASE)
_APART: Final = re.compile(r"\s+(?:and|or)\s+|[,;\s]+(?![^{}]*\})")
_GLOB: Final = re.compile(r"(?=\S*[*?./\[{])[^\s;`]+")
_SOURCE: Final = re.compile(rf"(?:gate|rule):[^\s`,;]+|{'|'.join(SOURCES)}")


class Found(NamedTuple):
    """One line that was understood: its number, and the columns of its value and of each part of it."""

    number: int
    key: Key
    value: tuple[int, int]
    parts: tuple[tuple[int, int], ...] = ()


class Said(NamedTuple):
    """What stands beside the text, the text without it, and where it stood."""

    text: str
    severity: Severity = Severity.MUST
    applies_to: tuple[str, ...] = ()
    when: str = ""
    evidence: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()


class _Value(NamedTuple):
    """What stands behind the colon, and the column at which it begins."""

    text: str
    column: int


@lru_cache(maxsize=1024)
def read(text: str, code: frozenset[int] = frozenset()) -> Said:
    """Take the conventions out of a text. `code`: the numbers of its lines, from 0, that are no prose."""
    said, left = Said(""), list[str]()
    for number, line in enumerate(text.split("\n")):
        met = _LINE.fullmatch(line.rstrip()) if number not in code and len(line) <= LINE_LIMIT else None
        key = Key(met["key"].capitalize().replace("-", " ")) if met else None
        if met is None or key is None or any(one.key is key for one in said.found):
            left.append(line)
            continue
        then = _understood(key, _Value(met["value"].strip(), met.start("value")), said, number)
        if then is None:
            left.append(line)
        else:
            said = then
    if not said.found:
        return said._replace(text=text)
    return said._replace(text=re.sub(r"\n{3,}", "\n\n", "\n".join(left)).strip())


def _understood(key: Key, value: _Value, said: Said, number: int) -> Said | None:
    """What is said with this line too, None where it is prose."""
    parts: tuple[tuple[int, int], ...] = ()
    if key is Key.SEVERITY:
        word = value.text.strip("`*_. ").lower()
        if word not in set(Severity):
            return None
        said = said._replace(severity=Severity(word))
    elif key is Key.WHEN:
        if len(value.text) > WHEN_LIMIT:
            return None
        said = said._replace(when=value.text)
    else:
        parts = _parts(value.text, _GLOB if key is Key.APPLIES_TO else _SOURCE)
        if not parts:
            return None
        named = tuple(value.text[begin:end] for begin, end in parts)
        said = said._replace(applies_to=named) if key is Key.APPLIES_TO else said._replace(evidence=named)
    moved = tuple((begin + value.column, end + value.column) for begin, end in parts)
    there = Found(number, key, (value.column, value.column + len(value.text)), moved)
    return said._replace(found=(*said.found, there))


def _parts(value: str, form: re.Pattern[str]) -> tuple[tuple[int, int], ...]:
    """The places of what a value such as "`src/**`, `*.py`" lists; nothing where words stand between them."""
    if "`" in value:
        found = [match.span(1) for match in _CODE.finditer(value)]
        plain = _BETWEEN.fullmatch(_CODE.sub(" ", value)) is not None
        plain = plain and (form is _GLOB or all(form.fullmatch(value[slice(*each)]) for each in found))
    else:
        found = list(_split(value))
        plain = all(form.fullmatch(value[slice(*each)]) for each in found)
    fit = found and len(found) <= PARTS and all(0 < end - begin <= PART_LIMIT for begin, end in found)
    return tuple(found) if plain and fit else ()


def _split(value: str) -> Iterator[tuple[int, int]]:
    """The places of the words between commas, spaces and "and"."""
    begin = len(value) - len(value.lstrip(" ,;"))
    end = len(value.rstrip(" .,;"))
    for apart in _APART.finditer(value, begin, end):
        yield begin, apart.start()
        begin = apart.end()
    yield begin, end
