"""Reads the coverage of a test run in percent, from a report that the run wrote or else from its output."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from msgspec import Struct

from sidecar.evidence.reports.report import (
    GateOutput,
    decode_json_report,
    is_fresh_file,
    iterate_xml_elements,
    read_report_bytes,
)

PERCENT_NUMBER: Final = r"(?P<percent>\d{1,3}(?:\.\d{1,9})?) ?%"
TOTAL_LINES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^TOTAL\b.*\s{PERCENT_NUMBER}\s*$",  # coverage.py, llvm-cov
        r"^All files\s*\|(?:[^|]*\|){3}\s*(?P<percent>\d{1,3}(?:\.\d{1,9})?)\s*\|",  # istanbul
        rf"^Lines\s*:\s*{PERCENT_NUMBER}",  # istanbul's summary
        rf"^\s*Lines:\s*{PERCENT_NUMBER}",  # PHPUnit
        rf"^Line Coverage:\s*{PERCENT_NUMBER}",  # SimpleCov
        rf"^{PERCENT_NUMBER} coverage, \d+/\d+ lines",  # tarpaulin
        rf"^\s*\[TOTAL\]\s*{PERCENT_NUMBER}",  # mix, excoveralls
        rf"^\|?\s*{PERCENT_NUMBER}\s*\|\s*Total\b",  # mix
        rf"^\|\s*Total\s*\|\s*{PERCENT_NUMBER}",  # coverlet
    )
)
"""Lines with the coverage of all code; the last one counts."""
GO_COVERAGE: Final = re.compile(rf"\bcoverage: {PERCENT_NUMBER} of statements")
"""Go prints the coverage of each package; it is the total only if there is one package."""
GO_BLOCK: Final = re.compile(r"^(?P<block>\S+:[\d.]+,[\d.]+) (?P<statements>\d{1,6}) (?P<times>\d+)$")
LINE_LIMIT: Final = 20_000
"""Number of lines of the output that are examined, from its end."""


def read_coverage_percent(written: GateOutput) -> float | None:
    """Return the percentage of lines (or statements) that ran; None if it is unknown."""
    for path in (written.scratch / name for name in REQUESTED_FILES):
        if path.is_file() and (found := _read_coverage_file(path)) is not None:
            return found
    for name in UNREQUESTED_FILES:
        path = written.folder / name
        if is_fresh_file(path, written.since) and (found := _read_coverage_file(path)) is not None:
            return found
    return _coverage_from_text(written.text)


def _read_coverage_file(path: Path) -> float | None:
    raw = read_report_bytes(path)
    try:
        found = COVERAGE_READERS[path.suffix](raw) if raw is not None else None
    except (ValueError, ET.ParseError):
        return None
    return found if found is not None and 0 <= found <= 100 else None  # noqa: PLR2004 - percent


def _coverage_from_text(text: str) -> float | None:
    lines = [line[:300] for line in text.split("\n")[-LINE_LIMIT:]]
    go = [found for line in lines if (found := GO_COVERAGE.search(line))]
    if go:
        return float(go[0]["percent"]) if len(go) == 1 else None
    for line in reversed(lines):
        for found in filter(None, (pattern.search(line) for pattern in TOTAL_LINES)):
            return float(found["percent"])
    return None


# --- JSON ---------------------------------------------------------------------------------------------------


class _CoveragePyTotals(Struct, frozen=True):
    percent_covered: float


class _IstanbulShare(Struct, frozen=True):
    pct: float


class _IstanbulTotal(Struct, frozen=True):
    lines: _IstanbulShare


class _SimpleCovResult(Struct, frozen=True):
    line: float


class _CoverageJson(Struct, frozen=True):
    """A coverage report: coverage.py has `totals`, istanbul `total`, SimpleCov `result`."""

    totals: _CoveragePyTotals | None = None
    total: _IstanbulTotal | None = None
    result: _SimpleCovResult | None = None


def _json_coverage(raw: bytes) -> float | None:
    found = decode_json_report(raw, _CoverageJson)
    if found is None:
        return None
    if found.totals:
        return found.totals.percent_covered
    if found.total:
        return found.total.lines.pct
    return found.result.line if found.result else None


# --- XML, lcov, Go ------------------------------------------------------------------------------------------


def _xml_coverage(raw: bytes) -> float | None:
    """Read Cobertura (a rate at the root), or JaCoCo and Clover (counts, with the total at the end)."""
    told = None
    for element in iterate_xml_elements(raw):
        if element.tag == "counter" and element.get("type") == "LINE":
            missed, covered = float(element.get("missed") or 0), float(element.get("covered") or 0)
            told = _percent_of(covered, missed + covered)
        if element.tag == "metrics" and element.get("elements"):
            told = _percent_of(
                float(element.get("coveredstatements") or 0), float(element.get("statements") or 0)
            )
        if element.tag == "coverage" and element.get("line-rate"):
            return float(element.get("line-rate") or 0) * 100
    return told


def _lcov_coverage(raw: bytes) -> float | None:
    found = hit = 0
    for line in raw.decode("utf-8", "replace").splitlines():
        kind, _, number = line.partition(":")
        if kind in ("LF", "LH") and number[:9].isdecimal():
            found += int(number[:9]) if kind == "LF" else 0
            hit += int(number[:9]) if kind == "LH" else 0
    return _percent_of(hit, found)


def _go_profile_coverage(raw: bytes) -> float | None:
    """Read a Go profile, which lists a block once for each tested package."""
    blocks: dict[str, tuple[int, bool]] = {}
    for line in raw.decode("utf-8", "replace").splitlines():
        if found := GO_BLOCK.match(line[:1000]):
            ran = found["times"].strip("0") != "" or blocks.get(found["block"], (0, False))[1]
            blocks[found["block"]] = (int(found["statements"]), ran)
    return _percent_of(
        sum(count for count, ran in blocks.values() if ran), sum(count for count, _ in blocks.values())
    )


def _percent_of(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


COVERAGE_READERS: Final[dict[str, Callable[[bytes], float | None]]] = {
    ".json": _json_coverage,
    ".xml": _xml_coverage,
    ".info": _lcov_coverage,
    ".out": _go_profile_coverage,
}
REQUESTED_FILES: Final = ("coverage.json", "coverage.out")
UNREQUESTED_FILES: Final = (
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
"""Where tools write a report by default."""
