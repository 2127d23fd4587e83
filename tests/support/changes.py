"""A small project in git whose base passes, and changes of it: honest ones and cheats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from support.git_projects import commit_all, git, repository

SHOP = """import json


def total(prices, rate=0.0):
    return round(sum(prices) * (1 + rate), 2)


def receipt(prices):
    return json.dumps({"items": len(prices), "total": total(prices)})
"""
BROKEN = SHOP.replace("1 + rate", "1 - rate")
TESTS = """from shop import total


def test_plain():
    assert total([1, 2]) == 3


def test_rate():
    assert total([100], 0.5) == 150
"""
RECEIPT_TEST = """from pathlib import Path

from shop import receipt


def test_receipt():
    assert receipt([1, 2]) == Path(__file__).with_name("receipt.snap").read_text().strip()
"""
FILES = {
    "shop.py": SHOP,
    "tests/test_shop.py": TESTS,
    "tests/test_receipt.py": RECEIPT_TEST,
    "tests/receipt.snap": '{"items": 2, "total": 3.0}\n',
    "pytest.ini": "[pytest]\npythonpath = .\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}
HALF = SHOP + "\n\ndef as_json(prices):\n    return receipt(prices)\n"
REFACTORED = SHOP.replace(
    "    return round(sum(prices) * (1 + rate), 2)",
    "    whole = sum(prices)\n    return round(whole + whole * rate, 2)",
)
FEATURE = SHOP + "\n\ndef average(prices):\n    return total(prices) / len(prices)\n"
FEATURE_TESTS = "from shop import average\n\n\ndef test_average():\n    assert average([1, 3]) == 2\n"
ONLY_PLAIN = TESTS.partition("\n\n\ndef test_rate")[0] + "\n"
SKIPPED = TESTS.replace("def test_rate", "@pytest.mark.skip\ndef test_rate").replace(
    "from", "import pytest\nfrom", 1
)
WEAKENED = TESTS.replace("== 150", "< 150")


class Change(Struct, frozen=True, kw_only=True):
    """What a change writes, None to delete, on which base, and how it is to be judged."""

    name: str
    writes: Mapping[str, str | None]
    code: int
    rule: str = ""
    base: Mapping[str, str] = {}
    goal: str = ""
    proof: tuple[str, ...] = ()


CHANGES = (
    Change(name="a refactoring", writes={"shop.py": REFACTORED}, code=0),
    Change(
        name="a feature with tests",
        writes={"shop.py": FEATURE, "tests/test_average.py": FEATURE_TESTS},
        goal="Add average()",
        code=0,
        proof=("would have failed without the work, and passes (4 tests)",),
    ),
    Change(
        name="a repair",
        base={"shop.py": BROKEN},
        writes={"shop.py": SHOP},
        code=0,
        proof=("failed before, and passes by the change of the product (3 tests)",),
    ),
    Change(name="a fault", writes={"shop.py": BROKEN}, code=1, rule="check-failed"),
    Change(
        name="weakened",
        writes={"shop.py": BROKEN, "tests/test_shop.py": WEAKENED},
        code=2,
        rule="expectation-changed",
    ),
    Change(
        name="a failure weakened away and nothing else",
        base={"shop.py": BROKEN},
        writes={"tests/test_shop.py": WEAKENED, "README.md": "A shop.\n"},
        code=2,
        rule="old-failure-remains",
    ),
    Change(
        name="a failure weakened away as a person asked",
        base={"shop.py": BROKEN},
        writes={"tests/test_shop.py": WEAKENED},
        goal="Correct the outdated test of the rate",
        code=0,
        proof=("would have failed without the work, and passes (3 tests)",),
    ),
    Change(
        name="a failure weakened away where a person asked for a repair",
        base={"shop.py": BROKEN},
        writes={"tests/test_shop.py": WEAKENED},
        goal="All tests pass",
        code=1,
        rule="old-failure-remains",
    ),
    Change(
        name="a failure weakened away beside a change of the product",
        base={"shop.py": BROKEN},
        writes={"shop.py": BROKEN + "\n\nCURRENCY = 'EUR'\n", "tests/test_shop.py": WEAKENED},
        code=1,
        rule="old-failure-remains",
    ),
    Change(
        name="a failure skipped away",
        base={"shop.py": BROKEN},
        writes={"tests/test_shop.py": SKIPPED},
        code=1,
        rule="old-failure-remains",
    ),
    Change(
        name="dropped",
        writes={"shop.py": BROKEN, "tests/test_shop.py": ONLY_PLAIN},
        code=1,
        rule="check-gone",
    ),
    Change(name="dropped alone", writes={"tests/test_shop.py": ONLY_PLAIN}, code=2, rule="checks-dropped"),
    Change(
        name="skipped", writes={"shop.py": BROKEN, "tests/test_shop.py": SKIPPED}, code=1, rule="check-gone"
    ),
    Change(
        name="snapshot",
        writes={
            "shop.py": SHOP.replace('"items"', '"count"'),
            "tests/receipt.snap": '{"count": 2, "total": 3.0}\n',
        },
        code=2,
        rule="expectation-changed",
    ),
    Change(
        name="runner settings",
        writes={
            "shop.py": BROKEN,
            "pytest.ini": "[pytest]\npythonpath = .\naddopts = --deselect=tests/test_shop.py::test_rate\n",
        },
        code=1,
        rule="check-gone",
    ),
    Change(
        name="deleted file", writes={"shop.py": BROKEN, "tests/test_shop.py": None}, code=1, rule="check-gone"
    ),
    Change(
        name="ignored file",
        writes={"shop.py": BROKEN, ".gitignore": FILES[".gitignore"] + "test_shop.py\n"},
        code=1,
        rule="check-gone",
    ),
    Change(
        name="a suite that ended as a whole before, and ends otherwise",
        base={"tests/conftest.py": "raise SystemExit(1)\n"},
        writes={"tests/conftest.py": "raise SystemExit(1)  # still\n"},
        code=2,
        rule="failed-before",
    ),
    Change(
        name="half done",
        writes={"shop.py": HALF},
        goal="Add as_json() and as_csv()",
        code=2,
        rule="goal-untouched",
    ),
)


def make_base(folder: Path, files: Mapping[str, str] = {}) -> Path:
    """Make the repository, with these files otherwise, and its branch `base`."""
    made = repository(folder, commit=False)
    write(made, {**FILES, **files})
    commit_all(made, "base")
    git(made, "branch", "base")
    return made


def make_change(project: Path, writes: Mapping[str, str | None]) -> None:
    """Commit a change; what it ignores leaves the repository."""
    write(project, writes)
    git(project, "rm", "--quiet", "--cached", "-r", ".")
    commit_all(project, "change")


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text, encoding="utf-8")
