"""How much of the code the tests reached, in percent: from a report of this run, else from its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from msgspec import Struct

from sidecar.adapters.reports.files import fresh
from sidecar.adapters.reports.report import Written, data, decoded
from sidecar.adapters.reports.xml import elements

NUMBER: Final = r"(?P<percent>\d{1,3}(?:\.\d{1,9})?) ?%"
TOTALS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^TOTAL\b.*\s{NUMBER}\s*$",  # coverage.py, llvm-cov
        r"^All files\s*\|(?:[^|]*\|){3}\s*(?P<percent>\d{1,3}(?:\.\d{1,9})?)\s*\|",  # istanbul
        rf"^Lines\s*:\s*{NUMBER}",  # istanbul's summary
        rf"^\s*Lines:\s*{NUMBER}",  # PHPUnit
        rf"^Line Coverage:\s*{NUMBER}",  # SimpleCov
        rf"^{NUMBER} coverage, \d+/\d+ lines",  # tarpaulin
        rf"^\s*\[TOTAL\]\s*{NUMBER}",  # mix, excoveralls
        rf"^\|?\s*{NUMBER}\s*\|\s*Total\b",  # mix
        rf"^\|\s*Total\s*\|\s*{NUMBER}",  # coverlet
    )
)
"""Lines that tell the whole, the last of which holds."""
GO: Final = re.compile(rf"\bcoverage: {NUMBER} of statements")
"""Go tells it for each package: only that of a single one is the whole."""
GO_BLOCK: Final = re.compile(r"^(?P<block>\S+:[\d.]+,[\d.]+) (?P<statements>\d{1,6}) (?P<times>\d+)$")
LINES: Final = 20_000
"""Lines of the output that are looked at, from its end."""


def percent(written: Written) -> float | None:
    """The share of lines (or statements) that ran; None where nobody told."""
    for path in (written.scratch / name for name in ASKED_FOR):
        if path.is_file() and (found := _read(path)) is not None:
            return found
    for name in WRITTEN:
        path = written.folder / name
        if fresh(path, written.since) and (found := _read(path)) is not None:
            return found
    return _told(written.text)


def _read(path: Path) -> float | None:
    raw = data(path)
    try:
        found = READERS[path.suffix](raw) if raw is not None else None
    except (ValueError, ET.ParseError):
        return None
    return found if found is not None and 0 <= found <= 100 else None  # noqa: PLR2004 - percent


def _told(text: str) -> float | None:
    lines = [line[:300] for line in text.split("\n")[-LINES:]]
    go = [found for line in lines if (found := GO.search(line))]
    if go:
        return float(go[0]["percent"]) if len(go) == 1 else None
    for line in reversed(lines):
        for found in filter(None, (pattern.search(line) for pattern in TOTALS)):
            return float(found["percent"])
    return None


# --- JSON ---------------------------------------------------------------------------------------------------


class _Totals(Struct, frozen=True):
    percent_covered: float


class _Share(Struct, frozen=True):
    pct: float


class _Total(Struct, frozen=True):
    lines: _Share


class _Line(Struct, frozen=True):
    line: float


class _Json(Struct, frozen=True):
    """coverage.py has `totals`, istanbul `total`, SimpleCov `result`."""

    totals: _Totals | None = None
    total: _Total | None = None
    result: _Line | None = None


def _json(raw: bytes) -> float | None:
    found = decoded(raw, _Json)
    if found is None:
        return None
    if found.totals:
        return found.totals.percent_covered
    if found.total:
        return found.total.lines.pct
    return found.result.line if found.result else None


# --- XML, lcov, Go ------------------------------------------------------------------------------------------


def _xml(raw: bytes) -> float | None:
    """Cobertura tells a rate at its root; JaCoCo and Clover count, for the whole at the end."""
    told = None
    for element in elements(raw):
        if element.tag == "counter" and element.get("type") == "LINE":
            missed, covered = float(element.get("missed") or 0), float(element.get("covered") or 0)
            told = _share(covered, missed + covered)
        if element.tag == "metrics" and element.get("elements"):
            told = _share(float(element.get("coveredstatements") or 0), float(element.get("statements") or 0))
        if element.tag == "coverage" and element.get("line-rate"):
            return float(element.get("line-rate") or 0) * 100
    return told


def _lcov(raw: bytes) -> float | None:
    found = hit = 0
    for line in raw.decode("utf-8", "replace").splitlines():
        kind, _, number = line.partition(":")
        if kind in ("LF", "LH") and number[:9].isdecimal():
            found += int(number[:9]) if kind == "LF" else 0
            hit += int(number[:9]) if kind == "LH" else 0
    return _share(hit, found)


def _go(raw: bytes) -> float | None:
    """A profile names a block once for each package that was tested."""
    blocks: dict[str, tuple[int, bool]] = {}
    for line in raw.decode("utf-8", "replace").splitlines():
        if found := GO_BLOCK.match(line[:1000]):
            ran = found["times"].strip("0") != "" or blocks.get(found["block"], (0, False))[1]
            blocks[found["block"]] = (int(found["statements"]), ran)
    return _share(
        sum(count for count, ran in blocks.values() if ran), sum(count for count, _ in blocks.values())
    )


def _share(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


READERS: Final[dict[str, Callable[[bytes], float | None]]] = {
    ".json": _json,
    ".xml": _xml,
    ".info": _lcov,
    ".out": _go,
}
ASKED_FOR: Final = ("coverage.json", "coverage.out")
WRITTEN: Final = (
    "coverage.json",
    "coverage/coverage-summary.json",
    "coverage/.last_run.json",
    "coverage.xml",
    "coverage/lcov.info",
    "coverage/clover.xml",
    "lcov.info",
    "target/site/jacoco/jacoco.xml",
    "build/reports/jacoco/test/jacocoTestReport.xml",
    "cover.out",
    "coverage.out",
)
"""Where tools put their report, unasked."""
