"""The project's own checks: how they run, and what their end means."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from msgspec.structs import replace

from sidecar.evidence.code_host import CodeHost
from sidecar.evidence.detection.python import PYTEST_COMMAND
from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.gates.cache import GateMemory
from sidecar.evidence.ports import GateContext, ProjectCopy
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.platform.slots import CALLER, HELD_VARIABLE, Caller, WorkSlots
from support.memory_stores import TickingClock, at_once
from support.scripted_ports import ScriptedWorkspace

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
"""Deadline of a run that is to end by itself, in seconds."""
TESTS: Final = Gate(id="tests", command=PYTEST_COMMAND, why="pyproject.toml", counts=True, kind=Kind.TESTS)
OURS: Final = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath))}
"""A session whose `python3` is the one that runs these tests, which has pytest."""
PYRIGHT: Final = (
    '{"generalDiagnostics": [{"file": "a.js", "message": "wrong"}, '
    '{"file": "a.js", "message": "odd", "severity": "warning"}]}'
)
ESLINT: Final = (
    '[{"filePath": "a.js", "messages": '
    '[{"message": "wrong"}, {"message": "odd", "severity": 1}, {"message": "queer", "severity": 1}]}]'
)


def check(command: str, **fields: Any) -> Gate:
    said: dict[str, Any] = {"id": "check:1", "kind": Kind.BUILD, "why": "the test says so"} | fields
    return Gate(command=command, **said)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def run(
    gate: Gate, project: Path, session: Mapping[str, str] = OURS, gates: ProjectGates | None = None
) -> GateRun:
    at = GateContext(project=str(project), tree="t1", environment=session)
    (done,) = await (gates or ProjectGates()).run((gate,), at, LIMIT_S)
    return done


@pytest.mark.proves("runs and the journal")
async def test_a_running_check_ends_with_a_sidecar_that_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "wire")
    guarded = "until grep -qs '[K]ILL -- -'$$ /proc/[0-9]*/cmdline || [ $((n+=1)) -gt 999 ]; do :; done"
    line = f"exec 9> wire; {guarded}; echo up >&9; sleep 600"
    source = (
        "import asyncio\n"
        "from sidecar.evidence.gates.batch import ProjectGates\n"
        "from sidecar.evidence.ports import GateContext\n"
        "from sidecar.kernel.gate import Gate\n"
        f"at = GateContext(project={str(tmp_path)!r}, tree='t1', environment={OURS!r})\n"
        f"gate = Gate(id='check:1', command={line!r}, why='')\n"
        "asyncio.run(ProjectGates().run((gate,), at, 600))\n"
    )
    sidecar = await asyncio.create_subprocess_exec(sys.executable, "-c", source)  # noqa: TID251
    async with asyncio.timeout(LIMIT_S):
        wire = await asyncio.to_thread((tmp_path / "wire").open, "rb")
        with wire:
            assert await asyncio.to_thread(wire.readline) == b"up\n"
            sidecar.kill()
            await sidecar.wait()
            assert await asyncio.to_thread(wire.read) == b""  # nobody holds it any more


class TestMemory:
    async def test_a_pass_while_the_files_moved_is_not_remembered(self, tmp_path: Path) -> None:
        trees = ["t2", "t1"]

        class Moving(ScriptedWorkspace):
            async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:  # noqa: ARG002 - the port's
                return trees.pop(0)

        gates = ProjectGates(workspace=Moving())
        ran = [await run(check("true"), tmp_path, gates=gates) for _ in range(3)]
        assert [(one.outcome, one.moved, one.cached) for one in ran] == [
            (Outcome.PASSED, True, False),
            (Outcome.PASSED, False, False),
            (Outcome.PASSED, False, True),
        ]
        assert trees == []


class TestPytest:
    async def test_a_pass_tells_how_many_tests_ran(self, tmp_path: Path) -> None:
        skipped = "import pytest\n@pytest.mark.skip\ndef test_c(): pass\n"
        expected = "@pytest.mark.xfail\ndef test_d(): assert 0\n"
        write(tmp_path, test_a="def test_a(): pass\ndef test_b(): pass\n" + skipped + expected)
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.exit_code, done.executed) == (Outcome.PASSED, 0, 3)
        assert (done.failures, done.reason) == ((), "")
        assert "junit" not in done.output
        assert done.output.rstrip().endswith("s")
        assert done.seconds > 0

    async def test_failures_are_named_as_pytest_would_run_them(self, tmp_path: Path) -> None:
        (tmp_path / "tests").mkdir()
        inside = "class TestB:\n    def test_c(self): assert 1 == 2, object()\n"
        write(tmp_path / "tests", test_a=inside + "def test_d(): raise ValueError('no')\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.exit_code, done.executed) == (Outcome.FAILED, 1, 2)
        first, second = done.failures
        assert first.startswith("tests/test_a.py::TestB::test_c: AssertionError: <object object at 0x...>")
        assert second == "tests/test_a.py::test_d: ValueError: no"

    async def test_at_most_five_failures_are_named_briefly(self, tmp_path: Path) -> None:
        write(tmp_path, test_a="".join(f"def test_{n}(): raise ValueError('x' * 999)\n" for n in range(9)))
        done = await run(TESTS, tmp_path)
        assert (len(done.failures), done.executed) == (5, 9)
        assert {len(failure) for failure in done.failures} == {300}

    async def test_a_file_that_cannot_be_imported_is_a_failure(self, tmp_path: Path) -> None:
        write(tmp_path, test_a="raise ImportError('half a module')\n", test_b="def test_b(): pass\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.exit_code, done.executed) == (Outcome.FAILED, 2, 0)
        assert done.failures == ("test_a.py: ImportError: half a module",)

    async def test_a_broken_conftest_is_a_failure(self, tmp_path: Path) -> None:
        write(tmp_path, test_a="def test_a(): pass\n", conftest="import no_such_module\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.exit_code) == (Outcome.FAILED, 4)
        assert "ModuleNotFoundError: No module named 'no_such_module'" in done.failures

    @pytest.mark.parametrize("tests", ["", "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n"])
    async def test_green_with_nothing_executed_has_not_passed(self, tests: str, tmp_path: Path) -> None:
        write(tmp_path, test_a=tests)
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.executed) == (Outcome.FAILED, 0)
        assert (done.reason, done.failures) == ("nothing was executed", ("nothing was executed",))

    async def test_a_test_file_whose_name_is_not_utf_8_runs_without_a_report(self, tmp_path: Path) -> None:
        (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
        named = os.fsdecode(b"test_caf\xe9.py")
        (tmp_path / named).write_text("def test_a(): pass\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.executed) == (Outcome.PASSED, 1)
        write(tmp_path, test_b="def test_b(): assert 1 == 2\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.executed, done.failing) == (Outcome.FAILED, 2, ("test_b.py::test_b",))

    async def test_a_wrong_call_could_not_run(self, tmp_path: Path) -> None:
        done = await run(check(f"{PYTEST_COMMAND} no_such_test.py"), tmp_path)
        assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, 4)
        assert done.reason.startswith(
            "pytest was called wrongly: file or directory not found: no_such_test.py"
        )

    async def test_a_crash_of_the_tests_is_a_failure_and_a_kill_from_outside_is_not(
        self, tmp_path: Path
    ) -> None:
        write(tmp_path, test_a="import os, signal\ndef test_a(): os.kill(os.getpid(), signal.SIGABRT)\n")
        crashed = await run(TESTS, tmp_path)
        assert (crashed.outcome, crashed.failures) == (Outcome.FAILED, ("it crashed with SIGABRT",))
        write(tmp_path, test_a="import os, signal\ndef test_a(): os.kill(os.getpid(), signal.SIGKILL)\n")
        killed = await run(TESTS, tmp_path)
        assert (killed.outcome, killed.reason) == (Outcome.COULD_NOT_RUN, "it was ended by SIGKILL")

    async def test_a_run_leaves_no_compiled_files_and_no_report(self, tmp_path: Path) -> None:
        write(tmp_path, test_a="import b\ndef test_a(): pass\n", b="")
        assert (await run(TESTS, tmp_path)).outcome is Outcome.PASSED
        assert names(tmp_path) == [".pytest_cache", "b.py", "test_a.py"]


class TestRunning:
    async def test_it_runs_in_the_project_with_the_sessions_environment_without_marks(
        self, tmp_path: Path
    ) -> None:
        marks = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/x", "SUPERVISOR_WORKER": "1", "AI_AGENT": "x"}
        done = await run(check("pwd; env"), tmp_path, OURS | marks | {"CI": "1", "MINE": "yes"})
        folder, *lines = done.output.splitlines()
        assert folder == str(tmp_path)
        names = {line.partition("=")[0] for line in lines}
        assert {"CI", "MINE", "PATH", "PYTHONDONTWRITEBYTECODE"} <= names
        assert not names & marks.keys()

    async def test_the_end_of_the_output_is_kept_without_colours(self, tmp_path: Path) -> None:
        done = await run(
            check(r"seq 5000; printf '\033[31mred\033[0m\n10%%\r20%%\n\033]0;title\007end\0\n'"), tmp_path
        )
        assert done.output.endswith("5000\nred\n20%\nend\n")
        assert len(done.output) == 4000

    async def test_a_missing_command_says_which(self, tmp_path: Path) -> None:
        done = await run(check("no-such-command --version"), tmp_path)
        assert done.outcome is Outcome.COULD_NOT_RUN
        assert done.reason.startswith("the command was not found: ")
        assert "no-such-command" in done.reason

    async def test_a_command_that_is_no_program_could_not_run(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("text")
        done = await run(check("./text"), tmp_path)
        assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, 126)

    async def test_a_missing_project_could_not_run(self, tmp_path: Path) -> None:
        done = await run(check("true"), tmp_path / "missing")
        assert done.outcome is Outcome.COULD_NOT_RUN
        assert done.reason.endswith("No such file or directory")

    async def test_a_check_that_counts_nothing_may_be_green_without_tests(self, tmp_path: Path) -> None:
        line = "echo 'no tests ran in 0.01s'"
        assert (await run(check(line), tmp_path)).outcome is Outcome.PASSED
        assert (await run(check(line, counts=True), tmp_path)).outcome is Outcome.FAILED

    async def test_a_pass_under_another_path_or_environment_is_another_pass(self, tmp_path: Path) -> None:
        gates = ProjectGates()
        sessions = [
            OURS,
            {"PATH": "/usr/bin:/bin"},
            OURS | {"VIRTUAL_ENV": "/v"},
            OURS | {"EDITOR": "x"},
            OURS,
        ]
        assert [(await run(check("true"), tmp_path, session, gates)).cached for session in sessions] == [
            *(False, False, False, False),
            True,
        ]

    async def test_of_many_passes_the_ones_used_last_are_remembered(self, tmp_path: Path) -> None:
        gates = ProjectGates(GateMemory(size=2))
        lines = ["true", "true 2", "true", "true 3", "true", "true 2"]
        cached = [(await run(check(line), tmp_path, OURS, gates)).cached for line in lines]
        assert cached == [False, False, True, False, True, False]


async def test_checks_and_their_copies_run_in_a_slot_and_what_they_start_inherits_it(tmp_path: Path) -> None:
    """The time of copies does not go by while they wait."""
    slots, waits = WorkSlots(tmp_path / "slots", at_once(1), TickingClock()), asyncio.Event()
    CALLER.set(Caller(tell=lambda _: waits.set()))
    at = GateContext(project=str(tmp_path), tree="t1", environment=OURS)
    gate = check(f"echo ${HELD_VARIABLE}; ls {tmp_path / 'slots'}")

    class Copying(ScriptedWorkspace):
        async def copy(self, *_: object) -> ProjectCopy:
            return ProjectCopy(project=str(tmp_path), environment=OURS)

    (ran,) = await ProjectGates(slots=slots).run((gate,), at, LIMIT_S)
    async with slots.hold({}):
        slow = [replace(ran, seconds=60.0)]
        task = asyncio.create_task(ScratchChecks(Copying(), slots=slots).run_base(at, slow, 0.0))
        async with asyncio.timeout(LIMIT_S):
            await waits.wait()
    for (done,) in ((ran,), await task):
        own, *there = done.output.split()
        assert there == [own]
    assert [path.name for path in (tmp_path / "slots").iterdir()] == []


class TestFolders:
    async def test_a_gate_runs_in_its_own_folder(self, tmp_path: Path) -> None:
        (tmp_path / "packages" / "web").mkdir(parents=True)
        done = await run(check("pwd", folder="packages/web"), tmp_path)
        assert done.output == f"{tmp_path}/packages/web\n"

    @pytest.mark.parametrize(
        ("folder", "reason"),
        [
            ("..", "the folder '..' is outside the project"),
            ("/", "the folder '/' is outside the project"),
            ("away", "the folder 'away' is outside the project"),
            ("missing", "the folder 'missing' is not there"),
            ("a\0b", "the folder 'a\\x00b' cannot be resolved"),
        ],
    )
    async def test_a_folder_that_is_not_the_projects_is_refused(
        self, folder: str, reason: str, tmp_path: Path
    ) -> None:
        (tmp_path / "away").symlink_to("/")
        done = await run(check("touch ran", folder=folder), tmp_path)
        assert (done.outcome, done.reason) == (Outcome.COULD_NOT_RUN, reason)


class TestEnds:
    async def test_every_failure_is_named_by_what_stays_the_same(self, tmp_path: Path) -> None:
        write(tmp_path, test_a="".join(f"def test_{n}(): raise ValueError({n})\n" for n in range(9)))
        done = await run(TESTS, tmp_path)
        assert done.failing == tuple(f"test_a.py::test_{n}" for n in range(9))

    async def test_skipped_tests_are_counted(self, tmp_path: Path) -> None:
        skip = "@pytest.mark.skip\n"
        write(tmp_path, test_a=f"import pytest\ndef test_a(): pass\n{skip}def test_b(): pass\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.executed, done.skipped) == (Outcome.PASSED, 1, 1)

    @pytest.mark.proves("the loop")
    @pytest.mark.parametrize(
        ("least", "outcome", "failing"),
        [
            (80.0, Outcome.PASSED, ()),
            (90.0, Outcome.FAILED, ("the coverage is ... %, less than ... %",)),
        ],
    )
    async def test_too_little_coverage_is_a_failure(
        self, least: float, outcome: Outcome, failing: tuple[str, ...], tmp_path: Path
    ) -> None:
        gate = check("echo 'TOTAL 8 1 87.5%'", kind=Kind.COVERAGE, least=least)
        done = await run(gate, tmp_path)
        assert (done.outcome, done.percent, done.failing) == (outcome, 87.5, failing)

    @pytest.mark.proves("the loop")
    @pytest.mark.parametrize(
        ("tool", "script", "warnings"),
        [
            ("pyright", f"echo '{PYRIGHT}'", 1),
            ("eslint", f'while [ "$1" != -o ]; do shift; done; echo \'{ESLINT}\' > "$2"', 2),
        ],
    )
    async def test_warnings_are_counted_beside_errors(
        self, tool: str, script: str, warnings: int, tmp_path: Path
    ) -> None:
        (tmp_path / tool).write_text(f"#!/bin/sh\n{script}\nexit 1\n")
        (tmp_path / tool).chmod(0o755)
        done = await run(check(f"./{tool}", kind=Kind.LINT), tmp_path)
        assert (done.failing, done.warnings) == (("a.js: wrong",), warnings)

    async def test_coverage_that_nobody_told_could_not_be_measured(self, tmp_path: Path) -> None:
        done = await run(check("true", kind=Kind.COVERAGE, least=80), tmp_path)
        assert (done.outcome, done.percent) == (Outcome.COULD_NOT_RUN, None)
        assert done.reason.startswith("no coverage was told")

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("python3 -m no_such_module_anywhere", "no_such_module_anywhere"),
            ("make no-such-target", "No rule to make target"),
            ("echo 'npm error Missing script: \"x\"'; exit 1", 'npm error Missing script: "x"'),
            ("echo 'error: no such command: `clippy`'; exit 101", "error: no such command: `clippy`"),
        ],
    )
    async def test_what_never_looked_at_the_project_could_not_run(
        self, line: str, reason: str, tmp_path: Path
    ) -> None:
        done = await run(check(line), tmp_path)
        assert done.outcome is Outcome.COULD_NOT_RUN
        assert reason in done.reason

    async def test_the_same_words_beside_a_failing_test_are_a_failure(self, tmp_path: Path) -> None:
        line = "echo 'error: no such command: x'; echo 'FAILED test_a.py::test_b - no'; exit 1"
        assert (await run(check(line), tmp_path)).outcome is Outcome.FAILED


class TestTools:
    async def test_a_tool_that_does_not_know_our_flags_is_run_without_them(self, tmp_path: Path) -> None:
        ruff = tmp_path / "ruff"
        ruff.write_text("#!/bin/sh\nfor w; do case $w in --*) echo unknown option $w; exit 2;; esac; done\n")
        ruff.chmod(0o755)
        done = await run(check("./ruff check ."), tmp_path)
        assert (done.outcome, done.output) == (Outcome.PASSED, "")

    async def test_a_tool_that_gave_up_could_not_run_and_says_why(self, tmp_path: Path) -> None:
        ruff = tmp_path / "ruff"
        ruff.write_text("#!/bin/sh\necho 'reading'; echo 'error: the settings are broken'; exit 2\n")
        ruff.chmod(0o755)
        done = await run(check("./ruff check ."), tmp_path)
        assert (done.outcome, done.reason) == (
            Outcome.COULD_NOT_RUN,
            "ruff gave up: error: the settings are broken",
        )

    @pytest.mark.skipif(not shutil.which("node"), reason="node is not here")
    async def test_nodes_own_runner_reports(self, tmp_path: Path) -> None:
        (tmp_path / "a.test.js").write_text(
            "const {describe, it} = require('node:test')\n"
            "describe('cart', () => {\n  it('adds', () => { throw new Error('no') })\n"
            "  it.skip('later', () => {})\n  it('works', () => { console.log('hello') })\n})\n"
        )
        done = await run(check("node --test", counts=True), tmp_path, os.environ)
        assert (done.outcome, done.executed, done.skipped) == (Outcome.FAILED, 2, 1)
        assert (done.failing, done.failures) == (("cart > adds",), ("cart > adds: no",))
        assert "hello" in done.output
        assert names(tmp_path) == ["a.test.js"]


class TestRemotes:
    async def test_without_somebody_to_ask_a_pull_request_could_not_be_looked_at(
        self, tmp_path: Path
    ) -> None:
        done = await run(check("gh pr view", kind=Kind.PR), tmp_path)
        assert (done.outcome, done.reason) == (
            Outcome.COULD_NOT_RUN,
            "nothing is set up to ask the remote",
        )

    async def test_the_one_who_can_is_asked_and_what_it_says_is_not_remembered(self, tmp_path: Path) -> None:
        class Forge(CodeHost):
            asked = 0

            async def run(self, gate: Gate, site: GateContext, seconds: float) -> GateRun:
                assert seconds <= LIMIT_S
                self.asked += 1
                return GateRun(gate=gate, outcome=Outcome.PASSED, tree=site.tree)

        forge = Forge()
        gates = ProjectGates(code_host=forge)
        for kind in (Kind.PR, Kind.CI, Kind.CI):
            done = await run(check("gh", kind=kind), tmp_path, OURS, gates)
            assert (done.outcome, done.cached) == (Outcome.PASSED, False)
        assert forge.asked == 3


@pytest.mark.parametrize("swapped", [True, False])
async def test_a_pass_on_files_that_were_others_meanwhile_is_one_of_moved_files(
    tmp_path: Path, *, swapped: bool
) -> None:
    """Another process that knows the project's place: it swaps a file, and puts it back in time."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "value").write_text("bad\n" if swapped else "good\n")
    line = (
        f'if [ "$PWD" = {project} ]; then cp value ../value; echo good > value; fi; '
        "grep -q good value; code=$?; [ -f ../value ] && mv ../value value; exit $code"
    )
    workspace = GitWorkspace(tmp_path / "kept")
    base = await workspace.remember(str(project), OURS)
    at = GateContext(project=str(project), tree=base.tree, environment=OURS, base=base)
    (done,) = await ProjectGates(workspace=workspace).run((check(line),), at, LIMIT_S)
    assert (done.outcome, done.moved) == (Outcome.PASSED, swapped)
    quiet = check("grep -q . value")
    (done,) = await ProjectGates(workspace=workspace).run((quiet,), at, LIMIT_S)
    assert (done.outcome, done.moved) == (Outcome.PASSED, False)
