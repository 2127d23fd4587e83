"""What is weak in a rubric that can serve, and what would help.

- Advice is given where it has a fix or prevents a misreading. How a demand is worded is the author's choice.
- Errors of the reader ("missing-section") are found where it reads; here is only what mends them.
- Each fix gives a text that the reader still reads, without that flaw and without another one.

This package knows no files and no editors.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from sidecar.kernel.rubric import (
    EMPTY_RUBRIC_CONTEXT,
    Flaw,
    QuickFix,
    RubricContext,
    RubricOutline,
    RubricSection,
    SectionRole,
    TextSpan,
)
from sidecar.rubric.advice.lines import (
    AdviceWording,
    Code,
    fix_by,
    hint,
    line_end_of,
    name_meant_by,
    strange_globs,
    unknown_names,
    unread_lines,
    warning,
)

FLAWS_LIMIT: Final = 200
"""Flaws that are told of one text."""
TEXT_LIMIT: Final = 64 * 1024
"""Characters of a text that is examined; one that can serve has an eighth of it."""


def advise_on(
    outline: RubricOutline, wording: AdviceWording, around: RubricContext = EMPTY_RUBRIC_CONTEXT
) -> tuple[Flaw, ...]:
    """Return what is weak in a rubric, in the order of its text."""
    if len(outline.text) > TEXT_LIMIT:
        return ()
    found = sorted(_all_flaws(outline, wording, around), key=lambda flaw: (flaw.begin, flaw.end, flaw.code))
    return tuple(found[:FLAWS_LIMIT])


def _all_flaws(outline: RubricOutline, wording: AdviceWording, around: RubricContext) -> Iterator[Flaw]:
    yield from _unread_sections(outline, wording)
    yield from _cut_criteria(outline)
    for one in outline.criteria:
        yield from unread_lines(outline, one, around, wording)
        yield from unknown_names(one, around)
        yield from strange_globs(one, around)


# --- sections that the judge does not read ------------------------------------------------------------------


TITLE_LIKENESS: Final = 0.86
"""How alike a title is to a known one that it is taken for, from 0 to 1, as difflib measures."""


def _unread_sections(outline: RubricOutline, wording: AdviceWording) -> Iterator[Flaw]:
    for section in outline.sections:
        if section.role is not None:
            continue
        why = "the judge does not read this section"
        if role := _role_meant(section, wording):
            why = f"{why}; it knows `## {role}`"
            yield warning(Code.UNKNOWN_SECTION, why, section.title, "", _rename_fix(section, role))
        else:
            known = f"It reads: {', '.join(SectionRole)}."
            yield hint(Code.UNKNOWN_SECTION, why, section.title, known)


def _rename_fix(section: RubricSection, role: SectionRole) -> QuickFix:
    return fix_by(f"Call it `## {role}`", section.title, role.value)


def _role_meant(section: RubricSection, wording: AdviceWording) -> SectionRole | None:
    letters = "".join(filter(str.isalpha, section.name[:100].casefold()))
    known = {"".join(filter(str.isalpha, role.casefold())): role for role in SectionRole}
    near = get_close_matches(letters, known, 1, TITLE_LIKENESS)
    return known[near[0]] if near else name_meant_by(letters, wording.section_titles)


# --- what a judge does not get to read ----------------------------------------------------------------------
# The estimate is low: what is reported is cut, and more may be.


JUDGE_TOKENS: Final = 3_000
"""Tokens of all criteria that a judge reads, as its prompt has it."""
CUT_TOKENS: Final = 150
"""Tokens of each text that are left where there are more than JUDGE_TOKENS."""
NAME_LIMIT: Final = 120
"""Characters of a name that a judge reads."""
ASCII_PER_TOKEN: Final = 4.6
"""Characters; the prompt's own estimate says 2.5 to 4.6 for prose."""
TOKENS_PER_OTHER: Final = 1.2
"""Tokens of a character beyond ASCII, at the least; the same estimate says 1.2 to 4."""


def _cut_criteria(outline: RubricOutline) -> Iterator[Flaw]:
    for one in outline.criteria:
        if one.heading and one.name.end - one.name.begin > NAME_LIMIT:
            rest = TextSpan(one.name.begin + NAME_LIMIT, one.name.end)
            why = f"a judge reads {NAME_LIMIT} characters of a name"
            yield warning(Code.TOO_LONG_CRITERION, why, rest, "Put the rest below it.")
    always = [one for one in outline.criteria if not one.criterion.applies_to]
    sizes = [least_tokens(outline.text[one.whole.begin : one.whole.end]) for one in always]
    total, filled = sum(sizes), 0.0
    if total <= JUDGE_TOKENS:
        return
    for one, size in zip(always, sizes, strict=True):
        if filled <= JUDGE_TOKENS < filled + size:
            why = f"a judge's room is full here: {JUDGE_TOKENS} tokens, and all criteria need {round(total)}"
            help_ = "Say which files a criterion is about, or take some out."
            yield warning(Code.TOO_MANY_CRITERIA, why, one.name, help_)
        if size > CUT_TOKENS:
            why = f"a judge reads the beginning and the end of it, {CUT_TOKENS} of {round(size)} tokens"
            yield warning(Code.TOO_LONG_CRITERION, why, one.name, "Say it shorter, or make two of it.")
        filled += size


def least_tokens(text: str) -> float:
    """Return how many tokens a text has at the least."""
    plain = len(text) if text.isascii() else sum(map(str.isascii, text))
    return plain / ASCII_PER_TOKEN + (len(text) - plain) * TOKENS_PER_OTHER


# --- what mends a text that cannot serve: a section put in or renamed, or a criterion put in ----------------


def mending_fixes(outline: RubricOutline, role: SectionRole, wording: AdviceWording) -> Iterator[QuickFix]:
    """Yield what mends a required section that is missing or has no criterion, the best first."""
    text, end = outline.text, line_end_of(outline.text)
    empty = next((each for each in outline.sections if each.role is role), None)
    if empty is not None:
        if _is_prose(outline, empty.whole.end):
            place = TextSpan(empty.whole.end, empty.whole.end)
            yield fix_by("Put a criterion in", place, f"{end}{end}{wording.templates[role]}")
        return
    for section in outline.sections:
        if section.role is None and _role_meant(section, wording) is role:
            yield _rename_fix(section, role)
    title, lines = f"Put in `## {role}`", f"## {role}{end}{end}{wording.templates[role]}{end}"
    if following := _following_section(outline, role):
        at = following.whole.begin
        yield fix_by(title, TextSpan(at, at), f"{lines}{end}")
    elif _is_prose(outline, last := len(text.rstrip())):
        lead = f"{end}{end}" if text.strip("\ufeff").strip() else ""
        yield fix_by(title, TextSpan(last, len(text)), f"{lead}{lines}")


def _following_section(outline: RubricOutline, role: SectionRole) -> RubricSection | None:
    """Return the section before which one of this role belongs; None if that is the end."""
    later = list(SectionRole)[list(SectionRole).index(role) + 1 :]
    return next((each for each in outline.sections if each.role in later), None)


def _is_prose(outline: RubricOutline, at: int) -> bool:
    """Return whether text that is put in here is surely no code: a block that ends here may go on."""
    return not any(span.begin < at <= span.end for span in outline.code)
