"""Bounds for text from outside: what is too long is cut, visibly, and what cannot be encoded is replaced."""

from __future__ import annotations

import re
from typing import Final

ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"
    r"|[PX^_][^\x1b]{0,4096}\x1b\\"
    r"|[ -/]*[0-~])"
)
"""Colours, cursor moves, titles and links (ECMA-48)."""
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal would obey or swallow; tab and line feed stay."""
JSON_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
"""One escape sequence of a JSON string, or the two that stand for one character."""
MARK: Final = "\n[... {} characters left out ...]\n"
LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def plain(text: str) -> str:
    """Without terminal colours and control characters; a carriage return becomes a line feed."""
    return CONTROL.sub("", ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def middle_out(text: str, limit: int) -> str:
    """At most `limit` characters: beginning and end stay, a mark says how much is gone between them."""
    if len(text) <= limit:
        return text
    room = max(limit - len(MARK.format(len(text))), 0)
    head, end = room - room // 2, len(text) - room // 2
    return (text[:head] + MARK.format(end - head) + text[end:])[:limit]


def tail(text: str, limit: int) -> str:
    """The last `limit` characters at most."""
    return text[-limit:]


def middle_out_utf16(text: str, limit: int) -> str:
    """At most `limit` UTF-16 code units, the measure of a host written in JavaScript; encodable in UTF-8."""
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    wide = sum(1 for character in clean if ord(character) > 0xFFFF)  # noqa: PLR2004 - the last of one unit
    if len(clean) + wide <= limit:
        return clean
    cut = middle_out(clean, limit)
    while (units := len(cut.encode("utf-16-le")) // 2) > limit:
        cut = middle_out(clean, len(cut) - max((units - limit) // 2, 1))
    return cut


def mended(raw: bytes) -> bytes:
    """The same JSON with half characters replaced.

    JavaScript cuts text inside a surrogate pair and writes the half as an escape; msgspec refuses that, as it
    refuses bytes that are no UTF-8.
    """
    return JSON_ESCAPE.sub(_whole, raw.decode("utf-8", "replace").encode())


def _whole(escape: re.Match[bytes]) -> bytes:
    found = escape.group()
    return rb"\ufffd" if LONE_SURROGATE.fullmatch(found) else found
