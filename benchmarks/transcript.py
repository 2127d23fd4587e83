"""Whether a stop costs what was added to the transcript, and not what is in it: 50 MB against 50 KB.

Both end in the same turn. "At first sight": a session that the sidecar does not know; "followed": one whose
last stop it saw. The aim is for the whole stop, as the host waits for it; then come the socket without the
relay's process, and the reader alone, where a difference cannot hide.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from host import HostSession, checked
from measure import Figure, Report, Series, in_turn, rounds
from relay import relayed
from stage import Line, Stage, staged
from transcripts import Author, append

from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import SystemClock

ROUNDS: Final = 40
SMALL: Final = 50 * 1000
LARGE: Final = 50 * 1000 * 1000
CALLS: Final = 3
"""Tool calls of the last turn, and of each that is added."""
ROOM: Final = 2000
"""Characters of each result."""
LONG_TURN: Final = 3500
"""Tool calls of a turn that is longer than what is looked back, 16 MiB."""
AIM: Final = 1.2


Tell = Callable[[bytes], float]
"""Tells the sidecar of an event; what that cost, in ms."""


class Sample:
    """A transcript of some size, whose last turn is the same in all."""

    def __init__(self, stage: Stage, size: int, calls: int = CALLS) -> None:
        """So many bytes, and then a turn of so many tool calls."""
        self._stage = stage
        self._file = stage.home / f"{size}-{calls}.jsonl"
        last = Author("the last turn")
        turn = list(last.turn(calls, ROOM))
        append(self._file, Author("what was before").history(size - sum(map(len, turn))))
        append(self._file, turn)
        self.said = last.said
        self.follow()

    def follow(self) -> None:
        """Begin a session whose transcript the sidecar follows: each way to speak is another host."""
        copy = self._stage.home / f"{uuid.uuid4()}-followed.jsonl"
        self.followed = HostSession(self._stage, Path(shutil.copy(self._file, copy)))

    @property
    def size(self) -> int:
        """Bytes of the transcript."""
        return self._file.stat().st_size

    def unseen(self) -> Path:
        """The transcript under a name that nobody has seen."""
        path = self._stage.home / f"{uuid.uuid4()}.jsonl"
        os.link(self._file, path)
        return path

    def stop_at_first_sight(self, tell: Tell) -> float:
        """A session that the sidecar does not know stops."""
        return tell(HostSession(self._stage, self.unseen()).stopped(self.said))

    def next_stop(self, tell: Tell) -> float:
        """The followed session does another turn, and stops."""
        return tell(self.followed.wrote(self.followed.author.turn(CALLS, ROOM)))

    def read(self, runner: asyncio.Runner) -> float:
        """Our reader sees it for the first time."""
        stop = AgentStopped(
            key=SessionKey("claude-code", "read"),
            project=str(self._stage.project),
            transcript=str(self.unseen()),
            last_message=self.said,
        )
        reader = RecordFiles(RECORD, SystemClock().pause)

        async def read() -> float:
            begun = time.perf_counter()
            turn = await reader.read(stop, 0)
            cost = (time.perf_counter() - begun) * 1000
            if not turn.last_message_id:
                raise RuntimeError("the reader did not find the last message")
            return cost

        return runner.run(read())


def measured(*, quick: bool) -> Report:
    """Through the relay, on the socket, and our reader alone."""
    times = rounds(ROUNDS, quick=quick)
    with staged() as stage:
        small, large = Sample(stage, SMALL), Sample(stage, LARGE)
        long = Sample(stage, SMALL, LONG_TURN)
        sizes = f"{small.size:,} bytes, {large.size:,} bytes, and {long.size:,} bytes in one turn"
        stage.start()
        figures = _stops(small, large, times, lambda event: relayed(stage, "Stop", event), AIM)
        small.follow()
        large.follow()
        with Line(stage) as line:
            figures += _stops(small, large, times, line.timed)
            first = in_turn(times, *(partial(one.stop_at_first_sight, line.timed) for one in (small, long)))
        checked(large.followed, "nothing-suspicious")
        with asyncio.Runner() as runner:
            read = in_turn(times, *(partial(one.read, runner) for one in (small, large)))
    figures += [
        _figure("reading alone, at first sight", read),
        _figure("on the socket, at first sight, a turn of over 16 MB", first),
    ]
    return Report(tuple(figures), (f"the transcripts: {sizes}",))


def _stops(small: Sample, large: Sample, times: int, tell: Tell, aim: float | None = None) -> list[Figure]:
    """Both kinds of stop, told in this way."""
    how = "whole stop" if aim else "on the socket"
    first = in_turn(times, *(partial(one.stop_at_first_sight, tell) for one in (small, large)))
    then = in_turn(times, *(partial(one.next_stop, tell) for one in (small, large)))
    return [_figure(f"{how}, at first sight", first, aim), _figure(f"{how}, followed", then, aim)]


def _figure(name: str, found: tuple[Series, ...], aim: float | None = None) -> Figure:
    """From what the small and the large one cost."""
    return Figure(name=name, ours=found[1], against="the same with 50 KB", peer=found[0], aim=aim)
