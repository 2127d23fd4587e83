"""docs/proofs/tests.md says which test shows what: it is drawn from the markers `proves` of the tests.

After a change that you mean: `RENEW_SNAPSHOTS=1 python -m pytest tests/house/test_proofs.py`.
"""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Proofs: TypeAlias = Mapping[str, Mapping[str, list[str]]]
"""The names of tests by subject and by file."""

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PAGE: Final = ROOT / "docs" / "proofs" / "tests.md"
BEGINS: Final = "<!-- from here on by tests/house/test_proofs.py -->\n"
ABOUT_THE_TESTS: Final = frozenset({"test_harness.py", "test_opencode_harness.py"})
"""Files in tests/real_hosts that are about the tests' own tools."""


def _subjects(marked: ast.expr) -> set[str]:
    """The subjects in a decorator, or in the value of a `pytestmark`."""
    return {
        str(node.args[0].value)
        for node in ast.walk(marked)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "proves"
        if isinstance(node.args[0], ast.Constant)
    }


def _tests(body: list[ast.stmt], above: set[str]) -> Iterator[tuple[str, str]]:
    """Each test in this body with each of its subjects; `above` are those of the module and the class."""
    for node in body:
        if isinstance(node, Definition):
            own = above.union(*map(_subjects, node.decorator_list))
            if isinstance(node, ast.ClassDef):
                yield from _tests(node.body, own)
            elif node.name.startswith("test_"):
                yield from ((subject, node.name) for subject in own)


def find_proofs() -> Proofs:
    """What the markers of all tests say."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        whole = {
            subject
            for node in module.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
            for subject in _subjects(node.value)
        }
        for subject, name in _tests(module.body, whole):
            found[subject][path.relative_to(ROOT).as_posix()].append(name)
    return found


def draw(proofs: Proofs) -> str:
    """One heading for each subject, one for each file, and the names of its tests as sentences."""
    lines = []
    for subject, files in sorted(proofs.items(), key=lambda proof: proof[0].lower()):
        lines += [f"## {subject[0].upper()}{subject[1:]}", ""]
        for file, names in files.items():
            lines += [f"`{file}`", ""]
            lines += [f"- {name.removeprefix('test_').replace('_', ' ')}" for name in names]
            lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"


def test_the_page_says_which_test_shows_what() -> None:
    head, begins, drawn = PAGE.read_text(encoding="utf-8").partition(BEGINS)
    wanted = draw(find_proofs())
    if os.environ.get("RENEW_SNAPSHOTS"):
        PAGE.write_text(f"{head}{begins}\n{wanted}", encoding="utf-8")
    else:
        assert drawn.lstrip("\n") == wanted, __doc__


def test_every_scene_with_a_real_host_proves_something() -> None:
    files = {path.name for path in (ROOT / "tests" / "real_hosts").glob("test_*.py")} - ABOUT_THE_TESTS
    proving = {Path(file).name for proof in find_proofs().values() for file in proof}
    assert files - proving == set()
    assert len(files) > 10
