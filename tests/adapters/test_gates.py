"""The project's own checks: which they are, how they run, and what their end means."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sidecar.adapters import gate_output, processes, pytest_runs
from sidecar.adapters.gate_memory import GateMemory
from sidecar.adapters.gate_output import plain, read_junit, read_text
from sidecar.adapters.gates import ProjectGates
from sidecar.adapters.processes import Ending, Finished
from sidecar.adapters.runners import PYTEST, detect
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


class TestDetection:
    @pytest.mark.parametrize(
        ("files", "command"),
        [
            ({"go.mod": ""}, "go test ./..."),
            ({"package.json": '{"scripts": {"test": "vitest"}}'}, "npm test"),
            ({"pyproject.toml": ""}, PYTEST),
            ({"pytest.ini": ""}, PYTEST),
            ({"setup.cfg": ""}, PYTEST),
            ({"tests/unit/test_a.py": ""}, PYTEST),
            ({"test_a.py": ""}, PYTEST),
            ({"Cargo.toml": ""}, "cargo test"),
            ({"Gemfile": ""}, "bundle exec rspec"),
            ({"mix.exs": ""}, "mix test"),
            ({"mix.exs": "", "Cargo.toml": "", "pyproject.toml": "", "go.mod": ""}, "go test ./..."),
            ({"package.json": '{"scripts": {"test": "x"}}', "pyproject.toml": ""}, "npm test"),
            ({"package.json": "{}", "pyproject.toml": ""}, PYTEST),
            ({"pyproject.toml": "", "Cargo.toml": ""}, PYTEST),
        ],
    )
    def test_the_first_sign_decides(self, files: dict[str, str], command: str, tmp_path: Path) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        found = detect(tmp_path)
        assert found is not None
        assert (found.id, found.command, found.counts, found.required) == ("tests", command, True, False)
        assert next(iter(files)).rpartition("/")[2] in found.why or len(files) > 1

    @pytest.mark.parametrize(
        "package",
        [
            '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
            '{"scripts": {"test": " "}}',
            '{"scripts": {"test": null}}',
            '{"scripts": []}',
            '{"scripts": {"build": "tsc"}}',
            "{",
            "\x00",
        ],
    )
    def test_a_package_without_real_tests_is_no_sign(self, package: str, tmp_path: Path) -> None:
        (tmp_path / "package.json").write_text(package)
        assert detect(tmp_path) is None

    @pytest.mark.parametrize("project", ["/no/such/folder", "/dev/null", "/\x00"])
    def test_no_project_is_no_sign(self, project: str) -> None:
        assert detect(Path(project)) is None

    def test_a_folder_with_the_name_of_a_sign_is_no_sign(self, tmp_path: Path) -> None:
        (tmp_path / "go.mod").mkdir()
        assert detect(tmp_path) is None


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

    @pytest.mark.parametrize(
        ("line", "known"),
        [
            ("pytest", True),
            ("pytest -q tests/test_a.py::test_b -k 'a or b'", True),
            ("python3.12 -Werror -m pytest", True),
            ("/opt/venv/bin/python -m pytest -x", True),
            ("FOO=1 BAR=2 py.test", True),
            ("uv run pytest -q", True),
            ("poetry run python -m pytest", True),
            ("coverage run -m pytest", True),
            ("cd sub && pytest", False),
            ("pytest; true", False),
            ("pytest | tee log", False),
            ("pytest > log", False),
            ("pytest $(cat args)", False),
            ("pytest `cat args`", False),
            ("pytest\nruff check", False),
            ("pytest # all", False),
            ("pytest 'unbalanced", False),
            ("python -m unittest", False),
            ("python pytest.py", False),
            ("echo pytest", False),
            ("uv pytest", False),
            ("", False),
        ],
    )
    def test_only_one_simple_command_is_known_as_pytests(self, line: str, known: bool) -> None:  # noqa: FBT001
        assert pytest_runs.is_pytest(line) is known

    @pytest.mark.parametrize(
        "line", ["pytest --junitxml=mine.xml", "pytest --junit-xml mine.xml", "pytest -- a.py"]
    )
    def test_a_line_that_takes_no_report_stays_as_it_is(self, line: str) -> None:
        assert pytest_runs.reporting(line, Path("/tmp/r.xml")) == line  # noqa: S108 - only a name


class TestPython:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        project = tmp_path / "project"
        project.mkdir()
        return project

    def environment(self, folder: Path, *, has_pytest: bool = True) -> Path:
        """Make what passes for a virtual environment with pytest, or without it."""
        python = folder / "bin" / "python"
        python.parent.mkdir(parents=True)
        isolated = "" if has_pytest else "-I -S "
        python.write_text(f'#!/bin/sh\nVIA={shlex.quote(str(folder))} exec {sys.executable} {isolated}"$@"\n')
        python.chmod(0o755)
        return folder

    async def used(self, project: Path, session: Mapping[str, str]) -> str:
        """Name the Python that ran the tests, and the active environment."""
        said = "os.environ.get('VIA'), os.environ.get('VIRTUAL_ENV')"
        write(project, test_a=f"import os\ndef test_a(): raise ValueError({said})\n")
        done = await run(TESTS, project, session)
        return done.reason or done.failures[0].removeprefix("test_a.py::test_a: ValueError: ")

    async def test_the_sessions_virtual_environment_comes_first(self, project: Path, tmp_path: Path) -> None:
        self.environment(project / ".venv")
        active = self.environment(tmp_path / "active")
        assert await self.used(project, OURS | {"VIRTUAL_ENV": str(active)}) == f"('{active}', '{active}')"

    @pytest.mark.parametrize("name", [".venv", "venv"])
    async def test_the_projects_own_comes_before_the_path(self, name: str, project: Path) -> None:
        own = self.environment(project / name)
        assert await self.used(project, OURS) == f"('{own}', '{own}')"

    async def test_an_active_one_without_pytest_gives_way(self, project: Path, tmp_path: Path) -> None:
        bare = self.environment(tmp_path / "bare", has_pytest=False)
        assert await self.used(project, OURS | {"VIRTUAL_ENV": str(bare)}) == f"(None, '{bare}')"
        own = self.environment(project / ".venv")
        assert await self.used(project, OURS | {"VIRTUAL_ENV": str(bare)}) == f"('{own}', '{own}')"

    async def test_one_of_the_project_without_pytest_ends_the_search(self, project: Path) -> None:
        own = self.environment(project / ".venv", has_pytest=False)
        assert await self.used(project, OURS) == f"pytest is not installed in {own}"

    async def test_no_python_with_pytest_could_not_run(self, project: Path, tmp_path: Path) -> None:
        bare = self.environment(tmp_path / "bare", has_pytest=False) / "bin"
        (bare / "python3").symlink_to(bare / "python")
        for path in (f"{bare}", "/no-such-folder"):
            assert (await self.used(project, {"PATH": path})).startswith("no Python with pytest")

    async def test_a_folder_named_pytest_is_not_pytest(self, project: Path, tmp_path: Path) -> None:
        (project / "pytest").mkdir()
        (project / "pytest" / "__init__.py").touch()
        bare = self.environment(tmp_path / "bare", has_pytest=False) / "bin"
        (bare / "python3").symlink_to(bare / "python")
        assert (await self.used(project, {"PATH": f"{bare}"})).startswith("no Python with pytest")

    async def test_a_check_that_the_user_named_finds_the_environments_commands(self, project: Path) -> None:
        own = self.environment(project / ".venv")
        tool = own / "bin" / "tool"
        tool.write_text("#!/bin/sh\necho $VIRTUAL_ENV\n")
        tool.chmod(0o755)
        assert (await run(check("tool"), project)).output == f"{own}\n"

    async def test_a_pytest_that_the_line_names_and_that_is_missing_could_not_run(
        self, project: Path
    ) -> None:
        done = await run(check(f"{sys.executable} -I -S -m pytest"), project)
        assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, 1)
        assert done.reason == "pytest is not installed"


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


class TestWords:
    @pytest.mark.parametrize(
        ("text", "executed"),
        [
            ("== 1 failed, 2 passed, 3 skipped, 1 xfailed in 0.12s ==", 4),
            ("5 passed, 2 warnings in 1.20s", 5),
            ("no tests ran in 0.01s", 0),
            ("1 error in 0.11s", 0),
            ("3 skipped in 0.02s", 0),
            ("Tests:       1 failed, 1 skipped, 2 passed, 4 total", 3),
            ("      Tests  1 failed | 2 passed (3)", 3),
            ("  12 passing (30ms)\n  1 failing", 13),
            ("test result: ok. 3 passed; 0 failed; 1 ignored\ntest result: ok. 2 passed; 0 failed", 5),
            ("3 examples, 1 failure, 1 pending", 2),
            ("1 doctest, 4 tests, 0 failures, 2 excluded", 2),
            ("Ran 7 tests in 0.001s\n\nOK", 7),
            ("# tests 3\n# pass 2\n# fail 1", 3),
            ("\u2139 pass 2\n\u2139 fail 0", 2),
            ("No tests found, exiting with code 0", 0),
            ("No test files found, exiting with code 0", 0),
            ("?   \texample.com/a\t[no test files]", 0),
            ("ok  \texample.com/a\t0.01s [no tests to run]", 0),
            ("ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]", None),
            ("all fine", None),
            ("copied 3 passed files in 2s", None),
            ("", None),
        ],
    )
    def test_the_number_of_tests_is_read_from_the_summary(self, text: str, executed: int | None) -> None:
        assert read_text(text).executed == executed

    @pytest.mark.parametrize(
        ("text", "failures"),
        [
            ("FAILED tests/test_a.py::test_b - ValueError: no", ["tests/test_a.py::test_b: ValueError: no"]),
            ("ERROR test_a.py", ["test_a.py"]),
            ("--- FAIL: TestAdd (0.00s)\n    add_test.go:5: 3 != 4", ["TestAdd"]),
            ("test parse::comment ... FAILED\nerror: test failed", ["parse::comment"]),
            ("  \u25cf sum \u203a adds\n  \u25cf Console\n", ["sum \u203a adds"]),
            (" FAIL  src/a.test.ts > adds", ["src/a.test.ts > adds"]),
            ("  1) parser\n     accepts comments:", ["parser"]),
            ("not ok 1 - adds\n\u2716 takes (1.5ms)\n\u2716 failing tests:", ["adds", "takes"]),
            ("rspec ./spec/a_spec.rb:3 # adds", ["rspec ./spec/a_spec.rb:3"]),
            ("FAIL: test_a (a.B.test_a)", ["test_a (a.B.test_a)"]),
            ("a.py:3:1: F401 unused", ["a.py:3:1: F401 unused"]),
            ("src/a.ts(3,5): error TS2322: no", ["src/a.ts(3,5): error TS2322: no"]),
            ("error[E0308]: mismatched types", ["error[E0308]: mismatched types"]),
            ("Traceback\nKeyError: 'x'", ["KeyError: 'x'"]),
            ("12:30:45 INFO: started\nall fine\na.py:3: DeprecationWarning: old", []),
            ("FAILED a::b - x\nFAILED a::b - x\n", ["a::b: x"]),
        ],
    )
    def test_failures_are_read_in_each_runners_words(self, text: str, failures: list[str]) -> None:
        assert list(read_text(text).failures) == failures

    @pytest.mark.parametrize("report", ["", "<testsuites>", "no xml", None])
    def test_a_report_that_is_not_whole_is_none(self, report: str | None, tmp_path: Path) -> None:
        if report is not None:
            (tmp_path / "r.xml").write_text(report)
        assert read_junit(tmp_path / "r.xml") is None

    def test_a_report_that_is_too_big_is_not_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "r.xml").write_text("<a><testcase/></a>")
        assert read_junit(tmp_path / "r.xml") is not None
        monkeypatch.setattr(gate_output, "REPORT_LIMIT", 5)
        assert read_junit(tmp_path / "r.xml") is None

    def test_text_of_any_bytes_is_text(self) -> None:
        assert plain(b"\xff\x1b[1mA\x1b[0m\r\nB\rC\n") == "\ufffdA\nC\n"
