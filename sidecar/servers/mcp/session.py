"""The tools in the words of MCP, whatever carries it. Lines are in lines.py, HTTP is in http.py.

The laws of this file:

- Import it when the first client comes, in a thread: the package takes about a second.
- One server for all clients and all versions of the protocol. Who calls comes with each request (see Visit).
- What a tool refuses is a tool's error, for the model to read. What a client does wrong is a protocol's. What
  went wrong inside is in the log and never in the answer.
- A call that is cancelled, or whose client has left, is cancelled once and puts away by itself what it runs:
  the package cancels again at every step, and would not let it.
- Nobody waits for a client that does not listen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from mcp import MCPError
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from sidecar.servers.control import Say
from sidecar.servers.mcp.lines import Conversation
from sidecar.servers.mcp.visit import Visit
from sidecar.servers.tools.tool import Answer, Caller, RefusalError, UnknownToolError
from sidecar.servers.tools.toolbox import Offer, Toolbox

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions

NAME: Final = "supervisor"
SUBSCRIPTIONS: Final = 256
"""Clients that may listen for changes of the list at once, in the protocol's newer versions."""

T = TypeVar("T")
Tell = Callable[[], Coroutine[Any, Any, None]]
"""Tells one client that the list of tools has changed."""

log = logging.getLogger(__name__)


class _Server(Server[Any]):
    """Says to every client that the list of tools may change."""

    def create_initialization_options(self, *given: Any, **named: Any) -> InitializationOptions:  # noqa: ANN401 - theirs
        if not given:
            named.setdefault("notification_options", NotificationOptions(tools_changed=True))
        return super().create_initialization_options(*given, **named)


class McpSpeaker:
    """Serves a toolbox to any number of clients."""

    def __init__(self, toolbox: Toolbox, version: str, ending: asyncio.Event) -> None:
        """Offer these tools until `ending`.

        No instructions: hosts put them into every prompt, the judge's too.
        """
        self._toolbox = toolbox
        self._ending = ending
        self._bus = InMemorySubscriptionBus()
        self._calls: dict[Hashable, int] = {}
        self._working: set[asyncio.Task[Any]] = set()
        self._telling: dict[Tell, asyncio.Task[None] | None] = {}
        self._listed = self._names()
        self.listens = ListenHandler(self._bus, max_subscriptions=SUBSCRIPTIONS)
        self.server: Server[Any] = _Server(
            NAME,
            version=version,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self.listens,
        )
        logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings may quote what a client sent

    async def speak(
        self, caller: Caller, lines: AsyncIterator[bytes], say: Say, *, resumed: bool = False
    ) -> None:
        """Serve one client until it leaves or we end. `resumed`: it began with another sidecar."""
        conversation = Conversation(self.server, caller, say, self._ending)
        self.add_listener(conversation.tell_changed)
        try:
            await conversation.run(lines, resumed=resumed)
        finally:
            self.remove_listener(conversation.tell_changed)

    def add_listener(self, tell: Tell) -> None:
        """Let a client know of changes, one that does not subscribe to them: the older protocols."""
        self._telling[tell] = None

    def remove_listener(self, tell: Tell) -> None:
        """Let it know no more."""
        telling = self._telling.pop(tell, None)
        if telling is not None:
            telling.cancel()

    async def look_again(self) -> bool:
        """Tell every client where the list of tools is another one than before; whether it is."""
        listed = await asyncio.to_thread(self._names)
        if listed == self._listed:
            return False
        self._listed = listed
        await self._bus.publish(ToolsListChanged())
        for tell, telling in self._telling.items():
            if telling is None or telling.done():
                self._telling[tell] = self._start(tell())
        return True

    def _names(self) -> tuple[str, ...]:
        return tuple(offer.name for offer in self._toolbox.offers())

    async def _list(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_told(offer) for offer in self._toolbox.offers()])

    async def _call(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        visit = Visit.of(context.request)
        under_way = self._calls.get(visit.client, 0)
        if under_way >= visit.limit:
            return _failed(self._toolbox.words.say("too-many-calls", most=str(visit.limit)))
        self._calls[visit.client] = under_way + 1
        try:
            answer = await self._worked(visit, params, context.session.report_progress)
        except UnknownToolError as error:
            raise MCPError(INVALID_PARAMS, f"there is no tool {error}: see tools/list") from error
        except RefusalError as refusal:
            return _failed(str(refusal))
        except MCPError:
            raise
        except Exception:
            log.exception("a tool failed")
            return _failed(self._toolbox.words.say("failed"))
        finally:
            self._calls[visit.client] -= 1
            if not self._calls[visit.client]:
                del self._calls[visit.client]
        data = msgspec.json.decode(msgspec.json.encode(answer.data))
        return CallToolResult(content=[TextContent(text=answer.text)], structured_content=data)

    async def _worked(
        self, visit: Visit, params: CallToolRequestParams, report: Callable[..., Awaitable[None]]
    ) -> Answer:
        """Let a tool work in a task of its own, which is cancelled when we are, or when its client leaves."""

        async def tell(done: float, total: float, what: str) -> None:
            await report(done, total or None, what or None)

        work = self._start(self._toolbox.call(params.name, params.arguments or {}, visit.caller, tell))
        visit.begin(work)
        try:
            await asyncio.wait({work})
        finally:
            work.cancel()
        if work.cancelled():
            raise MCPError(INTERNAL_ERROR, "the call was cancelled")
        return work.result()

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled():
            task.exception()  # it is told where it is waited for


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _told(offer: Offer) -> Tool:
    return Tool(
        name=offer.name,
        description=offer.description,
        input_schema=offer.input_schema,
        output_schema=offer.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=offer.reads,
            destructive_hint=False,
            idempotent_hint=offer.repeats,
            open_world_hint=False,
        ),
    )
