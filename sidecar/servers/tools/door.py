"""Tools for people and scripts, over the sidecar's socket: `supervisor tool`.

The laws of this file:

- What is asked here goes through the same toolbox as what agents ask over MCP.
- A person who names no session means the one seen last in the folder; an agent's session is never guessed.
- From an agent's shell nothing is made to run: there nobody could be asked first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw, Struct

from sidecar.app.people import Who
from sidecar.model.journal import Author
from sidecar.model.session import SessionKey
from sidecar.ports import BadInputError
from sidecar.servers import wire
from sidecar.servers.tools.tool import Caller, RefusalError, UnknownToolError
from sidecar.servers.tools.toolbox import SESSION, Offer, Toolbox

if TYPE_CHECKING:
    from sidecar.app.people import People
    from sidecar.servers.control import Peer

NO_DATA: Final = Raw(b"null")


class ToolCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call. `project` is the folder that it is typed in, or that is named instead."""

    name: str
    arguments: dict[str, Any] = {}
    session: str = ""
    project: str = ""
    author: Author = Author.USER


class Done(Struct, frozen=True, kw_only=True):
    """What became of a call: the answer in words and as data, or why it was refused."""

    text: str
    data: Raw = NO_DATA
    refused: bool = False


class Listing(Struct, frozen=True, kw_only=True):
    """A tool, and whether agents are offered it."""

    on: bool
    offer: Offer


class ToolsDoor:
    """The methods `tool` and `tools`. `toolbox` gives the one toolbox, built when it is first asked for."""

    def __init__(self, toolbox: Callable[[], Toolbox], people: People) -> None:
        """Find sessions through `people`."""
        self._toolbox = toolbox
        self._people = people

    async def call(self, params: Raw, _peer: Peer) -> bytes:
        """Let a tool work; raises BadInputError."""
        return msgspec.json.encode(await self._called(wire.read(params, ToolCall)))

    async def list(self, _params: Raw, _peer: Peer) -> bytes:
        """Every tool, switched on or off."""
        toolbox = self._toolbox()
        on = {offer.name for offer in toolbox.offers()}
        return msgspec.json.encode(
            [Listing(on=offer.name in on, offer=offer) for offer in toolbox.all_offers()]
        )

    async def _called(self, asked: ToolCall) -> Done:
        toolbox = self._toolbox()
        offers = {offer.name: offer for offer in toolbox.all_offers()}
        if asked.author is Author.AGENT and asked.name in offers and offers[asked.name].asks:
            return Done(text=toolbox.words.say("asking-tool", tool=asked.name), refused=True)
        arguments = {**asked.arguments, **({SESSION: asked.session} if asked.session else {})}
        try:
            answer = await toolbox.call(asked.name, arguments, self._caller(asked))
        except UnknownToolError as error:
            text = toolbox.words.say("unknown-tool", tool=str(error), tools=", ".join(offers))
            return Done(text=text, refused=True)
        except RefusalError as error:
            return Done(text=str(error), refused=True)
        return Done(text=answer.text, data=Raw(msgspec.json.encode(answer.data)))

    def _caller(self, asked: ToolCall) -> Caller:
        """Raises BadInputError where a person is in a folder without a session."""
        if asked.author is Author.AGENT or asked.session:
            return Caller(project=asked.project, author=asked.author)
        found = self._people.report(Who(project=asked.project))
        if not found.session:
            raise BadInputError(
                f"no session is known for {asked.project}. Start the host there once, or name one: --session"
            )
        return Caller(bound=SessionKey(found.host, found.session), author=asked.author)
