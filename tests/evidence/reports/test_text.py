"""What the output of a run says: read in each runner's own words."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.evidence.reports.text import read_text_report, strip_terminal_codes
from support.table import over_table

PROJECT: Final = Path("/project")


@over_table(
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
        ("Ran 3 tests in 0.001s\n\nOK (skipped=3)", 0),
        ("OK (skipped=3)", None),
        ("# tests 2\n# pass 0\n# fail 0\n# skipped 2", 0),
        ("test result: ok. 0 passed; 0 failed; 2 ignored", 0),
        ("OK, but there were issues!\nTests: 5, Assertions: 5, Skipped: 1.", 4),
        ("No tests executed!", 0),
        ("3 runs, 3 assertions, 0 failures, 0 errors, 3 skips", 0),
        ("  2 pending", None),
        ("     Summary [   0.1s] 3 tests run: 3 passed, 1 skipped", 3),
        ("ok | 3 passed | 0 failed (5ms)", 3),
        ("copied 3 passed files in 2s", None),
        ("", None),
    ],
)
def test_the_number_of_tests_is_read_from_the_summary(text: str, executed: int | None) -> None:
    assert read_text_report(text, PROJECT).executed == executed


@over_table(
    ("text", "failures"),
    [
        ("FAILED tests/test_a.py::test_b - ValueError: no", ["tests/test_a.py::test_b: ValueError: no"]),
        ("ERROR test_a.py", ["test_a.py"]),
        ("--- FAIL: TestAdd (0.00s)\n    add_test.go:5: 3 != 4", ["TestAdd"]),
        ("test parse::comment ... FAILED\nerror: test failed", ["parse::comment"]),
        ("  \u25cf sum \u203a adds\n  \u25cf Console\n", ["sum \u203a adds"]),
        (" FAIL  src/a.test.ts > adds", ["src/a.test.ts > adds"]),
        ("  1) parser\n     accepts comments:", ["parser"]),
        ("ok 1 a\nnot ok 2 should be equal\n  ---\n", ["should be equal"]),
        ("not ok 1 - adds\n\u2716 takes (1.5ms)\n\u2716 failing tests:", ["adds", "takes"]),
        ("rspec ./spec/a_spec.rb:3 # adds", ["rspec ./spec/a_spec.rb:3 # adds"]),
        ("FAIL: test_a (a.B.test_a)", ["a.B.test_a"]),
        ("a.py:3:1: F401 unused", ["a.py:3:1: F401 unused"]),
        ("src/a.ts(3,5): error TS2322: no", ["src/a.ts(3,5): error TS2322: no"]),
        ("error[E0308]: mismatched types", ["error[E0308]: mismatched types"]),
        ("Traceback\nKeyError: 'x'", ["KeyError: 'x'"]),
        ("12:30:45 INFO: started\nall fine\na.py:3: DeprecationWarning: old", []),
        ("FAILED a::b - x\nFAILED a::b - x\n", ["a::b: x"]),
    ],
)
def test_failures_are_read_in_each_runners_words(text: str, failures: list[str]) -> None:
    assert list(read_text_report(text, PROJECT).failures) == failures


def test_text_of_any_bytes_is_text() -> None:
    assert strip_terminal_codes(b"\xff\x1b[1mA\x1b[0m\r\nB\rC\n") == "\ufffdA\nC\n"


@over_table(
    ("text", "failing"),
    [
        ("FAILED a::b - x at 0x7f0011223344", ["a::b"]),
        ("test_a.py::test_b \u2716 adds (12.5ms)", []),
        ("src/a.c:3:5: error: no such thing on line 12", ["src/a.c: error: no such thing on line ..."]),
        ("a.c:3: no\na.c:9: no", ["a.c: no", "a.c: no (2)"]),
        ("/project/src/a.py:3: error: no", ["src/a.py: error: no"]),
        ("[ERROR] /project/A.java:[12,5] cannot find symbol", ["[ERROR] A.java cannot find symbol"]),
        ("FAIL Required test coverage of 90% not reached.", ["Required test coverage of 90% not reached."]),
        ("make: *** [Makefile:2: test] Error 1", ["make: *** [Makefile: test] Error 1"]),
    ],
)
def test_what_fails_has_the_same_name_wherever_it_moves(text: str, failing: list[str]) -> None:
    assert list(read_text_report(text, PROJECT).failing) == failing


def test_at_most_five_hundred_failures_are_named() -> None:
    report = read_text_report(
        "\n".join(f"FAILED test_a.py::test_{number}" for number in range(3000)), PROJECT
    )
    assert (len(report.failures), len(report.failing)) == (5, 500)


@given(st.text(), st.binary())
def test_any_text_is_read_and_any_bytes_are_text(text: str, output: bytes) -> None:
    for words in (text, strip_terminal_codes(output)):
        report = read_text_report(words, PROJECT)
        assert all(failure and "\n" not in failure for failure in (*report.failures, *report.failing))


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("unittest", "AssertionError: 1 != 2"),
        ("node-tap", "/project/a.test.js: adds: Expected values to be strictly equal: 2 !== 3"),
        ("node-spec", "Expected values to be strictly equal: 2 !== 3"),
        ("mocha", "Expected values to be strictly equal: 2 !== 3"),
        ("jest", "expect(received).toBe(expected) // Object.is equality Expected: 3 Received: 2"),
        ("vitest", "AssertionError: expected 2 to be 3"),
        ("cargo", "assertion `left == right` failed left: 2 right: 3"),
        ("mix", "Assertion with == failed left: 2 right: 3"),
        ("minitest", "Expected: 3 Actual: 2"),
        ("phpunit", "Failed asserting that 2 is identical to 3."),
    ],
)
def test_a_failure_is_told_with_its_assertion_and_its_values(output: str, said: str) -> None:
    text = (Path(__file__).parents[1] / "recorded" / f"{output}.txt").read_text(encoding="utf-8")
    assert [line for line in read_text_report(text, Path("/p")).failures if said in line]


def test_a_failure_names_its_package_where_npm_ran_several() -> None:
    one = "\n> b@1.0.0 test\n> mocha\n\n\u2716 minus (1ms)\n  AssertionError: 5 == 1\n"
    assert read_text_report(one, PROJECT).failures == ("minus: AssertionError: 5 == 1",)
    two = read_text_report(f"> a@1.0.0 test\n> jest\n{one}", PROJECT)
    assert (two.failures, two.failing) == (("b: minus: AssertionError: 5 == 1",), ("minus",))


def test_an_assertion_belongs_to_the_test_above_it_and_to_no_other() -> None:
    first, second = (
        "FAIL: test_a (t.A)\n---\n",
        "FAIL: test_b (t.A)\n---\nTraceback\nAssertionError: 3 != 1\n",
    )
    text = f"{first}{second}\nFAILED (failures=2)\n"
    assert read_text_report(text, Path("/p")).failures == (
        "test_a (t.A)",
        "test_b (t.A): AssertionError: 3 != 1",
    )
