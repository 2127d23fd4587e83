"""The project's own checks: how they run, and what their end means."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sidecar.adapters import processes
from sidecar.adapters.gate_memory import GateMemory
from sidecar.adapters.gates import ProjectGates
from sidecar.adapters.processes import Ending, Finished
from sidecar.adapters.runners import PYTEST
from sidecar.model.gate import Gate, GateRun, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_S: Final = 60.0
"""Deadline of a run that is to end by itself, in seconds."""
TESTS: Final = Gate(id="tests", command=PYTEST, why="pyproject.toml", counts=True)
OURS: Final = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath))}
"""A session whose `python3` is the one that runs these tests, which has pytest."""


def check(command: str, *, counts: bool = False) -> Gate:
    return Gate(id="check:1", command=command, why="the test says so", counts=counts)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def run(
    gate: Gate, project: Path, session: Mapping[str, str] = OURS, gates: ProjectGates | None = None
) -> GateRun:
    return await (gates or ProjectGates()).run(gate, str(project), "t1", session, LIMIT_S)


class TestMemory:
    async def test_a_pass_while_the_files_moved_is_not_remembered(self, tmp_path: Path) -> None:
        trees = ["t2", "t1"]

        async def look(_project: str, _session: Mapping[str, str]) -> str:
            return trees.pop(0)

        gates = ProjectGates(look=look)
        ran = [await run(check("true"), tmp_path, gates=gates) for _ in range(3)]
        assert [(one.outcome, one.cached) for one in ran] == [
            (Outcome.PASSED, False),
            (Outcome.PASSED, False),
            (Outcome.PASSED, True),
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
        write(tmp_path, test_a="import no_such_module\n", test_b="def test_b(): pass\n")
        done = await run(TESTS, tmp_path)
        assert (done.outcome, done.exit_code, done.executed) == (Outcome.FAILED, 2, 0)
        assert done.failures == ("test_a.py: ModuleNotFoundError: No module named 'no_such_module'",)

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

    async def test_a_wrong_call_could_not_run(self, tmp_path: Path) -> None:
        done = await run(check(f"{PYTEST} no_such_test.py"), tmp_path)
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
        sessions = [OURS, {"PATH": "/usr/bin:/bin"}, OURS | {"VIRTUAL_ENV": "/v"}, OURS | {"LANG": "C"}]
        assert [(await run(check("true"), tmp_path, session, gates)).cached for session in sessions] == [
            False,
            False,
            False,
            True,
        ]

    async def test_of_many_passes_the_ones_used_last_are_remembered(self, tmp_path: Path) -> None:
        gates = ProjectGates(GateMemory(size=2))
        lines = ["true", "true 2", "true", "true 3", "true", "true 2"]
        cached = [(await run(check(line), tmp_path, OURS, gates)).cached for line in lines]
        assert cached == [False, False, True, False, True, False]

    async def test_one_at_a_time_runs_in_a_project(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        running, seen = list[str](), list[int]()

        async def ran(command: str, **_: object) -> Finished:
            running.append(command)
            seen.append(len(running))
            for _turn in range(10):
                await asyncio.sleep(0)  # noqa: TID251 - it waits for no time
            running.remove(command)
            return Finished(ending=Ending.EXITED, exit_code=0)

        monkeypatch.setattr(processes, "run", ran)
        gates = ProjectGates()
        await asyncio.gather(*(run(check(line), tmp_path, OURS, gates) for line in ("a", "b", "c")))
        assert seen == [1, 1, 1]
        await asyncio.gather(*(run(check("d"), tmp_path / name, OURS, gates) for name in ("one", "two")))
        assert seen[3:] == [1, 2]
        assert (await run(check("a"), tmp_path, OURS, gates)).cached

    async def test_who_waits_longer_than_the_deadline_for_its_turn_could_not_run(
        self, tmp_path: Path
    ) -> None:
        gates = ProjectGates()
        first = asyncio.create_task(run(check("sleep 600"), tmp_path, OURS, gates))
        await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop: it has its turn
        done = await gates.run(check("true"), str(tmp_path), "t1", OURS, 0.01)
        assert done.outcome is Outcome.COULD_NOT_RUN
        assert done.reason == "other checks of this project took all of 0.01 s"
        assert (await run(check("true"), tmp_path.parent, OURS, gates)).outcome is Outcome.PASSED
        first.cancel()
        await asyncio.wait([first])
