"""The share of code that tests reached, by report or by word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.evidence.reports.measures import read_coverage_percent
from sidecar.evidence.reports.report import GateOutput


@pytest.mark.parametrize(
    ("name", "text", "share"),
    [
        ("coverage.json", '{"totals": {"percent_covered": 87.5}}', 87.5),
        ("coverage/coverage-summary.json", '{"total": {"lines": {"pct": 75}}, "a.js": {}}', 75),
        (
            "coverage.xml",
            '<!DOCTYPE coverage SYSTEM "x.dtd"><coverage line-rate="0.5"><package line-rate="1"/></coverage>',
            50,
        ),
        ("coverage.json", '{"totals": {"percent_covered": 870}}', None),
        ("coverage.json", "{", None),
        ("coverage.xml", "<coverage/>", None),
    ],
)
def test_a_report_of_this_run_tells_the_share(
    name: str, text: str, share: float | None, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    written = GateOutput(scratch=tmp_path / "s", folder=tmp_path, since=path.stat().st_mtime_ns)
    assert read_coverage_percent(written) == share
    os.utime(path, ns=(1, 1))
    assert read_coverage_percent(written) is None


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("a.py    10   2   80%\nTOTAL   10   2   87%\n", 87),
        ("TOTAL   10   2   4   1   87.25%", 87.25),
        ("All files |   87.5 |    50 |     60 |   91.2 |", 91.2),
        ("Lines        : 87.5% ( 7/8 )", 87.5),
        ("  Lines:   87.50% (7/8)", 87.5),
        ("ok  \texample.com/a\t0.1s\tcoverage: 87.5% of statements", 87.5),
        ("ok a coverage: 80% of statements\nok b coverage: 90% of statements", None),
        ("90% of the work is done", None),
        ("", None),
    ],
)
def test_the_last_line_that_tells_the_whole_is_read(text: str, share: float | None, tmp_path: Path) -> None:
    assert read_coverage_percent(GateOutput(scratch=tmp_path, folder=tmp_path, text=text)) == share
