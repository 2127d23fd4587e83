"""Sections that the judge does not read, or reads as one with another."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from sidecar.model.flaw import Edit, Fix, Flaw, Weight
from sidecar.model.outline import Outline, Role, Section, Span
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.edits import coded, line_at, line_end, without

NEAR: Final = 0.86
"""How alike a title is to a known one that it is meant, from 0 to 1; measured as difflib does."""
MEANT: Final = {
    **dict.fromkeys(("goodpatterns", "criteria", "requirements", "definitionofdone", "musts"), Role.PATTERNS),
    **dict.fromkeys(("badpatterns", "forbidden", "donts", "donot", "never"), Role.ANTIPATTERNS),
    **dict.fromkeys(
        ("legitstops", "legalstops", "allowedstops", "acceptablestops", "validstops", "whentostop", "stops",
         "legitimatereasons", "legitimatereasonstostop"), Role.LEGITIMATE,
    ),
}  # fmt: skip
"""What people call the sections, in letters alone."""


def sections(outline: Outline) -> Iterator[Flaw]:
    """Each section that is hardly what its author means it to be."""
    first: dict[Role, Section] = {}
    for section in outline.sections:
        if section.role is None:
            yield _unread(section)
        elif section.role in first:
            yield _twice(outline, section, first[section.role])
        else:
            first[section.role] = section


def renamed(section: Section, role: Role) -> Fix:
    """Calls a section what the judge reads."""
    return Fix(f"Call it `## {role}`", (Edit(section.title, role.value),))


def meant(section: Section) -> Role | None:
    """The role that the title of a section nearly says."""
    return _meant(section.name) if section.role is None else None


def _unread(section: Section) -> Flaw:
    role = meant(section)
    begin, end = section.title.begin, section.title.end
    if role is None:
        why = "the judge does not read this section"
        return Flaw(Code.UNKNOWN_SECTION, why, begin, end, Weight.HINT, f"It reads: {', '.join(Role)}.")
    why = f"the judge does not read this section; it knows `## {role}`"
    return Flaw(Code.UNKNOWN_SECTION, why, begin, end, Weight.WARNING, "", (renamed(section, role),))


def _twice(outline: Outline, section: Section, first: Section) -> Flaw:
    return Flaw(
        Code.DUPLICATE_SECTION,
        "the two sections of this name are read as one",
        section.title.begin,
        section.title.end,
        Weight.HINT,
        "Make one of them.",
        _joined(outline, section, first),
        ((first.title, "the first one"),),
    )


def _joined(outline: Outline, section: Section, first: Section) -> tuple[Fix, ...]:
    """Moves headings behind the first section. Items that would follow a heading are left to the author."""
    has_items = any(not one.heading for one in section.criteria)
    if not section.criteria or (has_items and any(one.heading for one in first.criteria)):
        return ()
    text, gap = outline.text, line_end(outline.text) * 2
    if coded(outline, first.whole.end):
        return ()
    body = text[section.criteria[0].whole.begin : section.whole.end]
    kept = Span(section.title.end, section.criteria[0].whole.begin)
    if text[kept.begin : kept.end].strip(" \t#\r\n"):
        return ()
    at = Span(first.whole.end, first.whole.end)
    begin = line_at(text, section.title.begin).begin
    return (Fix("Join them", (Edit(at, f"{gap}{body}"), without(text, Span(begin, section.whole.end)))),)


@lru_cache(maxsize=256)
def _meant(title: str) -> Role | None:
    letters = "".join(char for char in title[:100].casefold() if char.isalpha())
    if letters in MEANT:
        return MEANT[letters]
    known = {"".join(filter(str.isalpha, role.casefold())): role for role in Role}
    for name, role in known.items():
        if letters in {name, name.removesuffix("s")}:
            return role
    near = {name: SequenceMatcher(None, letters, name).ratio() for name in known}
    best = max(near, key=lambda name: near[name])
    return known[best] if near[best] >= NEAR else None
