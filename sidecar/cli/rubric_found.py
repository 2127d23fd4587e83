"""What `supervisor rubric check` found, as a person, a script, GitHub or a reader of SARIF wants it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.cli.checks import visible
from sidecar.cli.rubric_sarif import sarif
from sidecar.cli.rubric_spots import Checked, Spot, sayable, spots
from sidecar.model.flaw import Flaw, Weight
from sidecar.policy.rubric_words import counted

GITHUB: Final = {Weight.ERROR: "error", Weight.WARNING: "warning", Weight.HINT: "notice"}


class _File(Struct, frozen=True):
    path: str
    flaws: tuple[Spot, ...]


class _Report(Struct, frozen=True):
    errors: int
    warnings: int
    hints: int
    files: tuple[_File, ...]


def text(every: Sequence[Checked]) -> Iterator[str]:
    """`path:line:column: weight: why [code]`, what would help below it, and a line that counts."""
    for checked in every:
        for spot in spots(checked):
            place = f"{visible(checked.path)}:{spot.line}:{spot.column}"
            yield f"{place}: {spot.weight}: {visible(spot.why)} [{spot.code}]"
            if spot.help:
                yield f"    {visible(spot.help)}"
            yield from (f"    fix: {visible(fix)}" for fix in spot.fixes)
    named = visible(every[0].path) if len(every) == 1 else f"{len(every)} files"
    yield f"{named}: {counted(_flaws(every))}"


def as_json(every: Sequence[Checked]) -> Iterator[str]:
    """One JSON object; docs/rubric.md says what is in it."""
    weights = [flaw.weight for flaw in _flaws(every)]
    report = _Report(
        errors=weights.count(Weight.ERROR),
        warnings=weights.count(Weight.WARNING),
        hints=weights.count(Weight.HINT),
        files=tuple(_File(sayable(checked.path), spots(checked)) for checked in every),
    )
    yield msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def github(every: Sequence[Checked]) -> Iterator[str]:
    """Workflow commands, which GitHub shows as annotations beside the lines of a change.

    It takes columns only where the flaw stands on one line.
    """
    for checked in every:
        file = sayable(os.path.relpath(checked.path))
        for spot in spots(checked):
            about = {"file": file, "line": spot.line, "endLine": spot.end_line}
            if spot.line == spot.end_line:
                about |= {"col": spot.column, "endColumn": spot.end_column}
            about["title"] = f"rubric: {spot.code}"
            named = ",".join(f"{name}={_property(str(value))}" for name, value in about.items())
            said = f"{spot.why}\n{spot.help}" if spot.help else spot.why
            yield f"::{GITHUB[spot.weight]} {named}::{_escaped(said)}"


def _escaped(said: str) -> str:
    return said.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")


def _flaws(every: Sequence[Checked]) -> list[Flaw]:
    return [flaw for checked in every for flaw in checked.flaws]


FORMATS: Final[dict[str, Callable[[Sequence[Checked]], Iterator[str]]]] = {
    "text": text,
    "json": as_json,
    "github": github,
    "sarif": sarif,
}
