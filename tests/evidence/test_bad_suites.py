"""Test suites that misbehave: each comes to an end, in bounded memory, and leaves nobody of its group behind.

What is not covered, for it cannot be: a process that calls `setsid` has left the group and is not killed.
"""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome

pytestmark = [pytest.mark.process, pytest.mark.proves("crashes and bad input")]

LIMIT_S: Final = 120.0
MANY: Final = 64 << 20
"""Bytes that the whole handling of an endless output may take at its peak."""


def at(project: Path) -> GateContext:
    return GateContext(project=str(project), tree="t1", environment={"PATH": os.environ["PATH"]})


async def run(line: str, project: Path, seconds: float = LIMIT_S, **fields: Any) -> GateRun:
    said: dict[str, Any] = {"id": "tests", "kind": Kind.TESTS, "why": "the test says so"} | fields
    (done,) = await ProjectGates().run([Gate(command=line, **said)], at(project), seconds)
    return done


@pytest.mark.long
@pytest.mark.parametrize(
    "line", ["yes | head -c 1G", "head -c 1G /dev/zero"], ids=["lines", "one line of zeros"]
)
async def test_a_gigabyte_of_output_takes_bounded_memory(line: str, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        done = await run(f"{line}; echo '2 passed in 1s'", tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (done.outcome, done.executed) == (Outcome.PASSED, 2)
    assert len(done.output) <= 4000
    assert peak < MANY


async def test_a_daemon_in_the_group_dies_and_does_not_hold_the_run_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = await run("(exec >alive; sleep 600) & echo '1 passed in 1s'", tmp_path)
        assert (done.outcome, done.executed) == (Outcome.PASSED, 1)
        assert await asyncio.wait_for(asyncio.to_thread(_end, reader), LIMIT_S) == b""
    finally:
        os.close(reader)


def _end(reader: int) -> bytes:
    """Wait until nobody holds the pipe open for writing."""
    os.set_blocking(reader, True)
    return os.read(reader, 1)


async def test_one_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    done = await run("trap '' TERM; echo begun; while :; do sleep 1; done", tmp_path, 0.5)
    assert done.outcome is Outcome.COULD_NOT_RUN
    assert done.reason.startswith("it did not end within 0."), "the seconds that were left of the deadline"


async def test_one_that_waits_for_input_gets_none(tmp_path: Path) -> None:
    done = await run("read answer || echo 'no answer'", tmp_path)
    assert (done.outcome, done.output) == (Outcome.PASSED, "no answer\n")


async def test_one_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    done = await run("exec >&- 2>&-; for i in 1 2 3; do true; done; exit 4", tmp_path)
    assert (done.outcome, done.exit_code, done.output) == (Outcome.FAILED, 4, "")


async def test_binary_output_is_text(tmp_path: Path) -> None:
    done = await run("head -c 300000 /dev/urandom; echo; echo '3 passed in 1s'", tmp_path)
    assert (done.outcome, done.executed) == (Outcome.PASSED, 3)
    done.output.encode()


@pytest.mark.parametrize(
    ("signal", "outcome"),
    [("KILL", Outcome.COULD_NOT_RUN), ("TERM", Outcome.COULD_NOT_RUN), ("SEGV", Outcome.FAILED)],
)
async def test_an_end_by_a_signal_is_a_crash_or_came_from_outside(
    signal: str, outcome: Outcome, tmp_path: Path
) -> None:
    done = await run(f"ulimit -c 0; kill -{signal} $$", tmp_path)
    assert done.outcome is outcome
    assert f"SIG{signal}" in done.reason


async def test_one_that_breeds_processes_leaves_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    try:
        breed = "for a in 1 2 3 4; do (for b in 1 2 3 4; do sleep 600 >alive & done; wait) & done; wait"
        done = await run(breed, tmp_path, 1.0)
        assert done.outcome is Outcome.COULD_NOT_RUN
        assert await asyncio.wait_for(asyncio.to_thread(_end, reader), LIMIT_S) == b""
    finally:
        os.close(reader)


async def test_a_cancelled_batch_kills_every_group(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    begun = asyncio.Event()
    asyncio.get_running_loop().add_reader(reader, begun.set)
    gates = [
        Gate(id=name, command="echo x >alive; sleep 600 >alive", why="", kind=Kind.LINT, alone=False)
        for name in ("a", "b")
    ]
    try:
        task = asyncio.create_task(ProjectGates().run(gates, at(tmp_path), LIMIT_S))
        await asyncio.wait_for(begun.wait(), LIMIT_S)
        asyncio.get_running_loop().remove_reader(reader)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        os.set_blocking(reader, True)
        while await asyncio.wait_for(asyncio.to_thread(os.read, reader, 100), LIMIT_S):
            pass
    finally:
        os.close(reader)


async def test_a_report_that_is_a_trap_is_not_read(tmp_path: Path) -> None:
    """The tests themselves can write what they like where the report is."""
    conftest = (
        "import os\n"
        "def pytest_unconfigure(config):\n"
        "    path = config.option.xmlpath\n"
        "    os.unlink(path)\n"
        "    os.symlink('/dev/zero', path)\n"
    )
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    done = await run("python3 -m pytest -q -p no:cacheprovider", tmp_path, counts=True)
    assert (done.outcome, done.executed) == (Outcome.PASSED, 1)
