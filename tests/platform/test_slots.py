"""Heavy work of all processes waits in one queue, and whoever dies or is inherited from holds up nobody."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sidecar.platform.slots import CALLER, HELD, HELD_VARIABLE, Caller, WorkSlots
from support.memory_stores import TickingClock, at_once

LIMIT_S = 60.0


async def some_looks() -> None:
    """Let everybody look at the queue a few times."""
    for _ in range(10):
        await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop


class Queue:
    """Workers that ask in the order in which they are added, and end when the test says so."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder / "checks"
        self.slots = WorkSlots(self.folder, at_once(number), TickingClock())
        self.begun: list[str] = []
        self.told: list[str] = []
        self.tasks: dict[str, asyncio.Task[str]] = {}
        self.ends: dict[str, asyncio.Event] = {}
        self.caller = Caller()

    async def add(self, name: str, project: str = "", held: str = "") -> None:
        """`name`: of an unattended one it begins with "u"."""
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._work(name, project, held))
        await some_looks()

    async def _work(self, name: str, project: str, held: str) -> str:
        self.caller = Caller(attended=not name.startswith("u"), tell=self.told.append)
        CALLER.set(self.caller)
        async with self.slots.hold({HELD_VARIABLE: held} if held else {}, project):
            self.begun.append(name)
            await self.ends[name].wait()
            return HELD.get()

    async def end(self, *names: str) -> None:
        """Let these end, each when it has begun."""
        async with asyncio.timeout(LIMIT_S):
            for name in names:
                self.ends[name].set()
                await self.tasks[name]

    @property
    def tickets(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("?-*"))


@pytest.mark.parametrize(
    ("number", "asked", "first", "then"),
    [
        (1, "a b c", "a", "abc"),
        (2, "a b c", "ab", "abc"),
        (0, "a b c", "abc", "abc"),
        (1, "u1 u2 a b u3", "u1", "u1abu2u3"),
        (2, "a/p b/p c/q", "ac", "acb"),
        (0, "a/p b/p c/q", "ac", "acb"),
    ],
)
async def test_so_many_are_at_work_in_order_persons_first_and_in_a_project_one(
    tmp_path: Path, number: int, asked: str, first: str, then: str
) -> None:
    queue = Queue(tmp_path, number)
    for one in asked.split():
        await queue.add(*one.split("/"))
    assert "".join(queue.begun) == first
    for event in queue.ends.values():
        event.set()
    async with asyncio.timeout(LIMIT_S):
        await asyncio.gather(*queue.tasks.values())
    assert "".join(queue.begun) == then
    assert queue.tickets == []


async def test_a_wait_is_told_and_counted_and_leaves_nothing_where_it_is_given_up(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1)
    await queue.add("a")
    await queue.add("b")
    await queue.add("c")
    await some_looks()
    assert queue.told == [
        "waiting for 1 other check",
        "waiting for 2 other checks",
    ]
    assert queue.caller.excuse.startswith("; the machine was busy: ")
    queue.tasks["c"].cancel()
    await asyncio.wait([queue.tasks["c"]])
    assert len(queue.tickets) == 2
    await queue.end("a", "b")
    assert queue.told[2:] == ["the checks begin"]


async def test_what_a_holder_starts_waits_for_nothing_and_the_name_of_one_that_ended_is_worth_nothing(
    tmp_path: Path,
) -> None:
    queue = Queue(tmp_path, 1)
    await queue.add("a")
    (own,) = queue.tickets
    await queue.add("nested", held=own)
    assert queue.begun == ["a", "nested"]
    await queue.end("nested", "a")
    assert await queue.tasks["nested"] == await queue.tasks["a"] == own
    await queue.add("b")
    await queue.add("late", held=own)
    assert queue.begun[2:] == ["b"]
    await queue.end("b", "late")


@pytest.mark.process
async def test_a_process_that_is_killed_holds_up_nobody(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1)
    source = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from sidecar.platform.ports import SystemClock\n"
        "from sidecar.platform.slots import WorkSlots\n"
        "from support.memory_stores import at_once\n"
        "async def work():\n"
        f"    async with WorkSlots(Path({str(queue.folder)!r}), at_once(1), SystemClock()).hold({{}}):\n"
        "        print('up', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(work())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    other = await asyncio.create_subprocess_exec(  # noqa: TID251 - it is killed
        *(sys.executable, "-c", source), stdout=asyncio.subprocess.PIPE, env=environment
    )
    async with asyncio.timeout(LIMIT_S * 3):
        assert other.stdout
        assert await other.stdout.readline() == b"up\n"
        await queue.add("a")
        assert queue.begun == []
        other.kill()
        await other.wait()
        await queue.end("a")
    assert queue.tickets == []


async def test_where_the_folder_cannot_be_used_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "checks").write_text("a file")
    queue = Queue(tmp_path, 1)
    await queue.add("a")
    await queue.add("b")
    await queue.end("a", "b")
