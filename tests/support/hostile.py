"""Texts that steer, hide or reorder what a person sees, and what is wrong with a text that is shown."""

from __future__ import annotations

import unicodedata
from typing import Final

HOSTILE: Final = {
    "colours": "\x1b[31m\x1b[2J",
    "a title": "\x1b]0;title\x07",
    "a link": "\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\",
    "the clipboard": "\x1b]52;c;aGk=\x07",
    "an open sequence": "\x1b]52;c;aGk=",
    "8-bit codes": "\x9b31m\x9d0;t\x9c\x85",
    "a carriage return": "\rpassed\r\n",
    "bells and blanks": "\x00\x07\x08\x0b\x0c\x7f",
    "an override": "\u202egnp.exe",
    "embeddings and isolates": "\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069",
    "line separators": "\u2028\u2029",
    "zero width": "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u3164",
    "joiners in a row": "\U0001f469\u200d\u200d\u200d",
    "tags": "\U0001f3f4\U000e0067\U000e0062\U000e007f\U000e0100",
    "lone surrogates": "\ud83d\udc80"[:1] + "\udce9",
    "a megabyte": "\x1b[31m\u202e\x9d\u200d" * 150_000,
}
READABLE: Final = (
    "caf\u00e9 na\u00efve \u6e2c\u8a66",
    "\U0001f469\u200d\U0001f4bb \u2764\ufe0f\u200d\U0001f525 \U0001f1e9\U0001f1ea",
    "\u0645\u06cc\u200c\u0634\u0648\u062f",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
)
"""Emoji with joiners, and scripts that need them or run from right to left."""


def faults(shown: str) -> list[str]:
    """The characters that should not be shown."""
    kept = "\n\t\u200c\u200d"
    return [
        f"U+{ord(char):04X}"
        for at, char in enumerate(shown)
        if (unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in kept)
        or (char in "\u200c\u200d" and (shown[at - 1 : at] + shown[at + 1 : at + 2]).isascii())
        or char == "\u3164"
    ]
