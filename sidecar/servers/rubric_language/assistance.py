"""What an editor offers at a place of a rubric: completions, and what is known of it (hover).

For completions the row up to the cursor decides, as an incomplete row is not parsed yet: after `#` the
missing sections are offered, after `Evidence:`, `Severity:` and `Applies to:` the possible values, and at the
start of a row of a criterion its missing keys. Nothing is offered within code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final

from msgspec import Struct

from sidecar.judging.rules.every import STOP_RULES
from sidecar.kernel.rubric import (
    CriterionKey,
    CriterionLine,
    LocatedCriterion,
    RubricContext,
    RubricOutline,
    RubricSection,
    SectionRole,
    Severity,
    TextSpan,
)
from sidecar.kernel.text import counted
from sidecar.rubric.conventions import glob_matches_path

ROLE_MEANINGS: Final = {
    SectionRole.PATTERNS: "What a finished piece of work shows. The judge asks for each of these.",
    SectionRole.ANTIPATTERNS: "What passes for done and is not. The judge looks for each of these.",
    SectionRole.LEGITIMATE: "Where to stop is right: the agent is not sent back.",
}
SEVERITY_MEANINGS: Final = {
    Severity.MUST: "the agent is sent back where it is not met",
    Severity.SHOULD: "the judge weighs it less",
    Severity.NOTE: "nobody is sent back for it",
}
SOURCE_MEANINGS: Final = {
    "diff": "the changed files",
    "calls": "what tools returned",
    "message": "the last message",
}
KEY_MEANINGS: Final = {
    CriterionKey.SEVERITY: "how much it weighs: must, should or note",
    CriterionKey.APPLIES_TO: "it is left out where none of the changed files fits these globs",
    CriterionKey.WHEN: "a hint for the judge, in your words",
    CriterionKey.EVIDENCE: "what decides it: a check, a rule, diff, calls or message",
}

_BREAK: Final = re.compile(r"\r\n|\r|\n")


def _row_at(text: str, place: int) -> TextSpan:
    """Return the row that contains a place, without its line end."""
    begin = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
    after = _BREAK.search(text, place)
    return TextSpan(begin, after.start() if after else len(text))


# --- completion ---------------------------------------------------------------------------------------------


GLOBS_LIMIT: Final = 100
"""Maximum number of globs that are offered, those with the most files first."""
FOLDER_DEPTH: Final = 3
"""Number of folder levels that are offered as globs."""
ROW_LIMIT: Final = 1000
"""Maximum length in characters of a row that is examined."""

_HEADING: Final = re.compile(r" {0,3}##?#?\s*(?:[A-Za-z][A-Za-z ]*)?")
_VALUE: Final = re.compile(
    r"\s{0,8}(?:[-*+]\s{1,4})?(?:\*\*|__)?(?P<key>severity|applies[- ]to|evidence)"
    r"(?:\*\*|__)?\s?:(?:\*\*|__)?(?P<gap>\s*)(?P<value>.*)",
    re.IGNORECASE,
)
_KEY: Final = re.compile(
    r"(?P<lead>\s{0,8}(?:[-*+]\s{1,4})?)(?P<word>[a-z]+|applies[ -]t?o?)?", re.IGNORECASE
)


class CompletionOffer(Struct, frozen=True):
    """`text` replaces `place`, which is what was typed of it so far. `about` describes it."""

    label: str
    text: str
    place: TextSpan
    about: str


def find_completions(
    outline: RubricOutline, place: int, around: RubricContext
) -> tuple[CompletionOffer, ...]:
    """Return all completions, best first, not filtered by what was typed so far."""
    typed = outline.text[_row_at(outline.text, place).begin : place].removeprefix("\ufeff")
    if len(typed) > ROW_LIMIT or any(place in span for span in outline.code):
        return ()
    if heading := _HEADING.fullmatch(typed):
        return tuple(_section_offers(outline, TextSpan(place - len(heading[0].lstrip(" ")), place)))
    if said := _VALUE.fullmatch(typed):
        return tuple(_value_offers(said, place, around))
    if begun := _KEY.fullmatch(typed):
        return tuple(_key_offers(outline, begun, place))
    return ()


def _section_offers(outline: RubricOutline, place: TextSpan) -> Iterator[CompletionOffer]:
    there = {section.role for section in outline.sections if place.end not in section.title}
    for role in SectionRole:
        if role not in there:
            yield CompletionOffer(f"## {role}", f"## {role}", place, ROLE_MEANINGS[role])


def _key_offers(outline: RubricOutline, begun: re.Match[str], place: int) -> Iterator[CompletionOffer]:
    """Yield the missing keys of the criterion of this row; outside of criteria, the missing sections."""
    one, typed = _criterion_above(outline, place), TextSpan(place - len(begun["word"] or ""), place)
    if one is None:
        if not begun["lead"]:
            yield from _section_offers(outline, typed)
        return
    there = {line.key for line in one.lines if place not in line.whole}
    lead = "" if one.heading or begun["lead"] else "  "
    for key in CriterionKey:
        if key not in there:
            yield CompletionOffer(key, f"{lead}{key}: ", typed, KEY_MEANINGS[key])


def _criterion_above(outline: RubricOutline, place: int) -> LocatedCriterion | None:
    """Return the criterion of a row below its first one, or of a blank row after its last one."""
    section = next((each for each in reversed(outline.sections) if each.whole.begin <= place), None)
    above = [one for one in section.criteria if one.whole.begin <= place] if section else []
    if not above or place in _row_at(outline.text, above[-1].name.begin):
        return None
    return above[-1]


def _value_offers(said: re.Match[str], place: int, around: RubricContext) -> Iterator[CompletionOffer]:
    """Yield the possible values of a key. Directly after the colon, a space is inserted first."""
    value = said["value"]
    token = re.split(r"[\s,;`]", value)[-1]
    earlier = value[: len(value) - len(token)]
    key = CriterionKey(said["key"].capitalize().replace("-", " "))
    if key is CriterionKey.SEVERITY and earlier:
        return
    gap = "" if said["gap"] or value else " "
    quote = "`" if key is CriterionKey.APPLIES_TO and not earlier.endswith("`") else ""
    others = re.split(r"[\s,;`]+", earlier)
    for label, about in _possible_values(key, around):
        if label not in others:
            text = f"{gap}{quote}{label}{quote}"
            yield CompletionOffer(label, text, TextSpan(place - len(token), place), about)


def _possible_values(key: CriterionKey, around: RubricContext) -> Iterator[tuple[str, str]]:
    """Yield the possible values of a key, each with a description."""
    if key is CriterionKey.SEVERITY:
        yield from SEVERITY_MEANINGS.items()
    elif key is CriterionKey.APPLIES_TO:
        yield from _project_globs(around.paths or ())
    else:
        yield from ((f"gate:{name}", "a check of this project") for name in around.gates or ())
        yield from ((f"rule:{name}", "a rule, without a model") for name in around.rules)
        yield from SOURCE_MEANINGS.items()


@lru_cache(maxsize=2)
def _project_globs(paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return globs of folders and of extensions, each with the number of files that it matches."""
    counts: Counter[str] = Counter()
    for path in paths:
        *folders, name = path.split("/")
        counts.update(f"{folder}/**" for folder in accumulate(folders[:FOLDER_DEPTH], "{}/{}".format))
        _, dot, extension = name.rpartition(".")
        if dot and extension.isalnum():
            counts[f"*.{extension}"] += 1
    return tuple((glob, counted(count, "file")) for glob, count in counts.most_common(GLOBS_LIMIT))


