"""Reports and output of tools are read alike: what ran, what was left out, and what fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from sidecar.evidence.reports import diagnostics, runners, text
from sidecar.evidence.reports.measures import count_severities
from sidecar.evidence.reports.report import GateOutput, RunReport
from sidecar.kernel.loop import Severities
from support.table import over_table

RECORDED: Final = Path(__file__).parents[1] / "recorded"
PROJECT: Final = Path("/project")
INCOMPATIBLE: Final = (
    'a.py: assignment Incompatible types in assignment (expression has type "str", variable has type "int")'
)
ADDS: Final = "a.test.js: cart adds"


def reported(scratch: Path, name: str, words: str = "") -> GateOutput:
    shutil.copy(RECORDED / name, scratch / "report")
    return GateOutput(scratch=scratch, folder=PROJECT, text=words)


def printed(scratch: Path, name: str) -> GateOutput:
    return GateOutput(scratch=scratch, folder=PROJECT, text=(RECORDED / name).read_text())


@pytest.mark.parametrize(
    ("name", "read", "counts", "failing"),
    [
        ("vitest.xml", runners.read_junit_report, (2, 2), ["a.test.js: cart > adds", "b.test.js"]),
        ("jest.json", runners.read_jest_report, (2, 2), [ADDS, "b.test.js"]),
        ("node.xml", runners.read_junit_report, (4, 2), ["b.test.js", "cart > adds"]),
        ("phpunit.xml", runners.read_junit_report, (2, 1), ["CartTest: testAdds"]),
        (
            "eslint.json",
            diagnostics.read_eslint_report,
            (None, None),
            [
                "a.js: no-unused-vars 'a' is assigned a value but never used.",
                "a.js: semi Missing semicolon.",
                "b.js: Parsing error: Unexpected token ;",
                "eslint.config.js: semi Missing semicolon.",
            ],
        ),
        (
            "bandit.json",
            diagnostics.read_bandit_report,
            (None, None),
            [
                "a.py: B307 Use of possibly insecure function - consider using safer ast.literal_eval.",
                "a.py: B404 Consider possible security implications associated with the subprocess module.",
                "a.py: B602 subprocess call with shell=True identified, security issue.",
            ],
        ),
        ("pip-audit.json", diagnostics.read_pip_audit_report, (2, 1), ["jinja2: GHSA-h5c8-rqwp-cp95"]),
        ("pip-audit-offline.json", diagnostics.read_pip_audit_report, (0, 3), []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_report_tells_what_ran_and_what_fails(
    name: str,
    read: Callable[[GateOutput], RunReport | None],
    counts: tuple[int | None, int | None],
    failing: list[str],
    tmp_path: Path,
) -> None:
    report = read(reported(tmp_path, name))
    assert report is not None
    assert (report.executed, report.skipped) == counts
    assert list(report.failing) == failing
    assert len(report.failures) == min(5, len(failing))
    assert all("(severity: " in failure for failure in report.failures) == (
        name == "bandit.json" or not failing
    )


@pytest.mark.parametrize(
    ("name", "read", "counts", "failing"),
    [
        ("go.json", runners.read_go_report, (3, 1), ["example.com/cart: TestAdd/two", "example.com/shop"]),
        ("go-empty.json", runners.read_go_report, (0, 0), []),
        (
            "mypy.txt",
            diagnostics.read_mypy_report,
            (None, None),
            [INCOMPATIBLE],
        ),
        (
            "pyright.json",
            diagnostics.read_pyright_report,
            (None, None),
            [
                'a.py: reportAssignmentType Type "Literal[\'s\']" is not assignable to declared type "int"',
                'bad.py: "(" was not closed',
                'bad.py: Expected function name after "def"',
                "bad.py: Statements must be separated by newlines or semicolons",
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_output_that_is_the_report_is_read_and_shown_in_plain_words(
    name: str,
    read: Callable[[GateOutput], RunReport | None],
    counts: tuple[int | None, int | None],
    failing: list[str],
    tmp_path: Path,
) -> None:
    report = read(printed(tmp_path, name))
    assert report is not None
    assert (report.executed, report.skipped) == counts
    assert list(report.failing) == failing
    assert report.text is not None
    assert '{"' not in report.text


@over_table(
    ("name", "counts", "failing"),
    [
        ("vitest.txt", (2, 2), ["a.test.js > cart > adds", "b.test.js [ b.test.js ]"]),
        ("jest.txt", (2, 2), ["cart \u203a adds"]),
        ("mocha.txt", (2, 2), ["cart > adds"]),
        ("node-spec.txt", (4, 2), ["adds", "b.test.js", "cart"]),
        ("node-tap.txt", (4, 2), ["adds", "b.test.js", "cart"]),
        ("cargo.txt", (2, 1), ["tests::adds"]),
        ("cargo-build.txt", (None, None), ["src/lib.rs: error[E0277]: cannot add `&str` to `i32`"]),
        ("unittest.txt", (2, 1), ["test_u.A.test_a"]),
        ("ctest.txt", (2, 0), ["subtracts"]),
        ("prove.txt", (4, 0), ["subtracts"]),
        ("tap.txt", (2, 1), ["subtracts"]),
        ("bats.txt", (2, 1), ["subtracts"]),
        ("deno.txt", (2, 1), ["subtracts"]),
        ("bazel.txt", (2, 0), ["//cart:subtracts"]),
        ("rspec.txt", (2, 1), ["rspec ./spec/cart_spec.rb # Cart adds"]),
        ("mix.txt", (2, 2), ["test adds (CartTest)"]),
        ("dotnet.txt", (2, 1), ["Shop.CartTests.Adds"]),
        ("phpunit.txt", (2, 1), ["CartTest::testAdds"]),
        ("maven.txt", (2, 1), ["CartTest.adds"]),
        ("gradle.txt", (2, 1), ["CartTest > adds()"]),
        ("bun.txt", (2, 1), ["cart > adds"]),
        ("minitest.txt", (2, 1), ["TestCart#test_adds"]),
        (
            "tsc.txt",
            (None, None),
            [
                "a.ts: error TS2322: Type 'string' is not assignable to type 'number'.",
                "a.ts: error TS2339: Property 'foo' does not exist on type 'string'.",
            ],
        ),
        (
            "eslint.txt",
            (None, None),
            [
                "a.js: 'a' is assigned a value but never used no-unused-vars",
                "a.js: Missing semicolon semi",
                "b.js: Parsing error: Unexpected token ;",
                "eslint.config.js: Missing semicolon semi",
            ],
        ),
        ("ruff-format.txt", (None, None), ["a.py: unformatted: File would be reformatted"]),
    ],
)
def test_plain_output_tells_what_ran_and_what_fails(
    name: str, counts: tuple[int | None, int | None], failing: list[str]
) -> None:
    report = text.read_text_report((RECORDED / name).read_text(), PROJECT)
    assert (report.executed, report.skipped) == counts
    assert list(report.failing) == failing


def test_a_finding_of_bandit_names_its_severity(tmp_path: Path) -> None:
    report = diagnostics.read_bandit_report(reported(tmp_path, "bandit.json"))
    assert report is not None
    assert count_severities("\n".join(report.failures)) == Severities(high=1, medium=1, low=1)


@pytest.mark.parametrize(
    ("name", "folder"),
    [("maven.xml", "target/surefire-reports"), ("gradle.xml", "build/test-results/test")],
)
def test_only_reports_that_this_run_wrote_are_read(name: str, folder: str, tmp_path: Path) -> None:
    old, new = (tmp_path / module / folder for module in ("old", "new"))
    for place in (old, new):
        place.mkdir(parents=True)
        shutil.copy(RECORDED / name, place / "TEST-shop.CartTest.xml")
    os.utime(old / "TEST-shop.CartTest.xml", ns=(1, 1))
    since = (new / "TEST-shop.CartTest.xml").stat().st_mtime_ns
    report = runners.read_jvm_report(GateOutput(scratch=tmp_path, folder=tmp_path, since=since))
    assert report is not None
    assert (report.executed, report.skipped) == (2, 1)
    assert report.failing[0].startswith("shop.CartTest: adds")
    assert runners.read_jvm_report(GateOutput(scratch=tmp_path, folder=tmp_path, since=since + 10**9)) is None


def test_the_output_of_go_is_rebuilt_from_its_events(tmp_path: Path) -> None:
    report = runners.read_go_report(printed(tmp_path, "go.json"))
    assert report is not None
    assert report.text is not None
    assert "    cart_test.go:12: got 2, want 3\n    --- FAIL: TestAdd/two (0.00s)\n" in report.text
    assert "shop/shop_test.go:7:2: undefined: Price\n" in report.text
    assert report.failures == (
        "example.com/cart: TestAdd/two: got 2, want 3",
        "example.com/shop: shop/shop_test.go:7:2: undefined: Price",
    )


@pytest.mark.parametrize("name", ["go-build.json", "go-build-1.19.txt"])
def test_a_go_package_that_is_not_built_is_one_failure_with_the_first_line_of_the_compiler(
    name: str, tmp_path: Path
) -> None:
    """Package b imports a; d needs a module that is not there."""
    report = runners.read_go_report(printed(tmp_path, name))
    assert report is not None
    assert report.failing == tuple(f"example.com/x/{package}" for package in "abcd")
    missing = "no required module provides package github.com/stretchr/testify/assert; to add it:"
    assert set(report.failures) == {
        "example.com/x/a: a/a.go:3:23: undefined: x",
        "example.com/x/b: it does not build",
        "example.com/x/c: c/c_test.go:6:28: undefined: undefined1",
        f"example.com/x/d: d/d_test.go:5:2: {missing}",
    }
