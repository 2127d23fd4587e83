"""Sections that the judge does not read, or reads as one with another."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from sidecar.kernel.rubric import (
    REQUIRED_SECTIONS,
    Flaw,
    FlawSeverity,
    QuickFix,
    RubricOutline,
    RubricSection,
    SectionRole,
    TextEdit,
    TextSpan,
)
from sidecar.rubric.advice.edits import Code, coded, end_of_line, line_at, line_end, without
from sidecar.rubric.advice.passage import BLOT, CACHED, Passage, Place

NEAR: Final = 0.86
"""How alike a title is to a known one that it is meant, from 0 to 1; measured as difflib does."""
MEANT: Final = {
    **dict.fromkeys(
        ("goodpatterns", "criteria", "requirements", "definitionofdone", "musts"), SectionRole.PATTERNS
    ),
    **dict.fromkeys(("badpatterns", "forbidden", "donts", "donot", "never"), SectionRole.ANTIPATTERNS),
    **dict.fromkeys(
        ("legitstops", "legalstops", "allowedstops", "acceptablestops", "validstops", "whentostop", "stops",
         "legitimatereasons", "legitimatereasonstostop"), SectionRole.LEGITIMATE,
    ),
}  # fmt: skip
"""What people call the sections, in letters alone."""


def sections(outline: RubricOutline) -> Iterator[Flaw]:
    """Each section that is hardly what its author means it to be."""
    first: dict[SectionRole, RubricSection] = {}
    for section in outline.sections:
        if section.role is None:
            yield _unread(section)
        elif section.role in first:
            yield _twice(outline, section, first[section.role])
        else:
            first[section.role] = section


def renamed(section: RubricSection, role: SectionRole) -> QuickFix:
    """Calls a section what the judge reads."""
    return QuickFix(f"Call it `## {role}`", (TextEdit(section.title, role.value),))


def meant(section: RubricSection) -> SectionRole | None:
    """The role that the title of a section nearly says."""
    return _meant(section.name) if section.role is None else None


def _unread(section: RubricSection) -> Flaw:
    role = meant(section)
    begin, end = section.title.begin, section.title.end
    if role is None:
        why = "the judge does not read this section"
        return Flaw(
            Code.UNKNOWN_SECTION, why, begin, end, FlawSeverity.HINT, f"It reads: {', '.join(SectionRole)}."
        )
    why = f"the judge does not read this section; it knows `## {role}`"
    return Flaw(Code.UNKNOWN_SECTION, why, begin, end, FlawSeverity.WARNING, "", (renamed(section, role),))


def _twice(outline: RubricOutline, section: RubricSection, first: RubricSection) -> Flaw:
    return Flaw(
        Code.DUPLICATE_SECTION,
        "the two sections of this name are read as one",
        section.title.begin,
        section.title.end,
        FlawSeverity.HINT,
        "Make one of them.",
        _joined(outline, section, first),
        ((first.title, "the first one"),),
    )


def _joined(outline: RubricOutline, section: RubricSection, first: RubricSection) -> tuple[QuickFix, ...]:
    """Moves headings behind the first section. Items that would follow a heading are left to the author."""
    has_items = any(not one.heading for one in section.criteria)
    if not section.criteria or (has_items and any(one.heading for one in first.criteria)):
        return ()
    text, gap = outline.text, line_end(outline.text) * 2
    if coded(outline, first.whole.end):
        return ()
    body = text[section.criteria[0].whole.begin : section.whole.end]
    kept = TextSpan(section.title.end, section.criteria[0].whole.begin)
    if text[kept.begin : kept.end].strip(" \t#\r\n"):
        return ()
    at = TextSpan(first.whole.end, first.whole.end)
    begin = line_at(text, section.title.begin).begin
    return (
        QuickFix(
            "Join them", (TextEdit(at, f"{gap}{body}"), without(text, TextSpan(begin, section.whole.end)))
        ),
    )


@lru_cache(maxsize=256)
def _meant(title: str) -> SectionRole | None:
    letters = "".join(char for char in title[:100].casefold() if char.isalpha())
    if letters in MEANT:
        return MEANT[letters]
    known = {"".join(filter(str.isalpha, role.casefold())): role for role in SectionRole}
    for name, role in known.items():
        if letters in {name, name.removesuffix("s")}:
            return role
    near = {name: SequenceMatcher(None, letters, name).ratio() for name in known}
    best = max(near, key=lambda name: near[name])
    return known[best] if near[best] >= NEAR else None


# --- What does not fit: in the file, in what a judge reads of it, or in the head of a reader. ---------------


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
WIDE: Final = "\u0e00"
"""From here on letters are of scripts that do not part words with blanks, or say a word in one of them."""
PLAIN: Final = frozenset(("no", "not", "never"))


def file_size(outline: RubricOutline) -> Iterator[Flaw]:
    """That the file is nearly as big as it may be."""
    text = outline.text
    size = len(text.encode("utf-8", "replace"))
    if NEARLY * LIMIT <= size <= LIMIT:
        end = len(text.rstrip())
        begin = line_at(text, end).begin
        why = f"{size} bytes; with more than {LIMIT} the file cannot serve"
        yield Flaw(Code.NEARLY_TOO_BIG, why, begin, end, FlawSeverity.HINT, "Take out what never fired.")


def for_judge(places: tuple[Place, ...]) -> Iterator[Flaw]:
    """What a judge does not get to read. The estimate is low: what is told is cut, and more may be."""
    yield from _long_names(places)
    always = [
        (place, tokens(place.passage.raw)) for place in places if not place.located.criterion.applies_to
    ]
    total = sum(size for _, size in always)
    if total <= ROOM:
        return
    filled = 0.0
    for place, size in always:
        over, filled = filled <= ROOM < filled + size, filled + size
        if over:
            why = f"here a judge's room is full: {ROOM} tokens, and all criteria need {round(total)} or more"
            yield _of_name(
                Code.TOO_MANY_CRITERIA, why, place, "Say which files a criterion is about, or take some out."
            )
        if size > CUT_TO:
            why = f"a judge reads the beginning and the end of it, {CUT_TO} of {round(size)} tokens or more"
            yield _of_name(Code.TOO_LONG_CRITERION, why, place, "Say it shorter, or make two of it.")


@lru_cache(maxsize=CACHED)
def tokens(text: str) -> float:
    """Tokens that a text has at the least."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return plain / ASCII_PER_TOKEN + (len(text) - plain) * TOKENS_PER_OTHER


