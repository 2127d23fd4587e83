"""The rubric, the project's own criteria of done work, and whose edits of it count.

The module holds the criteria, their places in the text, the flaws of a text that somebody is writing, and
what is told of edits that are held.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Severity(StrEnum):
    """The weight of a criterion. NOTE is never a reason to send an agent back."""

    MUST = "must"
    SHOULD = "should"
    NOTE = "note"


CRITERION_SOURCES: Final = ("diff", "calls", "message")
"""Evidence sources besides gates and rules: the changed files, tool results, the last message."""


class Criterion(Struct, frozen=True):
    """One pattern, antipattern or legitimate stop: its name and its text, both Markdown.

    `id` is short, changes only with the name ("done-as-asked") and is unique within a rubric. `applies_to`
    are globs of project paths; where no changed file matches, the criterion is left out. `when` is a hint for
    the judge in the author's words. `evidence` names what decides it: `gate:ID`, `rule:ID`, or one of
    CRITERION_SOURCES. Each of these is written on a line of its own in the text (`Severity: note`) and is not
    part of `text`.
    """

    name: str
    text: str
    id: str = ""
    severity: Severity = Severity.MUST
    applies_to: tuple[str, ...] = ()
    when: str = ""
    evidence: tuple[str, ...] = ()


class Rubric(Struct, frozen=True, kw_only=True):
    """The rubric in force.

    `origin` is the path it was read from. `rejected` says, per path, why a file with higher precedence could
    not be used. `held`: a rubric's file has a newer text that waits. `broken`: its file cannot be used any
    more, and what it said before is in force.
    """

    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...] = ()
    origin: str
    rejected: tuple[str, ...] = ()
    held: HeldEdit | None = None
    broken: bool = False

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Patterns and antipatterns."""
        return (*self.patterns, *self.antipatterns)


# --- Outline of a rubric: what the judge reads, and where it is in the text ---------------------------------
# Positions are code points from the start of the text as written, including line ends and byte order mark.


class TextSpan(Struct, frozen=True, order=True):
    """A range of positions; `end` is exclusive."""

    begin: int
    end: int

    def __contains__(self, place: int) -> bool:
        """Whether a cursor at `place` touches the range; the position after its last character counts too."""
        return self.begin <= place <= self.end


class CriterionKey(StrEnum):
    """The keys that a criterion can set on a line of its own."""

    SEVERITY = "Severity"
    APPLIES_TO = "Applies to"
    WHEN = "When"
    EVIDENCE = "Evidence"


class CriterionLine(Struct, frozen=True):
    """One such line. `value` is the text after the colon; `parts` are the globs or sources in it."""

    key: CriterionKey
    whole: TextSpan
    value: TextSpan
    parts: tuple[TextSpan, ...] = ()


class LocatedCriterion(Struct, frozen=True, kw_only=True):
    """A criterion, the place of its name, and its whole text from its first to its last line.

    `name` covers the name without a marker and without `{#id}`. `heading`: it is a `###` heading, otherwise a
    list item. `lines` are its recognized key lines; lines that are not recognized are prose.
    """

    criterion: Criterion
    name: TextSpan
    whole: TextSpan
    heading: bool
    lines: tuple[CriterionLine, ...] = ()


class SectionRole(StrEnum):
    """The role of a section's criteria, which the section's title names."""

    PATTERNS = "Patterns"
    ANTIPATTERNS = "Antipatterns"
    LEGITIMATE = "Legitimate stops"


REQUIRED_SECTIONS = (SectionRole.PATTERNS, SectionRole.ANTIPATTERNS)
"""Sections without which a text is not a rubric."""


class RubricSection(Struct, frozen=True, kw_only=True):
    """A `##` section. `title` covers the words of its heading; `whole` ends where the next section begins.

    `role` is None where the judge does not read the section; it has no criteria then.
    """

    name: str
    title: TextSpan
    whole: TextSpan
    role: SectionRole | None = None
    criteria: tuple[LocatedCriterion, ...] = ()


class RubricOutline(Struct, frozen=True):
    """The sections of a rubric in text order. `code` are code blocks, whose content is not interpreted."""

    text: str
    sections: tuple[RubricSection, ...] = ()
    code: tuple[TextSpan, ...] = ()

    @property
    def criteria(self) -> tuple[LocatedCriterion, ...]:
        """All criteria, in text order."""
        return tuple(one for section in self.sections for one in section.criteria)


# --- Flaws of a rubric that somebody is writing, and their fixes --------------------------------------------


class FlawSeverity(StrEnum):
    """ERROR: the text is unusable. WARNING: it hardly does what is meant. HINT: it could be better."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class TextEdit(Struct, frozen=True):
    """Replaces the text at `place` by `text`; a place of zero width is an insertion point."""

    place: TextSpan
    text: str


class QuickFix(Struct, frozen=True):
    """One way to fix a flaw. `edits` do not overlap."""

    title: str
    edits: tuple[TextEdit, ...]


class Flaw(Struct, frozen=True):
    """One flaw of a text, described for its author.

    `code` is short and stable ("missing-section"). `begin` and `end` are positions as above. `help` says in
    one sentence how to fix it, where `why` does not.
    """

    code: str
    why: str
    begin: int
    end: int
    weight: FlawSeverity = FlawSeverity.ERROR
    help: str = ""
    fixes: tuple[QuickFix, ...] = ()


class RubricContext(Struct, frozen=True, kw_only=True):
    """The names to which a rubric can refer. None: unknown, so nothing is reported about them.

    `gates` are the ids of the project's gates, `rules` those of the rules. `paths` are the project's files,
    relative to it, with "/"; `more`: not all files are listed.
    """

    gates: tuple[str, ...] | None = None
    rules: tuple[str, ...] = ()
    paths: tuple[str, ...] | None = None
    more: bool = False


EMPTY_RUBRIC_CONTEXT = RubricContext()
"""The context where nothing is known of the project."""


# --- Edits of the files that steer Supervisor ---------------------------------------------------------------


class HeldEdit(Struct, frozen=True, kw_only=True):
    """An edit in a line: what it changes (`summary`), and whether it `waits` or counts now.

    `digest` is that of the new text `now`; `before` is the text in force. `project`: whose file it is, "" for
    the user's own. Not `serves`: it does neither, because of its `faults`, and `before` stays in force.
    `live`: a host reads the file, so that no `before` is in force while it waits.
    """

    path: str
    digest: str
    summary: str
    before: str = ""
    now: str = ""
    waits: bool = True
    project: str = ""
    live: bool = False
    serves: bool = True
    faults: tuple[str, ...] = ()
