"""Tools for people and scripts, over the sidecar's socket: `supervisor tool`.

Rules of this module:

- Calls go through the same toolbox as the calls of agents over MCP.
- If a person names no session, the one seen last in the folder is used; an agent's session is never guessed.
- Calls from an agent's shell cannot run anything in the project, as nobody could be asked for permission.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Author
from sidecar.kernel.orders import Giver
from sidecar.platform.rpc import read_params
from sidecar.servers.tools.tool import Caller, RefusalError, UnknownToolError
from sidecar.servers.tools.toolbox import SESSION_ARGUMENT, Toolbox, ToolOffer
from sidecar.systems.supervision.people import SessionSelector, no_session_message

if TYPE_CHECKING:
    from sidecar.servers.control import Peer
    from sidecar.systems.supervision.clients import ToolClients


NO_DATA: Final = Raw(b"null")


class ToolRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call. `project` is the folder in which it was typed, or another one that was named explicitly."""

    name: str
    arguments: dict[str, Any] = {}
    session: str = ""
    project: str = ""
    author: Author = Author.USER


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """The result of a call: the answer as text and data, or the reason for a refusal.

    `failed` is that of ToolAnswer.
    """

    text: str
    data: Raw = NO_DATA
    refused: bool = False
    failed: bool = False


class ToolListing(Struct, frozen=True, kw_only=True):
    """A tool, and whether it is offered to agents."""

    on: bool
    offer: ToolOffer


class ToolsHandler:
    """The methods `tool` and `tools`. `toolbox` returns the shared toolbox, built on first use."""

    def __init__(self, toolbox: Callable[[], Toolbox], clients: ToolClients) -> None:
        """`clients` says who calls, and for which session."""
        self._toolbox = toolbox
        self._clients = clients

    async def call(self, params: Raw, peer: Peer) -> bytes:
        """Run a tool. Raises BadInputError."""
        return msgspec.json.encode(await self._called(read_params(params, ToolRequest), peer.pid))

    async def list(self, _params: Raw, _peer: Peer) -> bytes:
        """Return every tool, switched on or off."""
        toolbox = self._toolbox()
        on = {offer.name for offer in toolbox.offers()}
        listed = [ToolListing(on=offer.name in on, offer=offer) for offer in toolbox.all_offers()]
        return msgspec.json.encode(listed)

    async def _called(self, asked: ToolRequest, pid: int) -> ToolOutcome:
        toolbox = self._toolbox()
        offers = {offer.name: offer for offer in toolbox.all_offers()}
        if asked.author is Author.USER and asked.name in offers:
            giver = self._clients.shell_giver(asked.name, pid, reads=offers[asked.name].reads)
            asked = replace(asked, author=Author.AGENT if giver is Giver.AGENT else Author.USER)
        if asked.author is Author.AGENT and asked.name in offers and offers[asked.name].asks:
            return ToolOutcome(text=toolbox.words.say("asking-tool", tool=asked.name), refused=True)
        arguments = {**asked.arguments, **({SESSION_ARGUMENT: asked.session} if asked.session else {})}
        try:
            answer = await toolbox.call(asked.name, arguments, self._caller(asked, pid))
        except UnknownToolError as error:
            text = toolbox.words.say("unknown-tool", tool=str(error), tools=", ".join(offers))
            return ToolOutcome(text=text, refused=True)
        except RefusalError as error:
            return ToolOutcome(text=str(error), refused=True)
        data = Raw(msgspec.json.encode(answer.data))
        return ToolOutcome(text=answer.text, data=data, failed=answer.failed)

    def _caller(self, asked: ToolRequest, pid: int) -> Caller:
        """Return the caller. Raises BadInputError if a person is in a folder without a session."""
        if asked.author is Author.AGENT:
            return Caller(pid=pid)
        if asked.session:
            return Caller(author=asked.author)
        found = self._clients.people.find(SessionSelector(project=asked.project))
        if found is None:
            raise BadInputError(no_session_message(asked.project))
        return Caller(bound=found.key, author=asked.author)
