"""Files that a message lists: where the turn changed some of them, the list tells of its work.

So a listed file that is not there was not written, and of "all five files" each was to change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from textwrap import indent
from typing import Final

from sidecar.evidence.claims.utterances import CLAIMS, TEXT, Utterance
from sidecar.evidence.claims.wording import (
    BLOCKS,
    EMPHASIS,
    HEADING,
    IN_BACKTICKS,
    JOINT,
    LIST_ITEM,
    MESSAGE_LIMIT,
    SENTENCE,
    claim_wording,
    compiled,
    join_quoted,
    named_groups,
    read_number,
    tells_of_trouble,
)
from sidecar.kernel.evidence import ClaimKind

FENCE: Final = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
LISTED: Final = 2
"""Files that make a list."""
INDENTED: Final = re.compile(r"(?: {2,}|\t)(\S+)\s*")
"""A line of which a path is all."""


@lru_cache(maxsize=16)
def listed_files(message: str) -> tuple[Utterance, ...]:
    """Return the files that open the points of a list, or stand in a row, with those beside them.

    `whole`: what stands above the list, or before the row, tells of all of them as done.
    """
    unfenced = FENCE.sub(lambda fence: indent(fence[1], "    "), message[-MESSAGE_LIMIT:])
    text = EMPHASIS.sub("", BLOCKS.sub(" ", unfenced))
    return (*_in_lists(text), *_in_rows(text))[:CLAIMS]


def _in_lists(text: str) -> Iterator[Utterance]:
    known = claim_wording()
    for head, points in _lists(text):
        named = [(path, point) for point in points if (path := _leading_file(point))]
        others = any(compiled(each).search(head) for each in (known.plans, known.proposes))
        if len(named) < LISTED or _is_open(head) or others:
            continue
        number = compiled(known.all_of_them).search(head)
        counted = read_number(named_groups(number)["count"]) if number else 0
        whole = counted == len(named) if number else _is_told_as_done(head)
        beside = tuple(path for path, _ in named)
        for path, point in named:
            if not (_is_open(point) or compiled(known.gone_or_to_come).search(point)):
                yield _listed(point, path, beside, whole=whole)


def _in_rows(text: str) -> Iterator[Utterance]:
    known = claim_wording()
    back = (known.plans, known.denies, known.withdraws)
    for joined in SENTENCE.split(IN_BACKTICKS.sub(join_quoted, text)):
        sentence = joined.replace(JOINT, " ")
        for hit in compiled(known.enumerated).finditer(sentence) if _is_told_as_done(sentence) else ():
            if not (_is_open(sentence) or any(compiled(each).search(sentence) for each in back)):
                beside = tuple(filter(None, map(_leading_file, IN_BACKTICKS.findall(hit[0]))))
                for path in beside:
                    yield _listed(sentence, path, beside, whole=True)


def _leading_file(point: str) -> str:
    """Return the file that a text begins with; "" for anything else, such as the name of a method."""
    hit = compiled(claim_wording().listed).match(point)
    return named_groups(hit)["path"] if hit else ""


def _listed(text: str, path: str, beside: tuple[str, ...], *, whole: bool) -> Utterance:
    return Utterance(ClaimKind.FILE_LISTED, text.strip()[:TEXT], whole, path, loose=True, beside=beside)


def _is_told_as_done(text: str) -> bool:
    return compiled(claim_wording().told_as_done).search(text) is not None


def _is_open(text: str) -> bool:
    known = claim_wording()
    return tells_of_trouble(compiled(known.uncommitted).sub("", text))


def _lists(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each list or table that is not below a heading of other things, and the line above it."""
    elsewhere = compiled(claim_wording().elsewhere)
    head, points, section = "", list[str](), ""
    for line in (*text.split("\n"), "-"):
        if item := LIST_ITEM.match(line) or INDENTED.fullmatch(line):
            points.append(item[1])
        elif line.strip():
            titles = section, head if HEADING.match(head) else ""
            if points and not any(map(elsewhere.search, titles)):
                yield head, points
            section = line if line.startswith("#") else section
            head, points = line, []
