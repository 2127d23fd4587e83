"""Output formats of `supervisor rubric check`: text, JSON, GitHub workflow commands and SARIF."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix
from sidecar.kernel.structs import fill_struct
from sidecar.kernel.text import escape_unencodable, escape_unprintable
from sidecar.rubric.policy import count_flaws, find_text_position

# --- Checked files, and flaws with line and column ----------------------------------------------------------


class CheckedFile(Struct, frozen=True):
    """A checked file: its text, in which invalid UTF-8 is replaced, and all its flaws."""

    path: str
    text: str
    flaws: tuple[Flaw, ...]


class LocatedFlaw(Struct, frozen=True):
    """A flaw with its position. Lines and columns count from 1, columns in code points; the end is exclusive.

    `fixes` are the titles of the quick fixes that an editor offers.
    """

    code: str
    weight: FlawSeverity
    why: str
    help: str
    line: int
    column: int
    end_line: int
    end_column: int
    fixes: tuple[str, ...]


def locate_flaws(checked: CheckedFile) -> tuple[LocatedFlaw, ...]:
    """The flaws of a file with their positions, in the same order."""
    return tuple(_locate_flaw(checked.text, flaw) for flaw in checked.flaws)


def _locate_flaw(text: str, flaw: Flaw) -> LocatedFlaw:
    begin, end = find_text_position(text, flaw.begin), find_text_position(text, flaw.end)
    return fill_struct(
        LocatedFlaw,
        flaw,
        begin,
        end_line=end.line,
        end_column=end.column,
        fixes=tuple(fix.title for fix in flaw.fixes),
    )


# --- SARIF 2.1.0, the exchange format of code scanners ------------------------------------------------------
# The names are those of the standard. Columns count code points; paths are relative to the current folder.


SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_LEVELS: Final = {
    FlawSeverity.ERROR: "error",
    FlawSeverity.WARNING: "warning",
    FlawSeverity.HINT: "note",
}

JsonObject = Mapping[str, object]


def flaws_as_sarif(every: Sequence[CheckedFile]) -> Iterator[str]:
    """One SARIF log with one run."""
    codes = sorted({flaw.code for checked in every for flaw in checked.flaws})
    driver = {
        "name": "supervisor rubric check",
        "version": __version__,
        "rules": [{"id": code} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(checked, flaw, codes) for checked in every for flaw in checked.flaws],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode()


def _sarif_result(checked: CheckedFile, flaw: Flaw, codes: Sequence[str]) -> JsonObject:
    fixes = [_sarif_fix(checked, fix) for fix in flaw.fixes if fix.edits]
    also = [
        {**_sarif_location(checked, span.begin, span.end), "message": {"text": word}}
        for span, word in flaw.also
    ]
    return {
        "ruleId": flaw.code,
        "ruleIndex": codes.index(flaw.code),
        "level": SARIF_LEVELS[flaw.weight],
        "message": {"text": f"{flaw.why}. {flaw.help}" if flaw.help else flaw.why},
        "locations": [_sarif_location(checked, flaw.begin, flaw.end)],
        **({"relatedLocations": also} if also else {}),
        **({"fixes": fixes} if fixes else {}),
    }


def _sarif_location(checked: CheckedFile, begin: int, end: int) -> JsonObject:
    return {
        "physicalLocation": {
            "artifactLocation": _artifact_location(checked),
            "region": _text_region(checked.text, begin, end),
        }
    }


def _sarif_fix(checked: CheckedFile, fix: QuickFix) -> JsonObject:
    replacements = [
        {
            "deletedRegion": _text_region(checked.text, edit.place.begin, edit.place.end),
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact_location(checked), "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _artifact_location(checked: CheckedFile) -> JsonObject:
    return {"uri": quote(os.fsencode(os.path.relpath(checked.path)))}


def _text_region(text: str, begin: int, end: int) -> JsonObject:
    first, last = find_text_position(text, begin), find_text_position(text, end)
    return {
        "startLine": first.line,
        "startColumn": first.column,
        "endLine": last.line,
        "endColumn": last.column,
    }


# --- Text, JSON and GitHub workflow commands ----------------------------------------------------------------


GITHUB_LEVELS: Final = {
    FlawSeverity.ERROR: "error",
    FlawSeverity.WARNING: "warning",
    FlawSeverity.HINT: "notice",
}


class _File(Struct, frozen=True):
    path: str
    flaws: tuple[LocatedFlaw, ...]


class _Report(Struct, frozen=True):
    errors: int
    warnings: int
    hints: int
    files: tuple[_File, ...]


def flaws_as_text(every: Sequence[CheckedFile]) -> Iterator[str]:
    """`path:line:column: weight: why [code]` for each flaw, help and fixes below it; totals at the end."""
    for checked in every:
        for spot in locate_flaws(checked):
            place = f"{escape_unprintable(checked.path)}:{spot.line}:{spot.column}"
            yield f"{place}: {spot.weight}: {escape_unprintable(spot.why)} [{spot.code}]"
            if spot.help:
                yield f"    {escape_unprintable(spot.help)}"
            yield from (f"    fix: {escape_unprintable(fix)}" for fix in spot.fixes)
    named = escape_unprintable(every[0].path) if len(every) == 1 else f"{len(every)} files"
    yield f"{named}: {count_flaws(_all_flaws(every))}"


def flaws_as_json(every: Sequence[CheckedFile]) -> Iterator[str]:
    """One JSON object; docs/rubric.md describes its fields."""
    weights = [flaw.weight for flaw in _all_flaws(every)]
    report = _Report(
        errors=weights.count(FlawSeverity.ERROR),
        warnings=weights.count(FlawSeverity.WARNING),
        hints=weights.count(FlawSeverity.HINT),
        files=tuple(_File(escape_unencodable(checked.path), locate_flaws(checked)) for checked in every),
    )
    yield msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def flaws_as_github(every: Sequence[CheckedFile]) -> Iterator[str]:
    """Workflow commands, which GitHub shows as annotations beside the lines of a change.

    GitHub accepts columns only for a flaw within one line.
    """
    for checked in every:
        file = escape_unencodable(os.path.relpath(checked.path))
        for spot in locate_flaws(checked):
            about = {"file": file, "line": spot.line, "endLine": spot.end_line}
            if spot.line == spot.end_line:
                about |= {"col": spot.column, "endColumn": spot.end_column}
            about["title"] = f"rubric: {spot.code}"
            named = ",".join(f"{name}={_escape_property(str(value))}" for name, value in about.items())
            said = f"{spot.why}\n{spot.help}" if spot.help else spot.why
            yield f"::{GITHUB_LEVELS[spot.weight]} {named}::{_escape_message(said)}"


def _escape_message(said: str) -> str:
    return said.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(value: str) -> str:
    return _escape_message(value).replace(":", "%3A").replace(",", "%2C")


def _all_flaws(every: Sequence[CheckedFile]) -> list[Flaw]:
    return [flaw for checked in every for flaw in checked.flaws]


FORMATS: Final[dict[str, Callable[[Sequence[CheckedFile]], Iterator[str]]]] = {
    "text": flaws_as_text,
    "json": flaws_as_json,
    "github": flaws_as_github,
    "sarif": flaws_as_sarif,
}
