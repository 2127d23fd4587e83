"""Hover texts about the place under the cursor, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.kernel.rubric import (
    Criterion,
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
from sidecar.kernel.stop_history import CriterionStats
from sidecar.rubric.globs import glob_matches_path
from sidecar.servers.rubric_language.editing.formatting import row_at

MAX_FILES_COUNTED: Final = 20_000
"""Maximum number of project files that a glob is matched against: at most 40 ms."""
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
    CriterionKey.EVIDENCE: "what decides it: a gate, a rule, diff, calls or message",
}


class HistoryLookup(Struct, frozen=True):
    """Returns the statistics of a criterion by ID (`of`), and formats seconds since the epoch as a `day`."""

    of: Callable[[str], CriterionStats | None]
    day: Callable[[float], str]


class HoverText(Struct, frozen=True):
    """A text about a place."""

    place: TextSpan
    text: str


def find_hover_text(
    outline: RubricOutline, place: int, around: RubricContext, past: HistoryLookup
) -> HoverText | None:
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
    if place in row_at(outline.text, one.name.begin):
        return HoverText(one.name, "\n\n".join(_describe_criterion(one, section, around, past)))
    return None


def _describe_section(section: RubricSection) -> str:
    if section.role is None:
        known = ", ".join(f"`## {role}`" for role in SectionRole)
        return f"The judge does not read this section. It reads {known}."
    count = _number_with_noun(len(section.criteria), "criterion", "criteria")
    return f"{ROLE_MEANINGS[section.role]}\n\n{count}."


def _describe_criterion(
    one: LocatedCriterion, section: RubricSection, around: RubricContext, past: HistoryLookup
) -> Iterator[str]:
    criterion = one.criterion
    yield f"**{criterion.name}** `{criterion.id}`"
    yield f"Decided by {_decided_by(criterion, around)}."
    if section.role is not SectionRole.LEGITIMATE:
        yield f"Severity {criterion.severity}: {SEVERITY_MEANINGS[criterion.severity]}."
    if criterion.applies_to:
        globs = ", ".join(_describe_glob(glob, around) for glob in criterion.applies_to)
        yield f"Left out where no changed file fits: {globs}."
    if criterion.when:
        yield f"When: {criterion.when}"
    if rule := _describe_rule(criterion.id):
        yield f"The rule {rule} finds the same without a model."
    if history := past.of(criterion.id):
        yield from _describe_history(history, past)


def _describe_history(history: CriterionStats, past: HistoryLookup) -> Iterator[str]:
    if history.stops:
        stops = _number_with_noun(history.stops, "stop", "stops")
        often = f"It spoke at {history.fired} of the last {stops} here"
        yield f"{often}, last on {past.day(history.last)}." if history.last is not None else f"{often}."
    if history.measured_of:
        yield (
            f"Measured on {history.measured_on} with {history.measured_by}: it was right "
            f"{history.measured_right} of {history.measured_of} times."
        )


def _describe_line(
    outline: RubricOutline, line: CriterionLine, place: int, around: RubricContext
) -> HoverText:
    part = next((each for each in line.parts if place in each), None)
    if part is None:
        return HoverText(line.whole, f"**{line.key}**: {KEY_MEANINGS[line.key]}.")
    said = outline.text[part.begin : part.end]
    return HoverText(
        part,
        _describe_glob(said, around)
        if line.key is CriterionKey.APPLIES_TO
        else f"Decided by {_describe_source(said, around)}.",
    )


def _decided_by(criterion: Criterion, around: RubricContext) -> str:
    if not criterion.evidence:
        return "the judge, from the changed files, what tools returned and the last message"
    *others, last = (_describe_source(each, around) for each in criterion.evidence)
    return f"{', '.join(others)} and {last}" if others else last


def _describe_source(said: str, around: RubricContext) -> str:
    kind, _, name = said.partition(":")
    if kind == "gate":
        missing = around.gates is not None and name not in around.gates
        return f"the gate `{name}`" + (" (this project has none of this name)" if missing else "")
    if kind == "rule":
        return f"the rule {_describe_rule(name) or f'`{name}` (there is none of this name)'}"
    return SOURCE_MEANINGS.get(said, said)


def _describe_rule(name: str) -> str:
    """Return the description of a rule, "" if there is no rule with this ID."""
    from sidecar.judging.rules.every import STOP_RULES  # noqa: PLC0415 - an editor that only types needs none of them

    rule = next((each for each in STOP_RULES if each.id == name), None)
    if rule is None:
        return ""
    right = (
        f"; {rule.precision:.0%} of its findings were right when it was measured" if rule.precision else ""
    )
    return f"`{rule.id}` ({rule.reason}{right})"


def _describe_glob(glob: str, around: RubricContext) -> str:
    if around.paths is None:
        return f"`{glob}`"
    found = sum(glob_matches_path(glob.removeprefix("!"), path) for path in around.paths[:MAX_FILES_COUNTED])
    more = "at least " if around.more or len(around.paths) > MAX_FILES_COUNTED else ""
    return f"`{glob}` ({more}{_number_with_noun(found, 'file', 'files')} of the project)"


def _number_with_noun(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
