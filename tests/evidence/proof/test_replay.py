"""What the product alone does to the checks as they were, and which tests are gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.proof.policy import checks_gone, fails_by_assertion, rate_comparison
from sidecar.kernel.effects import Wanted
from sidecar.kernel.evidence import CheckChange
from sidecar.kernel.gate import CheckComparison, Gate, GateRun, Outcome
from support.checked_projects import PYTEST, Project, check

P, F, NOT_RUN = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN
WRONG, RIGHT = "def minus(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"
TEST = "from calc import minus\n\n\ndef test_minus():\n    assert minus(3, 2) == 1\n"
BENT = TEST.replace("== 1", "== 5")
PY = {"calc.py": WRONG, "test_calc.py": TEST}
SBUF = """\
int minus(int, int), puts(const char *);
int main(void) {
  if (minus(3, 2) != 1)
    return puts("t_sbuf.c:3: not 1"), 1;
  return 0;
}
"""
C = {
    "calc.c": "int minus(int a, int b) { return a + b; }\n",
    "t_sbuf.c": SBUF,
    "Makefile": "check: t\n\t./t\nt: calc.c t_sbuf.c\n\tcc -o t calc.c t_sbuf.c\n",
    ".gitignore": "t\n",
}
MAKE = check("make check")
REPAIRED_C = {"calc.c": "int minus(int a, int b) { return a - b; }\n"}
TWICE = "\n\ndef twice(a):\n    return a * 2\n"
TEST_TWICE = "import calc\n\n\ndef test_it():\n    assert calc.twice(2) == 4\n"
LOCAL = "try:\n    import local\nexcept ImportError:\n    pass\n"


class Case(Struct, frozen=True):
    """What changed; how checks end at the baseline, on the product alone, and new ones on the old code."""

    before: dict[str, str]
    after: dict[str, str]
    base: Outcome
    product: Outcome | None = None
    fresh: Outcome | None = None
    gate: Gate = PYTEST


CASES = {
    "a plain repair": Case(PY, {"calc.py": RIGHT}, F, P),
    "a repair and a new test": Case(
        PY, {"calc.py": RIGHT, "test_more.py": BENT.replace("(3, 2)", "(7, 2)")}, F, P
    ),
    "a repair, and the test is rewritten": Case(
        PY, {"calc.py": RIGHT, "test_calc.py": TEST.replace("3, 2", "8, 7")}, F, P
    ),
    "a repair in C": Case(C, REPAIRED_C, F, P, gate=MAKE),
    "a repair in C, and a test that reports more": Case(
        C, {**REPAIRED_C, "t_sbuf.c": SBUF.replace("not 1", "is not 1")}, F, P, gate=MAKE
    ),
    "a bent test": Case(PY, {"test_calc.py": BENT}, F, F),
    "a bent test of C by another name": Case(C, {"t_sbuf.c": SBUF.replace("!= 1", "!= 5")}, F, F, gate=MAKE),
    "an ignored file that conftest loads": Case(
        {**PY, "conftest.py": LOCAL, ".gitignore": "local.py\n"},
        {"local.py": "import calc\ncalc.minus = lambda a, b: 1\n", "calc.py": f"{WRONG}# a try\n"},
        F,
        F,
    ),
    "a setting of the runner": Case(
        PY,
        {
            "pytest.ini": "[pytest]\npython_functions = x_*\n",
            "test_x.py": "def x_1(): pass\n",
            "calc.py": f"{WRONG}\n",
        },
        F,
        F,
    ),
    "a name that the old tests do not know": Case(
        PY,
        {"calc.py": RIGHT.replace("minus", "less"), "test_calc.py": TEST.replace("minus", "less")},
        F,
        NOT_RUN,
    ),
    "a new feature with its test": Case(
        {**PY, "calc.py": RIGHT},
        {"calc.py": f"{RIGHT}{TWICE}", "test_twice.py": TEST_TWICE},
        P,
        fresh=F,
    ),
}


def compared(folder: Path, before: dict[str, str], after: dict[str, str], gate: Gate) -> CheckComparison:
    project = Project(folder, before)
    project.begin()
    project.write(after)
    (seen,) = project.compare(gate, Wanted.PROOF)
    return seen


@pytest.mark.process
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_product_alone_tells_whether_it_was_repaired(case: Case, tmp_path: Path) -> None:
    seen = compared(tmp_path, case.before, case.after, case.gate)
    ended = tuple(run and run.outcome for run in (seen.base, seen.product, seen.fresh))
    assert ended == (case.base, case.product, case.fresh), seen
    assert seen.now.outcome is P


@pytest.mark.process
def test_a_bent_test_of_another_name_is_a_check_file(tmp_path: Path) -> None:
    seen = compared(tmp_path, C, {"t_sbuf.c": SBUF.replace("!= 1", "!= 5")}, MAKE)
    assert seen.files == ("t_sbuf.c",)
    assert {one.change for one in rate_comparison(seen)} == {CheckChange.OLD_FAILURE_REMAINS}


@pytest.mark.process
def test_a_new_test_counts_for_the_coverage_that_the_old_checks_ask_for(tmp_path: Path) -> None:
    code = f"{RIGHT}\n\ndef twice(a):\n    if a:\n        return a * 2\n    return 0\n"
    before = {"calc.py": code, "test_calc.py": TEST}
    more = "import calc\n\n\ndef test_twice():\n    assert (calc.twice(2), calc.twice(0)) == (4, 0)\n"
    gate = check("python -m pytest -q --cov=calc --cov-fail-under=95 -p pytest_cov")
    seen = compared(tmp_path, before, {"test_more.py": more, "conftest.py": ""}, gate)
    assert (seen.base and seen.base.outcome, seen.old and seen.old.outcome) == (F, P), seen


@pytest.mark.process
def test_copies_of_the_same_files_are_one_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = (
        f'echo ran >> {log}\n. ./calc.sh\n[ "$(minus)" = "1" ] || {{ echo "test.sh:3: not 1"; exit 1; }}\n'
    )
    gate = check("sh test.sh")
    project = Project(tmp_path, {"calc.sh": "minus() { echo 5; }\n", "test.sh": script})
    project.begin()
    project.write({"calc.sh": "minus() { echo 1; }\n", "test_more.sh": "exit 0\n"})
    counts = []
    for number in range(4):
        project.try_to_fail(gate) if number % 2 else project.compare(gate, Wanted.PROOF)
        counts.append(log.read_text().count("ran"))
        log.write_text("")
    assert counts == [3, 3, 1, 1], "the gate itself; base, product; new checks, falsified"


# --- Tests that are gone ------------------------------------------------------------------------------------

TWO = f"{TEST}\n\ndef test_zero():\n    assert minus(2, 2) == 0\n"
ONE = "\n\ndef test_one():\n    assert minus(2, 1)\n"
ONLY_FIRST = "def pytest_collection_modifyitems(items):\n    del items[1:]\n"
BROKEN = "def minus(a, b):\n    return a - b or 9\n"
SKIPPED = TWO.replace("def test_zero", "import pytest\n\n\n@pytest.mark.skip\ndef test_zero")


@pytest.mark.process
@pytest.mark.parametrize(
    ("after", "gone"),
    [
        ({"calc.py": BROKEN, "test_calc.py": TEST}, ["test_zero"]),
        ({"calc.py": BROKEN, "test_calc.py": f"{TEST}{ONE}"}, ["test_zero"]),
        ({"calc.py": BROKEN, "test_calc.py": SKIPPED}, ["test_zero"]),
        ({"calc.py": BROKEN, "conftest.py": ONLY_FIRST}, ["test_zero"]),
        ({"calc.py": BROKEN, "test_calc.py": TWO.replace("== 0", "== 9")}, []),
        (
            {
                "calc.py": RIGHT.replace("(a, b)", "(a, b, c)"),
                "test_calc.py": TEST.replace("3, 2", "3, 2, 0"),
            },
            [],
        ),
        ({"calc.py": RIGHT.replace("minus", "less"), "test_calc.py": TEST.replace("minus", "less")}, []),
        ({"calc.py": RIGHT, "test_calc.py": TEST}, []),
    ],
)
def test_a_test_that_passed_and_is_gone_is_named_if_it_fails_by_assertion(
    after: dict[str, str], gone: list[str], tmp_path: Path
) -> None:
    seen = compared(tmp_path, {"calc.py": RIGHT, "test_calc.py": TWO}, after, PYTEST)
    assert checks_gone(seen) == tuple(f"test_calc.py::{name}" for name in gone)


RED = GateRun(gate=MAKE, outcome=F, tree="", failing=("t::zero",), failures=("t::zero: assertion failed",))
GREEN = GateRun(gate=MAKE, outcome=P, tree="", executed=2, skipped=0)


@pytest.mark.parametrize(
    ("now", "base", "gone"),
    [
        (replace(GREEN, executed=1), GREEN, True),
        (replace(GREEN, skipped=1), GREEN, True),
        (GREEN, GREEN, False),
        (replace(GREEN, executed=1), replace(RED, executed=2), False),
        (replace(GREEN, executed=1), replace(RED, executed=2, failing=("t::other",)), True),
        (replace(GREEN, executed=None), replace(GREEN, executed=None), False),
    ],
)
def test_without_names_the_counts_tell_whether_a_test_went(
    now: GateRun, base: GateRun, *, gone: bool
) -> None:
    seen = CheckComparison(now=now, old=RED, base=base, copy=now)
    assert checks_gone(seen) == ("t::zero",) * gone


@pytest.mark.parametrize(
    ("said", "asserts"),
    [
        ("assert 5 == 1", True),
        ("AssertionError: 5 != 1", True),
        ("AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:", True),
        ("DID NOT RAISE <class 'ValueError'>", True),
        ("got 5, want 1", True),
        ("TypeError: minus() missing 1 required positional argument", False),
        ("ImportError: cannot import name 'minus'", False),
        ("fixture 'db' not found", False),
        ("error[E0425]: cannot find function", False),
        ("calc.c: error: expected ';'", False),
    ],
)
def test_only_a_comparison_is_an_assertion(said: str, *, asserts: bool) -> None:
    run = replace(RED, failing=("a.py::t",), failures=(f"a.py::t: {said}",))
    assert fails_by_assertion(run, "a.py::t") is asserts


@pytest.mark.parametrize(
    ("name", "asserts"),
    [
        ("test_a.Sum.test_one", True),
        ("tests.test_a.Sum.test_one", True),
        ("test_a.py", False),
        ("t/a.t", False),
    ],
)
def test_a_file_that_could_not_be_loaded_is_no_test_and_a_dotted_name_is_one(
    name: str, *, asserts: bool
) -> None:
    run = replace(RED, failing=(name,), failures=(f"{name}: AssertionError: 5 != 1",))
    assert fails_by_assertion(run, name) is asserts
