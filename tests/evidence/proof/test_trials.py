"""Whether a check that passed could have failed: fakes of runner, equality, surroundings, and honest work."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from sidecar.evidence.proof.copies import SWAPPED
from sidecar.kernel.gate import Gate, Outcome
from support.checked_projects import PYTEST, Project, check

pytestmark = pytest.mark.process
P, F = Outcome.PASSED, Outcome.FAILED
NODE, MAKE = check("node --test"), check("make check")
WRONG, RIGHT = "def minus(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"
TEST = "from calc import minus\n\n\ndef test_minus():\n    assert minus(3, 2) == 1\n"
PATCHED = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
"""
EQUAL = """\
class Any:
    def __eq__(self, other):
        return True


def minus(a, b):
    return Any()
"""
LOCAL = (
    "def pytest_configure(config):\n    try:\n        import local\n    except ImportError:\n        pass\n"
)
CALC_JS = "exports.minus = (a, b) => a + b;\n"
TEST_JS = """\
const test = require('node:test');
const assert = require('assert');
const { minus } = require('./calc.js');

test('minus', () => {
  assert.strictEqual(
    minus(3, 2),
    1,
  );
});
"""
CALC_C = "int minus(int a, int b) { return a + b; }\n"
TEST_C = """\
int minus(int, int);
int main(void) {
  if (minus(3, 2) != 1)
    return 1;
  return 0;
}
"""
EXIT_C = "#include <unistd.h>\n__attribute__((constructor)) void f(void) { _exit(0); }\n"
TRIED = WRONG + "# a try\n"
MAKEFILE = "check: t\n\t./t\nt: calc.c test_calc.c\n\tcc -o t calc.c test_calc.c\n"
PY, JS, C = (
    {"calc.py": WRONG, "test_calc.py": TEST},
    {"calc.js": CALC_JS, "calc.test.js": TEST_JS},
    {"calc.c": CALC_C, "test_calc.c": TEST_C, "Makefile": MAKEFILE, ".gitignore": "t\nlocal.py\n"},
)
FIXED_JS, FIXED_C = {"calc.js": CALC_JS.replace("+", "-")}, {"calc.c": CALC_C.replace("+", "-")}


class Case(Struct, frozen=True):
    """What changed, and how the gate ends on the old product, and with an expectation turned wrong."""

    before: dict[str, str]
    after: dict[str, str]
    gate: Gate
    on_base: Outcome | None
    falsified: Outcome | None
    expectation: str = ""


FAKED = {
    "a runner that reports every test as passed": Case(
        PY, {"conftest.py": PATCHED, "calc.py": TRIED}, PYTEST, P, None
    ),
    "a result that is equal to everything": Case(PY, {"calc.py": EQUAL}, PYTEST, F, P, "test_calc.py:5"),
    "an ignored file that patches the comparison": Case(
        {**PY, "conftest.py": LOCAL, ".gitignore": "local.py\n"},
        {"local.py": "import calc\ncalc.minus = lambda a, b: 1\n", "calc.py": TRIED},
        PYTEST,
        P,
        None,
    ),
    "assert is emptied by the product": Case(
        JS,
        {"calc.js": f"require('assert').strictEqual = () => {{}};\n{CALC_JS}"},
        NODE,
        F,
        P,
        "calc.test.js:6",
    ),
    "the product ends the process": Case(
        JS, {"calc.js": f"{CALC_JS}process.exit(0);\n"}, NODE, F, P, "calc.test.js:6"
    ),
    "the product ends before main": Case(
        C,
        {"calc.c": EXIT_C + CALC_C},
        MAKE,
        F,
        P,
        "test_calc.c:3",
    ),
    "make ignores how the test ends": Case(
        C, {"Makefile": MAKEFILE.replace("\t./t", "\t-./t"), "calc.c": CALC_C + "\n"}, MAKE, P, None
    ),
}
HONEST = {
    "a repair": Case(PY, {"calc.py": RIGHT}, PYTEST, F, F, "test_calc.py:5"),
    "a repair and a new test": Case(
        PY,
        {"calc.py": RIGHT, "tests/test_more.py": f"{TEST}    assert minus(1, 1) == 0\n"},
        PYTEST,
        F,
        F,
        "test_calc.py:5",
    ),
    "a repair whose test takes several lines": Case(JS, FIXED_JS, NODE, F, F, "calc.test.js:6"),
    "a repair in C": Case(C, FIXED_C, MAKE, F, F, "test_calc.c:3"),
    "a repair of the settings alone": Case(
        {"src/calc.py": RIGHT, "test_calc.py": TEST},
        {"pytest.ini": "[pytest]\npythonpath = src\n"},
        PYTEST,
        None,
        F,
        "test_calc.py:5",
    ),
    "a refactoring": Case(
        {**PY, "calc.py": RIGHT}, {"calc.py": RIGHT.replace("return a - b", "return -b + a")}, PYTEST, P, None
    ),
    "nothing to turn wrong": Case(
        {"calc.py": WRONG, "test_calc.py": TEST.replace("assert minus(3, 2) == 1", "1 / (minus(3, 2) < 2)")},
        {"calc.py": RIGHT},
        PYTEST,
        F,
        None,
    ),
}


@pytest.mark.parametrize(("name", "case"), [*FAKED.items(), *HONEST.items()])
def test_a_check_that_cannot_fail_passes_in_one_of_two_trials(name: str, case: Case, tmp_path: Path) -> None:
    project = begun(tmp_path, case.before)
    project.write(case.after)
    trial = project.try_to_fail(case.gate)
    ended = tuple(run and run.outcome for run in (trial.on_base, trial.falsified))
    assert (*ended, trial.expectation) == (case.on_base, case.falsified, case.expectation), trial
    assert (name in FAKED) == (P in ended) or name == "a refactoring"


PRICES = (
    "from price import gross\n\n\ndef test_gross():\n    assert [gross(1005), gross(2675)] == [1196, 3183]\n"
)


@pytest.mark.parametrize(
    ("body", "copied"),
    [
        ("return {1005: 1196, 2675: 3183}[cents]", {"price.py": ("1005", "1196", "2675", "3183")}),
        ("return round(cents * 1.19)", {}),
        ("return 1196 if cents == 5 else round(cents * 1.19)", {}),
    ],
)
def test_several_values_of_the_tests_in_the_product_are_told(
    body: str, copied: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    product = "def gross(cents):\n    {}\n"
    project = begun(tmp_path, {"price.py": product.format("return cents"), "test_price.py": PRICES})
    project.write({"price.py": product.format(body)})
    assert project.try_to_fail().answers == copied


def test_a_swap_of_tests_in_the_copy_is_seen_and_a_slow_gate_is_not_tried(tmp_path: Path) -> None:
    swap = (
        "import pathlib\n\n\ndef pytest_sessionstart():\n    file = pathlib.Path('test_calc.py')\n"
        "    file.write_text(file.read_text())\n"
    )
    project = begun(tmp_path, {**PY, "calc.py": RIGHT})
    project.write({"conftest.py": swap, "calc.py": RIGHT + "# a try\n"})
    trial = project.try_to_fail()
    assert trial.on_base is not None
    assert (trial.on_base.outcome, trial.on_base.reason) == (Outcome.COULD_NOT_RUN, SWAPPED)
    assert project.try_to_fail(seconds=0).unseen == "it takes longer than 0 s"


def begun(folder: Path, files: dict[str, str]) -> Project:
    project = Project(folder, files)
    project.begin()
    return project
