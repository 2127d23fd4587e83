"""The rules of the three phases, on what test runners really said."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.kernel.gate import NOTHING_EXECUTED, Gate, GateRun, Kind, Outcome
from sidecar.systems.tdd.policy.phases import ChangedFile, Phase, PhaseFacts, broken_rule
from support.table import over_table

GATE = Gate(id="tests", command="pytest", why="", kind=Kind.TESTS)
PASSED = GateRun(gate=GATE, outcome=Outcome.PASSED, tree="t", executed=3, skipped=0)
EMPTY = replace(PASSED, outcome=Outcome.FAILED, executed=0, failing=(NOTHING_EXECUTED,))
SPEC = "slugify turns spaces into hyphens"
TEST = "tests/test_slug.py"
NEW = f"{TEST}::test_spaces"
LINES = ("from text_tools import slugify", "def test_spaces():", "    assert slugify('a b') == 'a-b'")
WRITTEN = ChangedFile(path=TEST, check=True, product=False, added=LINES, defined=1)
CODE = ChangedFile(path="slug.py", check=False, product=True, added=("def slugify(text):",))


def failed(output: str, *failing: str, executed: int | None = 4) -> GateRun:
    return replace(
        PASSED, outcome=Outcome.FAILED, executed=executed, output=output, failing=failing, failures=(output,)
    )


def facts(before: GateRun, after: GateRun, *files: ChangedFile, marks: tuple[str, ...] = ()) -> PhaseFacts:
    return PhaseFacts(before=before, after=after, files=files, marks=marks)


ASSERTED = failed(f"{NEW}: AssertionError: assert 'a b' == 'a-b'", NEW)
UNLOADED = failed(f"{TEST}: ModuleNotFoundError: No module named 'text_tools'", TEST, executed=3)
NOT_INSTALLED = replace(
    PASSED, outcome=Outcome.COULD_NOT_RUN, output="E ModuleNotFoundError: No module named 'text_tools'"
)

RED = {
    "an assertion": (facts(PASSED, ASSERTED, WRITTEN), ""),
    "the first test of a project": (facts(EMPTY, replace(ASSERTED, executed=1), WRITTEN), ""),
    "a module that the spec asks for, in a file of its own": (facts(PASSED, UNLOADED, WRITTEN), ""),
    "such a module, which reads like a fault of the installation": (
        facts(PASSED, NOT_INSTALLED, WRITTEN),
        "",
    ),
    "an export that is missing, of JavaScript": (
        facts(
            PASSED,
            failed("SyntaxError: './slug.js' does not provide an export named 'slugify'", TEST, executed=3),
            WRITTEN,
        ),
        "",
    ),
    "a function that is missing, of Go": (
        facts(PASSED, failed("./slug_test.go:6:5: undefined: Slugify", "slug", executed=None), WRITTEN),
        "",
    ),
    "beside a test that failed before": (
        facts(failed("old: assert", "old"), failed("assert x failed", "old", NEW, executed=5), WRITTEN),
        "",
    ),
    "product code": (facts(PASSED, ASSERTED, WRITTEN, CODE), "red-product"),
    "nothing": (facts(PASSED, PASSED), "nothing-changed"),
    "it passes at once": (facts(PASSED, replace(PASSED, executed=4), WRITTEN), "red-passes"),
    "two tests that fail": (
        facts(PASSED, failed("assert", NEW, f"{TEST}::test_tabs", executed=5), replace(WRITTEN, defined=2)),
        "red-several",
    ),
    "one that fails and one that passes": (
        facts(PASSED, replace(ASSERTED, executed=5), replace(WRITTEN, defined=2)),
        "red-several",
    ),
    "two tests in a file that cannot be loaded": (
        facts(PASSED, UNLOADED, replace(WRITTEN, defined=2)),
        "red-several",
    ),
    "two tests in such a file, which Node counts as one": (
        facts(
            PASSED,
            failed("SyntaxError: './slug.js' does not provide an export named 'slugify'", TEST),
            replace(WRITTEN, defined=2),
        ),
        "red-several",
    ),
    "another test is gone": (
        facts(PASSED, replace(ASSERTED, executed=3), replace(WRITTEN, lost=1)),
        "red-others",
    ),
    "a file of three tests cannot be loaded any more": (
        facts(PASSED, replace(UNLOADED, executed=0), WRITTEN),
        "red-others",
    ),
    "a failing test was mended": (
        facts(failed("old: assert", "old"), failed("assert", NEW), WRITTEN),
        "red-others",
    ),
    "a syntax error": (
        facts(PASSED, failed(f"{TEST}: SyntaxError: invalid syntax", TEST, executed=3), WRITTEN),
        "red-broken",
    ),
    "a fixture that is not there": (
        facts(PASSED, failed(f"{NEW}: fixture 'slug' not found", NEW), WRITTEN),
        "red-broken",
    ),
    "a module that nobody asked for": (
        facts(
            PASSED,
            failed(f"{TEST}: No module named 'hypothesis'", TEST, executed=3),
            replace(WRITTEN, added=("import hypothesis", "def test_spaces():")),
        ),
        "red-own-import",
    ),
    "an error of the test": (facts(PASSED, failed(f"{NEW}: KeyError: 'x'", NEW), WRITTEN), "red-error"),
    "no tests could run": (
        facts(PASSED, replace(PASSED, outcome=Outcome.COULD_NOT_RUN, reason="out of memory"), WRITTEN),
        "could-not-run",
    ),
}

SLUG_FAILS = failed(f"{NEW}: assert", NEW, f"{TEST}::test_tabs", "tests/test_a.py::test_a", executed=5)
OLD_FAILS = failed("test_a: assert", "tests/test_a.py::test_a", executed=5)
GREEN = {
    "it passes": (facts(ASSERTED, replace(PASSED, executed=4), CODE), ""),
    "it passes, and one that failed before still fails": (facts(SLUG_FAILS, OLD_FAILS, CODE), ""),
    "a runner that tells no names": (
        facts(failed("", executed=None), replace(PASSED, executed=None), CODE),
        "",
    ),
    "the test was touched": (facts(ASSERTED, PASSED, CODE, WRITTEN), "touched-tests"),
    "code that knows it is under test": (
        facts(ASSERTED, PASSED, CODE, marks=("slug.py:3: pytest",)),
        "marks",
    ),
    "nothing": (facts(ASSERTED, ASSERTED), "nothing-changed"),
    "it still fails": (facts(ASSERTED, ASSERTED, CODE), "green-fails"),
    "one of two in the file still fails": (
        facts(SLUG_FAILS, replace(OLD_FAILS, failing=(f"{TEST}::test_tabs",)), CODE),
        "green-fails",
    ),
    "another one fails now": (
        facts(ASSERTED, failed("assert", "tests/test_a.py::test_a"), CODE),
        "broke-others",
    ),
    "a test is gone": (facts(ASSERTED, replace(PASSED, executed=3), CODE), "lost-tests"),
}

REFACTOR = {
    "as green as before": (facts(PASSED, PASSED, CODE), ""),
    "nothing to improve": (facts(PASSED, PASSED), ""),
    "a test fails": (facts(PASSED, failed("assert", NEW, executed=3), CODE), "broke-others"),
    "it fails without a name": (facts(PASSED, failed("", executed=None), CODE), "broke-others"),
    "a test was touched": (facts(PASSED, PASSED, CODE, WRITTEN), "touched-tests"),
    "a test is gone": (facts(PASSED, replace(PASSED, executed=2), CODE), "lost-tests"),
}


def rule_of(phase: Phase, seen: PhaseFacts, measure: str) -> str:
    broken = broken_rule(phase, seen, measure)
    return broken.rule if broken else ""


@over_table("case", RED)
def test_red(case: str) -> None:
    seen, rule = RED[case]
    assert rule_of(Phase.RED, seen, SPEC) == rule


@over_table("case", GREEN)
def test_green(case: str) -> None:
    seen, rule = GREEN[case]
    assert rule_of(Phase.GREEN, seen, TEST) == rule


@over_table("case", REFACTOR)
def test_refactor(case: str) -> None:
    seen, rule = REFACTOR[case]
    assert rule_of(Phase.REFACTOR, seen, TEST) == rule
