"""What mends a text that cannot serve as a rubric: a section put in or renamed, or the default in its place.

A template is a criterion that holds in any project, so that nobody has to fill a gap before the text serves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sidecar.model.flaw import Edit, Fix, Flaw
from sidecar.model.outline import REQUIRED, Outline, Role, Section, Span
from sidecar.policy.advice.edits import coded, end_of_line, line_end
from sidecar.policy.advice.headings import meant, renamed

TEMPLATES: Final = {
    Role.PATTERNS: "- **Checked after the last edit**: the tests ran after the last edit and passed.",
    Role.ANTIPATTERNS: "- **Claimed, not shown**: the agent says that it works, and no tool showed it.",
}
"""One criterion for each section that must have one."""


def mend(outline: Outline, flaw: Flaw) -> tuple[Fix, ...]:
    """What mends a fault that the reader found ("missing-section", "empty-section"), the best first."""
    if flaw.code == "missing-section":
        role = next((role for role in REQUIRED if f"`## {role}`" in flaw.why), None)
        return tuple(_missing(outline, role)) if role else ()
    if flaw.code == "empty-section":
        empty = [section for section in outline.sections if section.role in REQUIRED and not section.criteria]
        at = next((section for section in empty if f"`## {section.role}`" in flaw.why), None)
        return tuple(_empty(outline, at)) if at else ()
    return ()


def from_default(outline: Outline, default: str) -> Fix:
    """Has the default rubric in the place of a text."""
    end = line_end(outline.text) if outline.text else "\n"
    whole = Span(0, len(outline.text))
    return Fix("Start from the default rubric", (Edit(whole, end.join(default.splitlines()) + end),))


def _missing(outline: Outline, role: Role) -> Iterator[Fix]:
    for section in outline.sections:
        if meant(section) is role:
            yield renamed(section, role)
    text, end = outline.text, line_end(outline.text)
    at = _place(outline, role)
    lines = end.join((f"## {role}", "", TEMPLATES[role]))
    if at < len(text.rstrip()):
        yield Fix(f"Put in `## {role}`", (Edit(Span(at, at), f"{lines}{end}{end}"),))
    elif not coded(outline, len(text.rstrip())):
        whole = Span(len(text.rstrip()), len(text))
        lead = f"{end}{end}" if text.strip("\ufeff").strip() else ""
        yield Fix(f"Put in `## {role}`", (Edit(whole, f"{lead}{lines}{end}"),))


def _place(outline: Outline, role: Role) -> int:
    """Where a section belongs: patterns first, then antipatterns, then the legitimate stops; else the end."""
    order = list(Role)
    after = [one for one in outline.sections if one.role and order.index(one.role) < order.index(role)]
    before = [one for one in outline.sections if one.role and order.index(one.role) > order.index(role)]
    if after:
        return next(
            (one.whole.begin for one in outline.sections if one.whole.begin > after[-1].whole.begin),
            len(outline.text),
        )
    return before[0].whole.begin if before else len(outline.text)


def _empty(outline: Outline, section: Section) -> Iterator[Fix]:
    """A template below the heading, which may be underlined."""
    text, end = outline.text, line_end(outline.text)
    at = end_of_line(text, section.title.end)
    below = end_of_line(text, at + len(end)) if text.startswith(end, at) else at
    under = text[at:below].strip()
    if under and not under.strip("-"):
        at = below
    if role := section.role:
        last = at >= len(text.rstrip())
        put = f"{end}{end}{TEMPLATES[role]}" + ("" if last else end)
        if not coded(outline, at):
            yield Fix("Put a criterion in", (Edit(Span(at, at), put),))
