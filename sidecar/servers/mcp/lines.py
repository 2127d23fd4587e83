"""One MCP client in lines, as a pipe brings them from a host.

The laws of this file:

- Lines are read as all our lines are (see wire.py): what is no message is answered, never dropped, and never
  ends the conversation.
- A client whose sidecar ended does not know it: the pipe repeats the client's first line to us, and what we
  answer to that it does not hear.
- When the sidecar ends, what was asked for is answered first. Whoever leaves waits for nothing.
- A client that asks on and on without reading is not heard until it reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId
from msgspec import UNSET

from sidecar.ports import BadInputError
from sidecar.servers import wire
from sidecar.servers.control import Say
from sidecar.servers.mcp.visit import CALLS, Visit
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

INITIALIZED: Final = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
CHANGED: Final = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
ENDLESS: Final = "subscriptions/listen"
"""A request that is answered when the client goes, and not waited for."""
LONGEST: Final = 4 * 1024 * 1024
"""Bytes of one message. What it says takes up to thirty times as much memory."""
UNANSWERED: Final = 2 * CALLS
"""Requests without an answer after which a client is not heard."""


class Conversation:
    """Serves one client from `run` to its end."""

    def __init__(self, server: Server[Any], caller: Caller, say: Say, ending: asyncio.Event) -> None:
        """Let `server` answer it, until it leaves or until `ending`."""
        self._server = server
        self._caller = caller
        self._say = say
        self._ending = ending
        self._shaken = False
        self._unheard: RequestId | None = None
        self._waiting: set[RequestId] = set()
        self._answered = asyncio.Event()

    async def run(self, lines: AsyncIterator[bytes], *, resumed: bool) -> None:
        """Serve. `resumed`: the first line was said to another sidecar, and is not answered again.

        Where that was no handshake there is nothing to repeat: in newer protocols every request stands alone.
        """
        lead: tuple[JSONRPCMessage, ...] = ()
        if resumed:
            opening = understood(await anext(lines))
            if isinstance(opening, JSONRPCRequest) and opening.method == "initialize":
                lead, self._unheard, self._shaken = (opening, INITIALIZED), opening.id, True
        await self._converse(lead, lines)

    async def tell_changed(self) -> None:
        """Say that the list of tools has changed, to a client that shook hands: others subscribe to it."""
        if self._shaken:
            await self._say(CHANGED)

    async def _converse(self, lead: Sequence[JSONRPCMessage], lines: AsyncIterator[bytes]) -> None:
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](len(lead))
        said, said_out = anyio.create_memory_object_stream[SessionMessage]()
        for message in lead:
            heard_in.send_nowait(self._from_client(message))
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(self._hear(lines, heard_in))
            tasks.create_task(self._tell(said_out))
            leaving = tasks.create_task(self._leave(hearing))
            await self._server.run(heard, said, self._server.create_initialization_options())
            hearing.cancel()
            leaving.cancel()

    def _from_client(self, message: JSONRPCMessage) -> SessionMessage:
        visit = Visit(self._caller, client=self)
        return SessionMessage(message, ServerMessageMetadata(request_context=visit))

    async def _hear(
        self, lines: AsyncIterator[bytes], heard: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        async with heard:
            async for line in lines:
                found = understood(line)
                if isinstance(found, bytes):
                    await self._say(found)
                elif found is not None:
                    await self._take(found, heard)

    async def _take(
        self, message: JSONRPCMessage, heard: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        if isinstance(message, JSONRPCRequest):
            await self._until(UNANSWERED - 1)
            if message.method != ENDLESS:
                self._waiting.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == INITIALIZED.method:
            self._shaken = True
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))
        await heard.send(self._from_client(message))

    async def _tell(self, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with said:
            async for one in said:
                ident = getattr(one.message, "id", None)
                if self._unheard is not None and ident == self._unheard:
                    self._unheard = None
                else:
                    await self._say(
                        one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                    )
                self._settle(ident)

    def _settle(self, ident: object) -> None:
        """Nobody waits for an answer to this request any more."""
        if isinstance(ident, int | str):
            self._waiting.discard(ident)
            self._answered.set()

    async def _until(self, most: int) -> None:
        """Wait until at most so many requests are without an answer."""
        while len(self._waiting) > most:
            self._answered.clear()
            await self._answered.wait()

    async def _leave(self, hearing: asyncio.Task[None]) -> None:
        """When the sidecar ends, hear the client no more once it waits for nothing."""
        await self._ending.wait()
        await self._until(0)
        hearing.cancel()


def _parameters(line: bytes, message: wire.Message) -> dict[str, Any] | None:
    """Raises BadInputError."""
    if len(line) > LONGEST:
        raise BadInputError(f"a message has at most {LONGEST} bytes")
    return None if bytes(message.params) == b"null" else wire.read(message.params, dict[str, Any])


def understood(line: bytes) -> JSONRPCMessage | bytes | None:
    """Say it in the package's words, or what to answer where that cannot be; None for what asks nothing.

    We ask clients nothing, so their answers are dropped.
    """
    try:
        message = wire.parse(line)
        if message.method is UNSET:
            return None
        params = _parameters(line, message)
    except wire.WireError as error:
        return error.answer
    except BadInputError as error:
        return None if message.id is UNSET else wire.fault(message.id, wire.BAD_INPUT, str(error))
    if message.id is UNSET:
        return JSONRPCNotification(jsonrpc="2.0", method=message.method, params=params)
    if message.id is None:
        return wire.fault(None, wire.INVALID, "the id of a request is a number or a text")
    return JSONRPCRequest(jsonrpc="2.0", id=message.id, method=message.method, params=params)
