"""Files that a message lists: where the turn changed some of them, the list tells of its work.

So a listed file that is not there was not written, and of "all five files" each was to change.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from sidecar.evidence.claims.wording import (
    BLOCKS,
    EMPHASIS,
    LIST_ITEM,
    MESSAGE_LIMIT,
    TEXT,
    ClaimWording,
    Utterance,
    compiled,
    read_number,
    tells_of_trouble,
)
from sidecar.kernel.evidence import ClaimKind
from sidecar.platform.data import load_data

LISTED: Final = 2
"""Files that make a list."""


@lru_cache(maxsize=16)
def listed_files(message: str) -> tuple[Utterance, ...]:
    """Return the files that open the points of a list, with those beside them.

    `whole`: the line above the list speaks of all of them, by their number.
    """
    known = load_data("claims", ClaimWording)
    found: list[Utterance] = []
    for head, points in _lists(EMPHASIS.sub("", BLOCKS.sub(" ", message[-MESSAGE_LIMIT:]))):
        named = [(hit["path_0"], point) for point in points if (hit := compiled(known.listed).match(point))]
        if len(named) < LISTED or _is_open(head) or compiled(known.plans).search(head):
            continue
        number = compiled(known.all_of_them).search(head)
        whole = number is not None and read_number(number["count_0"]) == len(named)
        beside = tuple(path for path, _ in named)
        found.extend(
            Utterance(ClaimKind.FILE_LISTED, point.strip()[:TEXT], whole, path, loose=True, beside=beside)
            for path, point in named
            if not (_is_open(point) or compiled(known.gone_or_to_come).search(point))
        )
    return tuple(found)


def _is_open(text: str) -> bool:
    known = load_data("claims", ClaimWording)
    return tells_of_trouble(compiled(known.uncommitted).sub("", text))


def _lists(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each list or table that is not below a heading of other things, and the line above it."""
    elsewhere = compiled(load_data("claims", ClaimWording).elsewhere)
    head, points, section = "", list[str](), ""
    for line in (*text.split("\n"), "-"):
        if item := LIST_ITEM.match(line):
            points.append(item[1])
        elif line.strip():
            if points and not elsewhere.search(section) and not elsewhere.search(head):
                yield head, points
            section = line if line.startswith("#") else section
            head, points = line, []
