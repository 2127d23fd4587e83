"""Sections and sizes: what the judge does not read, and what mends a text that cannot serve."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from sidecar.kernel.rubric import (
    REQUIRED_SECTIONS,
    Flaw,
    QuickFix,
    RubricOutline,
    RubricSection,
    SectionRole,
    TextSpan,
)
from sidecar.rubric.advice.edits import Code, coded, end_of_line, fix, hint, line_at, line_end, warn
from sidecar.rubric.advice.passage import CACHED, Place
from sidecar.rubric.advice.wording import AdviceWording, meant_by

NEAR: Final = 0.86
"""How alike a title is to a known one that it is meant, from 0 to 1; measured as difflib does."""


def sections(outline: RubricOutline, wording: AdviceWording) -> Iterator[Flaw]:
    """Each section that the judge does not read."""
    for section in outline.sections:
        if section.role is not None:
            continue
        why = "the judge does not read this section"
        if role := _meant(section, wording):
            why = f"{why}; it knows `## {role}`"
            yield warn(Code.UNKNOWN_SECTION, why, section.title, "", _renamed(section, role))
        else:
            known = f"It reads: {', '.join(SectionRole)}."
            yield hint(Code.UNKNOWN_SECTION, why, section.title, known)


def _renamed(section: RubricSection, role: SectionRole) -> QuickFix:
    return fix(f"Call it `## {role}`", section.title, role.value)


def _meant(section: RubricSection, wording: AdviceWording) -> SectionRole | None:
    """The role that the title of a section nearly says."""
    letters = "".join(filter(str.isalpha, section.name[:100].casefold()))
    known = {"".join(filter(str.isalpha, role.casefold())): role for role in SectionRole}
    near = get_close_matches(letters, known, 1, NEAR)
    return known[near[0]] if near else meant_by(letters, wording.section_titles)


# --- What does not fit in the file, or in what a judge reads of it ------------------------------------------


LIMIT: Final = 8 * 1024
"""Bytes of a rubric, as its reader has it."""
NEARLY: Final = 0.9
"""Share of LIMIT from which on it is said."""
ROOM: Final = 3_000
"""Tokens of all criteria that a judge reads, as the wording of its prompt has it."""
CUT_TO: Final = 150
"""Tokens of each text that are left where there are more than ROOM."""
NAME_LIMIT: Final = 120
"""Characters of a name that a judge reads."""
ASCII_PER_TOKEN: Final = 4.6
"""Characters; the estimate of the prompt's wording says 2.5 to 4.6 for prose."""
TOKENS_PER_OTHER: Final = 1.2
"""Tokens of a character beyond ASCII, at the least; the same estimate says 1.2 to 4."""


def file_size(outline: RubricOutline) -> Iterator[Flaw]:
    """That the file is nearly as big as it may be."""
    text = outline.text
    size = len(text.encode("utf-8", "replace"))
    if NEARLY * LIMIT <= size <= LIMIT:
        last = TextSpan(line_at(text, len(text.rstrip())).begin, len(text.rstrip()))
        why = f"{size} bytes; with more than {LIMIT} the file cannot serve"
        yield hint(Code.NEARLY_TOO_BIG, why, last, "Take out what never fired.")


def for_judge(places: tuple[Place, ...]) -> Iterator[Flaw]:
    """What a judge does not get to read. The estimate is low: what is told is cut, and more may be."""
    for place in places:
        name = place.located.name
        if place.located.heading and name.end - name.begin > NAME_LIMIT:
            why, rest = f"a judge reads {NAME_LIMIT} characters of a name", name.begin + NAME_LIMIT
            yield warn(Code.TOO_LONG_CRITERION, why, TextSpan(rest, name.end), "Put the rest below it.")
    always = [
        (place.located.name, tokens(place.passage.raw))
        for place in places
        if not place.located.criterion.applies_to
    ]
    total = sum(size for _, size in always)
    if total <= ROOM:
        return
    filled = 0.0
    for name, size in always:
        if filled <= ROOM < filled + size:
            why = f"here a judge's room is full: {ROOM} tokens, and all criteria need {round(total)} or more"
            help_ = "Say which files a criterion is about, or take some out."
            yield warn(Code.TOO_MANY_CRITERIA, why, name, help_)
        if size > CUT_TO:
            why = f"a judge reads the beginning and the end of it, {CUT_TO} of {round(size)} tokens or more"
            yield warn(Code.TOO_LONG_CRITERION, why, name, "Say it shorter, or make two of it.")
        filled += size


@lru_cache(maxsize=CACHED)
def tokens(text: str) -> float:
    """Tokens that a text has at the least."""
    plain = len(text) if text.isascii() else sum(map(str.isascii, text))
    return plain / ASCII_PER_TOKEN + (len(text) - plain) * TOKENS_PER_OTHER


# --- What mends a text that cannot serve as a rubric: a section put in or renamed, or the default. ----------


def mend(outline: RubricOutline, flaw: Flaw, wording: AdviceWording) -> tuple[QuickFix, ...]:
    """What mends a fault that the reader found ("missing-section", "empty-section"), the best first."""
    if flaw.code == "missing-section":
        role = next((role for role in REQUIRED_SECTIONS if f"`## {role}`" in flaw.why), None)
        return tuple(_missing(outline, role, wording)) if role else ()
    if flaw.code == "empty-section":
        empty = (one for one in outline.sections if one.role in REQUIRED_SECTIONS and not one.criteria)
        at = next((one for one in empty if f"`## {one.role}`" in flaw.why), None)
        return tuple(_empty(outline, at, wording)) if at else ()
    return ()


def _missing(outline: RubricOutline, role: SectionRole, wording: AdviceWording) -> Iterator[QuickFix]:
    for section in outline.sections:
        if section.role is None and _meant(section, wording) is role:
            yield _renamed(section, role)
    text, end = outline.text, line_end(outline.text)
    at, last = _place(outline, role), len(text.rstrip())
    lines = end.join((f"## {role}", "", wording.templates[role]))
    if at < last:
        yield fix(f"Put in `## {role}`", TextSpan(at, at), f"{lines}{end}{end}")
    elif not coded(outline, last):
        lead = f"{end}{end}" if text.strip("\ufeff").strip() else ""
        yield fix(f"Put in `## {role}`", TextSpan(last, len(text)), f"{lead}{lines}{end}")


def _place(outline: RubricOutline, role: SectionRole) -> int:
    """Where a section belongs: patterns first, then antipatterns, then the legitimate stops; else the end."""
    order, begins = list(SectionRole), [one.whole.begin for one in outline.sections]
    known = [(order.index(one.role), one.whole.begin) for one in outline.sections if one.role]
    above = [begin for rank, begin in known if rank < order.index(role)]
    below = [begin for rank, begin in known if rank > order.index(role)]
    after = [begin for begin in begins if begin > above[-1]] if above else below
    return after[0] if after else len(outline.text)


def _empty(outline: RubricOutline, section: RubricSection, wording: AdviceWording) -> Iterator[QuickFix]:
    """A template below the heading, which may be underlined."""
    text, end = outline.text, line_end(outline.text)
    at = end_of_line(text, section.title.end)
    below = end_of_line(text, at + len(end)) if text.startswith(end, at) else at
    under = text[at:below].strip()
    if under and not under.strip("-"):
        at = below
    if section.role and not coded(outline, at):
        put = f"{end}{end}{wording.templates[section.role]}" + (end if at < len(text.rstrip()) else "")
        yield fix("Put a criterion in", TextSpan(at, at), put)
