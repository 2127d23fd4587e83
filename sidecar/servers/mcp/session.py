"""The tools as an MCP server, independent of the transport (lines.py for lines, http.py for HTTP).

Rules of this module:

- Import it in a thread, when the first client comes: the MCP package takes about a second.
- One server handles all clients and protocol versions. Each request carries its caller (see McpRequest).
- Structured content only where a tool declares a schema of it: Claude Code shows a model that in place of the
  text. Other tools' data is in `_meta`, for programs.
- A refusal by a tool is a tool error, for the model to read. A client's mistake is a protocol error. Internal
  errors go to the log and never into the answer.
- A call whose client cancels it or has left is cancelled only once, so that it can clean up on its own; the
  package would cancel it again at every step and prevent that.
- A client that does not read never makes others wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
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
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestId,
    Resource,
    ResourcesCapability,
    ResourceTemplate,
    ServerCapabilities,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from sidecar.servers.control import SendLine
from sidecar.servers.mcp.access import McpRequest
from sidecar.servers.mcp.lines import McpConversation
from sidecar.servers.tools.tool import Caller, RefusalError, ToolAnswer, UnknownToolError
from sidecar.servers.tools.toolbox import SESSION_ARGUMENT, Toolbox, ToolOffer

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession


SERVER_NAME: Final = "supervisor"
JSON: Final = "application/json"
SESSION_META: Final = "supervisor/session"
"""The key of `_meta` in which a host's plugin names the session whose resource it reads."""
CALLER_META: Final = "sessionId"
"""The key of `_meta` in which Codex names the session that calls; a name from the model is overwritten."""
DATA_META: Final = "supervisor/data"
"""The key of an answer's `_meta` that holds its data, where the answer is the text."""
ASKED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"no_because": {"type": "string", "title": "No, because", "description": "empty for yes"}},
}
"""The form of a question to be answered yes or no: to accept it with its field empty is to say yes."""
SUBSCRIPTION_LIMIT: Final = 256
"""Maximum number of clients that subscribe to changes of the list, in newer protocol versions."""

T = TypeVar("T")
NotifyChange = Callable[[], Coroutine[Any, Any, None]]
"""Notifies one client that the list of tools has changed."""

log = logging.getLogger(__name__)


class _Server(Server[Any]):
    """Announces to every client that the list of tools may change, and resources only where there are any.

    Hosts may list tools of their own for reading resources, which cost context.
    """

    has_resources: Callable[[], object] = staticmethod(tuple)

    def get_capabilities(self, *given: Any, **named: Any) -> ServerCapabilities:  # noqa: ANN401 - theirs
        offered = ResourcesCapability() if self.has_resources() else None
        return super().get_capabilities(*given, **named).model_copy(update={"resources": offered})

    def create_initialization_options(self, *given: Any, **named: Any) -> InitializationOptions:  # noqa: ANN401 - theirs
        if not given:
            named.setdefault("notification_options", NotificationOptions(tools_changed=True))
        return super().create_initialization_options(*given, **named)


