"""Marks are found where a language says that they are comments or code, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.reading.marks import marks_of
from sidecar.model.inspection import Role

Rows = list[tuple[int, str, str]]


def rows(path: str, text: str, role: Role = Role.SOURCE) -> Rows:
    return [(mark.line, mark.kind, mark.text) for mark in marks_of(path, text, role)]


PYTHON = """\
import os  # noqa: F401 - kept for others
x = "# noqa"
y = 1  # type: ignore[attr-defined]  # noqa
# pylint: disable=b, a
def f():  # pragma: no cover
    if TYPE_CHECKING:  # pragma: no cover
        pass
z = 2  # nosec B101
# ruff: noqa
"""


def test_python_comments_and_not_strings() -> None:
    assert rows("a.py", PYTHON) == [
        (1, "silenced", "noqa [F401]"),
        (3, "silenced", "noqa"),
        (3, "silenced", "type: ignore [attr-defined]"),
        (4, "silenced", "pylint [a, b]"),
        (5, "uncovered", "no cover"),
        (8, "silenced", "nosec [B101]"),
        (9, "silenced", "noqa (whole file)"),
    ]


def test_an_ignored_type_above_all_code_holds_for_the_whole_file() -> None:
    assert rows("a.py", "# a file\n# type: ignore\nimport x\n") == [
        (2, "silenced", "type: ignore (whole file)")
    ]
    assert rows("a.py", "import x  # type: ignore\n") == [(1, "silenced", "type: ignore")]


SCRIPT = """\
// eslint-disable-next-line no-console -- because
/* eslint-disable */
/* eslint-disable b, a */
// @ts-ignore
const s = "// @ts-ignore";
f(); // eslint-disable-line
/* istanbul ignore next */
// biome-ignore lint/x/y: because
/* eslint no-var: "off" */
"""


def test_typescript_comments_and_not_strings() -> None:
    assert rows("a.ts", SCRIPT) == [
        (1, "silenced", "eslint-disable [no-console]"),
        (2, "silenced", "eslint-disable (whole file)"),
        (3, "silenced", "eslint-disable [a, b]"),
        (4, "silenced", "@ts-ignore"),
        (6, "silenced", "eslint-disable"),
        (7, "uncovered", "no cover"),
        (8, "silenced", "biome-ignore [lint/x/y]"),
        (9, "silenced", "eslint [no-var: off]"),
    ]


OTHERS: dict[str, tuple[str, str, Rows]] = {
    "go": (
        "a.go",
        "package a\nvar x = 1 //nolint:errcheck,gosec // why\n",
        [(2, "silenced", "nolint [errcheck, gosec]")],
    ),
    "rust": (
        "a.rs",
        "#![allow(warnings)]\n#[allow(dead_code)]\nfn f() {}\n",
        [(1, "silenced", "allow (whole file) [warnings]"), (2, "silenced", "allow [dead_code]")],
    ),
    "java": (
        "A.java",
        'class A {\n@SuppressWarnings("unchecked")\nvoid f() {}\n}\n',
        [(2, "silenced", "@SuppressWarnings [unchecked]")],
    ),
    "ruby": ("a.rb", "x = 1 # rubocop:disable Style/Foo\n", [(1, "silenced", "rubocop:disable [Style/Foo]")]),
    "php": ("a.php", "<?php\n$x = 1; // @phpstan-ignore-line\n", [(2, "silenced", "phpstan-ignore")]),
    "shell": ("a.sh", "# shellcheck disable=SC1000\necho\n", [(1, "silenced", "shellcheck [SC1000]")]),
    "kotlin": ("a.kt", '@Suppress("X")\nfun f() {}\n', [(1, "silenced", "@SuppressWarnings [X]")]),
}


@pytest.mark.parametrize(("path", "text", "marks"), OTHERS.values(), ids=OTHERS.keys())
def test_directives_of_other_languages(path: str, text: str, marks: Rows) -> None:
    assert rows(path, text) == marks


SWALLOWED = "def pytest_runtest_call(item):\n    try:\n        {}\n    except Exception:\n        pass\n"
HOOKS = {
    "collection replaced": ("def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n", 2),
    "collection cleared": ("def pytest_collection_modifyitems(items):\n    items.clear()\n", 2),
    "deselected": (
        "def pytest_collection_modifyitems(config):\n    config.hook.pytest_deselected(items=[])\n",
        2,
    ),
    "outcome set by name": (
        "def pytest_runtest_logreport(report):\n    setattr(report, 'outcome', 'passed')\n",
        2,
    ),
    "result forced": (
        "def pytest_runtest_call(item):\n    outcome = yield\n    outcome.force_result(None)\n",
        3,
    ),
    "failure swallowed": (SWALLOWED.format("item.runtest()"), 2),
    "test not run": ("def pytest_pyfunc_call(pyfuncitem):\n    return True\n", 2),
    "file not collected": ("def pytest_ignore_collect(path):\n    return 'cart' in str(path)\n", 2),
    "list of files": ("collect_ignore = ['test_a.py']\n", 1),
    "status shown as passed": (
        "def pytest_report_teststatus(report):\n    return 'passed', '.', 'PASSED'\n",
        2,
    ),
    "filter set": ("def pytest_configure(config):\n    config.option.keyword = 'not cart'\n", 2),
    "filter added": ("def pytest_load_initial_conftests(args):\n    args.extend(['-k', 'not cart'])\n", 2),
    "every test skipped": (
        "@pytest.fixture(autouse=True)\ndef skip(request):\n    pytest.skip('no')\n",
        3,
    ),
}


@pytest.mark.parametrize(("text", "line"), HOOKS.values(), ids=HOOKS.keys())
def test_a_hook_counts_for_what_it_does(text: str, line: int) -> None:
    assert [(mark.line, mark.kind) for mark in marks_of("tests/conftest.py", text, Role.TEST)] == [
        (line, "hook")
    ]


NO_HOOKS = {
    "a test run by hand": ("def pytest_pyfunc_call(pyfuncitem):\n    pyfuncitem.obj()\n    return True\n"),
    "a report kept": "def pytest_runtest_makereport(item):\n    r = yield\n    setattr(item, 'rep', r)\n",
    "a marker registered": "def pytest_configure(config):\n    config.addinivalue_line('markers', 'x')\n",
    "nothing ignored": "collect_ignore = []\n",
    "a note that may fail": SWALLOWED.format("note()"),
}


@pytest.mark.parametrize("text", NO_HOOKS.values(), ids=NO_HOOKS.keys())
def test_a_hook_that_bends_nothing_is_no_mark(text: str) -> None:
    assert rows("tests/conftest.py", text, Role.TEST) == []


EXITS: dict[str, tuple[str, str, Role, int]] = {
    "on import of a test": ("tests/test_a.py", "import sys\nsys.exit(0)\n", Role.TEST, 2),
    "in a test": ("tests/test_a.py", "def test_a():\n    os._exit(0)\n", Role.TEST, 2),
    "in a fixture": ("tests/test_a.py", "@pytest.fixture\ndef a():\n    raise SystemExit(0)\n", Role.TEST, 3),
    "at exit": ("tests/conftest.py", "import atexit\natexit.register(lambda: os._exit(0))\n", Role.TEST, 2),
    "on import of a source": ("src/a.py", "import os\nos._exit(0)\n", Role.SOURCE, 2),
    "through pytest": (
        "tests/test_a.py",
        "def test_a():\n    pytest.exit('x', returncode=0)\n",
        Role.TEST,
        2,
    ),
    "javascript": ("a.test.js", "f()\nprocess.exit(0)\n", Role.TEST, 2),
    "javascript, at the end": (
        "a.test.js",
        "process.on('exit', () => { process.exitCode = 0 })\n",
        Role.TEST,
        1,
    ),
    "a runner's setup": ("jest.setup.js", "process.exit(0)\n", Role.SOURCE, 1),
    "java": ("ATest.java", "class ATest {\nvoid f() { System.exit(0); }\n}\n", Role.TEST, 2),
    "rust": ("tests/a.rs", "#[test]\nfn a() { std::process::exit(0); }\n", Role.TEST, 2),
    "ruby": ("spec/spec_helper.rb", "at_exit { exit!(0) }\n", Role.TEST, 1),
}


@pytest.mark.parametrize(("path", "text", "role", "line"), EXITS.values(), ids=EXITS.keys())
def test_an_exit_that_says_all_is_well_is_a_mark(path: str, text: str, role: Role, line: int) -> None:
    assert [(mark.line, mark.kind) for mark in marks_of(path, text, role)] == [(line, "exit")]


def test_a_main_of_go_tests_must_run_them_and_keep_the_outcome() -> None:
    kept = "package a\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n"
    assert rows("a_test.go", kept, Role.TEST) == []
    assert rows("a_test.go", kept.replace("os.Exit(m.Run())", "m.Run()"), Role.TEST) == []
    for body in ("m.Run(); os.Exit(0)", "println()"):
        found = marks_of("a_test.go", kept.replace("os.Exit(m.Run())", body), Role.TEST)
        assert [(mark.line, mark.kind) for mark in found] == [(2, "hook")]


NO_EXITS: dict[str, tuple[str, str, Role]] = {
    "a failure": ("tests/test_a.py", "def test_a():\n    sys.exit(1)\n", Role.TEST),
    "an expected exit": (
        "tests/test_a.py",
        "def test_a():\n    with raises(SystemExit):\n        exit(0)\n",
        Role.TEST,
    ),
    "a child process": (
        "tests/test_a.py",
        "def test_a():\n    if os.fork() == 0:\n        os._exit(0)\n",
        Role.TEST,
    ),
    "a program": ("scripts/a.py", "import sys\nsys.exit(0)\n", Role.SOURCE),
    "a mock": ("a.test.js", "jest.spyOn(process, 'exit')\n", Role.TEST),
    "a callback of a program": ("src/a.js", "main().then(() => process.exit(0))\n", Role.SOURCE),
}


@pytest.mark.parametrize(("path", "text", "role"), NO_EXITS.values(), ids=NO_EXITS.keys())
def test_another_exit_is_none(path: str, text: str, role: Role) -> None:
    assert rows(path, text, role) == []


def test_tests_may_ask_whether_they_are_tests() -> None:
    text = "import sys\nX = 'pytest' in sys.modules\n"
    assert rows("tests/test_a.py", text, Role.TEST) == []
    assert rows("src/a.py", text) == [(2, "knows-test", "X = 'pytest' in sys.modules")]


KNOWING = {
    "a variable of node's runner": ("a.js", "x = process.env.NODE_TEST_CONTEXT ? 1 : 2;\n"),
    "a variable of it is there": ("a.js", "if ('NODE_TEST_CONTEXT' in process.env) x();\n"),
    "arguments of node": ("a.js", "if (process.execArgv.includes('--test')) x();\n"),
    "the program's file": ("a.js", "if (process.argv[1].endsWith('.test.js')) x();\n"),
    "any argument": ("a.js", "if (process.argv.some((each) => each.includes('test'))) x();\n"),
    "a global of the runner": ("a.js", "if (globalThis.it) x();\n"),
    "the main module": ("a.cjs", "if (require.main.filename.includes('test')) x();\n"),
    "a class of JUnit": ("A.java", 'class A { void a() { Class.forName("org.junit.Test"); } }\n'),
    "a stack in Java": ("A.java", 'class A { boolean a() { return e.getClassName().contains("junit"); } }\n'),
    "equals in Java": ("A.java", "class A { public boolean equals(Object o) { return true; } }\n"),
    "a flag in Go": ("a.go", 'package a\nvar b = flag.Lookup("test.v") != nil\n'),
    "the name of a Go program": (
        "a.go",
        'package a\nvar b = strings.HasSuffix(filepath.Base(os.Args[0]), ".test")\n',
    ),
    "equality in Python": (
        "a.py",
        'class A:\n    def __eq__(self, o):\n        "Yes."\n        return True\n',
    ),
    "a lambda in Python": ("a.py", "class A:\n    __eq__ = lambda self, o: True\n"),
    "no difference in Python": ("a.py", "class A:\n    def __ne__(self, o):\n        return False\n"),
}


@pytest.mark.parametrize(("path", "text"), KNOWING.values(), ids=KNOWING.keys())
def test_code_that_knows_it_is_tested_is_marked(path: str, text: str) -> None:
    assert {mark.kind for mark in marks_of(path, text, Role.SOURCE)} == {"knows-test"}


NOT_KNOWING = {
    "a subcommand": ("a.js", "if (process.argv[2] === 'test') run();\n"),
    "started as a program": ("a.cjs", "if (require.main === module) main();\n"),
    "an id": ("a.js", "x = globalThis.items;\n"),
    "equals in Java": ("A.java", "class A { public boolean equals(Object o) { return o == this; } }\n"),
    "a property in Java": ("A.java", 'class A { String a() { return System.getProperty("user.dir"); } }\n'),
    "equality in Python": ("a.py", "class A:\n    def __eq__(self, o):\n        return self is o\n"),
    "truth in Python": ("a.py", "class A:\n    def __bool__(self):\n        return True\n"),
}


@pytest.mark.parametrize(("path", "text"), NOT_KNOWING.values(), ids=NOT_KNOWING.keys())
def test_other_questions_are_no_marks(path: str, text: str) -> None:
    assert marks_of(path, text, Role.SOURCE) == ()


def test_words_in_documents_and_data_are_no_marks() -> None:
    assert rows("README.md", "Use `# noqa` and `// @ts-ignore`.\n", Role.OTHER) == []
    assert rows("a.py", '"""Say `# noqa`, os._exit(0) or PYTEST_CURRENT_TEST."""\n') == []


HOSTILE = ("(" * 3_000, "-" * 30_000 + "1", "\0", "x = '", "\ud800 # noqa", "#" * 10_000, "if x:\n" * 300)


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.rs", "A.java", "a.rb", "a.php", "a.tsx"])
@pytest.mark.parametrize("role", list(Role))
def test_damaged_sources_raise_nothing(path: str, role: Role) -> None:
    for text in HOSTILE:
        assert len(marks_of(path, text, role)) <= 1


def test_too_much_text_and_too_many_marks_are_cut() -> None:
    assert marks_of("a.py", "x = 1  # noqa\n" * 100_000, Role.SOURCE) == ()
    assert len(marks_of("a.py", "x = 1  # noqa\n" * 3_000, Role.SOURCE)) == 2_000


WORDS = st.sampled_from(
    [
        "# noqa",
        "// @ts-ignore",
        "/*",
        "*/",
        "\n",
        " ",
        "def pytest_configure(c):\n",
        "    ",
        "if",
        "'",
        '"',
        "(",
        ")",
        "x",
    ]
)


@given(
    st.sampled_from(["a.py", "a.ts", "a.rs", "a.rb"]),
    st.lists(WORDS, max_size=30),
    st.sampled_from(list(Role)),
)
@settings(max_examples=150)
def test_marks_of_any_text_stand_on_its_lines(path: str, words: list[str], role: Role) -> None:
    text = "".join(words)
    assert all(1 <= mark.line <= text.count("\n") + 1 for mark in marks_of(path, text, role))
