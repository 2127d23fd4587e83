"""Serves one MCP client over lines, as a pipe forwards them from a host.

Rules of this module:

- Lines are parsed like all others (see platform/rpc.py): an invalid message is answered, never dropped, and
  does not end the conversation.
- A client does not notice that its sidecar was replaced: the pipe repeats the client's first line to the new
  one, whose answer to it is not forwarded.
- When the sidecar ends, pending requests are answered first. When the client leaves, nothing is waited for.
- A client that keeps sending requests without reading the answers is not read from until it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from msgspec import UNSET

from sidecar.kernel.errors import BadInputError
from sidecar.platform import rpc
from sidecar.servers.control import SendLine
from sidecar.servers.mcp.access import CALL_LIMIT, McpRequest
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server


INITIALIZED: Final = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
TOOLS_CHANGED: Final = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
LISTEN_METHOD: Final = "subscriptions/listen"
"""A request that is answered only when the client leaves, so nothing waits for its answer."""
MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size in bytes of one message. Its content takes up to thirty times as much memory."""
UNANSWERED_LIMIT: Final = 2 * CALL_LIMIT
"""Number of unanswered requests at which reading from a client pauses."""


class McpConversation:
    """Serves one client; `run` returns when it ends."""

    def __init__(self, server: Server[Any], caller: Caller, say: SendLine, ending: asyncio.Event) -> None:
        """Let `server` answer the client until it leaves or `ending` is set."""
        self._server = server
        self._caller = caller
        self._say = say
        self._ending = ending
        self._shaken = False
        self._unheard: RequestId | None = None
        self._waiting: set[RequestId] = set()
        self._answered = asyncio.Event()

    async def run(self, lines: AsyncIterator[bytes], *, resumed: bool) -> None:
        """Serve. `resumed`: another sidecar has already answered the first line, so it is not answered again.

        If that was no handshake there is nothing to repeat: in newer protocols every request is independent.
        """
        lead: tuple[JSONRPCMessage, ...] = ()
        if resumed:
            opening = parse_client_line(await anext(lines))
            if isinstance(opening, JSONRPCRequest) and opening.method == "initialize":
                lead, self._unheard, self._shaken = (opening, INITIALIZED), opening.id, True
        await self._converse(lead, lines)

    async def tell_changed(self) -> None:
        """Notify a client that did the handshake of a changed tool list; other clients subscribe to that."""
        if self._shaken:
            await self._say(TOOLS_CHANGED)

    async def _converse(self, lead: Sequence[JSONRPCMessage], lines: AsyncIterator[bytes]) -> None:
        into_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](len(lead))
        said, said_out = anyio.create_memory_object_stream[SessionMessage]()
        for message in lead:
            into_server.send_nowait(self._from_client(message))
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(self._hear(lines, into_server))
            tasks.create_task(self._tell(said_out))
            leaving = tasks.create_task(self._leave(hearing))
            options = self._server.create_initialization_options()
            if self._caller.bound is None:  # no session to read them for, and a host adds tools of its own
                options.capabilities.resources = None
            await self._server.run(from_client, said, options)
            hearing.cancel()
            leaving.cancel()

    def _from_client(self, message: JSONRPCMessage) -> SessionMessage:
        visit = McpRequest(self._caller, client=self)
        return SessionMessage(message, ServerMessageMetadata(request_context=visit))

    async def _hear(
        self, lines: AsyncIterator[bytes], from_client: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        async with from_client:
            async for line in lines:
                found = parse_client_line(line)
                if isinstance(found, bytes):
                    await self._say(found)
                elif found is not None:
                    await self._take(found, from_client)

    async def _take(
        self, message: JSONRPCMessage, from_client: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        if isinstance(message, JSONRPCRequest):
            await self._until(UNANSWERED_LIMIT - 1)
            if message.method != LISTEN_METHOD:
                self._waiting.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == INITIALIZED.method:
            self._shaken = True
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))
        await from_client.send(self._from_client(message))

    async def _tell(self, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with said:
            async for one in said:
                asked = isinstance(one.message, JSONRPCRequest)  # by us, with a number of our own
                ident = None if asked else getattr(one.message, "id", None)
                if self._unheard is not None and ident == self._unheard:
                    self._unheard = None
                else:
                    await self._say(
                        one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                    )
                self._settle(ident)

    def _settle(self, ident: object) -> None:
        """Mark a request as answered or cancelled."""
        if isinstance(ident, int | str):
            self._waiting.discard(ident)
            self._answered.set()

    async def _until(self, most: int) -> None:
        """Wait until at most `most` requests are unanswered."""
        while len(self._waiting) > most:
            self._answered.clear()
            await self._answered.wait()

    async def _leave(self, hearing: asyncio.Task[None]) -> None:
        """When the sidecar ends, stop reading from the client once all its requests are answered."""
        await self._ending.wait()
        await self._until(0)
        hearing.cancel()


def _read_parameters(line: bytes, message: rpc.RpcMessage) -> dict[str, Any] | None:
    """Return the parameters. Raises BadInputError."""
    if len(line) > MESSAGE_BYTES:
        raise BadInputError(f"a message has at most {MESSAGE_BYTES} bytes")
    return None if bytes(message.params) == b"null" else rpc.read_params(message.params, dict[str, Any])


def parse_client_line(line: bytes) -> JSONRPCMessage | bytes | None:
    """Return a line as a message of the package, the answer to an invalid one, or None if none is needed."""
    try:
        message = rpc.parse_message(line)
        if message.method is UNSET:
            return _read_answer(line, message)
        params = _read_parameters(line, message)
    except rpc.WireError as error:
        return error.answer
    except BadInputError as error:
        return None if message.id is UNSET else rpc.encode_fault(message.id, rpc.BAD_INPUT, str(error))
    if message.id is UNSET:
        return JSONRPCNotification(jsonrpc="2.0", method=message.method, params=params)
    if message.id is None:
        return rpc.encode_fault(None, rpc.INVALID_REQUEST, "the id of a request is a number or a text")
    return JSONRPCRequest(jsonrpc="2.0", id=message.id, method=message.method, params=params)


def _read_answer(line: bytes, message: rpc.RpcMessage) -> JSONRPCMessage | None:
    """Return the answer to what we asked a client; one that cannot be used is an error, so nobody waits."""
    if message.id is UNSET or message.id is None:
        return None
    fault = message.error or rpc.RpcError(INVALID_PARAMS, "the answer has no result that can be used")
    if len(line) <= MESSAGE_BYTES and message.result is not UNSET:
        with suppress(BadInputError):
            result = rpc.read_params(message.result, dict[str, Any])
            return JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
    return JSONRPCError(jsonrpc="2.0", id=message.id, error=ErrorData(code=fault.code, message=fault.message))
