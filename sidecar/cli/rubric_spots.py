"""A rubric that was checked, and its flaws as people count places."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.flaw import Flaw, Weight
from sidecar.policy.rubric_words import point


class Checked(Struct, frozen=True):
    """A file, its text (with replacements where it is no UTF-8), and all that is wrong with it."""

    path: str
    text: str
    flaws: tuple[Flaw, ...]


class Spot(Struct, frozen=True):
    """A flaw. Lines and columns count from 1, columns in code points; the end is behind the last character.

    `fixes` are the titles of what an editor offers to do.
    """

    code: str
    weight: Weight
    why: str
    help: str
    line: int
    column: int
    end_line: int
    end_column: int
    fixes: tuple[str, ...]


def spots(checked: Checked) -> tuple[Spot, ...]:
    """The flaws of a file, in their order."""
    return tuple(_spot(checked.text, flaw) for flaw in checked.flaws)


def sayable(path: str) -> str:
    """A path that JSON can hold: one that is no UTF-8 has surrogates."""
    return path.encode("utf-8", "backslashreplace").decode()


def _spot(text: str, flaw: Flaw) -> Spot:
    begin, end = point(text, flaw.begin), point(text, flaw.end)
    return Spot(
        code=flaw.code,
        weight=flaw.weight,
        why=flaw.why,
        help=flaw.help,
        line=begin.line,
        column=begin.column,
        end_line=end.line,
        end_column=end.column,
        fixes=tuple(fix.title for fix in flaw.fixes),
    )
