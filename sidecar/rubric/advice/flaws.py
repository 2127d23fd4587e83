"""The codes of advice, how a flaw and its fix are made, and the words by which people mean known names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from sidecar.kernel.rubric import (
    CriterionKey,
    Flaw,
    FlawSeverity,
    QuickFix,
    SectionRole,
    Severity,
    TextEdit,
    TextSpan,
)

T = TypeVar("T")


class Code(StrEnum):
    """docs/rubric.md has a row for each. They stay: scripts name them."""

    GLOB_INVALID = "glob-invalid"
    GLOB_MATCHES_NOTHING = "glob-matches-nothing"
    TOO_LONG_CRITERION = "too-long-criterion"
    TOO_MANY_CRITERIA = "too-many-criteria"
    UNKNOWN_EVIDENCE = "unknown-evidence"
    UNKNOWN_GATE = "unknown-gate"
    UNKNOWN_RULE = "unknown-rule"
    UNKNOWN_SECTION = "unknown-section"
    UNKNOWN_SEVERITY = "unknown-severity"
    UNREAD_LINE = "unread-line"


class AdviceWording(Struct, frozen=True, forbid_unknown_fields=True, eq=False):
    """The data file rubric_advice.toml: what people call each known name.

    `templates` are criteria that hold in any project, for a section that has none.
    """

    section_titles: dict[SectionRole, tuple[str, ...]]
    keys: dict[CriterionKey, tuple[str, ...]]
    severities: dict[Severity, tuple[str, ...]]
    sources: dict[str, tuple[str, ...]]
    templates: dict[SectionRole, str]


def name_meant_by(word: str, names: Mapping[T, Iterable[str]]) -> T | None:
    """Return the name that people mean who write this word."""
    return next((meant for meant, known in names.items() if word in known), None)


def warning(code: Code, why: str, span: TextSpan, help_: str = "", *fixes: QuickFix) -> Flaw:
    """Return a flaw that is hardly meant."""
    return Flaw(code, why, span.begin, span.end, FlawSeverity.WARNING, help_, fixes)


def hint(code: Code, why: str, span: TextSpan, help_: str = "", *fixes: QuickFix) -> Flaw:
    """Return a flaw that could be better."""
    return Flaw(code, why, span.begin, span.end, FlawSeverity.HINT, help_, fixes)


def fix_by(title: str, place: TextSpan, text: str) -> QuickFix:
    """Return a fix that writes `text` in one place."""
    return QuickFix(title, (TextEdit(place, text),))


def line_end_of(text: str) -> str:
    """Return how the lines of a text end."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"
