"""Reads measures of a run: its coverage in percent, and a scanner's findings by severity.

Coverage is that of a JSON report of coverage.py or istanbul, of a Cobertura report, or else what is printed.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from msgspec import Struct

from sidecar.evidence.reports.report import (
    GateOutput,
    is_fresh_file,
    iterate_xml_elements,
    read_report_bytes,
)
from sidecar.kernel.loop import Severities
from sidecar.platform.data import load_data
from sidecar.platform.formats import parse_json_table, table_at

PERCENT_NUMBER: Final = r"(?P<percent>\d{1,3}(?:\.\d{1,9})?) ?%"
TOTAL_LINES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^TOTAL\b.*\s{PERCENT_NUMBER}\s*$",  # coverage.py, llvm-cov
        r"^All files\s*\|(?:[^|]*\|){3}\s*(?P<percent>\d{1,3}(?:\.\d{1,9})?)\s*\|",  # istanbul
        rf"^\s*Lines\s*:\s*{PERCENT_NUMBER}",  # istanbul's summary, PHPUnit
    )
)
"""Lines with the coverage of all code; the last one counts."""
GO_COVERAGE: Final = re.compile(rf"\bcoverage: {PERCENT_NUMBER} of statements")
"""Go prints the coverage of each package; it is the total only if there is one package."""
LINE_LIMIT: Final = 20_000
"""Number of lines of the output that are examined, from its end."""


def read_coverage_percent(written: GateOutput) -> float | None:
    """Return the percentage of lines (or statements) that ran; None if it is unknown."""
    paths = (written.scratch / REQUESTED_FILE, *(written.folder / name for name in UNREQUESTED_FILES))
    for path in paths:
        if is_fresh_file(path, written.since) and (found := _read_coverage_file(path)) is not None:
            return found
    return _coverage_from_text(written.text)


def _read_coverage_file(path: Path) -> float | None:
    raw = read_report_bytes(path)
    try:
        read = _json_coverage if path.suffix == ".json" else _cobertura_coverage
        found = read(raw) if raw is not None else None
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


def _json_coverage(raw: bytes) -> float | None:
    """Read a coverage report: coverage.py has `totals`, istanbul `total`."""
    found = parse_json_table(raw.decode("utf-8", "replace"))
    percent = table_at(found, "totals").get("percent_covered", table_at(found, "total", "lines").get("pct"))
    return float(percent) if isinstance(percent, int | float) else None


def _cobertura_coverage(raw: bytes) -> float | None:
    rates = (element.get("line-rate") for element in iterate_xml_elements(raw) if element.tag == "coverage")
    return next((float(rate) * 100 for rate in rates if rate), None)


REQUESTED_FILE: Final = "coverage.json"
UNREQUESTED_FILES: Final = ("coverage.json", "coverage/coverage-summary.json", "coverage.xml")
"""Where tools write a report by default."""


# --- findings by severity: data/severities.toml -------------------------------------------------------------


class _Patterns(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains its fields."""

    finding: str
    numbers: dict[str, tuple[str, ...]]


PATTERNS: Final = load_data("severities", _Patterns)
FINDING: Final = re.compile(PATTERNS.finding, re.IGNORECASE)


def count_severities(text: str) -> Severities:
    """Return the highest number that is printed for each severity, or how many findings name it."""
    counts = Counter(hit[1].lower().replace("moderate", "medium") for hit in FINDING.finditer(text))
    for name, patterns in PATTERNS.numbers.items():
        printed = [int(hit[1]) for one in patterns for hit in re.finditer(one, text, re.IGNORECASE)]
        counts[name] = max(printed, default=counts[name])
    return Severities(**counts)
