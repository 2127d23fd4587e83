"""TRX, the XML that `dotnet test` writes: one file for each test project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from sidecar.adapters.reports.files import below
from sidecar.adapters.reports.report import Fault, Report, Written, data, of
from sidecar.adapters.reports.xml import elements

LEFT_OUT: Final = frozenset(("NotExecuted", "NotRunnable", "Inconclusive", "Pending", "Disconnected"))
"""Outcomes of a test that did not run."""
GOOD: Final = frozenset(("Passed", "PassedButRunAborted", "Warning", "Completed"))


def read(written: Written) -> Report | None:
    """Add all reports of the run up."""
    results: list[tuple[str, str, str]] = []
    found = False
    for path in below(written.scratch, suffix=".trx"):
        try:
            results += _results(path)
        except (OSError, ET.ParseError, ValueError):
            return None
        found = True
    if not found:
        return None
    ran = [result for result in results if result[1] not in LEFT_OUT]
    faults = [
        Fault(name, f"{name}: {said}" if said else "") for name, ended, said in ran if ended not in GOOD
    ]
    return of(faults, written.folder, executed=len(ran), skipped=len(results) - len(ran))


def _results(path: Path) -> Iterator[tuple[str, str, str]]:
    """Name, outcome and message of each test."""
    raw = data(path)
    if raw is None:
        raise FileNotFoundError(path)
    for element in elements(raw):
        if element.tag == "UnitTestResult":
            said = next((part.text for part in element.iter() if part.tag == "Message"), None) or ""
            yield element.get("testName") or "", element.get("outcome") or "", said.strip().partition("\n")[0]
            element.clear()
