"""Short ids of criteria: made of their names, or chosen by the author with `{#id}`.

An id stays as long as the name does. It is unique within a rubric; where two names give the same, the later
one is numbered. An id that the author chose goes before one that is made.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

LIMIT: Final = 40
"""Characters of an id."""
RESERVED: Final = frozenset({"goal", "request"})
"""What a judge calls the goal and the request by."""

_CHOSEN: Final = re.compile(r"\s{0,8}\{#(?P<id>[^\W_][\w.:-]{0,39})\}")


def chosen(heading: str) -> tuple[str, str]:
    """A heading without the `{#id}` at its end, and that id; "" where it has none."""
    at = heading.rstrip().rfind("{#")
    while at > 0 and heading[at - 1].isspace():
        at -= 1
    found = _CHOSEN.fullmatch(heading.rstrip(), at) if at > 0 else None
    return (heading[:at], found["id"]) if found else (heading, "")


def unique(wanted: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """An id for each (name, chosen id), in their order."""
    taken = dict.fromkeys(RESERVED, 1)
    found = [_free(choice, taken) if choice else "" for _, choice in wanted]
    return tuple(each or _free(slug(name), taken) for each, (name, _) in zip(found, wanted, strict=True))


@lru_cache(maxsize=1024)
def slug(name: str) -> str:
    """A name in small letters and digits of its own script, words joined with "-"."""
    words = "".join(map(_letter, unicodedata.normalize("NFKC", name[:500]).casefold()))
    made = "-".join(words.split())[:LIMIT].strip("-")
    return made or f"c-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _letter(char: str) -> str:
    """Latin letters lose their accents, others keep their marks; all else parts words."""
    base = unicodedata.normalize("NFKD", char)[0]
    kept = base if base.isascii() else char
    return kept if unicodedata.category(kept)[0] in "LNM" else " "


def _free(wanted: str, taken: dict[str, int]) -> str:
    """The id, with the next number where it is taken. `taken`: the highest number that each was given."""
    found, number = wanted, taken.get(wanted.casefold(), 0)
    while found.casefold() in taken:
        number += 1
        found = f"{wanted[: LIMIT - len(str(number)) - 1]}-{number}"
    taken[found.casefold()] = 1
    taken[wanted.casefold()] = max(number, 1)
    return found
