"""One MCP client: lines in, lines out. The only file that knows the mcp package, and anyio with it.

The laws of this file:

- Import it when the first client comes, in a thread: the package takes about a second.
- Lines are read as all our lines are (see wire.py): what is no message is answered, never dropped, and never
  ends the conversation.
- A client whose sidecar ended does not know it: the pipe repeats the client's first line to us, and what we
  answer to that it does not hear.
- What a tool refuses is a tool's error, for the model to read. What a client does wrong is a protocol's. What
  went wrong inside is in the log and never in the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    ListToolsResult,
    PaginatedRequestParams,
    RequestId,
    TextContent,
    Tool,
    ToolAnnotations,
)
from msgspec import UNSET

from sidecar.ports import BadInputError
from sidecar.servers import wire
from sidecar.servers.connection import Say
from sidecar.servers.tools.tool import Caller, RefusalError, UnknownToolError
from sidecar.servers.tools.toolbox import Offer, Toolbox

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.context import ServerRequestContext

NAME: Final = "supervisor"
READING: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

log = logging.getLogger(__name__)


class McpSpeaker:
    """Serves a toolbox to any number of clients."""

    def __init__(self, toolbox: Toolbox, version: str) -> None:
        """Offer these tools. No instructions: hosts put them into every prompt, the judge's too."""
        self._toolbox = toolbox
        self._server: Server[Any] = Server(
            NAME, version=version, on_list_tools=self._list, on_call_tool=self._call
        )
        logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings may quote what a client sent

    async def speak(self, lines: AsyncIterator[bytes], say: Say) -> None:
        """Serve one client until it leaves. What it has asked for is cancelled then."""
        await self._converse((), lines, say, None)

    async def resume(self, lines: AsyncIterator[bytes], say: Say) -> None:
        """Serve a client that has shaken hands with another sidecar; its first line tells with which words.

        Where that was no handshake there is nothing to repeat: in newer protocols every request stands alone.
        """
        opening = understood(await anext(lines))
        if isinstance(opening, JSONRPCRequest) and opening.method == "initialize":
            shaken = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
            await self._converse((opening, shaken), lines, say, opening.id)
        else:
            await self.speak(lines, say)

    async def _converse(
        self, lead: Sequence[JSONRPCMessage], lines: AsyncIterator[bytes], say: Say, unheard: RequestId | None
    ) -> None:
        """Serve, beginning with `lead`, and keep the answer to `unheard` to ourselves."""
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](len(lead))
        said, said_out = anyio.create_memory_object_stream[SessionMessage]()
        for message in lead:
            heard_in.send_nowait(SessionMessage(message))
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(_hear(lines, heard_in, say))
            tasks.create_task(_tell(said_out, say, unheard))
            await self._server.run(heard, said, self._server.create_initialization_options())
            hearing.cancel()

    async def _list(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_told(offer) for offer in self._toolbox.offers()])

    async def _call(
        self, _context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            answer = await self._toolbox.call(params.name, params.arguments or {}, Caller())
        except UnknownToolError as error:
            raise MCPError(INVALID_PARAMS, f"there is no tool {error}: see tools/list") from error
        except RefusalError as refusal:
            return _failed(str(refusal))
        except Exception:
            log.exception("a tool failed")
            return _failed(self._toolbox.words.say("failed"))
        data = msgspec.json.decode(msgspec.json.encode(answer.data))
        return CallToolResult(content=[TextContent(text=answer.text)], structured_content=data)


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _told(offer: Offer) -> Tool:
    return Tool(
        name=offer.name,
        description=offer.description,
        input_schema=offer.input_schema,
        output_schema=offer.output_schema,
        annotations=READING,
    )


async def _hear(
    lines: AsyncIterator[bytes], heard: MemoryObjectSendStream[SessionMessage | Exception], say: Say
) -> None:
    async with heard:
        async for line in lines:
            found = understood(line)
            if isinstance(found, bytes):
                await say(found)
            elif found is not None:
                await heard.send(SessionMessage(found))


async def _tell(said: MemoryObjectReceiveStream[SessionMessage], say: Say, unheard: RequestId | None) -> None:
    async with said:
        async for one in said:
            if unheard is not None and getattr(one.message, "id", None) == unheard:
                unheard = None
            else:
                await say(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


def understood(line: bytes) -> JSONRPCMessage | bytes | None:
    """Say it in the package's words, or what to answer where that cannot be; None for what asks nothing.

    We ask clients nothing, so their answers are dropped.
    """
    try:
        message = wire.parse(line)
        if message.method is UNSET:
            return None
        params = wire.read(message.params, dict[str, Any])
    except wire.WireError as error:
        return error.answer
    except BadInputError as error:
        return None if message.id is UNSET else wire.fault(message.id, wire.BAD_INPUT, str(error))
    if message.id is UNSET:
        return JSONRPCNotification(jsonrpc="2.0", method=message.method, params=params)
    if message.id is None:
        return wire.fault(None, wire.INVALID, "the id of a request is a number or a text")
    return JSONRPCRequest(jsonrpc="2.0", id=message.id, method=message.method, params=params)