def _long_names(places: tuple[Place, ...]) -> Iterator[Flaw]:
    for place in places:
        name = place.located.name
        if place.passage.heading and name.end - name.begin > NAME_LIMIT:
            why = f"a judge reads {NAME_LIMIT} characters of a name"
            begin = name.begin + NAME_LIMIT
            yield Flaw(
                Code.TOO_LONG_CRITERION, why, begin, name.end, FlawSeverity.WARNING, "Put the rest below it."
            )


def _of_name(code: Code, why: str, place: Place, advice: str) -> Flaw:
    name = place.located.name
    return Flaw(code, why, name.begin, name.end, FlawSeverity.WARNING, advice)


def said_little(place: Place) -> Iterator[Flaw]:
    """That there is a name alone, and it says too little: one word is a warning, two are a hint."""
    count = _alone(place.passage)
    if count in {1, 2}:
        name = place.located.name
        yield Flaw(
            Code.NO_TEXT,
            "a judge is told this name, and nothing about it",
            name.begin,
            name.end,
            FlawSeverity.WARNING if count == 1 else FlawSeverity.HINT,
            "Say below it what has to be seen.",
        )


@lru_cache(maxsize=CACHED)
def _alone(passage: Passage) -> int:
    """How many words a criterion says in all; 0 where they may be enough."""
    if passage.role is SectionRole.LEGITIMATE or BLOT in passage.prose or not passage.sentences:
        return 0
    name = passage.prose[passage.name.begin : passage.name.end]
    whole = len(passage.sentences) == 1 and passage.sentence(0).strip(" .:") == name.strip(" .:")
    if not whole or any(char >= WIDE for char in name):
        return 0
    found = name.replace("-", " ").split()
    return 0 if len(found) == 2 and found[0].casefold() in PLAIN else len(found)  # noqa: PLR2004 - words


# --- What mends a text that cannot serve as a rubric: a section put in or renamed, or the default. ----------
# A template is a criterion that holds in any project, so that nobody has to fill a gap before the text
# serves.


TEMPLATES: Final = {
    SectionRole.PATTERNS: "- **Checked after the last edit**: the tests ran after the last edit and passed.",
    SectionRole.ANTIPATTERNS: (
        "- **Claimed, not shown**: the agent says that it works, and no tool showed it."
    ),
}
"""One criterion for each section that must have one."""


def mend(outline: RubricOutline, flaw: Flaw) -> tuple[QuickFix, ...]:
    """What mends a fault that the reader found ("missing-section", "empty-section"), the best first."""
    if flaw.code == "missing-section":
        role = next((role for role in REQUIRED_SECTIONS if f"`## {role}`" in flaw.why), None)
        return tuple(_missing(outline, role)) if role else ()
    if flaw.code == "empty-section":
        empty = [
            section
            for section in outline.sections
            if section.role in REQUIRED_SECTIONS and not section.criteria
        ]
        at = next((section for section in empty if f"`## {section.role}`" in flaw.why), None)
        return tuple(_empty(outline, at)) if at else ()
    return ()


def from_default(outline: RubricOutline, default: str) -> QuickFix:
    """Has the default rubric in the place of a text."""
    end = line_end(outline.text) if outline.text else "\n"
    whole = TextSpan(0, len(outline.text))
    return QuickFix("Start from the default rubric", (TextEdit(whole, end.join(default.splitlines()) + end),))


def _missing(outline: RubricOutline, role: SectionRole) -> Iterator[QuickFix]:
    for section in outline.sections:
        if meant(section) is role:
            yield renamed(section, role)
    text, end = outline.text, line_end(outline.text)
    at = _place(outline, role)
    lines = end.join((f"## {role}", "", TEMPLATES[role]))
    if at < len(text.rstrip()):
        yield QuickFix(f"Put in `## {role}`", (TextEdit(TextSpan(at, at), f"{lines}{end}{end}"),))
    elif not coded(outline, len(text.rstrip())):
        whole = TextSpan(len(text.rstrip()), len(text))
        lead = f"{end}{end}" if text.strip("\ufeff").strip() else ""
        yield QuickFix(f"Put in `## {role}`", (TextEdit(whole, f"{lead}{lines}{end}"),))


def _place(outline: RubricOutline, role: SectionRole) -> int:
    """Where a section belongs: patterns first, then antipatterns, then the legitimate stops; else the end."""
    order = list(SectionRole)
    after = [one for one in outline.sections if one.role and order.index(one.role) < order.index(role)]
    before = [one for one in outline.sections if one.role and order.index(one.role) > order.index(role)]
    if after:
        return next(
            (one.whole.begin for one in outline.sections if one.whole.begin > after[-1].whole.begin),
            len(outline.text),
        )
    return before[0].whole.begin if before else len(outline.text)


def _empty(outline: RubricOutline, section: RubricSection) -> Iterator[QuickFix]:
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
            yield QuickFix("Put a criterion in", (TextEdit(TextSpan(at, at), put),))
