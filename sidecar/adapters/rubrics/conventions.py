"""What the author of a criterion says beside its text: `Severity: note`, `Applies to: ...`, `When: ...`.

Each is a line of its own. A line that is not understood is prose: it stays in the text, and nothing is wrong.
The first line of a kind counts, a second one is prose. What stands in code is text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from sidecar.model.rubric import Severity

GLOBS: Final = 20
GLOB_LIMIT: Final = 200
"""Characters of one glob."""
LINE_LIMIT: Final = 1000
"""Characters of a line that is looked at."""
WHEN_LIMIT: Final = 300
"""Characters of a hint; a longer one is prose."""

_LINE: Final = re.compile(
    r"\s{0,8}(?:[-*+]\s{1,4})?(?P<bold>\*\*|__)?(?P<key>severity|applies[- ]to|when)"
    r"(?:\s?:(?P=bold)|(?P=bold)\s?:)?(?(bold)|\s?:)(?:\s+|(?=`))(?P<value>\S.*)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`{1,2}\s?([^`]+?)\s?`{1,2}")
_BETWEEN: Final = re.compile(r"(?:and|or|[,;.&\s])*", re.IGNORECASE)
_GLOB: Final = re.compile(r"(?=\S*[*?./\[{])[^\s;`]+")


class Said(NamedTuple):
    """What stands beside the text, and the text without it."""

    text: str
    severity: Severity = Severity.MUST
    applies_to: tuple[str, ...] = ()
    when: str = ""


def read(text: str, code: Collection[int] = ()) -> Said:
    """Take the conventions out of a text. `code`: the numbers of its lines, from 0, that are code."""
    said, left = Said(""), []
    known: set[str] = set()
    for number, line in enumerate(text.split("\n")):
        found = _LINE.fullmatch(line.rstrip()) if number not in code and len(line) <= LINE_LIMIT else None
        key = found["key"].lower().replace("-", " ") if found else ""
        then = _understood(key, found["value"].strip(), said) if found and key not in known else None
        if then is None:
            left.append(line)
        else:
            known.add(key)
            said = then
    if not known:
        return said._replace(text=text)
    return said._replace(text=re.sub(r"\n{3,}", "\n\n", "\n".join(left)).strip())


def _understood(key: str, value: str, said: Said) -> Said | None:
    """What is said with this line too, None where it is prose."""
    if key == "severity":
        severity = _severity(value)
        return said._replace(severity=severity) if severity else None
    if key == "when":
        return said._replace(when=value) if len(value) <= WHEN_LIMIT else None
    globs = _globs(value)
    return said._replace(applies_to=globs) if globs else None


def _severity(value: str) -> Severity | None:
    word = value.strip("`*_. ").lower()
    return Severity(word) if word in set(Severity) else None


def _globs(value: str) -> tuple[str, ...]:
    """The paths of a value such as "`src/**`, `*.py`"; nothing where words stand between them."""
    if "`" in value:
        found = _CODE.findall(value)
        plain = _BETWEEN.fullmatch(_CODE.sub(" ", value)) is not None
    else:
        found = re.split(r"\s+(?:and|or)\s+|[,;\s]+(?![^{}]*\})", value.strip(" .,;"))
        plain = all(_GLOB.fullmatch(each) for each in found)
    fit = found and len(found) <= GLOBS and all(0 < len(each) <= GLOB_LIMIT for each in found)
    return tuple(found) if plain and fit else ()
