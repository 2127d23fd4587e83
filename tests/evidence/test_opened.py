"""A run of a gate tells which of the watched files were opened, whatever language they are in."""

from __future__ import annotations

import os
import py_compile
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.cache import GateMemory, describe_circumstances
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Outcome
from sidecar.platform import watching
from sidecar.platform.watching import OpenedFiles
from support.loops import run

PYTHON_TEST: Final = "from shop.a import f\n\n\ndef test_f():\n    assert f() == 1\n"
NODE_TEST: Final = (
    "const {test} = require('node:test'); const {f} = require('./a.js'); test('f', () => { f() })\n"
)
C_FILES: Final = {
    "c/a.c": "int f(void) { return 1; }\n",
    "c/b.c": "int g(void) { return 2; }\n",
    "c/t.c": "int f(void);\nint main(void) { return f() != 1; }\n",
    "c/Makefile": "all: t\nt: a.c t.c\n\tcc -o t a.c t.c\n",
}
PYTHON_FILES: Final = {
    "shop/__init__.py": "",
    "shop/a.py": "def f():\n    return 1\n",
    "shop/b.py": "def g():\n    return 2\n",
    "test_a.py": PYTHON_TEST,
}


class Case(NamedTuple):
    files: Mapping[str, str]
    command: str
    opened: tuple[str, ...]
    """Of all files named a or b, which are watched."""
    needs: str
    prepare: Callable[[Path], object] = lambda _: None


def compile_modules(project: Path) -> None:
    for file in project.glob("shop/*.py"):
        py_compile.compile(str(file), doraise=True)


def install_copy(project: Path) -> None:
    """Put a copy of the package where an installer would, and the source where nothing imports it."""
    shutil.copytree(project / "shop", project / "lib" / "site-packages" / "shop")
    (project / "src").mkdir()
    (project / "shop").rename(project / "src" / "shop")


CASES: Final = {
    "pytest opens what its tests import": Case(
        PYTHON_FILES, "python3 -m pytest -q", ("shop/a.py",), "python3"
    ),
    "bytecode that is there counts as its module": Case(
        PYTHON_FILES, "python3 -m unittest -q test_a", ("shop/a.py",), "python3", compile_modules
    ),
    "a copy that was installed from the source counts as the source": Case(
        PYTHON_FILES | {"conftest.py": "import sys\n\nsys.path.insert(0, 'lib/site-packages')\n"},
        "python3 -m pytest -q",
        ("src/shop/a.py",),
        "python3",
        install_copy,
    ),
    "node": Case(
        {"js/a.js": "exports.f = () => 1\n", "js/b.js": "exports.g = 1\n", "js/t.test.js": NODE_TEST},
        "node --test js/",
        ("js/a.js",),
        "node",
    ),
    "a compiler opens what it builds": Case(C_FILES, "make -C c", ("c/a.c",), "cc"),
    "a script": Case({"bin/a.sh": "exit 0\n", "bin/b.sh": "exit 1\n"}, "sh bin/a.sh", ("bin/a.sh",), "sh"),
}


def lay_out(project: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)


def site(project: Path, *watch: str) -> GateContext:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    session = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return GateContext(project=str(project), tree="t", environment=session | {"PATH": path}, watch=watch)


def gate_of(command: str) -> Gate:
    return Gate(id="check:1", command=command, why="")


@pytest.mark.process
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_run_tells_which_watched_files_it_opened(case: Case, tmp_path: Path) -> None:
    if not shutil.which(case.needs):
        pytest.skip(f"there is no {case.needs}")
    lay_out(tmp_path, case.files)
    case.prepare(tmp_path)
    product = [
        str(file.relative_to(tmp_path))
        for file in tmp_path.rglob("[ab].*")
        if not {"site-packages", "__pycache__"} & {*file.parts}
    ]
    ended = run(run_gate_once(gate_of(case.command), site(tmp_path, *sorted(product)), 60))
    assert (ended.outcome, ended.opened) == (Outcome.PASSED, case.opened), ended.output


@pytest.mark.process
def test_a_file_that_is_opened_by_a_link_was_opened(tmp_path: Path) -> None:
    lay_out(tmp_path, {"real/a.sh": "exit 0\n"})
    (tmp_path / "linked").symlink_to("real")
    ended = run(run_gate_once(gate_of("sh linked/a.sh"), site(tmp_path, "real/a.sh"), 60))
    assert ended.opened == ("real/a.sh",)


@pytest.mark.process
def test_nothing_is_told_where_nothing_was_watched_or_nobody_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, {"a.sh": "exit 0\n"})
    assert run(run_gate_once(gate_of("sh a.sh"), site(tmp_path), 60)).opened is None
    missing = site(tmp_path, "a.sh", "gone/b.sh")
    assert run(run_gate_once(gate_of("sh a.sh"), missing, 60)).opened is None
    monkeypatch.setattr(watching, "OPENED_FOLDERS", 0)
    assert run(run_gate_once(gate_of("sh a.sh"), site(tmp_path, "a.sh"), 60)).opened is None


def test_what_is_told_late_is_heard(tmp_path: Path) -> None:
    files = [tmp_path / f"folder{number}" / "a.py" for number in range(40)]
    for file in files:
        file.parent.mkdir()
        file.write_text("")
    heard = OpenedFiles(files)
    heard.begin()
    for file in files[:-1]:
        file.read_bytes()
    opened = heard.end()
    heard.close()
    assert opened == frozenset(files[:-1])


def test_a_remembered_pass_answers_only_for_files_that_it_watched() -> None:
    memory, gate = GateMemory(), gate_of("pytest")
    asked = GateContext(project="/p", tree="t", environment={}, watch=("a.py", "b.py"))
    at = describe_circumstances(gate, asked)
    memory.keep(at, GateRun(gate=gate, outcome=Outcome.PASSED, tree="t", opened=("a.py",)), asked)
    recalled = [
        memory.recall(at, gate, replace(asked, watch=watch))
        for watch in (("a.py",), ("b.py",), ("b.py", "c.py"))
    ]
    assert [one.opened if one else "runs again" for one in recalled] == [("a.py",), (), "runs again"]
