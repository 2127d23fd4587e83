"""What the output of a run says: read in each runner's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.adapters import gate_output
from sidecar.adapters.gate_output import plain, read_junit, read_text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "executed"),
    [
        ("== 1 failed, 2 passed, 3 skipped, 1 xfailed in 0.12s ==", 4),
        ("5 passed, 2 warnings in 1.20s", 5),
        ("no tests ran in 0.01s", 0),
        ("1 error in 0.11s", 0),
        ("3 skipped in 0.02s", 0),
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total", 3),
        ("      Tests  1 failed | 2 passed (3)", 3),
        ("  12 passing (30ms)\n  1 failing", 13),
        ("test result: ok. 3 passed; 0 failed; 1 ignored\ntest result: ok. 2 passed; 0 failed", 5),
        ("3 examples, 1 failure, 1 pending", 2),
        ("1 doctest, 4 tests, 0 failures, 2 excluded", 2),
        ("Ran 7 tests in 0.001s\n\nOK", 7),
        ("# tests 3\n# pass 2\n# fail 1", 3),
        ("\u2139 pass 2\n\u2139 fail 0", 2),
        ("No tests found, exiting with code 0", 0),
        ("No test files found, exiting with code 0", 0),
        ("?   \texample.com/a\t[no test files]", 0),
        ("ok  \texample.com/a\t0.01s [no tests to run]", 0),
        ("ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]", None),
        ("all fine", None),
        ("copied 3 passed files in 2s", None),
        ("", None),
    ],
)
def test_the_number_of_tests_is_read_from_the_summary(text: str, executed: int | None) -> None:
    assert read_text(text).executed == executed


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        ("FAILED tests/test_a.py::test_b - ValueError: no", ["tests/test_a.py::test_b: ValueError: no"]),
        ("ERROR test_a.py", ["test_a.py"]),
        ("--- FAIL: TestAdd (0.00s)\n    add_test.go:5: 3 != 4", ["TestAdd"]),
        ("test parse::comment ... FAILED\nerror: test failed", ["parse::comment"]),
        ("  \u25cf sum \u203a adds\n  \u25cf Console\n", ["sum \u203a adds"]),
        (" FAIL  src/a.test.ts > adds", ["src/a.test.ts > adds"]),
        ("  1) parser\n     accepts comments:", ["parser"]),
        ("not ok 1 - adds\n\u2716 takes (1.5ms)\n\u2716 failing tests:", ["adds", "takes"]),
        ("rspec ./spec/a_spec.rb:3 # adds", ["rspec ./spec/a_spec.rb:3"]),
        ("FAIL: test_a (a.B.test_a)", ["test_a (a.B.test_a)"]),
        ("a.py:3:1: F401 unused", ["a.py:3:1: F401 unused"]),
        ("src/a.ts(3,5): error TS2322: no", ["src/a.ts(3,5): error TS2322: no"]),
        ("error[E0308]: mismatched types", ["error[E0308]: mismatched types"]),
        ("Traceback\nKeyError: 'x'", ["KeyError: 'x'"]),
        ("12:30:45 INFO: started\nall fine\na.py:3: DeprecationWarning: old", []),
        ("FAILED a::b - x\nFAILED a::b - x\n", ["a::b: x"]),
    ],
)
def test_failures_are_read_in_each_runners_words(text: str, failures: list[str]) -> None:
    assert list(read_text(text).failures) == failures


@pytest.mark.parametrize("report", ["", "<testsuites>", "no xml", None])
def test_a_report_that_is_not_whole_is_none(report: str | None, tmp_path: Path) -> None:
    if report is not None:
        (tmp_path / "r.xml").write_text(report)
    assert read_junit(tmp_path / "r.xml") is None


def test_a_report_that_is_too_big_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.xml").write_text("<a><testcase/></a>")
    assert read_junit(tmp_path / "r.xml") is not None
    monkeypatch.setattr(gate_output, "REPORT_LIMIT", 5)
    assert read_junit(tmp_path / "r.xml") is None


def test_text_of_any_bytes_is_text() -> None:
    assert plain(b"\xff\x1b[1mA\x1b[0m\r\nB\rC\n") == "\ufffdA\nC\n"


def test_a_line_without_an_end_is_read_in_no_time() -> None:
    endless = b"." * (1 << 18)
    assert plain(endless) == endless.decode()
    assert plain(b"10 %\r" + endless) == endless.decode()


def test_a_number_without_an_end_is_no_number_of_tests() -> None:
    assert read_text(f"Tests: {'1' * (1 << 18)} passed").executed == 0
