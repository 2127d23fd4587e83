"""Estimates the number of tokens of a text without a tokenizer, rather too high than too low.

No vocabulary is used: each service has its own, most are not public, and each takes megabytes. Instead, ASCII
is split into pieces that are mostly one token: four or five small letters, which a capital may begin, two
digits, a sign, a run of blanks. Other characters cost by their script.

`benchmarks/judge_tokens.py` compares it with real tokenizers. For prose and code it is right or too high. It
is too low by a sixth for prose that vocabularies hardly know (Latin, Finnish), and by a third for letters,
ideographs and Hangul in an order that no language has.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Final

PIECE: Final = re.compile(
    r"[ ][a-z]{1,5}|[ ]?[A-Z]?[a-z]{1,4}|[A-Z]|[0-9]{1,2}|[)\]}\"'`][\]),;:.]|[ ]?([!-/:-@\[-`{-~])\1{0,5}"
    r"|\n{1,2}[ \t]{0,8}|[ \t]{1,6}|[\x00-\x1f\x7f]"
)
"""A piece of ASCII that is about one token."""
UNUSUAL: Final = re.compile(r"[b-df-hj-np-tv-xz]{3}(?=[a-z])|[a-z]{8}")
"""Letters that cost one token more: long words, and what is seldom in words."""
SCRIPT_TOKENS: Final = ((0x036F, 2.0), (0x06FF, 1.25), (0x2FFF, 2.5), (0xD7A3, 1.5), (0x10FFFF, 4.0))
"""Tokens of a character, up to and including this one: Latin, Greek to Arabic, signs, CJK, others."""
BLOCK_CHARS: Final = 32
"""Characters that are kept or cut together."""
MARK_TOKENS: Final = 18
"""Tokens of the mark that replaces what was cut."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text. For two texts joined, it is at most the sum of both."""
    return int(_token_cost(text)) + 1


def _token_cost(text: str) -> float:
    found = len(PIECE.findall(text)) + len(UNUSUAL.findall(text))
    if text.isascii():
        return found
    return found + sum(
        next(tokens for last, tokens in SCRIPT_TOKENS if code <= last)
        for code in map(ord, text)
        if code > 0x7F  # noqa: PLR2004 - the last of ASCII
    )


def cut_to_tokens(text: str, tokens: int) -> str:
    """Keep the beginning and the end of a text that is too long, with a mark between them.

    A text of at most `tokens` is returned whole; if there is no room for both ends, the result is empty.
    """
    if tokens <= 0 or estimate_tokens(text) <= tokens:
        return text if tokens > 0 else ""
    blocks = range(0, len(text), BLOCK_CHARS)
    sums = [0.0, *accumulate(_token_cost(text[at : at + BLOCK_CHARS]) for at in blocks)]
    room = tokens - MARK_TOKENS
    head = bisect_right(sums, room / 2) - 1
    tail = bisect_left(sums, sums[-1] - (room - sums[max(head, 0)]))
    if head <= 0 or tail >= len(sums):
        return ""
    first, last = head * BLOCK_CHARS, tail * BLOCK_CHARS
    return f"{text[:first]} [... {last - first} characters left out ...] {text[last:]}"


def cut_middle(text: str, keep: int) -> str:
    """Keep `keep` characters of a text, half from each end, with a mark that counts the rest."""
    if len(text) <= keep:
        return text
    head = (keep + 1) // 2
    return f"{text[:head]} [... {len(text) - keep} characters left out ...] {text[len(text) - keep + head :]}"
