"""Words of a text: whether they are English, and what two wordings of one thing have in common.

A text in another language is not judged by its words: "robust", "simple" and "production" are words of many.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH: Final = _set(
    "the and are were been with that this not must should every each have its which what when where before"
    " after by from does is of to it be has was on"
)
"""Small words of English, among them some that others have too."""
FOREIGN: Final = _set(
    "der die das den dem des und ist sind ein eine einer nicht mit von zu auf im wird werden kein keine oder"
    " dass le la les et est sont un une du de ne pas que qui dans pour avec sur au aux ce cette el los las y"
    " es una del en por con para se su sin al il che di della dei gli e non sono het een zijn niet van voor"
    " met dat och att som inte av til og ikke jest nie na w z i o os um uma em nao ja ei ve bir bu ile"
)
EMPTY: Final = _set(
    "a an the is are was were be been being to of in on at by for with from it its this that these those"
    " there every each all any has have had do does did will must should may can agent you your they their"
    " and or as into"
)
"""Words that two wordings of one demand may differ in."""
DENIALS: Final = _set("not no never without cannot none nothing nobody neither nor avoid lacks missing")


class Tongue(Struct, frozen=True):
    """How many small words of English a text has, and how many of other languages."""

    english: int
    foreign: int


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")


def words(text: str) -> list[str]:
    """The words and numbers of a text in small letters."""
    return _word().findall(text.casefold())


def tongue(found: list[str]) -> Tongue:
    """What these words say about their language; each with a letter beyond ASCII speaks against English."""
    english = sum(word in ENGLISH for word in found)
    foreign = sum(word in FOREIGN or not _plain(word) for word in found)
    return Tongue(english, foreign)


def _plain(word: str) -> bool:
    return word.replace("\u2019", "").isascii()


def denials(found: list[str]) -> int:
    """How many of these words deny something."""
    return sum(word in DENIALS or word.endswith(("n't", "n\u2019t")) for word in found)


def stems(found: list[str]) -> frozenset[str]:
    """What these words are about: without small words, denials and endings."""
    return frozenset(
        _stem(word)
        for word in found
        if word not in EMPTY and word not in DENIALS and not word.endswith(("n't", "n\u2019t"))
    )


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """A word without the endings of plural, past and "-ing"; short words stay whole ("bed", "sing")."""
    if not word.endswith("ss"):
        word = _cut(word, "es") if word.endswith("es") else _cut(word, "s")
    for ending in ("ing", "ed"):
        stem = _cut(word, ending)
        if stem != word:
            doubled = stem[-1] == stem[-2] != "s"
            return stem[:-1] if doubled else stem.removesuffix("e")
    return word.removesuffix("e")


def _cut(word: str, ending: str) -> str:
    return word.removesuffix(ending) if len(word) > len(ending) + 2 else word
