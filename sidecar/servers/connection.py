"""One peer on the socket: newline-delimited JSON-RPC 2.0, in both directions.

- A peer that sends what is no message (platform/rpc.py) gets an error and stays connected.
- Every request is a task of its own; answers are sent in the order in which they are ready.
- When the peer leaves, whatever it asked for is cancelled: this is how Esc in a host ends a judging.
- While a request is in progress the peer gets "working" at a steady interval, so that it can tell busy from
  hung, with what stops are being judged.
- A peer that half-closes has left.
- A peer that was handed over speaks another protocol from its next line on, and gets no messages of ours.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from sidecar.platform.rpc import (
    INVALID_REQUEST,
    LINE_LIMIT,
    MessageId,
    PeerError,
    RpcMessage,
    WireError,
    encode_call,
    encode_fault,
    parse_message,
    read_params,
)
from sidecar.servers.control import Handler, LineProtocol, Peer

T = TypeVar("T")


def struct_handler(kind: type[T], work: Callable[[T, Peer], object]) -> Handler:
    """Build a method whose parameters are a Struct of this kind; it answers what `work` returns or awaits."""

    async def handler(params: Raw, peer: Peer) -> bytes:
        answer = work(read_params(params, kind), peer)
        return msgspec.json.encode(await answer if isinstance(answer, Awaitable) else answer)

    return handler


# --- Connections --------------------------------------------------------------------------------------------


AnswerRequest = Callable[[RpcMessage, "Connection"], Awaitable[bytes]]

PEER_LEFT = "the peer left"
PEER_CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group id of a peer, as Linux gives them."""


class Connection:
    """Serves one peer from `run` to its end."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: AnswerRequest,
        beat_s: float,
        working: Callable[[], Struct | None] = lambda: None,
    ) -> None:
        """`answer` encodes the answer to a request; `beat_s`: seconds between two notifications `working`.

        `heard`: the peer has said something.
        """
        self._working = working
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._beat_s = beat_s
        self._beat: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[MessageId, asyncio.Future[Raw]] = {}
        self._numbers = itertools.count(1)
        self.heard = False
        self._leaving = False
        self._speak: LineProtocol | None = None
        self._speaking = False

    async def run(self) -> None:
        """Serve until the peer leaves, `finish` has completed, or the task is cancelled."""
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    line = await self._reader.readuntil(b"\n")
                    self.heard = True
                    if self._speak is not None:
                        self._speaking = True
                        await self._speak(self._lines(line), self._say)
                        break
                    self._take(line)
        except asyncio.LimitOverrunError:
            self._refuse_length()
        finally:
            await self._close()

    @property
    def pid(self) -> int:
        """The process id of the peer, 0 where the system does not say."""
        link, wanted = self._writer.get_extra_info("socket"), getattr(socket, "SO_PEERCRED", None)
        if link is None or wanted is None:
            return 0
        try:
            found = link.getsockopt(socket.SOL_SOCKET, wanted, PEER_CREDENTIALS.size)
        except OSError:
            return 0
        pid, _user, _group = PEER_CREDENTIALS.unpack(found)
        return int(pid)

    def hand_over(self, speak: LineProtocol) -> None:
        """Let `speak` take the lines after the current request, for whose answer the peer waits."""
        self._speak = speak

    def finish(self) -> None:
        """Close as soon as nothing is in progress. Another protocol that took over sees to that itself."""
        self._leaving = True
        self._leave()

    def notify(self, method: str, params: Struct | None = None) -> None:
        """Send the peer a notification."""
        self._send(encode_call(method, params))

    async def push(self, method: str, params: Struct) -> None:
        """Send the peer a notification, not faster than it reads."""
        await self._say(encode_call(method, params))

    async def ask(self, method: str, params: Struct | None = None) -> Raw:
        """Send the peer a request and wait for its answer; raises PeerError."""
        if self._writer.is_closing():
            raise PeerError(PEER_LEFT)
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(encode_call(method, params, number))
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
        self._send(encode_fault(None, INVALID_REQUEST, f"a line is longer than {LINE_LIMIT} bytes"))

    def _take(self, line: bytes) -> None:
        try:
            message = parse_message(line)
        except WireError as error:
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

    async def _serve(self, message: RpcMessage) -> None:
        line = await self._answer(message, self)
        if message.id is not UNSET:
            self._send(line)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._leave()

    def _leave(self) -> None:
        if self._leaving and not self._tasks and not self._speaking:
            self._writer.close()

    def _hear(self, message: RpcMessage) -> None:
        """Match an answer with its request; an answer that nobody waits for is dropped."""
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
            self.notify("working", self._working())
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
                future.set_exception(PeerError(PEER_LEFT))
        self._writer.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
