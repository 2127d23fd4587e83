# ruff: noqa: E501 - a source on one line can be compared with the next
"""What no rule recognises in a change to the checks is shown, and what is harmless is not."""

from __future__ import annotations

import pytest

from sidecar.adapters.reading.changes import read
from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import Changes, FileChange
from sidecar.policy.kept.unexplained import findings

CART = "from shop import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n\n\ndef test_none():\n    assert total([]) == 0\n"
NODE = "import { total } from './shop.js';\n\ntest('sum', () => { expect(total([1])).toBe(1); });\n"
GO = 'package shop\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Total(1) != 1 {\n\t\tt.Fatal()\n\t}\n}\n'
RUST = "pub fn f() -> i32 { 1 }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn one() { assert_eq!(f(), 1); }\n}\n"
JAVA = "import org.junit.jupiter.api.Test;\n\nclass ShopTest {\n    @Test\n    void one() { assertEquals(1, f()); }\n}\n"
TOML = '[project]\nversion = "1"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'


def shown(before: dict[str, str], after: dict[str, str], moved: dict[str, str] | None = None) -> set[str]:
    """The files of which something is shown. `moved`: where a file was before."""
    moved = moved or {}
    paths = sorted({*before, *after} - set(moved.values()))
    files = (
        FileChange(
            path=path,
            old_path=moved.get(path, ""),
            before=before.get(moved.get(path, path)),
            after=after.get(path),
        )
        for path in paths
    )
    return {one.file for one in findings(read(Changes(files=tuple(files))), ())}


HARMLESS: dict[str, tuple[str, str, str]] = {
    "a new test": ("test_a.py", CART, CART + "\n\ndef test_two():\n    assert total([2]) == 2\n"),
    "a renamed test": ("test_a.py", CART, CART.replace("test_none", "test_nothing")),
    "another layout": ("test_a.py", CART, CART.replace("([1, 2])", "(\n        [1, 2],\n    )")),
    "a comment and a docstring": ("test_a.py", CART, '"""Carts."""\n# sums\n' + CART),
    "another order": ("test_a.py", CART, "from shop import total\n\n\ndef test_none():\n    assert total([]) == 0\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n"),
    "an import for a new test": ("test_a.py", CART, "import math\n" + CART + "\n\ndef test_pi():\n    assert total([math.pi]) > 3\n"),
    "a new JavaScript test": ("a.test.js", NODE, NODE + "test('two', () => { expect(total([2])).toBe(2); });\n"),
    "a renamed JavaScript test": ("a.test.ts", NODE, NODE.replace("'sum'", "'adds up'")),
    "a new Go test": ("shop_test.go", GO, GO + "\nfunc TestTwo(t *testing.T) {\n\tif Total(2) != 2 {\n\t\tt.Fatal()\n\t}\n}\n"),
    "a new Java test": ("ShopTest.java", JAVA, JAVA.replace("f()); }\n", "f()); }\n\n    @Test\n    void two() { assertEquals(2, g()); }\n")),
    "a repair beside Rust tests": ("src/lib.rs", RUST, RUST.replace("{ 1 }", "{ 2 - 1 }")),
    "tests grouped in a class": ("test_a.py", CART, "from shop import total\n\n\nclass TestCart:\n    def test_sum(self):\n        assert total([1, 2]) == 3\n\n    def test_none(self):\n        assert total([]) == 0\n"),
    "a JavaScript import that is used no more": ("a.test.js", NODE.replace("{ total }", "{ total, tax }"), NODE),
    "a version": ("pyproject.toml", TOML, TOML.replace('"1"', '"2"')),
    "a dependency": ("pyproject.toml", TOML, TOML.replace('version = "1"', 'version = "1"\ndependencies = ["click"]')),
    "a comment in settings": ("pyproject.toml", TOML, "# ours\n" + TOML),
    "code": ("shop.py", "def f():\n    return 1\n", "def f():\n    return 2\n"),
}  # fmt: skip


@pytest.mark.parametrize("what", HARMLESS)
def test_what_is_harmless_is_not_shown(what: str) -> None:
    path, before, after = HARMLESS[what]
    assert shown({path: before}, {path: after}) == set()


