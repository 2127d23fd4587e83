"""What a rubric's check found as SARIF 2.1.0, which code scanners exchange.

The names are those of the standard. Columns are code points, and paths are relative to the current folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from sidecar import __version__
from sidecar.cli.rubric_spots import Checked
from sidecar.model.flaw import Fix, Flaw, Weight
from sidecar.policy.rubric_words import point

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final = {Weight.ERROR: "error", Weight.WARNING: "warning", Weight.HINT: "note"}

Object = Mapping[str, object]


def sarif(every: Sequence[Checked]) -> Iterator[str]:
    """One log with one run."""
    codes = sorted({flaw.code for checked in every for flaw in checked.flaws})
    driver = {
        "name": "supervisor rubric check",
        "version": __version__,
        "rules": [{"id": code} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(checked, flaw, codes) for checked in every for flaw in checked.flaws],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode()


def _result(checked: Checked, flaw: Flaw, codes: Sequence[str]) -> Object:
    fixes = [_fix(checked, fix) for fix in flaw.fixes if fix.edits]
    also = [
        {**_location(checked, span.begin, span.end), "message": {"text": word}} for span, word in flaw.also
    ]
    return {
        "ruleId": flaw.code,
        "ruleIndex": codes.index(flaw.code),
        "level": LEVELS[flaw.weight],
        "message": {"text": f"{flaw.why}. {flaw.help}" if flaw.help else flaw.why},
        "locations": [_location(checked, flaw.begin, flaw.end)],
        **({"relatedLocations": also} if also else {}),
        **({"fixes": fixes} if fixes else {}),
    }


def _location(checked: Checked, begin: int, end: int) -> Object:
    return {
        "physicalLocation": {
            "artifactLocation": _file(checked),
            "region": _region(checked.text, begin, end),
        }
    }


def _fix(checked: Checked, fix: Fix) -> Object:
    replacements = [
        {
            "deletedRegion": _region(checked.text, edit.place.begin, edit.place.end),
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    change = {"artifactLocation": _file(checked), "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _file(checked: Checked) -> Object:
    return {"uri": quote(os.fsencode(os.path.relpath(checked.path)))}


def _region(text: str, begin: int, end: int) -> Object:
    first, last = point(text, begin), point(text, end)
    return {
        "startLine": first.line,
        "startColumn": first.column,
        "endLine": last.line,
        "endColumn": last.column,
    }
