"""Runs any agent that speaks the Agent Client Protocol on its standard input and output.

Rules of this file:

- Each run is a new process with a new session, and nothing of it is left afterwards.
- A run ends in time: the turn is cancelled as the protocol specifies, then the process group is killed.
- The agent uses its own means: we offer it no files and no terminals, only the tools of its session.
- Permission requests are answered by the permission level that the user set, and every answer is reported.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import astuple, replace

from sidecar import __version__
from sidecar.hosts.acp import link
from sidecar.hosts.command import SessionSpent, ask_spent, command_model
from sidecar.hosts.limits import explain_failure, read_failure
from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.runs import MCP_SERVER_NAME
from sidecar.kernel.settings import NO_PRICES, Prices, TokenUsage, priced_cents
from sidecar.kernel.text import last_characters, strip_control_codes
from sidecar.platform.confine import confined
from sidecar.platform.dialogue import NotLaunchedError, ProcessDialogue, open_dialogue
from sidecar.platform.rpc import LINE_LIMIT

HELLO: Final[dict[str, Any]] = {
    "protocolVersion": link.PROTOCOL_VERSION,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    "clientInfo": {"name": "supervisor", "version": __version__},
}
START_S: Final = 120.0
"""Seconds from the start until a session is open. A first start through npx downloads the agent."""
CANCEL_S: Final = 2.0
"""Seconds that an agent has to end its turn after it was asked to."""
AGENT_SAID_LIMIT: Final = 20_000
"""Characters kept of the agent's message: its end."""
OPEN_CALLS: Final = 1000
"""Running tool calls whose titles are remembered."""
STOP_REASONS: Final = {
    "end_turn": "",
    "max_tokens": "it stopped at its limit of tokens",
    "max_turn_requests": "it stopped at its limit of requests to the model",
    "refusal": "it refused to go on",
    "cancelled": "its turn was cancelled",
}
"""The protocol's reasons why a turn ended, and what is wrong with each of them."""


class AcpAgent:
    """Implements ports.AgentRunner for an agent that speaks the protocol."""

    def __init__(
        self,
        command: Sequence[str],
        leave: link.PermissionLevel = link.PermissionLevel.EDITS,
        tools: Sequence[str] = (),
        prices: Prices = NO_PRICES,
    ) -> None:
        """`command`: a program and its arguments. `leave`: which of its permission requests are granted.

        `tools`: names of our tools that need no permission. `prices`: the user's, by model.
        """
        self._prices = prices
        self._command = tuple(command)
        self._leave = leave
        self._tools = tuple(tools)

    async def run(self, task: AgentTask, hear: Callable[[str], None]) -> AgentResult:
        """Run once. `hear` gets the output piece by piece. Cancelling kills the agent and all it started."""
        permit = link.AgentPermit(self._leave, task.project, self._tools)
        held = confined(self._command, task.project, task.guarded, task.environment)
        try:
            with held as command:
                async with open_dialogue(
                    command, cwd=task.project, environment=task.environment, longest=LINE_LIMIT
                ) as talk:
                    run = _AcpRun(task, hear, permit, talk)
                    rest = await run.run()
        except NotLaunchedError as error:
            return AgentResult(trouble=f"it could not be started: {error}", unusable=True)
        spent = await ask_spent(self._command, run.session, task) or SessionSpent(*astuple(run.usage))
        model = spent.model or command_model(self._command)
        cents = priced_cents(model, spent, spent.cents or rest.cents, self._prices)
        rest = replace(rest, tokens=spent.tokens, cents=cents)
        return explain_failure(rest, self._command[0], *read_failure(rest.trouble, time.time()))


