"""Two versions of some files, read as the inspector reads them, to ask what policy says of the difference."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.adapters.reading.marks import marks_of
from sidecar.adapters.reading.roles import role_of
from sidecar.adapters.reading.settings import is_textual, settings_of
from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileFacts, FileReading, Reading, Role
from sidecar.policy.kept.settings import findings

Files = Mapping[str, str]


def reading(before: Files, after: Files) -> Reading:
    """Every file that differs, both versions read."""
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return Reading(files=tuple(_file(path, before.get(path), after.get(path)) for path in paths))


def _file(path: str, before: str | None, after: str | None) -> FileReading:
    role = role_of(path)
    return FileReading(
        path=path,
        role=role,
        before=None if before is None else _facts(path, before, role),
        after=None if after is None else _facts(path, after, role),
        weak=is_textual(path),
    )


def _facts(path: str, text: str, role: Role) -> FileFacts:
    marks = marks_of(path, text, role)
    try:
        return FileFacts(settings=settings_of(path, text), marks=marks)
    except ValueError:
        return FileFacts(marks=marks, broken=True)


def found(before: Files, after: Files) -> tuple[Finding, ...]:
    return findings(reading(before, after))


def said(before: Files, after: Files) -> set[tuple[Change, Weight]]:
    """Each kind of finding once, with its weight."""
    return {(finding.change, finding.weight) for finding in found(before, after)}
