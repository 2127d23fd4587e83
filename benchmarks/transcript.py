"""Whether a stop costs what was added to the transcript, and not what is in it: 50 MB against 50 KB.

Both end in the same turn. "At first sight": a session that the sidecar does not know; "followed": one whose
last stop it saw. Measured on the socket, without the relay's process, which would hide a difference.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Final

from host import HostSession, checked
from measure import Figure, Report, Series, clocked, in_turn, rounds
from stage import Line, Stage, staged
from transcripts import Author, append

from sidecar.adapters.claude_code.transcript import ClaudeTranscripts
from sidecar.adapters.clock import SystemClock
from sidecar.model.events import Stopped
from sidecar.model.session import SessionKey

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
        self.followed = HostSession(
            stage, Path(shutil.copy(self._file, stage.home / f"{size}-{calls}-followed.jsonl"))
        )

    @property
    def size(self) -> int:
        """Bytes of the transcript."""
        return self._file.stat().st_size

    def unseen(self) -> Path:
        """The transcript under a name that nobody has seen."""
        path = self._stage.home / f"{uuid.uuid4()}.jsonl"
        os.link(self._file, path)
        return path

    def stop_at_first_sight(self, line: Line) -> float:
        """A session that the sidecar does not know stops."""
        event = HostSession(self._stage, self.unseen()).stopped(self.said)
        return clocked(lambda: line.hook(event))

    def next_stop(self, line: Line) -> float:
        """The followed session does another turn, and stops."""
        event = self.followed.wrote(self.followed.author.turn(CALLS, ROOM))
        return clocked(lambda: line.hook(event))

    def read(self, runner: asyncio.Runner) -> float:
        """Our reader sees it for the first time."""
        stop = Stopped(
            key=SessionKey("claude-code", "read"),
            project=str(self._stage.project),
            transcript=str(self.unseen()),
            last_message=self.said,
        )
        reader = ClaudeTranscripts(SystemClock().pause)

        async def read() -> float:
            begun = time.perf_counter()
            turn = await reader.read(stop, 0)
            cost = (time.perf_counter() - begun) * 1000
            if not turn.last_message_id:
                raise RuntimeError("the reader did not find the last message")
            return cost

        return runner.run(read())


def measured(*, quick: bool) -> Report:
    """First the sidecar, then its reader alone."""
    times = rounds(ROUNDS, quick=quick)
    with staged() as stage:
        small, large = Sample(stage, SMALL), Sample(stage, LARGE)
        long = Sample(stage, SMALL, LONG_TURN)
        stage.start()
        with Line(stage) as line:
            first = in_turn(times, *(partial(one.stop_at_first_sight, line) for one in (small, large, long)))
            then = in_turn(times, *(partial(one.next_stop, line) for one in (small, large)))
        checked(large.followed, "nothing-suspicious")
        with asyncio.Runner() as runner:
            read = in_turn(times, *(partial(one.read, runner) for one in (small, large)))
    return Report(
        (
            _figure("a stop, at first sight", first[1], first[0], AIM),
            _figure("a stop, followed", then[1], then[0], AIM),
            _figure("reading alone, at first sight", read[1], read[0]),
            _figure("a stop, at first sight, its turn longer than 16 MB", first[2], first[0]),
        )
    )


def _figure(name: str, large: Series, small: Series, aim: float | None = None) -> Figure:
    return Figure(name=name, ours=large, against="the same with 50 KB", peer=small, aim=aim)
