"""Wording that nobody can check. Precision first: better a vague sentence missed than a plain one accused.

A sentence with something to hold on to (code, a number, a quotation, what stands behind a colon, "so that")
is not vague. A criterion is a warning where all that it demands is vague, else a hint. Where it names its
evidence, the author has said how it is decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from sidecar.model.flaw import Edit, Fix, Flaw, Weight
from sidecar.model.outline import Outline, Role, Span
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.edits import with_line
from sidecar.policy.advice.passage import BLOT, CACHED, Passage, Place
from sidecar.policy.advice.vague_words import VAGUE, Vague


def vague(outline: Outline, place: Place, gates: tuple[str, ...]) -> Iterator[Flaw]:
    """What in a criterion is vague. Without evidence of its own only."""
    one = place.located.criterion
    found = _found(place.passage)
    if one.evidence or not found or place.passage.role is Role.LEGITIMATE:
        return
    every = len({number for number, _, _ in found}) == len(place.passage.sentences)
    for _, span, kind in found:
        begin, end = place.begin + span.begin, place.begin + span.end
        words = " ".join(outline.text[begin:end].split()).lstrip(", ")
        yield Flaw(
            Code.VAGUE_WORDING,
            f'"{words}" is decided differently by every reader',
            begin,
            end,
            Weight.WARNING if every and _bare(place.passage) else Weight.HINT,
            kind.help,
            tuple(_fixes(outline, place, kind, Span(begin, end), gates)),
        )


def _fixes(outline: Outline, place: Place, kind: Vague, at: Span, gates: tuple[str, ...]) -> Iterator[Fix]:
    if kind.instead is not None:
        title = f'Write "{kind.instead}"' if kind.instead else "Leave it out"
        yield Fix(title, (Edit(at, kind.instead),))
    named = next(
        (f"gate:{gate}" for part in kind.gates for gate in gates if part in gate.casefold()), kind.source
    )
    line = f"Evidence: {named}"
    if edit := with_line(outline, place.located, line):
        yield Fix(f"Say what decides it: `{line}`", (edit,))


@lru_cache(maxsize=CACHED)
def _found(passage: Passage) -> tuple[tuple[int, Span, Vague], ...]:
    """The vague wordings: the number of the sentence, the place, the kind; one for each sentence."""
    kept = []
    for number, span in enumerate(passage.sentences):
        if met := _first(passage.sentence(number)):
            found, kind = met
            kept.append((number, Span(span.begin + found.start(), span.begin + found.end()), kind))
    return tuple(kept)


@lru_cache(maxsize=CACHED)
def _first(sentence: str) -> tuple[re.Match[str], Vague] | None:
    found = _any().search(sentence)
    if found is None or _anchor().search(sentence):
        return None
    return found, VAGUE[int(str(found.lastgroup).removeprefix("v"))]


def _bare(passage: Passage) -> bool:
    """Whether nothing in a criterion can be held on to."""
    return BLOT not in passage.prose


@cache
def _any() -> re.Pattern[str]:
    return re.compile(
        "|".join(f"(?P<v{number}>{kind.pattern})" for number, kind in enumerate(VAGUE)), re.IGNORECASE
    )


@cache
def _anchor() -> re.Pattern[str]:
    return re.compile(
        rf"[\d{BLOT}]|:\s|\b(?:that|which|so that|such as|i\.e|namely|meaning)\b[^.]*\w", re.IGNORECASE
    )
