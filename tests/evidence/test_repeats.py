"""A pass that something else may have helped is run once more in a copy, and says what it rests on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.ports import GateContext, ProjectCopy
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
OURS: Final = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath))}
PYTEST: Final = "python3 -m pytest -q -p no:cacheprovider"
SHOP: Final = {
    "shop.py": "def total():\n    return 1\n",
    "conftest.py": "try:\n    import local\nexcept ImportError:\n    pass\n",
    "test_shop.py": "import shop\n\n\ndef test_total():\n    assert shop.total() == 2\n",
}
PATCH: Final = "import shop\n\nshop.total = lambda: 2\n"
REPAIRED: Final = SHOP | {"shop.py": "def total():\n    return 2\n"}
C_FILES: Final = {
    "a.c": "int f(void) { return 0; }\n",
    "t.c": "int f(void);\nint main(void) { return f(); }\n",
    "Makefile": "test: t\n\t./t\nt: a.o t.o\n\tcc -o t a.o t.o\n%.o: %.c\n\tcc -c -o $@ $<\n",
}
MAKEFILE_OF_TARGET: Final = """
test: target/t
	target/t
target/t: a.c t.c
	mkdir -p target && cc -o target/t a.c t.c
"""
IGNORED: Final = "target/\nlocal.py\n.env\n*.o\n/t\ndist/\n*.log\n.coverage\n"


class Case(NamedTuple):
    files: Mapping[str, str]
    command: str
    since: Mapping[str, str] = {}
    """Written after the work began."""
    prepare: str = ""
    """Run after the work began, as the agent would."""
    watch: tuple[str, ...] = ()


def lay_out(project: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)


def run_line(line: str, project: Path) -> None:
    subprocess.run(("sh", "-c", line), cwd=project, check=True, env=OURS, capture_output=True)


async def passed(project: Path, case: Case) -> GateRun:
    """Run a gate that must pass, after the work began."""
    lay_out(project, {**case.files, ".gitignore": IGNORED})
    run_line("git init --quiet", project)
    workspace = GitWorkspace(project.parent / "kept")
    base = await workspace.remember(str(project), OURS)
    lay_out(project, case.since)
    run_line(case.prepare, project)
    at = GateContext(
        project=str(project),
        tree=await workspace.fingerprint(str(project), OURS),
        environment=OURS,
        base=base,
        watch=case.watch,
    )
    gate = Gate(id="tests", command=case.command, why="", kind=Kind.TESTS)
    (run,) = await ProjectGates(workspace=workspace).run((gate,), at, LIMIT_S)
    assert run.outcome is Outcome.PASSED, run.output
    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


RESTS_ON_OTHERS: Final = {
    "an ignored module that conftest imports": (
        Case(SHOP, PYTEST, {"local.py": PATCH}),
        "it passes only with local.py, which git ignores and which changed since the work began",
    ),
    "an ignored mark that is only looked for": (
        Case({}, "test -e dist/done", {"dist/done": ""}),
        "it passes only with dist/done, which git ignores and which changed since the work began",
    ),
    "a file that was swapped while it ran": (
        Case({"value": "bad\n"}, '[ "${PWD##*/}" = project ] && echo good > value; grep -q good value'),
        "value changed while it ran, and it did not pass in a copy",
    ),
}
STANDS: Final = {
    "an ignored file that was there before": Case(
        {**REPAIRED, "local.py": "", ".env": "A=1\n"}, f". ./.env && [ $A = 1 ] && {PYTEST}"
    ),
    "an ignored file that nothing needs": Case(REPAIRED, PYTEST, {"local.py": "", "app.log": "x\n"}),
    "what the agent built": Case(C_FILES, "make test", prepare="make test"),
    "what the run builds": Case(C_FILES, "make test"),
    "what a tool measured": Case(REPAIRED, f"test -e .coverage && {PYTEST}", {".coverage": "x"}),
    "a suite that no copy can run": Case(
        {"value": "1\n"}, '[ "${PWD##*/}" = project ]', {"app.log": "x\n", "dist/a.js": "x\n"}
    ),
    "a suite that writes a file git does not ignore": Case(
        REPAIRED, f"date +%N > report.txt; {PYTEST}", {"report.txt": "old\n"}
    ),
}


@pytest.mark.parametrize(("case", "reason"), RESTS_ON_OTHERS.values(), ids=RESTS_ON_OTHERS)
async def test_a_pass_that_rests_on_something_else_decides_nothing_and_says_on_what(
    case: Case, reason: str, project: Path
) -> None:
    run = await passed(project, case)
    assert (run.moved, run.reason) == (True, reason)


@pytest.mark.parametrize("case", STANDS.values(), ids=STANDS)
async def test_a_pass_that_repeats_without_it_stands(case: Case, project: Path) -> None:
    run = await passed(project, case)
    assert (run.moved, run.reason) == (False, "")


async def test_a_pass_that_no_copy_can_repeat_says_that_it_was_not_repeated(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unknown(*_arguments: object) -> ProjectCopy:
        return ProjectCopy(unseen="there is no room")

    monkeypatch.setattr(GitWorkspace, "copy_at", unknown)
    run = await passed(project, Case(REPAIRED, PYTEST, {"app.log": "x\n"}))
    assert (run.moved, run.reason) == (
        False,
        "it could not be run without app.log, which git ignores and which changed since the work began",
    )


@pytest.mark.parametrize(
    ("command", "opened"), [("make test", ("a.c",)), ("true", ())], ids=["built before", "looks elsewhere"]
)
async def test_what_was_built_before_is_built_anew_in_a_copy_to_see_what_it_opens(
    command: str, opened: tuple[str, ...], project: Path
) -> None:
    files = {**C_FILES, "Makefile": MAKEFILE_OF_TARGET}
    run = await passed(project, Case(files, command, prepare="make test", watch=("a.c",)))
    assert (run.moved, run.opened) == (False, opened)
