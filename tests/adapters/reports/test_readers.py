"""Reports of every form: broken, huge and hostile ones are none, and nothing breaks by them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.reports import (
    coverage,
    diagnostics,
    go_json,
    junit,
    report,
    script_tests,
    security,
    trx,
)
from sidecar.adapters.reports.report import Written

READERS = (
    junit.read,
    junit.read_pytest,
    trx.read,
    go_json.read,
    script_tests.read_jest,
    script_tests.read_mocha,
    script_tests.read_rspec,
    diagnostics.read_ruff,
    diagnostics.read_eslint,
    diagnostics.read_mypy,
    diagnostics.read_pyright,
    security.read_bandit,
    security.read_pip_audit,
    security.read_sarif,
)
BOMB = (
    '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<testsuites><testcase name="&b;"/></testsuites>'
)


def written(folder: Path, raw: bytes) -> Written:
    for name in ("report", "one.trx", "coverage.json", "coverage.out"):
        (folder / name).write_bytes(raw)
    return Written(scratch=folder, folder=folder, text=raw.decode("utf-8", "replace"))


@pytest.mark.parametrize("text", ["", "<testsuites>", "no xml", BOMB], ids=["empty", "torn", "text", "bomb"])
@pytest.mark.parametrize("read", [junit.read, junit.read_pytest, trx.read])
def test_a_report_that_is_not_whole_or_not_harmless_is_none(
    read: report.Reader, text: str, tmp_path: Path
) -> None:
    assert read(written(tmp_path, text.encode())) is None


def test_a_missing_report_is_none(tmp_path: Path) -> None:
    found = Written(scratch=tmp_path, folder=tmp_path)
    assert [read(found) for read in READERS] == [None] * len(READERS)


def test_entities_cannot_be_hidden_in_another_encoding(tmp_path: Path) -> None:
    assert junit.read(written(tmp_path, BOMB.encode("utf-16"))) is None


def test_a_report_that_is_too_big_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(tmp_path, b"<a><testcase/></a>")
    assert junit.read(found) is not None
    monkeypatch.setattr(report, "REPORT_LIMIT", 5)
    assert junit.read(found) is None


def test_a_link_is_nobodys_report(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("<a><testcase/></a>")
    (tmp_path / "report").symlink_to(tmp_path / "real")
    assert junit.read(Written(scratch=tmp_path, folder=tmp_path)) is None


def test_of_a_torn_report_the_failures_are_known_and_the_count_is_not(tmp_path: Path) -> None:
    text = '<testsuites><testcase name="a"><failure message="no"/></testcase><testcase name='
    found = junit.read(written(tmp_path, text.encode()))
    assert found is not None
    assert (found.executed, found.skipped, found.failing) == (None, None, ("a",))


@pytest.mark.parametrize("depth", [10_000])
def test_deep_nesting_is_survived(depth: int, tmp_path: Path) -> None:
    for raw in (b"[" * depth, b'{"results":' * depth, b"<testsuite>" * depth, b'{"a":' * depth + b"1"):
        found = written(tmp_path, raw)
        assert [read(found) for read in READERS] == [None] * len(READERS)
        assert coverage.percent(found) is None


@given(st.binary() | st.text(alphabet='<>/!"testcase =&;{}[]:,0').map(str.encode))
@settings(max_examples=60)
def test_any_bytes_are_read_or_are_none(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    found = written(tmp_path_factory.mktemp("any"), raw)
    for read in READERS:
        read(found)
    coverage.percent(found)
