"""What is read in product code, because running old checks cannot show it: only lines that are new count."""

from __future__ import annotations

import pytest

from sidecar.evidence.proof.check_files import find_product_marks
from sidecar.kernel.evidence import CheckChange, FileChange, FindingSeverity
from sidecar.kernel.gate import Kind

SILENCED, KNOWS, EQUAL, EXITS = (
    CheckChange.CHECK_SILENCED,
    CheckChange.CODE_KNOWS_TEST,
    CheckChange.ALWAYS_EQUAL,
    CheckChange.CODE_EXITS,
)


@pytest.mark.parametrize(
    ("path", "line", "change"),
    [
        ("a.py", "x = f()  # type: ignore[arg-type]", SILENCED),
        ("a.py", "import os  # noqa", SILENCED),
        ("a.py", "@no_type_check", SILENCED),
        ("a.ts", "// @ts-expect-error", SILENCED),
        ("a.ts", "const a = b as any;", SILENCED),
        ("a.js", "/* eslint-disable */", SILENCED),
        ("a.go", "x := 1 //nolint:all", SILENCED),
        ("a.rs", "#[allow(unused)]", SILENCED),
        ("a.py", "if 'PYTEST_CURRENT_TEST' in os.environ:", KNOWS),
        ("a.py", "if any(n.startswith('unittest') for n in sys.modules):", KNOWS),
        ("a.js", "if (process.env.NODE_ENV === 'test') return 4;", KNOWS),
        ("a.ts", 'if ("__vitest_worker__" in globalThis) {', KNOWS),
        ("a.go", 'if strings.HasSuffix(os.Args[0], ".test") {', KNOWS),
        ("a.rs", "if cfg!(test) { return 4; }", KNOWS),
        ("a.sh", 'if ps -o args= -p "$PPID" | grep -q t-newest; then', KNOWS),
        ("a.js", "performance.now = () => 0;", KNOWS),
        ("a.py", "cases = json.load(open('tests/cases.json'))", KNOWS),
        ("a.py", "    def __eq__(self, other): return True", EQUAL),
        ("a.py", "os._exit(0)", EXITS),
        ("a.js", "process.exit(0);", EXITS),
    ],
)
def test_a_new_line_of_each_kind_is_found_and_an_old_one_is_not(
    path: str, line: str, change: CheckChange
) -> None:
    found, *_ = find_product_marks([FileChange(path=path, before="\n", after=f"\n{line}\n")])
    assert (found.change, found.weight, found.file, found.line) == (change, FindingSeverity.GRAVE, path, 2)
    assert find_product_marks([FileChange(path=path, before=f"{line}\n", after=f"// moved\n{line}\n")]) == ()
    assert (Kind.LINT in found.kinds) is (change is SILENCED)


def test_a_program_that_looks_at_its_own_name_is_shown() -> None:
    after = 'if std::env::args().next().map_or(false, |name| name.contains("deps")) {\n'
    (found,) = find_product_marks([FileChange(path="src/lib.rs", before="\n", after=after)])
    assert (found.change, found.weight) == (KNOWS, FindingSeverity.SHOWN)


def test_equality_over_two_lines_is_found() -> None:
    after = "class A:\n    def __eq__(self, other: object) -> bool:\n        return True\n"
    found = find_product_marks([FileChange(path="a.py", before="class A:\n", after=after)])
    assert [(one.change, one.weight, one.line) for one in found] == [
        (EQUAL, FindingSeverity.GRAVE, 3),
        (CheckChange.EQUALITY_DEFINED, FindingSeverity.SHOWN, 2),
    ]


def test_a_lost_expectation_of_a_doctest_is_shown() -> None:
    before = 'def f():\n    """\n    >>> f()\n    4\n    """\n'
    (found,) = find_product_marks([FileChange(path="a.py", before=before, after=before.replace("4", "5"))])
    assert (found.change, found.weight, found.after) == (
        CheckChange.EXPECTATION_CHANGED,
        FindingSeverity.SHOWN,
        "4",
    )
    added = before.replace("4\n", "4\n    >>> f() + 1\n    5\n")
    assert find_product_marks([FileChange(path="a.py", before=before, after=added)]) == ()


def test_a_replaced_tool_is_grave_a_ci_setting_is_shown_and_a_check_file_is_left_to_execution() -> None:
    changes = [
        FileChange(path=".venv/bin/pytest", before="a", after="b"),
        FileChange(path=".github/workflows/ci.yml", before="a", after="b"),
        FileChange(path="tests/test_a.py", before="", after="x = 1  # noqa\n"),
    ]
    assert [(one.change, one.weight) for one in find_product_marks(changes)] == [
        (CheckChange.TOOL_REPLACED, FindingSeverity.GRAVE),
        (CheckChange.CI_CHANGED, FindingSeverity.SHOWN),
    ]


@pytest.mark.parametrize(
    ("target", "leaves"), [("/srv/x", True), ("../../x", True), ("../x", False), ("y", False)]
)
def test_a_link_that_leads_out_of_the_project_is_shown(target: str, *, leaves: bool) -> None:
    link = FileChange(path="tests/data", after=target, link=True)
    assert [one.change for one in find_product_marks([link])] == [CheckChange.LINK_LEAVES_TREE] * leaves
