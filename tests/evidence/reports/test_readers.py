"""Reports of every form: broken, huge and hostile ones are none, and nothing breaks by them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.evidence.reports import diagnostics, measures, report, runners
from sidecar.evidence.reports.report import GateOutput

READERS = (
    runners.read_junit_report,
    runners.read_pytest_report,
    runners.read_go_report,
    runners.read_jest_report,
    diagnostics.read_eslint_report,
    diagnostics.read_mypy_report,
    diagnostics.read_pyright_report,
    diagnostics.read_bandit_report,
    diagnostics.read_pip_audit_report,
)
BOMB = (
    '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<testsuites><testcase name="&b;"/></testsuites>'
)


def written(folder: Path, raw: bytes) -> GateOutput:
    for name in ("report", "coverage.json"):
        (folder / name).write_bytes(raw)
    return GateOutput(scratch=folder, folder=folder, text=raw.decode("utf-8", "replace"))


@pytest.mark.parametrize("text", ["", "<testsuites>", "no xml", BOMB], ids=["empty", "torn", "text", "bomb"])
@pytest.mark.parametrize("read", [runners.read_junit_report, runners.read_pytest_report])
def test_a_report_that_is_not_whole_or_not_harmless_is_none(
    read: report.ReportReader, text: str, tmp_path: Path
) -> None:
    assert read(written(tmp_path, text.encode())) is None


def test_a_missing_report_is_none(tmp_path: Path) -> None:
    found = GateOutput(scratch=tmp_path, folder=tmp_path)
    assert [read(found) for read in READERS] == [None] * len(READERS)


def test_entities_cannot_be_hidden_in_another_encoding(tmp_path: Path) -> None:
    assert runners.read_junit_report(written(tmp_path, BOMB.encode("utf-16"))) is None


def test_a_report_that_is_too_big_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(tmp_path, b"<a><testcase/></a>")
    assert runners.read_junit_report(found) is not None
    monkeypatch.setattr(report, "REPORT_LIMIT", 5)
    assert runners.read_junit_report(found) is None


def test_a_link_is_nobodys_report(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("<a><testcase/></a>")
    (tmp_path / "report").symlink_to(tmp_path / "real")
    assert runners.read_junit_report(GateOutput(scratch=tmp_path, folder=tmp_path)) is None


def test_of_a_torn_report_the_failures_are_known_and_the_count_is_not(tmp_path: Path) -> None:
    text = '<testsuites><testcase name="a"><failure message="no"/></testcase><testcase name='
    found = runners.read_junit_report(written(tmp_path, text.encode()))
    assert found is not None
    assert (found.executed, found.skipped, found.failing) == (None, None, ("a",))


@pytest.mark.parametrize(("file", "executed"), [('file="test_main.py"', 1), ("", 0)])
def test_a_failed_case_named_like_its_class_ran_where_the_report_names_its_file(
    tmp_path: Path, file: str, executed: int
) -> None:
    case = f'<testcase classname="test_main" name="test_main" {file}><failure message="no"/></testcase>'
    found = runners.read_pytest_report(written(tmp_path, f"<testsuites>{case}</testsuites>".encode()))
    assert found is not None
    assert (found.executed, len(found.failing)) == (executed, 1)


@pytest.mark.parametrize("depth", [10_000])
def test_deep_nesting_is_survived(depth: int, tmp_path: Path) -> None:
    for raw in (b"[" * depth, b'{"results":' * depth, b"<testsuite>" * depth, b'{"a":' * depth + b"1"):
        found = written(tmp_path, raw)
        assert [read(found) for read in READERS] == [None] * len(READERS)
        assert measures.read_coverage_percent(found) is None


@given(st.binary() | st.text(alphabet='<>/!"testcase =&;{}[]:,0').map(str.encode))
def test_any_bytes_are_read_or_are_none(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    found = written(tmp_path_factory.mktemp("any"), raw)
    for read in READERS:
        read(found)
    measures.read_coverage_percent(found)
