"""Foreign text as data: it cannot leave its section, look like evidence of ours, or hide what it says.

Every section is fenced by a marker of our own whose digits are a digest of what is in it. Beside that, no
foreign text keeps the form of such a marker, nor of an evidence line: a word of ours stands before it. What
a screen would not show as it stands is made visible (control and direction characters) or taken out (colours,
characters of no width).
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from typing import Final

NOTHING: Final = "(nothing)"
NO_MARKER: Final = "(quoted) "
"""Stands for the bracket of what looks like a marker of ours."""
NO_EVIDENCE: Final = "(no evidence) "
"""Stands before what looks like the beginning of an evidence line."""


def clean(text: str) -> str:
    """The text as lines that show all they say."""
    if not text.isascii() or _suspect().search(text):
        text = _terminal().sub("", text)
        text = re.sub(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)
        text = _unseen().sub("", text)
        text = _control().sub(_visible, text)
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return _evidence().sub(rf"{NO_EVIDENCE}\g<0>", _marker().sub(NO_MARKER, text))


def one_line(text: str) -> str:
    """The text cleaned, on one line."""
    return " ".join(clean(text).split())


def fenced(name: str, text: str) -> str:
    """A section of its own; `text` is clean. The same text has the same marker, so a cache can keep it."""
    body = text.strip("\n") or NOTHING
    digits = blake2b(f"{name}\0{body}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f'<data-{digits} name="{name}">\n{body}\n</data-{digits}>'


def _visible(found: re.Match[str]) -> str:
    """What a control character is, and how often it stands there."""
    times = f" x{len(found[0])}" if len(found[0]) > 1 else ""
    return f"[U+{ord(found[0][0]):04X}{times}]"


@cache
def _suspect() -> re.Pattern[str]:
    return re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@cache
def _terminal() -> re.Pattern[str]:
    """Escape sequences of terminals: colours, cursor, titles, links."""
    return re.compile(
        r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
        r"|(?:\x1b[\]P^_X]|[\x9d\x90])[^\x07\x1b\x9c\n]{0,2000}(?:\x07|\x1b\\|\x9c)"
        r"|\x1b[ -/]{0,4}[0-~]"
    )


@cache
def _unseen() -> re.Pattern[str]:
    """Characters of no width that carry no meaning of their own, or a hidden one."""
    return re.compile(
        "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164"
        "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
    )


@cache
def _control() -> re.Pattern[str]:
    """What moves or turns text, private and broken characters; a run of one and the same is one."""
    return re.compile(
        "([\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff])\\1*"
    )


@cache
def _marker() -> re.Pattern[str]:
    """The bracket of what looks like the beginning or end of a section of ours, in whatever letters."""
    return re.compile(
        "[<\u2039\u3008\u27e8\u276e\ufe64\uff1c](?=[\\s/\\\\\uff0f\u2044\u2215]{0,6}[d\uff44][a\u0430\uff41][t\uff54]"
        "[a\u0430\uff41]\\s{0,3}[-_\u2010-\u2015\u2212\ufe63\uff0d])",
        re.IGNORECASE,
    )


@cache
def _evidence() -> re.Pattern[str]:
    """What looks like the beginning of an evidence line: a number and a source in brackets."""
    return re.compile(
        "\\b[E\u0415\u0395\uff25]\\d{1,4}(?=\\s{0,200}\\W{0,3}\\s{0,200}[\\[({\u3010\uff3b]"
        "(?:gate|tool|todo|change|repository|steering|claim)\\b)",
        re.IGNORECASE,
    )
