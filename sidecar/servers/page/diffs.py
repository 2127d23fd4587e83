"""A unified diff as rows of two columns: as it was, and as it is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct


class DiffRow(Struct, frozen=True):
    """One row: the old line and the new one, None where there is none."""

    old: str | None
    new: str | None


def diff_rows(hunks: str) -> Iterator[DiffRow]:
    """Yield the rows of a diff without its header. Lines that replace each other stand side by side."""
    old: list[str] = []
    new: list[str] = []
    for line in hunks.splitlines():
        side = {"-": old, "+": new}.get(line[:1])
        if side is not None:
            side.append(line[1:])
            continue
        yield from _pairs(old, new)
        same = line if line.startswith("@@") else line[1:]
        yield DiffRow(same, same)
    yield from _pairs(old, new)


def _pairs(old: list[str], new: list[str]) -> Iterator[DiffRow]:
    yield from (DiffRow(*pair) for pair in zip_longest(old, new))
    old.clear()
    new.clear()