class _AcpRun:
    """One run of one agent."""

    def __init__(
        self, task: AgentTask, hear: Callable[[str], None], permit: link.AgentPermit, talk: ProcessDialogue
    ) -> None:
        self._task = task
        self._hear = hear
        self._permit = permit
        self._link = link.AcpConnection(talk, self._told, self._asked)
        self.session = ""
        self._cancelling = False
        self._said = ""
        self.usage = TokenUsage()
        self._cents: float | None = None
        self._titles: dict[str, str] = {}

    async def run(self) -> AgentResult:
        seconds = self._task.seconds
        try:
            async with asyncio.timeout(seconds):
                await self._begin()
                trouble = await self._work()
        except TimeoutError:
            await self._cancel()
            trouble = f"it did not rest within {seconds:g} s"
        except link.AgentError as error:
            ended_at_once = not self.session and error.exit_code is not None
            return replace(self._rest(str(error), error.exit_code), unusable=ended_at_once)
        except asyncio.CancelledError:
            await self._cancel()
            raise
        return self._rest(trouble)

    async def _begin(self) -> None:
        """Open a session. Raises AgentError."""
        try:
            async with asyncio.timeout(START_S):
                agent = await self._link.ask("initialize", HELLO, link.InitializeResponse)
                if agent.protocol_version != link.PROTOCOL_VERSION:
                    raise link.AgentError(_version_trouble(agent.protocol_version))
                self.session = await self._open(agent)
        except TimeoutError as error:
            raise link.AgentError(f"it opened no session within {START_S:g} s") from error

    async def _open(self, agent: link.InitializeResponse) -> str:
        asked = {"cwd": self._task.project, "mcpServers": self._servers(agent)}
        try:
            return (await self._link.ask("session/new", asked, link.NewSessionResponse)).session_id
        except link.AgentRefusedError as error:
            if error.code == link.SIGN_IN_FIRST:
                raise link.AgentError(_sign_in_trouble(agent)) from error
            raise

    async def _work(self) -> str:
        """Send the prompt and wait for the turn to end; return what was wrong with its end."""
        text = self._task.prompt.encode("utf-8", "replace").decode()  # JSON carries no lone surrogates
        prompt = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
        done = await self._link.ask("session/prompt", prompt, link.PromptResponse)
        self.usage = done.spent
        reason = done.stop_reason
        why = f"it stopped for a reason that is not known here: {link.quote_one_line(reason)}"
        return STOP_REASONS.get(reason, why)

    async def _cancel(self) -> None:
        """Cancel the turn so that the agent can save its work. Bounded in time; failures are ignored."""
        if not self.session:
            return
        self._cancelling = True
        with suppress(TimeoutError, link.AgentError):
            async with asyncio.timeout(CANCEL_S):
                await self._link.tell("session/cancel", {"sessionId": self.session})
                await self._link.answer(link.PromptResponse)

    def _servers(self, agent: link.InitializeResponse) -> list[dict[str, Any]]:
        """Return the session's tools: at their URL, or through a pipe that the agent starts."""
        access = self._task.access
        if access is None:
            return []
        if agent.reaches_http:
            token = {"name": "Authorization", "value": f"Bearer {access.token}"}
            return [{"type": "http", "name": MCP_SERVER_NAME, "url": access.url, "headers": [token]}]
        token = {"name": "SUPERVISOR_MCP_TOKEN", "value": access.token}
        pipe = {"command": sys.executable, "args": ("-P", "-m", "sidecar", "mcp"), "env": [token]}
        return [{"name": MCP_SERVER_NAME, **pipe}]

    def _told(self, method: str, parameters: Raw) -> None:
        if method != "session/update":
            return
        news = msgspec.json.decode(parameters, type=link.SessionNotification)
        if news.session_id == self.session:
            self._happened(news.update)

    def _happened(self, update: link.SessionUpdate) -> None:
        match update.session_update:
            case "agent_message_chunk":
                content = msgspec.json.decode(update.content, type=link.AcpContentBlock)
                self._say(
                    content.text or "" if content.type == "text" else f"[{link.quote_one_line(content.type)}]"
                )
            case "tool_call" | "tool_call_update":
                self._worked(update)
            case "usage_update" if update.cost and update.cost.currency == "USD" and update.cost.amount > 0:
                self._cents = 100 * update.cost.amount
            case _:
                pass

    def _worked(self, update: link.SessionUpdate) -> None:
        """Report a tool call when it begins, gets a better title, or fails."""
        before = self._titles.get(update.tool_call_id, "")
        title = link.quote_one_line(update.title or "") or before or "a tool"
        if title != before:
            self._note(title)
        if update.status == "failed":
            self._note(f"failed: {title}")
        if update.status in ("completed", "failed") or len(self._titles) > OPEN_CALLS:
            self._titles.pop(update.tool_call_id, None)
        else:
            self._titles[update.tool_call_id] = title

    def _asked(self, method: str, parameters: Raw) -> dict[str, Any] | None:
        if method != "session/request_permission":
            return None
        asked = msgspec.json.decode(parameters, type=link.PermissionRequest)
        if self._cancelling:
            return link.CANCELLED
        allow = self._permit.allows(asked.tool_call)
        what = asked.tool_call.title or asked.tool_call.kind or "something"
        self._note(f"{'allowed' if allow else 'not allowed'} ({self._permit.leave}): {what}")
        return link.choose_permission_answer(asked, allow=allow)

    def _say(self, text: str) -> None:
        self._said = last_characters(self._said + text, AGENT_SAID_LIMIT)
        if text:
            self._hear(text)

    def _note(self, text: str) -> None:
        """Report an event on a line of its own, which is not part of the agent's message."""
        self._hear(f"\n[{link.quote_one_line(text)}]\n")

    def _rest(self, trouble: str, exit_code: int | None = None) -> AgentResult:
        """Build the result. `trouble` quotes the agent, which may have logged its token."""
        if self._task.access:
            trouble = trouble.replace(self._task.access.token, "***")
        return AgentResult(
            said=strip_control_codes(self._said),
            exit_code=exit_code,
            trouble=trouble,
            cents=self._cents,
        )


def _version_trouble(theirs: int) -> str:
    ours = link.PROTOCOL_VERSION
    return f"it speaks version {theirs} of the Agent Client Protocol, and this client speaks {ours}"


def _sign_in_trouble(agent: link.InitializeResponse) -> str:
    ways = (": ".join(filter(None, (way.name, way.description))) for way in agent.auth_methods or ())
    how = link.quote_one_line("; ".join(ways)) or "see its documentation"
    return f"it wants to be signed in to first, outside of Supervisor: {how}"
