"""Changes of a text that leave it a rubric, and the codes of what can be said of one.

Each change keeps the text's own line ends. None is offered where the text around could make code of it.
"""

from __future__ import annotations

import re
from enum import StrEnum

from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix, RubricOutline, TextEdit, TextSpan


class Code(StrEnum):
    """docs/rubric.md has a row for each. They stay: people switch them off by name."""

    AMBIGUOUS_NAME = "ambiguous-name"
    CONTRADICTION = "contradiction"
    DUPLICATE_CRITERION = "duplicate-criterion"
    DUPLICATE_ID = "duplicate-id"
    GLOB_INVALID = "glob-invalid"
    GLOB_MATCHES_NOTHING = "glob-matches-nothing"
    NEARLY_TOO_BIG = "nearly-too-big"
    RESERVED_ID = "reserved-id"
    TOO_LONG_CRITERION = "too-long-criterion"
    TOO_MANY_CRITERIA = "too-many-criteria"
    UNDECIDABLE = "undecidable"
    UNKNOWN_EVIDENCE = "unknown-evidence"
    UNKNOWN_GATE = "unknown-gate"
    UNKNOWN_RULE = "unknown-rule"
    UNKNOWN_SECTION = "unknown-section"
    UNKNOWN_SEVERITY = "unknown-severity"
    UNREAD_LINE = "unread-line"


def warn(code: Code, why: str, span: TextSpan, help_: str = "", *fixes: QuickFix) -> Flaw:
    """A flaw that is hardly meant."""
    return Flaw(code, why, span.begin, span.end, FlawSeverity.WARNING, help_, fixes)


def hint(code: Code, why: str, span: TextSpan, help_: str = "", *fixes: QuickFix) -> Flaw:
    """A flaw that could be better."""
    return Flaw(code, why, span.begin, span.end, FlawSeverity.HINT, help_, fixes)


def fix(title: str, place: TextSpan, text: str) -> QuickFix:
    """A fix that writes `text` in one place."""
    return QuickFix(title, (TextEdit(place, text),))


def line_end(text: str) -> str:
    """How the lines of a text end."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def end_of_line(text: str, at: int) -> int:
    """Where the line ends in which `at` stands, before its line end."""
    ends = [found for mark in "\r\n" if (found := text.find(mark, at)) >= 0]
    return min(ends, default=len(text))


def line_at(text: str, at: int) -> TextSpan:
    """The line in which `at` stands, without its line end."""
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return TextSpan(begin, end_of_line(text, at))


def without(text: str, span: TextSpan, title: str) -> QuickFix:
    """Takes whole lines out, and the empty ones below them."""
    below = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*").match(text, span.end)
    return fix(title, TextSpan(span.begin, below.end() if below else span.end), "")


def moved(span: TextSpan, by: int) -> TextSpan:
    """A place of a criterion as one of the text in which it begins at `by`."""
    return TextSpan(span.begin + by, span.end + by)


def coded(outline: RubricOutline, at: int) -> bool:
    """Whether what is put in here could be code."""
    return any(
        span.begin < at < span.end or (at == span.end and not _closed(outline.text[span.begin : span.end]))
        for span in outline.code
    )


def _closed(block: str) -> bool:
    """Whether what follows a block of code or HTML cannot be part of it."""
    first, *rest = block.strip().splitlines() or [""]
    if first.startswith(("```", "~~~")):
        return bool(rest) and rest[-1].strip().startswith(first[:3]) and not rest[-1].strip(f" \t{first[0]}")
    return not first.startswith("<") or block.rstrip().endswith("-->")
