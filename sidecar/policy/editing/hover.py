"""What there is to know of the place under a cursor, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.model.flaw import Surroundings
from sidecar.model.kept import History
from sidecar.model.outline import Key, Line, Located, Outline, Role, Section, Span
from sidecar.model.rubric import Criterion, Severity
from sidecar.policy.case import fits
from sidecar.policy.editing.rows import row_at

COUNTED: Final = 20_000
"""Files of a project that a glob is held against: 40 ms at the most."""
ROLES: Final = {
    Role.PATTERNS: "What a finished piece of work shows. The judge asks for each of these.",
    Role.ANTIPATTERNS: "What passes for done and is not. The judge looks for each of these.",
    Role.LEGITIMATE: "Where to stop is right: the agent is not sent back.",
}
WEIGHTS: Final = {
    Severity.MUST: "the agent is sent back where it is not met",
    Severity.SHOULD: "the judge weighs it less",
    Severity.NOTE: "nobody is sent back for it",
}
SOURCES: Final = {
    "diff": "the changed files",
    "calls": "what tools returned",
    "message": "the last message",
}
KEYS: Final = {
    Key.SEVERITY: "how much it weighs: must, should or note",
    Key.APPLIES_TO: "it is left out where none of the changed files fits these globs",
    Key.WHEN: "a hint for the judge, in your words",
    Key.EVIDENCE: "what decides it: a gate, a rule, diff, calls or message",
}


class Past(Struct, frozen=True):
    """What became of a criterion, by its id, and how to write a time in seconds since the epoch as a day."""

    of: Callable[[str], History | None]
    day: Callable[[float], str]


class Told(Struct, frozen=True):
    """A text about a place."""

    place: Span
    text: str


def hover(outline: Outline, place: int, around: Surroundings, past: Past) -> Told | None:
    """What is known of a section's title, a criterion's first line, or a line that says something of it."""
    section = next((each for each in outline.sections if place in each.whole), None)
    if section is None:
        return None
    if place in section.title:
        return Told(section.title, _of_section(section))
    one = next((each for each in section.criteria if place in each.whole), None)
    if one is None:
        return None
    line = next((each for each in one.lines if place in each.whole), None)
    if line:
        return _of_line(outline, line, place, around)
    if place in row_at(outline.text, one.name.begin):
        return Told(one.name, "\n\n".join(_of_criterion(one, section, around, past)))
    return None


def _of_section(section: Section) -> str:
    if section.role is None:
        known = ", ".join(f"`## {role}`" for role in Role)
        return f"The judge does not read this section. It reads {known}."
    return f"{ROLES[section.role]}\n\n{_count(len(section.criteria), 'criterion', 'criteria')}."


def _of_criterion(one: Located, section: Section, around: Surroundings, past: Past) -> Iterator[str]:
    criterion = one.criterion
    yield f"**{criterion.name}** `{criterion.id}`"
    yield f"Decided by {_decided_by(criterion, around)}."
    if section.role is not Role.LEGITIMATE:
        yield f"Severity {criterion.severity}: {WEIGHTS[criterion.severity]}."
    if criterion.applies_to:
        globs = ", ".join(_glob(glob, around) for glob in criterion.applies_to)
        yield f"Left out where no changed file fits: {globs}."
    if criterion.when:
        yield f"When: {criterion.when}"
    if rule := _rule(criterion.id):
        yield f"The rule {rule} finds the same without a model."
    if history := past.of(criterion.id):
        yield from _of_history(history, past)


def _of_history(history: History, past: Past) -> Iterator[str]:
    if history.stops:
        often = f"It spoke at {history.fired} of the last {_count(history.stops, 'stop', 'stops')} here"
        yield f"{often}, last on {past.day(history.last)}." if history.last is not None else f"{often}."
    if history.measured_of:
        yield (
            f"Measured on {history.measured_on} with {history.measured_by}: it was right "
            f"{history.measured_right} of {history.measured_of} times."
        )


def _of_line(outline: Outline, line: Line, place: int, around: Surroundings) -> Told:
    part = next((each for each in line.parts if place in each), None)
    if part is None:
        return Told(line.whole, f"**{line.key}**: {KEYS[line.key]}.")
    said = outline.text[part.begin : part.end]
    return Told(
        part, _glob(said, around) if line.key is Key.APPLIES_TO else f"Decided by {_source(said, around)}."
    )


def _decided_by(criterion: Criterion, around: Surroundings) -> str:
    if not criterion.evidence:
        return "the judge, from the changed files, what tools returned and the last message"
    *others, last = (_source(each, around) for each in criterion.evidence)
    return f"{', '.join(others)} and {last}" if others else last


def _source(said: str, around: Surroundings) -> str:
    kind, _, name = said.partition(":")
    if kind == "gate":
        missing = around.gates is not None and name not in around.gates
        return f"the gate `{name}`" + (" (this project has none of this name)" if missing else "")
    if kind == "rule":
        return f"the rule {_rule(name) or f'`{name}` (there is none of this name)'}"
    return SOURCES.get(said, said)


def _rule(name: str) -> str:
    """A rule in words, "" where there is none of this id."""
    from sidecar.policy.rules import RULES  # noqa: PLC0415 - an editor that only types needs none of them

    rule = next((each for each in RULES if each.id == name), None)
    if rule is None:
        return ""
    right = (
        f"; {rule.precision:.0%} of its findings were right when it was measured" if rule.precision else ""
    )
    return f"`{rule.id}` ({rule.reason}{right})"


def _glob(glob: str, around: Surroundings) -> str:
    if around.paths is None:
        return f"`{glob}`"
    found = sum(fits(glob.removeprefix("!"), path) for path in around.paths[:COUNTED])
    more = "at least " if around.more or len(around.paths) > COUNTED else ""
    return f"`{glob}` ({more}{_count(found, 'file', 'files')} of the project)"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
