"""Commands are run to an end that always comes, and leave nobody behind.

No test sleeps: commands tell through a named pipe that they are there, a deadline passes because the loop's
clock jumps, and the end of a whole group shows as the end of a named pipe that all its members hold open.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import pytest

from sidecar.platform import processes
from sidecar.platform.processes import ProcessEnding, find_program, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
ENVIRONMENT: Final = {"PATH": os.environ["PATH"]}


class Wire:
    """A named pipe that commands hold open for writing."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._read_end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def line(self) -> str:
        """Wait for a line that a command writes."""
        return (await self._next()).decode()

    async def end(self) -> None:
        """Wait until no process holds the pipe open any more."""
        while await self._next():
            pass

    async def _next(self) -> bytes:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._read_end, readable.set)
        try:
            async with asyncio.timeout(LIMIT_S):
                await readable.wait()
        finally:
            loop.remove_reader(self._read_end)
        return os.read(self._read_end, 1000)

    def close(self) -> None:
        os.close(self._read_end)


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    wire = Wire(tmp_path / "wire")
    yield wire
    wire.close()


Jump = Callable[[float], Awaitable[None]]

LAUNCH_TURNS: Final = 20
"""Turns of the loop, none of which waits for time, within which a launched command gets its deadline."""


async def turns_of_the_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)  # noqa: TID251 - it waits for no time


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Move the running loop's clock on by so many seconds."""

    async def jump(seconds: float) -> None:
        await turns_of_the_loop(LAUNCH_TURNS)
        loop = asyncio.get_running_loop()
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + seconds)

    return jump


def shell(
    cwd: Path, line: str, *, seconds: float = LIMIT_S, keep: int = 10_000, tied: bool = False
) -> asyncio.Task[processes.ProcessResult]:
    return asyncio.create_task(
        run_process(line, cwd=str(cwd), environment=ENVIRONMENT, seconds=seconds, keep=keep, tied=tied)
    )


async def test_a_line_runs_in_its_folder_and_its_exit_code_and_both_outputs_come_back(tmp_path: Path) -> None:
    done = await shell(tmp_path, "pwd; echo oops >&2; exit 3")
    assert (done.ending, done.exit_code, done.reason) == (ProcessEnding.EXITED, 3, "")
    assert done.output.decode() == f"{tmp_path}\noops\n"
    assert done.seconds > 0


async def test_a_program_runs_without_a_shell_and_with_its_errors_apart(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1]); print('oops', file=sys.stderr)"
    done = await run_process(
        [sys.executable, "-c", code, "$HOME; ls"],
        cwd=str(tmp_path),
        environment=ENVIRONMENT,
        seconds=LIMIT_S,
        separate=True,
    )
    assert (done.output, done.errors) == (b"$HOME; ls\n", b"oops\n")


async def test_the_environment_is_the_one_given_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "1")
    done = await run_process(
        ["/usr/bin/env"], cwd=str(tmp_path), environment={"THEIRS": "2"}, seconds=LIMIT_S
    )
    assert done.output == b"THEIRS=2\n"


async def test_a_command_reads_what_it_is_fed(tmp_path: Path) -> None:
    fed = b"x" * 1_000_000
    done = await run_process(
        ["wc", "-c"], cwd=str(tmp_path), environment=ENVIRONMENT, seconds=LIMIT_S, stdin=fed
    )
    assert done.output.split() == [b"1000000"]


async def test_a_command_that_is_fed_nothing_finds_its_input_at_the_end(tmp_path: Path) -> None:
    assert (await shell(tmp_path, "cat; echo end")).output == b"end\n"


async def test_of_a_flood_the_first_and_the_last_bytes_are_kept(tmp_path: Path) -> None:
    done = await shell(tmp_path, "echo first; head -c 20000000 /dev/zero; echo last", keep=1000)
    assert done.output.startswith(b"first\n")
    assert done.output.endswith(b"last\n")
    assert b"\n[... 19999011 bytes left out ...]\n" in done.output
    assert len(done.output) < 1100


@pytest.mark.parametrize(
    ("command", "folder", "reason"),
    [
        (["no-such-program"], ".", "no-such-program: No such file or directory"),
        (["/etc/passwd"], ".", "/etc/passwd: Permission denied"),
        ("true", "no-such-folder", "no-such-folder: No such file or directory"),
        (["a\0b"], ".", "embedded null byte"),
    ],
)
async def test_a_command_that_cannot_be_launched_has_a_reason_and_no_exit_code(
    command: str | list[str], folder: str, reason: str, tmp_path: Path
) -> None:
    done = await run_process(command, cwd=str(tmp_path / folder), environment=ENVIRONMENT, seconds=LIMIT_S)
    assert (done.ending, done.exit_code) == (ProcessEnding.NOT_LAUNCHED, None)
    assert done.reason.endswith(reason)


