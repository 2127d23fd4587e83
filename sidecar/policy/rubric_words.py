"""What a person is told who makes a rubric or looks at one, and what a new rubric begins with.

This file knows no files: whether one is there, and what is wrong with it, comes from outside.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.model.flaw import Weight
from sidecar.policy.arguments import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sidecar.model.flaw import Flaw

NAME_LIMIT: Final = 60
"""Characters of a project's name in the title of its rubric."""
HEADER: Final = """\
# What done looks like{project}

The rubric that Supervisor judges by here; change it as you like. What you save counts from the next stop, and
`supervisor rubric check` says what is wrong with it. Each `###` heading or list item below is one criterion;
`## Patterns` and `## Antipatterns` must both have some; 8 KiB is the most."""
NEXT: Final = "Edit it; what you save counts from the next stop. Type in a shell: supervisor rubric check"

_SECTION: Final = re.compile(r"^## ", re.MULTILINE)
_BREAK: Final = re.compile(r"\r\n|\r|\n")


class Word(StrEnum):
    """What can be typed behind `/supervisor:rubric`."""

    SHOW = "show"
    ACCEPT = "accept"
    EDIT = "edit"


def asked(arguments: str) -> Word:
    """Which of them was typed; nothing shows. Raises Refusal."""
    word = arguments.strip().lower()
    if word in {"", "status"}:
        return Word.SHOW
    if word == "init":
        return Word.EDIT
    if word not in set(Word):
        raise Refusal(f"rubric takes nothing, `accept` or `edit`, not {word[:40]!r}")
    return Word(word)


def started(default: str, project: str = "") -> str:
    """A rubric of one's own: the default's criteria below a header for whoever edits it.

    `project` is the name of the folder, "" for the rubric that a user has everywhere. Of the default's header
    the paragraphs after the first two, which explain how a criterion is written, stay.
    """
    first = _SECTION.search(default)
    begin = first.start() if first else len(default)
    explained = default[:begin].strip().split("\n\n")[2:]
    name = " ".join("".join(char for char in project if char.isprintable()).split())[:NAME_LIMIT]
    header = HEADER.format(project=f" in {name}" if name else "")
    return "\n\n".join([header, *explained, default[begin:]])


def to_edit(path: str, *, made: bool) -> str:
    """The answer to who wants to edit the rubric of a project."""
    begun = f"{path} is there now, begun with the default's criteria" if made else f"the rubric is {path}"
    return f"Supervisor: {begun}. {NEXT}"


class Point(Struct, frozen=True, order=True):
    """A place in a text as people count: lines from 1, columns in code points from 1."""

    line: int
    column: int


def point(text: str, place: int) -> Point:
    """Where a place is. Lines end where an editor ends them: at LF, CR LF, or CR."""
    above = text[: max(place, 0)]
    ends = [found.end() for found in _BREAK.finditer(above)]
    return Point(len(ends) + 1, len(above) - (ends[-1] if ends else 0) + 1)


def counted(flaws: Iterable[Flaw]) -> str:
    """How many there are of each weight: "1 error, 2 warnings"; "nothing to mend" for none."""
    found = [flaw.weight for flaw in flaws]
    parts = [(found.count(weight), weight.value) for weight in Weight]
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n) or "nothing to mend"
