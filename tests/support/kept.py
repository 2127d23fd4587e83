"""Two versions of a project's files, and what is found of its tests between them."""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple

from sidecar.adapters.reading.changes import read
from sidecar.model.finding import Finding
from sidecar.model.inspection import Changes, FileChange
from sidecar.policy.kept.tests import findings

Files = dict[str, str]


class Row(NamedTuple):
    """A change in one file, and what must be found: "change weight", each once."""

    says: str
    before: str
    after: str
    finds: tuple[str, ...] = ()


def changes(before: Files, after: Files) -> Changes:
    """The changes from one state to another; a file that moved is one that is gone and one that came."""
    paths = sorted(before.keys() | after.keys())
    files = [
        FileChange(path=path, before=before.get(path), after=after.get(path))
        for path in paths
        if before.get(path) != after.get(path)
    ]
    return Changes(files=tuple(files))


def found(before: Files, after: Files) -> tuple[Finding, ...]:
    """Read both states and weigh the difference."""
    clean = [{path: dedent(text).lstrip("\n") for path, text in side.items()} for side in (before, after)]
    return findings(read(changes(*clean)))


def told(path: str, row: Row) -> set[str]:
    """What is found in a row about one file."""
    return said(found({path: row.before}, {path: row.after}))


def said(all_found: tuple[Finding, ...]) -> set[str]:
    """Findings in short."""
    return {f"{one.change} {one.weight}" for one in all_found}
