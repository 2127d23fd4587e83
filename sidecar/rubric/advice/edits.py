"""Changes of a text that leave it a rubric: a line put in, a criterion taken out.

Each keeps the text's own line ends. None is offered where the text around could make code of it.
"""

from __future__ import annotations

import re
from enum import StrEnum

from sidecar.kernel.rubric import LocatedCriterion, RubricOutline, TextEdit, TextSpan


def line_end(text: str) -> str:
    """How the lines of a text end."""
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if at and text[at - 1] == "\r" else "\n"


def end_of_line(text: str, at: int) -> int:
    """Where the line ends in which `at` stands, before its line end."""
    ends = [found for mark in "\r\n" if (found := text.find(mark, at)) >= 0]
    return min(ends, default=len(text))


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


def with_line(outline: RubricOutline, one: LocatedCriterion, line: str) -> TextEdit | None:
    """Has a criterion say `line` of itself too, beside the other such lines."""
    text, end = outline.text, line_end(outline.text)
    if one.lines:
        last = one.lines[-1].whole
        lead = re.match(r"\s*(?:[-*+]\s+)?", text[last.begin : last.end])
        return TextEdit(TextSpan(last.end, last.end), f"{end}{lead[0] if lead else ''}{line}")
    if one.heading:
        at = end_of_line(text, one.name.end)
        return TextEdit(TextSpan(at, at), f"{end}{end}{line}" + ("" if _blank_below(text, at) else end))
    at = one.whole.end
    return None if coded(outline, at) else TextEdit(TextSpan(at, at), f"{end}{indent(text, one)}- {line}")


def indent(text: str, one: LocatedCriterion) -> str:
    """The blanks that make a line a part of an item."""
    marker = re.match(r"[ ]*(?:[-*+]|\d{1,9}[.)])[ ]{1,4}(?! )", text[one.whole.begin : one.name.end])
    return " " * (len(marker[0]) if marker else 2)


def line_at(text: str, at: int) -> TextSpan:
    """The line in which `at` stands, without its line end."""
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return TextSpan(begin, end_of_line(text, at))


def without(text: str, span: TextSpan) -> TextEdit:
    """Takes whole lines out, and the empty ones below them."""
    below = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*").match(text, span.end)
    return TextEdit(TextSpan(span.begin, below.end() if below else span.end), "")


def _blank_below(text: str, at: int) -> bool:
    below = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r|\n|\Z)").match(text, at)
    return below is not None or at == len(text)


# --- The short names of what can be said of a rubric. They stay: people switch them off by name. ------------


class Code(StrEnum):
    """docs/rubric-advice.md has a row for each."""

    AMBIGUOUS_NAME = "ambiguous-name"
    ANTIPATTERN_AS_DEMAND = "antipattern-as-demand"
    COMPOUND_CRITERION = "compound-criterion"
    CONTRADICTION = "contradiction"
    DUPLICATE_CRITERION = "duplicate-criterion"
    DUPLICATE_ID = "duplicate-id"
    DUPLICATE_SECTION = "duplicate-section"
    GLOB_INVALID = "glob-invalid"
    GLOB_MATCHES_NOTHING = "glob-matches-nothing"
    NEARLY_TOO_BIG = "nearly-too-big"
    NO_TEXT = "no-text"
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
    VAGUE_WORDING = "vague-wording"