async def test_a_command_that_kills_itself_shows_the_signal(tmp_path: Path) -> None:
    assert (await shell(tmp_path, "kill -SEGV $$")).exit_code == -11


async def test_at_the_deadline_the_whole_group_ends_and_what_it_said_is_kept(
    tmp_path: Path, wire: Wire, jump: Jump
) -> None:
    task = shell(
        tmp_path, f"echo before; (echo here > {wire.path}; sleep 600) 9> {wire.path} & wait", seconds=60
    )
    await wire.line()
    await jump(100)
    done = await task
    assert (done.ending, done.exit_code, done.reason) == (
        ProcessEnding.TIMED_OUT,
        None,
        "it did not end within 60 s",
    )
    assert done.output == b"before\n"
    await wire.end()


async def test_a_group_that_ignores_the_request_to_end_is_killed(
    tmp_path: Path, wire: Wire, jump: Jump, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE_S", 0.01)
    line = f"trap '' TERM; exec 9> {wire.path}; (echo here >&9; sleep 600) & wait"
    task = shell(tmp_path, line, seconds=60)
    await wire.line()
    await jump(100)
    assert (await task).ending is ProcessEnding.TIMED_OUT
    await wire.end()


async def test_cancelling_ends_the_whole_group(tmp_path: Path, wire: Wire) -> None:
    task = shell(tmp_path, f"exec 9> {wire.path}; (echo here >&9; sleep 600) & wait")
    await wire.line()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wire.end()


async def test_cancelling_during_the_launch_leaves_nobody_behind(tmp_path: Path, wire: Wire) -> None:
    for turns in range(1, LAUNCH_TURNS):
        task = shell(tmp_path, f"exec 9> {wire.path}; sleep 600 & wait")
        await turns_of_the_loop(turns)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    with open(os.open(wire.path, os.O_WRONLY | os.O_NONBLOCK), "w"):  # noqa: ASYNC230, PTH123 - opens at once
        pass
    await wire.end()


async def test_a_tied_command_ends_with_us_even_if_we_are_killed(tmp_path: Path, wire: Wire) -> None:
    guarded = "until grep -qs '[K]ILL -- -'$$ /proc/[0-9]*/cmdline || [ $((n+=1)) -gt 999 ]; do :; done"
    line = f"exec 9> {wire.path}; {guarded}; (echo here >&9; sleep 600) & wait"
    ours = (
        "import asyncio; from sidecar.platform.processes import run_process\n"
        f"asyncio.run(run_process({line!r}, cwd='.', environment={ENVIRONMENT!r}, seconds=600, tied=True))"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", ours, cwd=tmp_path)  # noqa: TID251
    await wire.line()
    process.kill()
    await process.wait()
    await wire.end()


async def test_a_grandchild_that_holds_the_output_open_is_killed_and_not_waited_for(
    tmp_path: Path, wire: Wire
) -> None:
    line = f"exec 9> {wire.path}; (echo here >&9; sleep 600) & read line < {tmp_path}/go; echo done"
    os.mkfifo(tmp_path / "go")
    task = shell(tmp_path, line)
    await wire.line()
    (tmp_path / "go").write_text("go\n")
    done = await task
    assert (done.ending, done.exit_code, done.output) == (ProcessEnding.EXITED, 0, b"done\n")
    await wire.end()


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await shell(tmp_path, "true", tied=True)
    gc.collect()  # what earlier tests left is closed now, and not between the two counts
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    for command in ("echo x", "exit 1", "kill -9 $$"):
        await shell(tmp_path, command, tied=True)
    await run_process(["no-such-program"], cwd=str(tmp_path), environment={}, seconds=LIMIT_S, stdin=b"x")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - names only


class TestFind:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        for folder in ("project/bin", "elsewhere"):
            (tmp_path / folder).mkdir(parents=True)
            program = tmp_path / folder / "tool"
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
        return tmp_path / "project"

    def test_a_program_is_found_on_the_path_given(self, project: Path) -> None:
        path = {"PATH": f"/no-such-folder:{project.parent}/elsewhere"}
        assert find_program("tool", path, str(project)) == f"{project.parent}/elsewhere/tool"
        assert find_program("other", path, str(project)) == ""

    def test_folders_inside_the_project_are_skipped(self, project: Path) -> None:
        (project.parent / "link").symlink_to(project / "bin")
        for folder in (project / "bin", project.parent / "link", "bin", "", "."):
            assert find_program("tool", {"PATH": f"{folder}"}, str(project)) == ""
            path = {"PATH": f"{folder}:{project.parent}/elsewhere"}
            assert find_program("tool", path, str(project)) == f"{project.parent}/elsewhere/tool"

    def test_a_project_that_holds_the_home_forbids_nothing(self, project: Path) -> None:
        path = {"PATH": f"{project}/bin", "HOME": f"{project}"}
        assert find_program("tool", path, str(project)) == f"{project}/bin/tool"