# --- hover --------------------------------------------------------------------------------------------------


class HoverText(Struct, frozen=True):
    """A plain text about a place."""

    place: TextSpan
    text: str


def find_hover_text(outline: RubricOutline, place: int, around: RubricContext) -> HoverText | None:
    """Return what is known about a section title, the first line of a criterion, or one of its key lines."""
    section = next((each for each in outline.sections if place in each.whole), None)
    if section is None:
        return None
    if place in section.title:
        return HoverText(section.title, _describe_section(section))
    one = next((each for each in section.criteria if place in each.whole), None)
    if one is None:
        return None
    line = next((each for each in one.lines if place in each.whole), None)
    if line:
        return _describe_line(outline, line, place, around)
    if place in _row_at(outline.text, one.name.begin):
        return HoverText(one.name, "\n\n".join(_describe_criterion(one, section, around)))
    return None


def _describe_section(section: RubricSection) -> str:
    if section.role is None:
        return f"The judge does not read this section. It reads {', '.join(SectionRole)}."
    return ROLE_MEANINGS[section.role]


def _describe_criterion(
    one: LocatedCriterion, section: RubricSection, around: RubricContext
) -> Iterator[str]:
    criterion = one.criterion
    yield f"{criterion.name} ({criterion.id})"
    sources = [_describe_source(each, around) for each in criterion.evidence]
    yield f"Decided by {', '.join(sources) or 'the judge, from all there is'}."
    if section.role is not SectionRole.LEGITIMATE:
        yield f"Severity {criterion.severity}: {SEVERITY_MEANINGS[criterion.severity]}."
    if criterion.applies_to:
        globs = ", ".join(_describe_glob(glob, around) for glob in criterion.applies_to)
        yield f"Left out where no changed file fits: {globs}."
    if criterion.when:
        yield f"When: {criterion.when}"
    if rule := _describe_rule(criterion.id):
        yield f"The rule {rule} finds the same without a model."


def _describe_line(
    outline: RubricOutline, line: CriterionLine, place: int, around: RubricContext
) -> HoverText:
    part = next((each for each in line.parts if place in each), None)
    if part is None:
        return HoverText(line.whole, f"{line.key}: {KEY_MEANINGS[line.key]}.")
    said = outline.text[part.begin : part.end]
    is_glob = line.key is CriterionKey.APPLIES_TO
    return HoverText(
        part, _describe_glob(said, around) if is_glob else f"Decided by {_describe_source(said, around)}."
    )


def _describe_source(said: str, around: RubricContext) -> str:
    kind, _, name = said.partition(":")
    if kind == "gate":
        missing = around.gates is not None and name not in around.gates
        return f"the check {name}" + (" (this project has none of this name)" if missing else "")
    if kind == "rule":
        return f"the rule {_describe_rule(name) or f'{name} (there is none of this name)'}"
    return SOURCE_MEANINGS.get(said, said)


def _describe_rule(name: str) -> str:
    """Return the description of a rule, "" if there is no rule with this ID."""
    return next((f"{rule.id} ({rule.reason})" for rule in STOP_RULES if rule.id == name), "")


def _describe_glob(glob: str, around: RubricContext) -> str:
    if around.paths is None:
        return glob
    found = sum(glob_matches_path(glob.removeprefix("!"), path) for path in around.paths)
    more = "at least " if around.more else ""
    return f"{glob} ({more}{counted(found, 'file')} of the project)"
