"""The project's own idea of done."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Severity(StrEnum):
    """How much weighs what a criterion asks. NOTE: never a reason to send an agent back."""

    MUST = "must"
    SHOULD = "should"
    NOTE = "note"


SOURCES: Final = ("diff", "calls", "message")
"""What decides beside gates and rules: the changed files, what tools returned, the last message."""


class Criterion(Struct, frozen=True):
    """One pattern, antipattern or legitimate stop: its name and its text, both Markdown.

    `id` is short and stays while the name does ("done-as-asked"); it is unique within a rubric. `applies_to`
    are globs of project paths: where none of the changed files fits, the criterion is left out. `when` is a
    hint in the author's words, for the judge. `evidence` names what decides it: `gate:ID`, `rule:ID`, or one
    of SOURCES. Each of these was written as a line of its own in the text (`Severity: note`), and is no
    longer part of `text`.
    """

    name: str
    text: str
    id: str = ""
    severity: Severity = Severity.MUST
    applies_to: tuple[str, ...] = ()
    when: str = ""
    evidence: tuple[str, ...] = ()


class Held(Struct, frozen=True, kw_only=True):
    """An edit of a rubric by the agent itself, which does not count until the user accepts it (law 9).

    `digest` is that of the file as it is now, `summary` says in one line what the edit would change.
    """

    path: str
    digest: str
    summary: str


class Rubric(Struct, frozen=True, kw_only=True):
    """The rubric in force.

    `origin` is the path it was read from; `rejected` says, per path, why a file that wins by precedence
    could not serve. `held`: the file says something else by now, but the agent wrote it. `changed`: what is
    new in it since the last look, in one line.
    """

    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...] = ()
    origin: str
    rejected: tuple[str, ...] = ()
    held: Held | None = None
    changed: str = ""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Patterns and antipatterns."""
        return (*self.patterns, *self.antipatterns)
