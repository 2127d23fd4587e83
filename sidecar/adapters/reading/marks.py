"""Lines that change what a check sees: directives, hooks, exits, and code that knows it is tested.

A file that does not parse gives what can still be read. Nothing here says whether a mark is new: `policy`
compares two versions.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.marks_comments import directives
from sidecar.adapters.reading.marks_python import python_marks
from sidecar.adapters.reading.marks_scripts import script_marks
from sidecar.model.inspection import Mark, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT_LIMIT: Final = 1 << 20
"""Characters of a file that is searched for marks."""
MARKS: Final = 2_000
"""Marks of one file that are kept."""


def marks_of(path: str, text: str, role: Role) -> tuple[Mark, ...]:
    """Every mark of one version of a file, by lines; () where it is too big, or no code."""
    if len(text) > TEXT_LIMIT or role is Role.SNAPSHOT:
        return ()
    found = islice(_marks(path, text, role), MARKS)
    return tuple(sorted(dict.fromkeys(found), key=lambda mark: (mark.line, mark.kind)))


def _marks(path: str, text: str, role: Role) -> Iterator[Mark]:
    code = python_marks if path.endswith((".py", ".pyi")) else script_marks
    return chain(code(path, text, role), directives(path, text))
