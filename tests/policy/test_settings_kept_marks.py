"""Marks in code: what is new over the whole change set, and how grave."""

from __future__ import annotations

import pytest

from sidecar.model.finding import Change, Weight
from support.changed_settings import found, said

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN

WHOLE = {
    "ruff": ("src/a.py", "# ruff: noqa\n"),
    "mypy": ("src/a.py", "# type: ignore\n"),
    "mypy by name": ("src/a.py", "# mypy: ignore-errors\n"),
    "pylint": ("src/a.py", "# pylint: skip-file\n"),
    "eslint": ("src/a.ts", "/* eslint-disable */\n"),
    "typescript": ("src/a.ts", "// @ts-nocheck\n"),
    "coverage": ("src/a.js", "/* istanbul ignore file */\n"),
}


@pytest.mark.parametrize(("path", "mark"), WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_file_out_of_a_check_is_grave(path: str, mark: str) -> None:
    (finding,) = found({path: "x = 1\n"}, {path: mark + "x = 1\n"})
    assert (finding.change, finding.weight, finding.line) == (Change.CHECK_SILENCED, GRAVE, 1)


PLACES = {
    "a rule of ruff": ("src/a.py", "x = 1\n", "x = 1  # noqa: E501\n"),
    "every rule of ruff": ("src/a.py", "x = 1  # noqa: E501\n", "y = 2  # noqa\n"),
    "a type error": ("src/a.py", "x = 1\n", "x = 1  # type: ignore[assignment]\n"),
    "some rules of eslint": ("src/a.ts", "let x = 1\n", "/* eslint-disable no-x */\nlet x = 1\n"),
    "coverage": ("src/a.py", "def f():\n    pass\n", "def f():  # pragma: no cover\n    pass\n"),
    "go": ("a.go", "package a\nvar x = 1\n", "package a\nvar x = 1 //nolint\n"),
}


@pytest.mark.parametrize(("path", "before", "after"), PLACES.values(), ids=PLACES.keys())
def test_one_place_out_of_a_check_is_shown(path: str, before: str, after: str) -> None:
    assert said({path: before}, {path: after}) == {(Change.CHECK_SILENCED, SHOWN)}


def test_moved_code_takes_its_marks_with_it() -> None:
    line = "x = 1  # noqa: E501\n"
    assert found({"src/a.py": line, "src/b.py": ""}, {"src/a.py": "", "src/b.py": line}) == ()
    (finding,) = found({"src/a.py": line, "src/b.py": ""}, {"src/a.py": "", "src/b.py": line + line})
    assert finding.file == "src/b.py"


def test_a_directive_may_name_other_rules_or_begin_to_name_them() -> None:
    assert said({"a.py": "x = 1  # noqa: E501\n"}, {"a.py": "y = 2  # noqa: F401\n"}) == set()
    assert said({"a.py": "x = 1  # noqa\n"}, {"a.py": "y = 2  # noqa: F401\n"}) == set()


def test_an_expected_type_error_in_a_test_is_a_check() -> None:
    text = "// @ts-expect-error\nadd('a')\n"
    assert said({}, {"src/a.test.ts": text}) == set()
    assert said({}, {"src/a.ts": text}) == {(Change.CHECK_SILENCED, SHOWN)}


HOOKS = {
    "no tests": "def pytest_collection_modifyitems(items):\n    items[:] = []\n",
    "tests of a name are skipped": (
        "def pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        if 'cart' in item.keywords:\n            item.add_marker(pytest.mark.skip)\n"
    ),
    "every outcome is good": (
        "def pytest_runtest_makereport(item, call):\n    outcome = yield\n"
        "    report = outcome.get_result()\n    report.outcome = 'passed'\n"
    ),
    "the session ends well": "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n",
    "the process ends well": "def pytest_unconfigure():\n    os._exit(0)\n",
    "the runner compares nothing": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n",
}


@pytest.mark.parametrize("text", HOOKS.values(), ids=HOOKS.keys())
def test_results_that_are_rewritten_are_grave(text: str) -> None:
    assert said({"tests/conftest.py": ""}, {"tests/conftest.py": text}) == {(Change.RESULTS_REWRITTEN, GRAVE)}


def test_what_an_option_asks_for_and_what_tests_replace_is_shown() -> None:
    slow = (
        "def pytest_collection_modifyitems(config, items):\n    if config.getoption('--slow'):\n"
        "        return\n    for item in items:\n        item.add_marker(pytest.mark.skip)\n"
    )
    fixture = (
        "@pytest.fixture(autouse=True)\ndef fake(monkeypatch):\n"
        "    monkeypatch.setattr('shop.cart.total', lambda: 1)\n"
    )
    for text in (slow, fixture):
        assert said({}, {"tests/conftest.py": text}) == {(Change.RESULTS_REWRITTEN, SHOWN)}


QUIET = """
@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr('socket.socket', None)
    monkeypatch.setenv('A', '1')
"""
PROGRAM = """
import sys
def main():
    sys.exit(0)
if __name__ == '__main__':
    main()
"""
HARMLESS = {
    "a marker is added": (
        "tests/conftest.py",
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker('a')\n",
    ),
    "tests are sorted": (
        "tests/conftest.py",
        "def pytest_collection_modifyitems(items):\n    items[:] = sorted(items, key=str)\n",
    ),
    "an option is added": (
        "tests/conftest.py",
        "def pytest_addoption(parser):\n    parser.addoption('--x')\n",
    ),
    "a report is kept": (
        "tests/conftest.py",
        "def pytest_runtest_makereport(item):\n    outcome = yield\n    item.seen = outcome.get_result()\n",
    ),
    "the network is away": ("tests/conftest.py", QUIET),
    "a program ends": ("cli.py", PROGRAM),
    "an exit is expected": (
        "tests/test_cli.py",
        "def test_it():\n    with pytest.raises(SystemExit):\n        sys.exit(0)\n",
    ),
    "tests of a module": ("src/lib.rs", "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n"),
    "a port stays closed under test": (
        "src/server.js",
        "if (process.env.NODE_ENV !== 'test') {\n  app.listen(3000)\n}\n",
    ),
    "types are imported for the checker": ("a.py", "if TYPE_CHECKING:  # pragma: no cover\n    import b\n"),
}


@pytest.mark.parametrize(("path", "text"), HARMLESS.values(), ids=HARMLESS.keys())
def test_what_bends_no_result_says_nothing(path: str, text: str) -> None:
    assert said({path: ""}, {path: text}) == set()


KNOWING = {
    "modules": ("src/a.py", "import sys\nif 'pytest' in sys.modules:\n    X = 1\n"),
    "a variable of pytest": ("src/a.py", "import os\nX = os.environ.get('PYTEST_CURRENT_TEST')\n"),
    "the command line": ("src/a.py", "import sys\nX = any('pytest' in word for word in sys.argv)\n"),
    "the stack": (
        "src/a.py",
        "import inspect\ndef f():\n    return any('test_' in each.filename for each in inspect.stack())\n",
    ),
    "node": ("src/a.js", "if (process.env.NODE_ENV === 'test') { x() }\n"),
    "jest": ("src/a.ts", "if (process.env.JEST_WORKER_ID) { x() }\n"),
    "go": ("a.go", "package a\nfunc F() bool { return testing.Testing() }\n"),
    "rust": ("src/a.rs", "fn f() -> i32 { if cfg!(test) { 1 } else { 2 } }\n"),
}


@pytest.mark.parametrize(("path", "text"), KNOWING.values(), ids=KNOWING.keys())
def test_code_that_asks_whether_it_is_tested_is_grave(path: str, text: str) -> None:
    assert said({}, {path: text}) == {(Change.CODE_KNOWS_TEST, GRAVE)}


def test_a_settings_name_of_a_framework_is_shown() -> None:
    text = "if (process.env.NODE_ENV !== 'test') { pay(1) }\n"
    assert said({}, {"src/a.js": text}) == {(Change.CODE_KNOWS_TEST, SHOWN)}
