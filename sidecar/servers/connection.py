"""One peer on the socket: newline-delimited JSON-RPC 2.0, in both directions.

Rules for messages:

- One message is one line of at most 16 MiB; a peer that sends anything else gets an error and stays
  connected.
- What a peer sent is never repeated to it or logged: an error names the place, not the value.
- hooks/claude_code.py compares the first bytes of an answer, so the order of the keys is part of the
  protocol.

Rules for connections:

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
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import repair_json
from sidecar.platform.decoding import decode_json
from sidecar.servers.control import Handler, LineProtocol, Peer, PeerError

# --- Messages -----------------------------------------------------------------------------------------------


LINE_LIMIT: Final = 16 * 1024 * 1024
"""Maximum bytes of one message, without its newline."""

MALFORMED_JSON: Final = -32700
INVALID_REQUEST: Final = -32600
UNKNOWN_METHOD: Final = -32601
BAD_INPUT: Final = -32602
INTERNAL_FAULT: Final = -32603

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are not JSON, or JSON that does not fit."""

MessageId = int | str | None
T = TypeVar("T")


class RpcError(Struct, frozen=True):
    """The error of an answer: one of the codes above and a line for a person."""

    code: int
    message: str


class RpcMessage(Struct, frozen=True, kw_only=True):
    """A request (method and id), a notification (method alone), or an answer (id and result or error)."""

    jsonrpc: Literal["2.0"]
    id: MessageId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: RpcError | UnsetType = UNSET


class WireError(Exception):
    """A line that is not a message. `answer` is the line to send back."""

    def __init__(self, code: int, message: str) -> None:
        """Say what is wrong with the line."""
        super().__init__(message)
        self.answer = encode_fault(None, code, message)


_MESSAGE: Final = msgspec.json.Decoder(RpcMessage)
_json: Final = msgspec.json.Encoder().encode


def parse_message(line: bytes) -> RpcMessage:
    """Read one line; raises WireError."""
    try:
        return _decode_message(line)
    except msgspec.ValidationError as error:
        raise WireError(INVALID_REQUEST, f"this is no JSON-RPC 2.0 message: {error}") from error
    except DECODE_ERRORS as error:
        raise WireError(MALFORMED_JSON, "this line is no JSON") from error


def read_params(params: Raw, kind: type[T]) -> T:
    """Decode a method's parameters; raises BadInputError, which the peer gets as error -32602."""
    try:
        return decode_json(params, kind)
    except DECODE_ERRORS as error:
        raise BadInputError(f"the parameters do not fit: {error}") from error


def struct_handler(kind: type[T], work: Callable[[T], Awaitable[bytes]]) -> Handler:
    """Build a method whose parameters are a Struct of this kind."""

    async def handler(params: Raw, _peer: Peer) -> bytes:
        return await work(read_params(params, kind))

    return handler


def encode_result(ident: MessageId, value: Raw | bytes) -> bytes:
    """Encode the answer to a request; `value` is JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_json(ident), bytes(value).replace(b"\n", b" "))


def encode_fault(ident: MessageId, code: int, message: str) -> bytes:
    """Encode the answer to a request that failed."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_json(ident), _json(RpcError(code, message)))


def encode_call(method: str, params: Struct | None, ident: MessageId | UnsetType = UNSET) -> bytes:
    """Encode a request, or a notification where there is no `ident`."""
    told = b"" if ident is UNSET else b'"id":%b,' % _json(ident)
    given = b"" if params is None else b',"params":%b' % _json(params)
    return b'{"jsonrpc":"2.0",%b"method":%b%b}\n' % (told, _json(method), given)


def _decode_message(line: bytes) -> RpcMessage:
    try:
        return _MESSAGE.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        mended = repair_json(line)
        if mended == line:
            raise
        return _MESSAGE.decode(mended)


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
        """`answer` encodes the answer to a request; `beat_s`: seconds between two notifications `working`."""
        self._working = working
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._beat_s = beat_s
        self._beat: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[MessageId, asyncio.Future[Raw]] = {}
        self._numbers = itertools.count(1)
        self._leaving = False
        self._speak: LineProtocol | None = None
        self._speaking = False

    async def run(self) -> None:
        """Serve until the peer leaves, `finish` has completed, or the task is cancelled."""
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
