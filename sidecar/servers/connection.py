"""One peer on the socket: lines in, lines out.

The laws of this file:

- Every request is a task of its own; answers go out in the order in which they are ready.
- When the peer leaves, whatever it asked for is cancelled: this is how Esc in a host ends a judging.
- While a request is under way the peer hears "working" at a steady beat, so that it can tell busy from hung.
- A peer that half-closes has left.
- A peer that was handed over speaks another protocol from its next line on, and hears nothing of ours.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from msgspec import UNSET, Raw, Struct

from sidecar.servers import wire
from sidecar.servers.control import PeerError, Speak

Answer = Callable[[wire.Message, "Connection"], Awaitable[bytes]]

LEFT = "the peer left"


class Connection:
    """Serves one peer from `run` to its end."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer, beat_s: float
    ) -> None:
        """Let `answer` word what a request gets; `beat_s`: seconds between two signs of work."""
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._beat_s = beat_s
        self._beat: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[wire.Id, asyncio.Future[Raw]] = {}
        self._numbers = itertools.count(1)
        self._leaving = False
        self._speak: Speak | None = None
        self._speaking = False

    async def run(self) -> None:
        """Serve until the peer leaves, `finish` is through, or the task is cancelled."""
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    line = await self._reader.readuntil(b"\n")
                    if self._speak is not None:
                        self._speaking = True
                        await self._speak(self._lines(line), self._say)
                        break
                    self._take(line)
        except asyncio.LimitOverrunError:
            self._refuse_length()
        finally:
            await self._close()

    def hand_over(self, speak: Speak) -> None:
        """Let `speak` have what comes after the request that is being answered: its peer waits for that."""
        self._speak = speak

    def finish(self) -> None:
        """Leave as soon as nothing is under way. Another protocol that is spoken sees to that itself."""
        self._leaving = True
        self._leave()

    def notify(self, method: str, params: Struct | None = None) -> None:
        """Tell the peer something."""
        self._send(wire.call(method, params))

    async def ask(self, method: str, params: Struct | None = None) -> Raw:
        """Ask the peer something and wait for its answer; raises PeerError."""
        if self._writer.is_closing():
            raise PeerError(LEFT)
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(wire.call(method, params, number))
        try:
            return await self._asked[number]
        finally:
            del self._asked[number]

    async def _lines(self, first: bytes) -> AsyncIterator[bytes]:
        yield first
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    yield await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            self._refuse_length()

    async def _say(self, line: bytes) -> None:
        self._send(line)
        with suppress(ConnectionError):
            await self._writer.drain()

    def _refuse_length(self) -> None:
        self._send(wire.fault(None, wire.INVALID, f"a line is longer than {wire.LINE_LIMIT} bytes"))

    def _take(self, line: bytes) -> None:
        try:
            message = wire.parse(line)
        except wire.WireError as error:
            self._send(error.answer)
            return
        if message.method is UNSET:
            self._hear(message)
            return
        task = asyncio.get_running_loop().create_task(self._serve(message))
        self._tasks.add(task)
        task.add_done_callback(self._served)
        if self._beat is None:
            self._schedule_beat()

    async def _serve(self, message: wire.Message) -> None:
        line = await self._answer(message, self)
        if message.id is not UNSET:
            self._send(line)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._leave()

    def _leave(self) -> None:
        if self._leaving and not self._tasks and not self._speaking:
            self._writer.close()

    def _hear(self, message: wire.Message) -> None:
        """Match an answer with what was asked; one that nobody waits for is dropped."""
        future = None if message.id is UNSET else self._asked.get(message.id)
        if future is None or future.done():
            return
        if message.result is UNSET:
            future.set_exception(PeerError(message.error.message if message.error else "no result"))
        else:
            future.set_result(message.result)

    def _schedule_beat(self) -> None:
        self._beat = asyncio.get_running_loop().call_later(self._beat_s, self._show_work)

    def _show_work(self) -> None:
        self._beat = None
        if self._tasks and self._speak is None:
            self.notify("working")
            self._schedule_beat()

    def _send(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line)

    async def _close(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
        for task in self._tasks:
            task.cancel()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(PeerError(LEFT))
        self._writer.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
