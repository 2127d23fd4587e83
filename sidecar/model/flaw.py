"""What is wrong with a rubric that somebody is writing, and what would help."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.model.outline import Span


class Weight(StrEnum):
    """ERROR: the text cannot serve. WARNING: it can, but hardly as it is meant. HINT: it could be better."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class Edit(Struct, frozen=True):
    """What stands in `place` becomes `text`; a place without width is where it is put in."""

    place: Span
    text: str


class Fix(Struct, frozen=True):
    """One way to mend a flaw. `edits` do not overlap."""

    title: str
    edits: tuple[Edit, ...]


class Flaw(Struct, frozen=True):
    """One fault of a text, in words for whoever writes it.

    `code` is short and stays ("missing-section"). `begin` and `end` are places as in model/outline.py. `help`
    says in a sentence what would mend it, where `why` does not. `also` are places that belong to it (the
    other one of two criteria that contradict each other), each with a word on it.
    """

    code: str
    why: str
    begin: int
    end: int
    weight: Weight = Weight.ERROR
    help: str = ""
    fixes: tuple[Fix, ...] = ()
    also: tuple[tuple[Span, str], ...] = ()


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a rubric can name. None: it is not known, and nothing is said about it.

    `gates` are the ids of the project's gates, `rules` those of the rules. `paths` are the project's files,
    relative to it, with "/"; `more`: there are more of them than were listed.
    """

    gates: tuple[str, ...] | None = None
    rules: tuple[str, ...] = ()
    paths: tuple[str, ...] | None = None
    more: bool = False


NOWHERE = Surroundings()
"""Nothing is known of the project."""
