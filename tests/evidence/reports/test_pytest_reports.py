"""What pytest's report says, in the words that a reader needs: a runnable ID, and the reason."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sidecar.evidence.reports.report import GateOutput
from sidecar.evidence.reports.runners import explain_pytest_error, read_pytest_report
from sidecar.platform.processes import run_process
from support.loops import run

BASE = "class Base:\n    def test_a(self):\n        assert 0\n"
TESTS = f"from tests.base import Base\n\n\nclass TestB(Base):\n    pass\n\n\n{BASE.replace('Base', 'TestC')}"
FIXTURES = (
    "import pytest\n\n\n@pytest.fixture\ndef table(db):\n    pass\n\n\ndef test_d(table):\n    pass\n"
    "\n\n@pytest.fixture\ndef broken():\n    raise ValueError('down')\n\n\ndef test_e(broken):\n    pass\n"
)


@pytest.mark.process
def test_failing_ids_are_those_of_pytest_and_a_missing_fixture_is_named(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, text in (("__init__", ""), ("base", BASE), ("test_b", TESTS), ("test_d", FIXTURES)):
        (tmp_path / "tests" / f"{name}.py").write_text(text)

    def executed(*words: str) -> int | None:
        line = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
        return run(run_process(line, cwd=str(tmp_path), environment=dict(os.environ), seconds=60)).exit_code

    executed(f"--junitxml={tmp_path}/report", "-o", "junit_family=xunit1")
    found = read_pytest_report(GateOutput(scratch=tmp_path, folder=tmp_path))
    assert found is not None
    ids = ("tests/test_b.py::TestB::test_a", "tests/test_b.py::TestC::test_a", "tests/test_d.py::test_d")
    assert found.failing == (*ids, "tests/test_d.py::test_e")
    assert [executed(name) for name in found.failing] == [1] * 4, "4 is an ID that pytest does not know"
    assert [line.partition(": ")[2] for line in found.failures[2:]] == [
        "fixture 'db' not found",
        'failed on setup with "ValueError: down"',
    ]


def test_an_internal_error_is_told_by_what_was_raised() -> None:
    said = "INTERNALERROR> Traceback (most recent call last):\nINTERNALERROR>   File a\nINTERNALERROR> {}\n"
    why = "pytest had an internal error"
    assert explain_pytest_error(3, said.format("ValueError: x")) == f"{why}: ValueError: x"
    assert explain_pytest_error(3, "") == why
