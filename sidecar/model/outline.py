"""A rubric as its text has it: what the judge reads, and where it stands.

Places are counted in code points from the start of the text as it is written, its line ends and its byte
order mark among them.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.model.rubric import Criterion


class Span(Struct, frozen=True, order=True):
    """From `begin` to before `end`."""

    begin: int
    end: int

    def __contains__(self, place: int) -> bool:
        """Whether a cursor at `place` touches it: the place behind its last character counts too."""
        return self.begin <= place <= self.end


class Key(StrEnum):
    """What a criterion can say of itself in a line of its own."""

    SEVERITY = "Severity"
    APPLIES_TO = "Applies to"
    WHEN = "When"
    EVIDENCE = "Evidence"


class Line(Struct, frozen=True):
    """One such line. `value` is what stands behind the colon, `parts` are the globs or sources in it."""

    key: Key
    whole: Span
    value: Span
    parts: tuple[Span, ...] = ()


class Located(Struct, frozen=True, kw_only=True):
    """A criterion, the place of its name, and its whole text from its first line to its last one.

    `name` is what is named, without a marker and without `{#id}`. `heading`: it is a `###` heading, else a
    list item. `lines` are those that say something of it; lines that are not understood are prose.
    """

    criterion: Criterion
    name: Span
    whole: Span
    heading: bool
    lines: tuple[Line, ...] = ()


class Role(StrEnum):
    """What the criteria of a section are; the section's title says it."""

    PATTERNS = "Patterns"
    ANTIPATTERNS = "Antipatterns"
    LEGITIMATE = "Legitimate stops"


REQUIRED = (Role.PATTERNS, Role.ANTIPATTERNS)
"""Sections without which a text is no rubric."""


class Section(Struct, frozen=True, kw_only=True):
    """A `##` section. `title` is where its heading's words are, `whole` reaches to before the next section.

    `role` is None where the judge does not read it; it has no criteria then.
    """

    name: str
    title: Span
    whole: Span
    role: Role | None = None
    criteria: tuple[Located, ...] = ()


class Outline(Struct, frozen=True):
    """The sections of a rubric in the order of the text. `code` are blocks in which everything is text."""

    text: str
    sections: tuple[Section, ...] = ()
    code: tuple[Span, ...] = ()

    @property
    def criteria(self) -> tuple[Located, ...]:
        """Every criterion, in the order of the text."""
        return tuple(one for section in self.sections for one in section.criteria)