class McpSpeaker:
    """Serves a toolbox to any number of clients."""

    def __init__(self, toolbox: Toolbox, version: str, ending: asyncio.Event) -> None:
        """Offer these tools until `ending` is set.

        The server has no instructions, as hosts would put them into every prompt, including the judge's.
        """
        self._toolbox = toolbox
        self._ending = ending
        self._bus = InMemorySubscriptionBus()
        self._calls: dict[Hashable, int] = {}
        self._working: set[asyncio.Task[Any]] = set()
        self._telling: dict[NotifyChange, asyncio.Task[None] | None] = {}
        self._listed = self._names()
        self.listens = ListenHandler(self._bus, max_subscriptions=SUBSCRIPTION_LIMIT)
        server = _Server(
            SERVER_NAME,
            version=version,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read,
            on_subscriptions_listen=self.listens,
        )
        server.has_resources = toolbox.resources
        self.server: Server[Any] = server
        logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings may quote input of a client

    async def speak(
        self, caller: Caller, lines: AsyncIterator[bytes], say: SendLine, *, resumed: bool = False
    ) -> None:
        """Serve one client until it leaves or we end. `resumed`: it began with another sidecar."""
        conversation = McpConversation(self.server, caller, say, self._ending)
        self.add_listener(conversation.tell_changed)
        try:
            await conversation.run(lines, resumed=resumed)
        finally:
            self.remove_listener(conversation.tell_changed)

    def add_listener(self, tell: NotifyChange) -> None:
        """Notify a client of changes although it cannot subscribe to them, as in older protocols."""
        self._telling[tell] = None

    def remove_listener(self, tell: NotifyChange) -> None:
        """Stop notifying the client."""
        telling = self._telling.pop(tell, None)
        if telling is not None:
            telling.cancel()

    async def look_again(self) -> bool:
        """Notify every client if the list of tools has changed; return whether it has."""
        listed = await asyncio.to_thread(self._names)
        if listed == self._listed:
            return False
        self._listed = listed
        await self._bus.publish(ToolsListChanged())
        for tell, telling in self._telling.items():
            if telling is None or telling.done():
                self._telling[tell] = self._start(tell())
        return True

    def calls(self) -> int:
        """Return how many calls are in progress."""
        return sum(self._calls.values())

    def _names(self) -> tuple[str, ...]:
        return tuple(offer.name for offer in self._toolbox.offers())

    async def _list(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_mcp_tool(offer) for offer in self._toolbox.offers()])

    async def _list_resources(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        found = [uri for uri in self._toolbox.resources() if "{" not in uri]
        return ListResourcesResult(
            resources=[Resource(uri=uri, name=_resource_name(uri), mime_type=JSON) for uri in found]
        )

    async def _list_templates(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found = [uri for uri in self._toolbox.resources() if "{" in uri]
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(uri_template=uri, name=_resource_name(uri), mime_type=JSON) for uri in found
            ]
        )

    async def _read(
        self, context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        caller, uri = McpRequest.of(context.request).caller, str(params.uri)
        session = (params.meta or {}).get(SESSION_META, "")
        try:
            data = await self._toolbox.read(uri, session, caller)
        except UnknownToolError as error:
            raise MCPError(INVALID_PARAMS, f"there is no resource {error}: see resources/list") from error
        except RefusalError as refusal:
            raise MCPError(INVALID_PARAMS, str(refusal)) from refusal
        except Exception as error:
            log.exception("a resource could not be read")
            raise MCPError(INTERNAL_ERROR, self._toolbox.words.say("failed")) from error
        text = msgspec.json.encode(data).decode()
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=JSON, text=text)])

    async def _call(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        visit = McpRequest.of(context.request)
        under_way = self._calls.get(visit.client, 0)
        if under_way >= visit.limit:
            return _error_result(self._toolbox.words.say("too-many-calls", most=str(visit.limit)))
        self._calls[visit.client] = under_way + 1
        try:
            answer = await self._worked(visit, params, context.session, context.request_id)
        except UnknownToolError as error:
            raise MCPError(INVALID_PARAMS, f"there is no tool {error}: see tools/list") from error
        except RefusalError as refusal:
            return _error_result(str(refusal))
        except MCPError:
            raise
        except Exception:
            log.exception("a tool failed")
            return _error_result(self._toolbox.words.say("failed"))
        finally:
            self._calls[visit.client] -= 1
            if not self._calls[visit.client]:
                del self._calls[visit.client]
        data = msgspec.json.decode(msgspec.json.encode(answer.data))
        typed = self._toolbox.is_typed(params.name)
        shown: dict[str, Any] = {"structured_content": data} if typed else {"meta": {DATA_META: data}}
        return CallToolResult(content=[TextContent(text=answer.text)], **shown)

    async def _worked(
        self,
        visit: McpRequest,
        params: CallToolRequestParams,
        session: ServerSession,
        request: RequestId | None,
    ) -> ToolAnswer:
        """Run a tool in its own task, which is cancelled when this call is, or when its client leaves."""

        async def tell(done: float, total: float, what: str) -> None:
            await session.report_progress(done, total or None, what or None)

        async def ask(question: str) -> tuple[bool, str] | None:
            return await _ask_person(session, question, request)

        given, caller = params.arguments or {}, (params.meta or {}).get(CALLER_META, "")
        if caller and visit.caller.bound is None:
            given = {**given, SESSION_ARGUMENT: caller}
        work = self._start(self._toolbox.call(params.name, given, visit.caller, tell, ask))
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
            task.exception()  # marks it as retrieved; whoever awaits the task gets it


async def _ask_person(
    session: ServerSession, question: str, request: RequestId | None
) -> tuple[bool, str] | None:
    """Ask yes, or no and why, through the client; None where it cannot ask, or nobody answered.

    The question goes where the answer to `request` will go: not every client listens anywhere else.
    """
    offered = session.client_capabilities
    if offered is None or offered.elicitation is None:
        return None
    try:
        said = await session.elicit_form(question, ASKED, request)
    except (MCPError, ValueError) as error:  # a ValueError: the answer fits no form
        log.debug("nobody could be asked: %s", type(error).__name__)
        return None
    if said.action == "cancel":
        return None
    why = str((said.content or {}).get("no_because") or "").strip()
    return said.action == "accept" and not why, why


def _error_result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _resource_name(uri: str) -> str:
    return uri.partition("://")[2]


def _mcp_tool(offer: ToolOffer) -> Tool:
    return Tool(
        name=offer.name,
        description=offer.description,
        input_schema=offer.listed_schema,
        output_schema=offer.output_schema if offer.typed else None,
        annotations=ToolAnnotations(
            read_only_hint=offer.reads,
            destructive_hint=False,
            idempotent_hint=offer.repeats,
            open_world_hint=False,
        ),
    )