UNKNOWN: dict[str, tuple[str, str, str]] = {
    "another import for the same name": ("test_a.py", CART, CART.replace("from shop", "from fake_shop")),
    "a copy of the code in the test": ("test_a.py", CART, CART.replace("\n\n\ndef test_sum", "\n\n\ndef total(x):\n    return 3\n\n\ndef test_sum", 1)),
    "another export under the same name": ("a.test.js", NODE, NODE.replace("{ total }", "{ fake as total }")),
    "another input": ("test_a.py", CART, CART.replace("[1, 2]", "[3]")),
    "a decorator that nobody knows": ("test_a.py", CART, CART.replace("def test_none", "@forgiving\ndef test_none")),
    "a second test of the same name": ("test_a.py", CART, CART + "\n\ndef test_sum():\n    assert total([3]) == 3\n"),
    "a mock at the top of a module": ("a.test.js", NODE, NODE.replace("\n\ntest", "\n\nvi.mock('./shop.js', () => ({ total: () => 1 }));\n\ntest")),
    "a promise that nobody awaits": ("a.test.js", NODE, NODE.replace("expect(total([1])).toBe(1);", "run().then(() => expect(total([1])).toBe(1));")),
    "another Go helper": ("shop_test.go", GO, GO + "\nfunc Total(int) int { return 1 }\n"),
    "a Rust test that should panic": ("src/lib.rs", RUST, RUST.replace("#[test]\n", "#[test]\n    #[should_panic]\n")),
    "a Java base class": ("ShopTest.java", JAVA, JAVA.replace("class ShopTest", "class ShopTest extends Forgiving")),
    "a shell test": ("tests/a.sh", "test 1 = 1\n", "exit 0\ntest 1 = 1\n"),
    "data of a test": ("tests/prices.csv", "a,1\n", "a,2\n"),
    "a recipe": ("Makefile", "test:\n\tpytest\n", "SHELL = /bin/true\ntest:\n\tpytest\n"),
    "the files that are checked": ("pyproject.toml", TOML, TOML + '[tool.mypy]\nfiles = ["nothing"]\n'),
    "a setting that nobody knows": ("pyproject.toml", TOML, TOML + 'python_classes = ["Never"]\n'),
}  # fmt: skip


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_nobody_can_explain_is_shown(what: str) -> None:
    path, before, after = UNKNOWN[what]
    assert shown({path: before}, {path: after}) == {path}


def test_a_test_that_moves_to_another_file_with_its_import_is_harmless() -> None:
    one, two = CART.split("\n\n\ndef test_none")
    after = {"test_a.py": one, "test_b.py": f"from shop import total\n\n\ndef test_none{two}"}
    assert shown({"test_a.py": CART}, after) == set()


def test_a_test_file_that_moves_is_harmless_only_where_runners_still_find_it() -> None:
    kept, lost = "tests/test_carts.py", "tests/carts_old.py"
    assert shown({"test_a.py": CART}, {kept: CART}, {kept: "test_a.py"}) == set()
    assert shown({"test_a.py": CART}, {lost: CART}, {lost: "test_a.py"}) == {lost}


@pytest.mark.parametrize("path", ["conftest.py", "tests/conftest.py", "tests/__init__.py", "tests/shop.py"])
def test_a_new_file_that_steers_other_tests_is_shown(path: str) -> None:
    assert shown({}, {path: "x = 1\n"}) == {path}


@pytest.mark.parametrize("path", ["tests/test_new.py", "tests/data.json", "tests/b.test.ts"])
def test_a_new_file_of_tests_or_data_is_harmless(path: str) -> None:
    assert shown({}, {path: CART if path.endswith(".py") else "test('a', () => {});\n"}) == set()


def test_settings_that_move_between_files_are_harmless() -> None:
    old, new = "[tool:pytest]\ntestpaths = tests\n", "[pytest]\ntestpaths = tests\n"
    assert shown({"setup.cfg": old}, {"pytest.ini": new}) == set()
    assert shown({"setup.cfg": old}, {"pytest.ini": new.replace("tests", "nowhere")}) == {
        "setup.cfg",
        "pytest.ini",
    }


def test_what_is_shown_accuses_nobody_and_names_the_first_line_that_differs() -> None:
    after = CART.replace("[1, 2]", "[3]")
    changes = Changes(files=(FileChange(path="test_a.py", before=CART, after=after),))
    assert findings(read(changes), ()) == (
        Finding(
            change=Change.CHECK_EDITED,
            weight=Weight.SHOWN,
            file="test_a.py",
            line=5,
            before="assert total([1, 2]) == 3",
            after="assert total([3]) == 3",
        ),
    )


def test_a_file_that_others_told_of_is_not_told_twice() -> None:
    changes = Changes(files=(FileChange(path="test_a.py", before=CART, after=CART.replace("2]", "3]")),))
    assert findings(read(changes), {"test_a.py"}) == ()


def test_a_file_that_could_not_be_read_is_shown() -> None:
    changes = Changes(files=(FileChange(path="tests/test_a.py", unread="bigger than 512 KiB"),))
    (one,) = findings(read(changes), ())
    assert one.after == "bigger than 512 KiB"
