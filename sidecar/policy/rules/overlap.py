"""Which words of a text bear meaning, so that two texts can be compared by what they speak of.

Endings are cut off roughly: "tests" and "test" are one, and so are most forms of a word. Where a language
puts no spaces, pairs of letters stand for words.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from sidecar.policy.rules.words.book import Tongues, stops

LIMIT: Final = 8_000
"""Characters of a text that are compared."""
WORD: Final = r"[a-z\u00df-\u024f\u0400-\u04ff]+|\d+|[\u4e00-\u9fff\u30a0-\u30ff]+|[\uac00-\ud7a3]+"
SPACED: Final = r"[a-z\u00df-\u024f\u0400-\u04ff]"
HANGUL: Final = r"[\uac00-\ud7a3]"
CAMEL: Final = r"(?<=[a-z])(?=[A-Z])"
UNSPACED: Final = frozenset({"zh", "ja"})
"""Languages in which a word may stand anywhere in a run of letters."""
STEM: Final = 5
"""Letters of a word that are compared."""
SHORT: Final = 3
"""Letters of the shortest word that is."""


def topics(text: str, spoken: Tongues) -> frozenset[str]:
    """The stems of the words that bear meaning."""
    spaced = re.sub(CAMEL, " ", text[:LIMIT]).lower().replace("n't", " ")
    for tongue in spoken:
        if tongue in UNSPACED:
            spaced = _idle(tongue).sub(" ", spaced)
    idle = frozenset[str]().union(*(stops(tongue) for tongue in spoken))
    return frozenset(stem for word in re.findall(WORD, spaced) for stem in _stems(word, idle))


@cache
def _idle(tongue: str) -> re.Pattern[str]:
    """Words that say nothing, wherever they stand in a run of letters; the long ones first."""
    return re.compile("|".join(sorted(map(re.escape, stops(tongue)), key=len, reverse=True)))


def _stems(word: str, idle: frozenset[str]) -> tuple[str, ...]:
    if word in idle:
        return ()
    if word.isdigit():
        return (word,)
    if re.match(SPACED, word):
        single = word[:-1] if word.endswith("s") and len(word) > SHORT else word
        return (single[:STEM],) if len(word) >= SHORT and single not in idle else ()
    if re.match(HANGUL, word):
        return (word[:2],) if len(word) > 1 and word[:2] not in idle else ()
    pairs = (word[at : at + 2] for at in range(len(word) - 1))
    return tuple(pair for pair in pairs if pair not in idle)
