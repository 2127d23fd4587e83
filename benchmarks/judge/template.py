"""Texts with alternatives and slots.

`⟦one¦another¦⟧` is one of its alternatives, which may hold alternatives again. `{name}` is what a slot of
that name holds, a template itself; a brace around any other word stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Final

SLOT: Final = re.compile(r"\{([A-Za-z]+[0-9]?)\}")
DEPTH: Final = 6
"""Slots within slots."""
INNERMOST: Final = re.compile(r"⟦([^⟦⟧]*)⟧")


def expand(text: str, rng: Random, slots: Mapping[str, str]) -> str:
    """The text with every choice made and every slot filled."""
    for _ in range(DEPTH):
        text = _chosen(text, rng)
        filled = SLOT.sub(lambda found: slots.get(found[1], found[0]), text)
        if filled == text:
            break
        text = filled
    return _tidy(_chosen(text, rng))


def _chosen(text: str, rng: Random) -> str:
    """From the inside out: a choice that is not taken costs a draw, and nothing else."""
    while True:
        made = INNERMOST.sub(lambda found: rng.choice(found[1].split("¦")), text)
        if made == text:
            return text
        text = made


def _tidy(text: str) -> str:
    """Without the holes that empty alternatives leave."""
    lines = (re.sub(r"(?<=\S)  +(?=\S)", " ", line).rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
