"""Any agent that speaks the Agent Client Protocol on its standard input and output.

The laws of this file:

- Each run is a fresh process with a fresh session, and nothing of it is left afterwards.
- It ends in time: the turn is cancelled as the protocol asks, then the process group is killed.
- The agent works with its own hands: we offer it no files and no terminals, only the tools of its session.
- It is answered by the user's standing leave, and every answer can be heard.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Raw, Struct

from sidecar import __version__
from sidecar.adapters.agents.acp_link import LINE_LIMIT, AgentError, Link, RefusedError, one_line
from sidecar.adapters.agents.acp_permission import Leave, Permit, decision
from sidecar.adapters.agents.acp_wire import (
    PROTOCOL_VERSION,
    SIGN_IN_FIRST,
    Cancel,
    Cancelled,
    Content,
    Decision,
    Header,
    HttpServer,
    Implementation,
    Initialize,
    Initialized,
    NewSession,
    Opened,
    Permission,
    Prompt,
    Prompted,
    StdioServer,
    Text,
    Update,
    Updated,
)
from sidecar.adapters.dialogue import Dialogue, NotLaunchedError, dialogue
from sidecar.adapters.text import plain, tail
from sidecar.ports import AgentRest, Errand

US: Final = Implementation("supervisor", __version__)
SERVER: Final = "supervisor"
"""The name by which agents know our MCP server."""
START_S: Final = 120.0
"""Seconds from the start until a session is open. A first start through npx downloads the agent."""
CANCEL_S: Final = 2.0
"""Seconds that an agent has to end its turn after it was asked to."""
SAID: Final = 20_000
"""Characters kept of what it said: the end."""
CALLS: Final = 1000
"""Tool calls under way whose titles are remembered."""
STOPS: Final = {
    "end_turn": "",
    "max_tokens": "it stopped at its limit of tokens",
    "max_turn_requests": "it stopped at its limit of requests to the model",
    "refusal": "it refused to go on",
    "cancelled": "its turn was cancelled",
}
"""Why a turn ended, as the protocol names it, and what is wrong with that."""


class AcpAgent:
    """Implements ports.AgentRunner for an agent that speaks the protocol."""

    def __init__(self, command: Sequence[str], leave: Leave = Leave.EDITS, tools: Sequence[str] = ()) -> None:
        """`command`: a program and its arguments. `leave`: what it may do that asks first.

        `tools`: names of ours that need nobody's leave.
        """
        self._command = tuple(command)
        self._leave = leave
        self._tools = tuple(tools)

    async def run(self, errand: Errand, hear: Callable[[str], None]) -> AgentRest:
        """Run it once; `hear` gets what it says, piece by piece. Cancelling kills it and all it started."""
        permit = Permit(self._leave, errand.project, self._tools)
        try:
            async with dialogue(
                self._command, cwd=errand.project, environment=errand.environment, longest=LINE_LIMIT
            ) as talk:
                return await _Visit(errand, hear, permit, talk).run()
        except NotLaunchedError as error:
            return AgentRest(trouble=f"it could not be started: {error}")


class _Visit:
    """One run of one agent."""

    def __init__(self, errand: Errand, hear: Callable[[str], None], permit: Permit, talk: Dialogue) -> None:
        self._errand = errand
        self._hear = hear
        self._permit = permit
        self._link = Link(talk, self._told, self._asked)
        self._session = ""
        self._cancelling = False
        self._said = ""
        self._titles: dict[str, str] = {}

    async def run(self) -> AgentRest:
        seconds = self._errand.seconds
        try:
            async with asyncio.timeout(seconds):
                await self._begin()
                trouble = await self._work()
        except TimeoutError:
            await self._cancel()
            trouble = f"it did not rest within {seconds:g} s"
        except AgentError as error:
            return self._rest(str(error), error.exit_code)
        except asyncio.CancelledError:
            await self._cancel()
            raise
        return self._rest(trouble)

    async def _begin(self) -> None:
        """Open a session; raises AgentError."""
        try:
            async with asyncio.timeout(START_S):
                agent = await self._link.ask("initialize", Initialize(client_info=US), Initialized)
                if agent.protocol_version != PROTOCOL_VERSION:
                    raise AgentError(_other_version(agent.protocol_version))
                self._session = await self._open(agent)
        except TimeoutError as error:
            raise AgentError(f"it opened no session within {START_S:g} s") from error

    async def _open(self, agent: Initialized) -> str:
        asked = NewSession(self._errand.project, self._servers(agent))
        try:
            return (await self._link.ask("session/new", asked, Opened)).session_id
        except RefusedError as error:
            if error.code == SIGN_IN_FIRST:
                raise AgentError(_sign_in(agent)) from error
            raise

    async def _work(self) -> str:
        """Have the prompt worked on; what was wrong with its end."""
        prompt = Prompt(self._session, (Text(_encodable(self._errand.prompt)),))
        reason = (await self._link.ask("session/prompt", prompt, Prompted)).stop_reason
        return STOPS.get(reason, f"it stopped for a reason that is not known here: {one_line(reason)}")

    async def _cancel(self) -> None:
        """Have the turn ended, so that the agent can save what it did; bounded, and no matter if it fails."""
        if not self._session:
            return
        self._cancelling = True
        with suppress(TimeoutError, AgentError):
            async with asyncio.timeout(CANCEL_S):
                await self._link.tell("session/cancel", Cancel(self._session))
                await self._link.answer(Prompted)

    def _servers(self, agent: Initialized) -> tuple[HttpServer | StdioServer, ...]:
        """The tools of the session, at their address, or through a pipe that the agent starts."""
        access = self._errand.access
        if access is None:
            return ()
        if agent.reaches_http:
            return (HttpServer(SERVER, access.url, (Header("Authorization", f"Bearer {access.token}"),)),)
        token = Header("SUPERVISOR_MCP_TOKEN", access.token)
        return (StdioServer(SERVER, sys.executable, ("-P", "-m", "sidecar", "mcp"), (token,)),)

    def _told(self, method: str, parameters: Raw) -> None:
        if method != "session/update":
            return
        news = msgspec.json.decode(parameters, type=Updated)
        if news.session_id == self._session:
            self._happened(news.update)

    def _happened(self, update: Update) -> None:
        match update.session_update:
            case "agent_message_chunk":
                content = msgspec.json.decode(update.content, type=Content)
                self._say(content.text or "" if content.type == "text" else f"[{one_line(content.type)}]")
            case "tool_call" | "tool_call_update":
                self._worked(update)
            case _:
                pass

    def _worked(self, update: Update) -> None:
        """Let a tool call be heard when it begins, when it gets a better title, and when it fails."""
        before = self._titles.get(update.tool_call_id, "")
        title = one_line(update.title or "") or before or "a tool"
        if title != before:
            self._note(title)
        if update.status == "failed":
            self._note(f"failed: {title}")
        if update.status in ("completed", "failed") or len(self._titles) > CALLS:
            self._titles.pop(update.tool_call_id, None)
        else:
            self._titles[update.tool_call_id] = title

    def _asked(self, method: str, parameters: Raw) -> Struct | None:
        if method != "session/request_permission":
            return None
        asked = msgspec.json.decode(parameters, type=Permission)
        if self._cancelling:
            return Decision(Cancelled())
        allow = self._permit.allows(asked.tool_call)
        what = asked.tool_call.title or asked.tool_call.kind or "something"
        self._note(f"{'allowed' if allow else 'not allowed'} ({self._permit.leave}): {what}")
        return decision(asked, allow=allow)

    def _say(self, text: str) -> None:
        self._said = tail(self._said + text, SAID)
        if text:
            self._hear(text)

    def _note(self, text: str) -> None:
        """Let be heard what happens, on a line of its own; it is not what the agent said."""
        self._hear(f"\n[{one_line(text)}]\n")

    def _rest(self, trouble: str, exit_code: int | None = None) -> AgentRest:
        """Put the end together. Trouble quotes the agent, who may have logged its token."""
        if self._errand.access:
            trouble = trouble.replace(self._errand.access.token, "***")
        return AgentRest(said=plain(self._said), exit_code=exit_code, trouble=trouble)


def _other_version(theirs: int) -> str:
    return (
        f"it speaks version {theirs} of the Agent Client Protocol, and this client speaks {PROTOCOL_VERSION}"
    )


def _sign_in(agent: Initialized) -> str:
    ways = (": ".join(filter(None, (way.name, way.description))) for way in agent.auth_methods or ())
    how = one_line("; ".join(ways)) or "see its documentation"
    return f"it wants to be signed in to first, outside of Supervisor: {how}"


def _encodable(text: str) -> str:
    """Without half characters, which no JSON can carry."""
    return text.encode("utf-8", "replace").decode()
