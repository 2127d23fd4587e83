"""Quotes foreign text as data: it cannot leave its section, pass for our evidence, or hide what it says.

Every section is named by its origin and its author, and fenced by a marker that contains a digest of these
and of the content: a text that contained its own marker would have another digest, so nothing in a section
can end it, whoever knows how the marker is made. In addition, foreign text that looks like such a marker or
like an evidence line gets a prefix of ours. Characters that a screen would not
show as they are become visible (control and direction characters) or are removed (colours, zero-width
characters).
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from sidecar.kernel.text import TERMINAL_ESCAPE

NOTHING: Final = "(nothing)"
NO_MARKER: Final = "(quoted) "
"""Replaces the bracket of what looks like a marker of ours."""
NO_EVIDENCE: Final = "(no evidence) "
"""Inserted before what looks like the start of an evidence line."""
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Zero-width characters that have no meaning of their own, or a hidden one."""
CONTROL: Final = re.compile(
    "([\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff])\\1*"
)
"""Runs of one character that moves or reverses text, or is a surrogate or noncharacter."""
MARKER: Final = re.compile(
    "[<\u2039\u3008\u27e8\u276e\ufe64\uff1c](?=[\\s/\\\\\uff0f\u2044\u2215]{0,6}[d\uff44][a\u0430\uff41][t\uff54]"
    "[a\u0430\uff41]\\s{0,3}[-_\u2010-\u2015\u2212\ufe63\uff0d])",
    re.IGNORECASE,
)
"""The bracket of what looks like the start or end of our sections, in look-alike letters too."""
EVIDENCE_LINE: Final = re.compile(
    "\\b[E\u0415\u0395\uff25]\\d{1,4}(?=\\s{0,200}\\W{0,3}\\s{0,200}[\\[({\u3010\uff3b]"
    "(?:gate|tool|todo|change|repository|steering|claim)\\b)",
    re.IGNORECASE,
)
"""What looks like the start of an evidence line: a number and a source in brackets."""


def clean_foreign_text(text: str) -> str:
    """Return the text with everything in it visible."""
    text = TERMINAL_ESCAPE.sub("", text)
    text = re.sub(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    text = CONTROL.sub(_escape_control, INVISIBLE.sub("", text))
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return EVIDENCE_LINE.sub(rf"{NO_EVIDENCE}\g<0>", MARKER.sub(NO_MARKER, text))


def clean_one_line(text: str) -> str:
    """Return the cleaned text on one line."""
    return " ".join(clean_foreign_text(text).split())


AUTHORS: Final = {
    "goal": "the user",
    "suspicion": "Supervisor, quoting the agent",
    "rubric": "the project",
    "rubric for these files": "the project",
    "prompts": "the user",
    "edits": "whoever changed the files, mostly the agent",
    "evidence": "Supervisor, quoting commands and their output",
    "last message": "the agent",
    "fault": "Supervisor",
    "answer": "you",
}
"""The sections, and who wrote what is in them."""


def fence_section(name: str, text: str) -> str:
    """Fence a section of clean text. The same text gets the same marker, so that it can be cached."""
    body = text.strip("\n") or NOTHING
    head = f'name="{name}" by="{AUTHORS[name]}"'
    digits = blake2b(f"{head}\0{body}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"<data-{digits} {head}>\n{body}\n</data-{digits}>"


def _escape_control(found: re.Match[str]) -> str:
    """The code of a control character, and how often it is repeated."""
    times = f" x{len(found[0])}" if len(found[0]) > 1 else ""
    return f"[U+{ord(found[0][0]):04X}{times}]"
