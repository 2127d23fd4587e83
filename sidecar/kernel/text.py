"""Filling of our templates, and quoting, cutting and repair of text from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from string import Template
from typing import Final


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Fill in a template by paragraph; leave out each paragraph with an empty placeholder."""
    paragraphs = (Template(paragraph) for paragraph in re.split(r"\n[ \t]*\n", template))
    kept = (
        paragraph.safe_substitute(values)
        for paragraph in paragraphs
        if all(values.get(name, name) for name in paragraph.get_identifiers())
    )
    return "\n\n".join(kept).strip()


def quote_as_code_block(text: str) -> str:
    """Quote as a code block that the content cannot close; "" for blank text."""
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def counted(number: int, noun: str) -> str:
    """Count: "1 test", "2 tests"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def quote_lines(text: str) -> str:
    """Quote by a mark before each line, which reads well on a screen, too; "" for blank text."""
    return "\n".join(f"| {line}".rstrip() for line in text.split("\n")) if text.strip() else ""


# --- Limits for text from outside: long text is visibly cut, unencodable text replaced ----------------------


TERMINAL_ESCAPE: Final = re.compile(
    r"\x9b[0-?]*[ -/]*[@-~]|\x1b(?:\[[0-?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"
    r"|[PX^_][^\x1b]{0,4096}\x1b\\"
    r"|[ -/]*[0-~])"
)
"""Colours, cursor moves, titles and links (ECMA-48)."""
CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal would obey or swallow, except tab and line feed."""
INVISIBLE_CHARACTER: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
    "|(?<![^\x00-\u02ff\u2000-\u200f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u02ff\u2000-\u200f])"
)
"""Characters that hide or reorder text: zero-width ones, embeddings, overrides and isolates of direction,
tags, lone surrogates; joiners where they join nothing, because emoji and some scripts need the others."""
LINE_BREAK: Final = re.compile("\r\n?|[\u2028\u2029]")
LINE_LIMIT: Final = 200
"""Characters quoted from a host, a service or a model in a reason."""
UNPRINTABLE: Final = re.compile(r"[^ -~]")
JSON_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
"""One escape sequence of a JSON string, or the two of a surrogate pair."""
OMISSION_MARK: Final = "\n[... {} characters left out ...]\n"
LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def strip_control_codes(text: str) -> str:
    """Remove terminal codes from what a host recorded; a carriage return becomes a line feed."""
    if text.replace("\n", "").replace("\t", "").isprintable():  # many times faster than the expressions
        return text
    return CONTROL_CHARACTER.sub("", TERMINAL_ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def clean_text(text: str) -> str:
    """Return what a person is shown of a text: without what a screen would obey, hide or reorder."""
    if text.isascii() and text.isprintable():
        return text
    visible = INVISIBLE_CHARACTER.sub("", strip_control_codes(LINE_BREAK.sub("\n", text)))
    return INVISIBLE_CHARACTER.sub("", visible) if "\u200d" in visible or "\u200c" in visible else visible


def clean_line(text: str, limit: int = 0) -> str:
    """Return the cleaned text on one line, cut to `limit` characters; 0 for no limit."""
    line = " ".join(clean_text(text[: 10 * limit] if limit else text).split())
    return line if not limit or len(line) <= limit else f"{line[: limit - 1]}…"


def one_printable_line(text: str, limit: int = LINE_LIMIT) -> str:
    """Put foreign text on one line, cut to `limit` characters."""
    return clean_line(text, limit)


def escape_unprintable(text: str) -> str:
    """Return the text on one line with every character intact, for approvals: what is not seen is escaped."""
    return text if text.isascii() and text.isprintable() else UNPRINTABLE.sub(_escape_character, text)


def escape_unprintable_lines(text: str) -> list[str]:
    """Return the escaped lines of a text, with tabs expanded."""
    return [escape_unprintable(line.expandtabs()) for line in text.split("\n")]


def _escape_character(found: re.Match[str]) -> str:
    char = found[0]
    hidden = not char.isprintable() or INVISIBLE_CHARACTER.fullmatch(char)
    return ascii(char)[1:-1] if hidden else char


def truncate_middle(text: str, limit: int) -> str:
    """Cut to at most `limit` characters; a mark between beginning and end says how much is left out."""
    if len(text) <= limit:
        return text
    room = max(limit - len(OMISSION_MARK.format(len(text))), 0)
    head, end = room - room // 2, len(text) - room // 2
    return (text[:head] + OMISSION_MARK.format(end - head) + text[end:])[:limit]


def last_characters(text: str, limit: int) -> str:
    """Return at most the last `limit` characters."""
    return text[-limit:]


def truncate_middle_utf16(text: str, limit: int) -> str:
    """Cut to at most `limit` UTF-16 code units, as JavaScript counts; the result can be encoded in UTF-8."""
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    wide = sum(1 for character in clean if ord(character) > 0xFFFF)  # noqa: PLR2004 - the last of one unit
    if len(clean) + wide <= limit:
        return clean
    cut = truncate_middle(clean, limit)
    while (units := len(cut.encode("utf-16-le")) // 2) > limit:
        cut = truncate_middle(clean, len(cut) - max((units - limit) // 2, 1))
    return cut


def repair_json(raw: bytes) -> bytes:
    """Replace lone surrogates in JSON, and bytes that are not UTF-8.

    JavaScript cuts text inside a surrogate pair and writes the half as an escape. msgspec refuses that, as it
    refuses bytes that are not UTF-8.
    """
    return JSON_ESCAPE.sub(_replace_lone_surrogate, raw.decode("utf-8", "replace").encode())


def escape_unencodable(text: str) -> str:
    """Return a text that UTF-8 can encode: a name that is not UTF-8 has surrogates, which are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def json_escape(found: re.Match[str]) -> str:
    """Return the JSON escape of a character, or the two of one beyond the first 65,536."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def encode_json(value: object) -> bytes:
    """Encode as JSON; a lone surrogate, as in a path that is not UTF-8, is replaced."""
    import msgspec  # noqa: PLC0415 - what a command prints needs none of it

    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return repair_json(json.dumps(msgspec.to_builtins(value)).encode())


def _replace_lone_surrogate(escape: re.Match[bytes]) -> bytes:
    found = escape.group()
    return rb"\ufffd" if LONE_SURROGATE.fullmatch(found) else found


# --- places in a text that move with every edit -------------------------------------------------------------


LOCATED_LENGTH: Final = 1200
"""Characters of a text in which line numbers are looked for."""
LINE_AND_COLUMN: Final = re.compile(
    r"(?<=[\w)\]])(?::\[?\d{1,9}(?:[:,]\d{1,9})?\]?|\(\d{1,9}(?:,\d{1,9})?\))(?=[:\s]|$)"
)
"""Line and column after a file name: `a.c:3:5`, `a.ts(3,5)`, `A.java:[3,5]`."""
LINE_WORDS: Final = re.compile(r"\b(lines?|rows?|columns?) \d{1,9}(?:-\d{1,9})?")


def without_line_numbers(text: str) -> str:
    """Return the text without line and column numbers."""
    return LINE_WORDS.sub(r"\1 ...", LINE_AND_COLUMN.sub("", text[:LOCATED_LENGTH]))
