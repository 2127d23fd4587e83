"""The rules of the three phases, on what test runners really said."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.kernel.gate import NOTHING_EXECUTED, Gate, GateRun, Kind, Outcome
from sidecar.systems.tdd.policy.phases import ChangedFile, Phase, PhaseFacts, broken_rule, find_test_file
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


def facts(before: GateRun, after: GateRun, *files: ChangedFile, **more: str) -> PhaseFacts:
    return PhaseFacts(before=before, after=after, files=files, **more)


ASSERTED = failed(f"{NEW}: AssertionError: assert 'a b' == 'a-b'", NEW)
UNLOADED = failed(f"{TEST}: ModuleNotFoundError: No module named 'text_tools'", TEST, executed=3)
BESIDE = ChangedFile(path="tests/__init__.py", check=True, product=False, new=True)
SETTING = ChangedFile(path="tests/conftest.py", check=True, product=False, new=True, setting=True)
PERL = ChangedFile(path="t/slug.t", check=True, product=False, new=True)
CASE = ChangedFile(path="cases/slug.sh", check=False, product=True, new=True)
UNNAMED = replace(PASSED, executed=None)
CASE_FAILS = failed("FAIL cases/slug.sh", executed=None)
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
    "an empty file beside it": (facts(PASSED, ASSERTED, BESIDE, WRITTEN), ""),
    "a setting of the runner": (facts(PASSED, ASSERTED, WRITTEN, SETTING), "red-product"),
    "nothing but a setting of the runner": (facts(PASSED, ASSERTED, SETTING), "red-product"),
    "a helper of other tests": (facts(PASSED, ASSERTED, WRITTEN, replace(BESIDE, new=False)), "red-product"),
    "a second file of tests": (facts(PASSED, ASSERTED, WRITTEN, replace(BESIDE, defined=1)), "red-product"),
    "a new file that no layout tells, and that fails": (facts(UNNAMED, CASE_FAILS, CASE), ""),
    "a new file that the failure does not name": (
        facts(UNNAMED, failed("FAIL", executed=None), CASE),
        "red-product",
    ),
    "such a file, and code": (facts(UNNAMED, CASE_FAILS, CASE, replace(CODE, new=True)), "red-product"),
    "code that breaks such a file": (facts(UNNAMED, CASE_FAILS, replace(CODE, path="lib.sh")), "red-product"),
    "such a file that was there": (facts(UNNAMED, CASE_FAILS, replace(CASE, new=False)), "red-product"),
    "such a file that was there and is named": (
        facts(UNNAMED, CASE_FAILS, replace(CASE, new=False), test=CASE.path),
        "",
    ),
    "one that dies before its runner counts it, of Perl": (
        facts(
            PASSED, failed("Undefined subroutine &Slug::slug called at t/slug.t line 1.", executed=3), PERL
        ),
        "",
    ),
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
    "no tests could run": (
        facts(PASSED, replace(PASSED, outcome=Outcome.COULD_NOT_RUN, reason="out of memory"), WRITTEN),
        "could-not-run",
    ),
}

SLUG_FAILS = failed(f"{NEW}: assert", NEW, f"{TEST}::test_tabs", "tests/test_a.py::test_a", executed=5)
OLD_FAILS = failed("test_a: assert", "tests/test_a.py::test_a", executed=5)
OTHERS = failed("old.test.js: adds: 3 == 4", "adds", executed=5)
GREEN = {
    "it passes, and another one that no path names fails as before": (
        facts(replace(OTHERS, failing=("adds", "turns spaces")), OTHERS, CODE, text='test("turns spaces")'),
        "",
    ),
    "it still fails, and only its text has the name": (
        facts(OTHERS, OTHERS, CODE, text='test("adds")'),
        "green-fails",
    ),
    "its test is in no file of tests by its name": (
        facts(ASSERTED, PASSED, replace(CODE, path=TEST)),
        "touched-tests",
    ),
    "it passes": (facts(ASSERTED, replace(PASSED, executed=4), CODE), ""),
    "it passes, and one that failed before still fails": (facts(SLUG_FAILS, OLD_FAILS, CODE), ""),
    "a runner that tells no names": (
        facts(failed("", executed=None), replace(PASSED, executed=None), CODE),
        "",
    ),
    "the test was touched": (facts(ASSERTED, PASSED, CODE, WRITTEN), "touched-tests"),
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


FILES = {
    "an empty file comes first": ((BESIDE, WRITTEN), TEST),
    "none has the name, one defines a test": ((BESIDE, replace(WRITTEN, path="tests/a.py")), "tests/a.py"),
    "one has the name, another defines a test": (
        (replace(WRITTEN, path="tests/a.py"), replace(WRITTEN, defined=0)),
        TEST,
    ),
    "no layout tells": ((CASE,), CASE.path),
    "none": ((), None),
}


@over_table("case", FILES)
def test_the_file_of_the_new_test_is_the_one_that_fails(case: str) -> None:
    files, path = FILES[case]
    found = find_test_file(facts(PASSED, ASSERTED, *files))
    assert (found and found.path) == path


@over_table("case", GREEN)
def test_green(case: str) -> None:
    seen, rule = GREEN[case]
    assert rule_of(Phase.GREEN, seen, TEST) == rule


@over_table("case", REFACTOR)
def test_refactor(case: str) -> None:
    seen, rule = REFACTOR[case]
    assert rule_of(Phase.REFACTOR, seen, TEST) == rule
