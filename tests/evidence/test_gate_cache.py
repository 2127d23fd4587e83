"""What a pass depends on outside the tree: each of it makes an older pass void."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.gates.cache import (
    GateMemory,
    RunEnvironment,
    describe_circumstances,
    digest_run_environment,
)
from sidecar.evidence.ports import GateContext
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.platform.data import load_data
from sidecar.work.place import ProjectCopies
from support.git_projects import commit_all, git, repository
from support.projects import lay

GATE: Final = Gate(
    id="tests", command="tool --check sub", why="the test says so", kind=Kind.TESTS, folder="sub"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("bin", "home", "p/sub", "p/node_modules", "v/bin", "v/lib/python3.11/site-packages"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "v/bin/python").symlink_to(sys.executable)
    for name in ("tool", "node"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path / "p"


def site(project: Path, **more: str) -> GateContext:
    root = project.parent
    environment = {
        "PATH": str(root / "bin"),
        "HOME": str(root / "home"),
        "VIRTUAL_ENV": str(root / "v"),
        "CI": "1",
    }
    return GateContext(project=str(project), tree="t1", environment=environment | more)


def write(path: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("other")

    return change


def install(root: Path) -> None:
    (root / "v/lib/python3.11/site-packages/new").mkdir()
    os.utime(root / "v/lib/python3.11/site-packages", ns=(1, 1))


def exchange_python(root: Path) -> None:
    (root / "v/bin/python").unlink()
    (root / "v/bin/python").symlink_to("/bin/sh")


KNOWN = load_data("run_environment", RunEnvironment)


@pytest.mark.parametrize(
    "change",
    [
        *(
            pytest.param(write(f"p/{name}"), id=name)
            for name in load_data("run_environment", RunEnvironment).lock_files
        ),
        pytest.param(write("p/sub/package-lock.json"), id="a lock file beside the gate"),
        pytest.param(write("p/node_modules/.package-lock.json"), id="what npm installed"),
        pytest.param(write("p/node_modules/.yarn-integrity"), id="what yarn installed"),
        pytest.param(write("p/node_modules/.modules.yaml"), id="what pnpm installed"),
        pytest.param(install, id="what pip installed"),
        pytest.param(write("v/pyvenv.cfg"), id="the virtual environment's settings"),
        pytest.param(exchange_python, id="the virtual environment's interpreter"),
        pytest.param(write("bin/tool"), id="the tool"),
        pytest.param(write("bin/node"), id="an interpreter"),
        pytest.param(write("home/.pyenv/version"), id="the choice of a version"),
    ],
)
def test_another_world_is_told_by(change: Callable[[Path], None], project: Path) -> None:
    before = digest_run_environment(GATE, site(project))
    assert digest_run_environment(GATE, site(project)) == before
    change(project.parent)
    assert digest_run_environment(GATE, site(project)) != before


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("PYTHONPATH", True),
        ("PERL5OPT", True),
        ("CLAUDE_SESSION", False),
        ("SHLVL", False),
    ],
)
def test_variables_that_a_check_gets_matter_and_others_do_not(
    name: str, project: Path, *, matters: bool
) -> None:
    assert (
        digest_run_environment(GATE, site(project))
        != digest_run_environment(GATE, site(project, **{name: "other"}))
    ) is matters


def test_a_project_that_is_not_there_has_a_world() -> None:
    assert digest_run_environment(GATE, GateContext(project="/no/such", tree="t1", environment={}))
    assert digest_run_environment(
        GATE, GateContext(project="/no/\0such", tree="t1", environment={"PATH": "\0", "HOME": "\0"})
    )


@pytest.mark.process
async def test_a_pass_does_not_hold_once_something_else_is_installed(project: Path) -> None:
    gates, at = ProjectGates(), site(project)
    cached = []
    for number in range(4):
        if number == 2:
            write("p/node_modules/.package-lock.json")(project.parent)
        cached += [run.cached for run in await gates.run([GATE], at, 30)]
    assert cached == [False, True, False, True]


@pytest.mark.process
async def test_a_pass_holds_in_other_worktrees_and_in_copies_on_the_same_files_alone(tmp_path: Path) -> None:
    main = lay(repository(tmp_path / "main"), {".gitignore": ".venv/\n", "check.sh": "true\n"})
    commit_all(main, "checked")
    lay(main, {".venv/pyvenv.cfg": "", ".venv/bin/.keep": ""})
    (main / ".venv/bin/python").symlink_to(sys.executable)
    git(main, "worktree", "add", "--quiet", str(tmp_path / "other"))
    workspace, gate = (
        GitWorkspace(tmp_path / "kept"),
        Gate(id="t", command="sh check.sh", why="", kind=Kind.TESTS),
    )
    gates, environment = ProjectGates(workspace=workspace), {"PATH": os.defpath}

    async def cached(place: str | Path, origin: GateContext | None = None) -> bool:
        tree = await workspace.fingerprint(str(place), environment)
        at = GateContext(project=str(place), tree=tree, environment=environment, origin=origin)
        return (await gates.run([gate], at, 30))[0].cached

    assert [await cached(main), await cached(main), await cached(tmp_path / "other")] == [False, True, True]
    async with ProjectCopies(workspace, str(main), environment).open("copy") as copy:
        own = GateContext(project=str(main), tree="", environment=environment)
        assert await cached(copy.project, own)
        lay(Path(copy.project), {"check.sh": "true \n"})
        assert not await cached(copy.project, own)
    lay(tmp_path / "other", {"new": ""})
    assert not await cached(tmp_path / "other")


@pytest.mark.parametrize(
    ("kept", "asked", "holds"),
    [
        (0.0, 0.0, True),
        (5.0, 0.0, True),
        (5.0, 5.0, True),
        (5.0, 6.0, True),
        (6.0, 5.0, False),
        (0.0, 5.0, False),
    ],
)
def test_a_pass_tells_what_changed_outside_since_it_was_asked_or_later(
    kept: float, asked: float, *, holds: bool
) -> None:
    at = GateContext(project="/p", tree="t", environment={}, since=kept)
    memory, circumstances = GateMemory(), describe_circumstances(GATE, at)
    memory.keep(circumstances, GateRun(gate=GATE, outcome=Outcome.PASSED, tree="t"), at)
    assert (memory.recall(circumstances, GATE, replace(at, since=asked)) is not None) is holds


def test_a_failure_in_a_copy_counts_in_copies_alone() -> None:
    at = GateContext(project="/p", tree="t", environment={})
    memory, copied = GateMemory(), replace(at, origin=at)
    failed = GateRun(gate=GATE, outcome=Outcome.FAILED, tree="t")
    for place in (at, copied):
        memory.keep(describe_circumstances(GATE, place), failed, place)
    assert memory.recall(describe_circumstances(GATE, at), GATE, at) is None
    assert memory.recall(describe_circumstances(GATE, copied), GATE, copied)
