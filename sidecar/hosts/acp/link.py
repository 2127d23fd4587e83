"""The messages of the Agent Client Protocol (version 1) that a client without an editor needs.

Rules of this file:

- We announce only what we can do: no files and no terminals are offered.
- Decoding is lenient: unknown fields, kinds and reasons are no errors, and null means absent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from sidecar.kernel.settings import TokenUsage, token_count_or_zero
from sidecar.kernel.text import clean_line, last_characters, truncate_middle
from sidecar.platform.dialogue import LineTooLongError, ProcessDialogue
from sidecar.platform.rpc import (
    BAD_INPUT,
    DECODE_ERRORS,
    LINE_LIMIT,
    UNKNOWN_METHOD,
    RpcError,
    RpcMessage,
    WireError,
    encode_call,
    encode_fault,
    encode_result,
    parse_message,
)

PROTOCOL_VERSION: Final = 1
SIGN_IN_FIRST: Final = -32_000
"""The error code of an agent that nobody has signed in to."""

CANCELLED: Final[dict[str, Any]] = {"outcome": {"outcome": "cancelled"}}
"""The answer to a permission request by which no option is chosen: the turn ends, or none of them fits."""

# What an agent says, as far as it is used. What it is told is written where it is sent.
# --- initialize ---


class McpCapabilities(Struct, frozen=True):
    """Over which transports, besides standard input and output, the agent reaches MCP servers."""

    http: bool | None = None


class AgentCapabilities(Struct, frozen=True, rename="camel"):
    """What the agent can do."""

    mcp_capabilities: McpCapabilities | None = None


class AuthMethod(Struct, frozen=True):
    """One way to sign in."""

    name: str = ""
    description: str | None = None


class InitializeResponse(Struct, frozen=True, rename="camel"):
    """The response to the first request."""

    protocol_version: int
    agent_capabilities: AgentCapabilities | None = None
    auth_methods: tuple[AuthMethod, ...] | None = None

    @property
    def reaches_http(self) -> bool:
        """Whether the agent can be given an MCP server's URL."""
        of_mcp = self.agent_capabilities and self.agent_capabilities.mcp_capabilities
        return bool(of_mcp and of_mcp.http)


# --- session/new, session/prompt ---


class NewSessionResponse(Struct, frozen=True, rename="camel"):
    """The conversation has begun."""

    session_id: str


class PromptUsage(Struct, frozen=True, rename="camel"):
    """The tokens of a session so far. The protocol calls it unstable."""

    total_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None

    @property
    def usage(self) -> TokenUsage:
        """The tokens as far as they are told apart, else all as input."""
        new, output = (self.input_tokens, self.cached_write_tokens), (self.output_tokens, self.thought_tokens)
        kinds = (new, (self.cached_read_tokens,), output)
        told = TokenUsage(*(sum(token_count_or_zero(part or 0) for part in kind) for kind in kinds))
        return told if told.tokens else TokenUsage(input=token_count_or_zero(self.total_tokens))


class GeminiTokens(Struct, frozen=True):
    """The tokens of a turn, where Gemini tells them."""

    input_tokens: int = 0
    output_tokens: int = 0


class GeminiQuota(Struct, frozen=True):
    """What Gemini adds to a response."""

    token_count: GeminiTokens = GeminiTokens()


class ResponseMeta(Struct, frozen=True):
    """What agents add to a response."""

    quota: GeminiQuota = GeminiQuota()


class PromptResponse(Struct, frozen=True, rename={"stop_reason": "stopReason", "meta": "_meta"}):
    """The turn has ended."""

    stop_reason: str
    usage: Raw = Raw(b"null")
    meta: Raw = Raw(b"null")

    @property
    def spent(self) -> TokenUsage:
        """The tokens as the agent tells them; nothing where it tells none."""
        with suppress(*DECODE_ERRORS):
            return msgspec.json.decode(self.usage, type=PromptUsage).usage
        with suppress(*DECODE_ERRORS):
            count = msgspec.json.decode(self.meta, type=ResponseMeta).quota.token_count
            return TokenUsage(
                input=token_count_or_zero(count.input_tokens), output=token_count_or_zero(count.output_tokens)
            )
        return TokenUsage()


# --- session/update ---


class AcpContentBlock(Struct, frozen=True):
    """One block of content; it is text if `type` says so."""

    type: str = ""
    text: str | None = None


class UsageCost(Struct, frozen=True):
    """What a session cost so far."""

    amount: float
    currency: str


class ToolCallLocation(Struct, frozen=True):
    """A file that a tool call is about."""

    path: str


class PlanEntry(Struct, frozen=True):
    """An entry of the agent's plan, or of its to-do list."""

    content: str
    status: str = "pending"


class ConfigOption(Struct, frozen=True, rename="camel"):
    """An option that the person may choose; the session's mode is one, where `category` is "mode"."""

    category: str | None = None
    current_value: Any = None


class SessionUpdate(Struct, frozen=True, rename="camel"):
    """One event of a session. The form of `content` depends on its kind, `session_update`."""

    session_update: str
    content: Raw = Raw(b"null")
    message_id: str | None = None
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    tool_call_id: str = ""
    locations: tuple[ToolCallLocation, ...] | None = None
    raw_input: Raw = Raw(b"null")
    raw_output: Raw = Raw(b"null")
    entries: Raw = Raw(b"null")
    cost: UsageCost | None = None


class SessionNotification(Struct, frozen=True, rename="camel"):
    """The notification of an event of a session."""

    session_id: str
    update: SessionUpdate


# --- session/request_permission ---


class ToolCallUpdate(Struct, frozen=True):
    """The tool call for which permission is requested, as the agent describes it."""

    title: str | None = None
    kind: str | None = None
    locations: tuple[ToolCallLocation, ...] | None = None


class PermissionOption(Struct, frozen=True, rename="camel"):
    """One answer to choose from; its kind is allow_once, allow_always, reject_once or reject_always."""

    option_id: str
    kind: str


class PermissionRequest(Struct, frozen=True, rename="camel"):
    """The agent requests permission for a tool call."""

    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


JUNK_LIMIT: Final = 100
"""Lines that are not JSON-RPC before an agent is given up."""
QUOTE_LIMIT: Final = 300
"""Characters quoted of what an agent said, in one line."""

T = TypeVar("T")
NewsHandler = Callable[[str, Raw], None]
"""Handles a notification: its method and parameters."""
QuestionHandler = Callable[[str, Raw], dict[str, Any] | None]
"""Answers a request: its method and parameters; None for a method that we do not offer."""


class AgentError(Exception):
    """The agent does not do what the protocol asks; the message says what, in one line.

    `exit_code` is set if the agent has ended.
    """

    def __init__(self, trouble: str, exit_code: int | None = None) -> None:
        super().__init__(trouble)
        self.exit_code = exit_code


class AgentRefusedError(AgentError):
    """The agent answered with an error."""

    def __init__(self, method: str, fault: RpcError) -> None:
        why = "" if fault.data is UNSET else f": {bytes(fault.data).decode('utf-8', 'replace')}"
        super().__init__(f"it refused {method}: {quote_one_line(fault.message + why)} ({fault.code})")
        self.code = fault.code


class AcpConnection:
    """The connection to one agent."""

    def __init__(self, dialogue: ProcessDialogue, told: NewsHandler, asked: QuestionHandler) -> None:
        self._dialogue = dialogue
        self._told = told
        self._asked = asked
        self._method = ""
        self._number = 0
        self._junk: list[str] = []

    async def ask(self, method: str, params: dict[str, Any], form: type[T]) -> T:
        """Send a request and wait for the answer. Raises AgentError."""
        self._number += 1
        self._method = method
        await self._say(encode_call(method, params, self._number))
        return await self.answer(form)

    async def answer(self, form: type[T]) -> T:
        """Wait for the answer to the last request. Raises AgentError.

        May be called again after waiting was given up.
        """
        while True:
            message = await self._next()
            if message.method is not UNSET:
                await self._serve(message)
            elif self._concerns(message):
                return self._read(message, form)

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        await self._say(encode_call(method, params))

    async def _say(self, line: bytes) -> None:
        await self._dialogue.say(line.removesuffix(b"\n"))

    async def _serve(self, message: RpcMessage) -> None:
        """Handle a notification, or answer a request.

        A notification that cannot be decoded is ignored as one of a newer protocol.
        """
        if message.id is UNSET:
            with suppress(*DECODE_ERRORS):
                self._told(str(message.method), message.params)
            return
        answer = encode_fault(message.id, UNKNOWN_METHOD, "this client cannot do that")
        try:
            result = self._asked(str(message.method), message.params)
        except DECODE_ERRORS:
            answer = encode_fault(message.id, BAD_INPUT, "these cannot be read")
        else:
            if result:
                answer = encode_result(message.id, msgspec.json.encode(result))
        await self._say(answer)

    def _concerns(self, message: RpcMessage) -> bool:
        """Return whether it answers the last request. An error with a null id can concern no other."""
        return message.id == self._number or (bool(message.error) and message.id is None)

    def _read(self, message: RpcMessage, form: type[T]) -> T:
        if message.error:
            raise AgentRefusedError(self._method, message.error)
        try:
            return msgspec.json.decode(b"null" if message.result is UNSET else message.result, type=form)
        except DECODE_ERRORS as error:
            raise AgentError(
                f"its answer to {self._method} cannot be read: {quote_one_line(str(error))}"
            ) from error

    async def _next(self) -> RpcMessage:
        """Return the next line that is a message."""
        while True:
            try:
                line = await self._dialogue.hear()
            except LineTooLongError as error:
                raise AgentError(f"it sent a line of more than {LINE_LIMIT} bytes") from error
            if line is None:
                raise await self._ended()
            if not line or line.isspace():
                continue
            with suppress(WireError):
                message = parse_message(line)
                if message.method is not UNSET or message.id is not UNSET:
                    return message
            self._pass_over(line[: 4 * QUOTE_LIMIT].decode("utf-8", "replace"))

    def _pass_over(self, said: str) -> None:
        self._junk.append(said)
        if len(self._junk) > JUNK_LIMIT:
            raise AgentError(
                f"it does not speak the Agent Client Protocol; it said: {quote_one_line(self._junk[0])}"
            )

    async def _ended(self) -> AgentError:
        """Return the error for an agent that is gone: when, how, and its last words."""
        code = await self._dialogue.exit_code()
        how = "it closed its output" if code is None else f"it ended with exit code {code}"
        words = self._dialogue.errors().decode("utf-8", "replace") or "\n".join(self._junk)
        said = (
            f"; it said: {quote_one_line(last_characters(words, 4 * QUOTE_LIMIT))}" if words.strip() else ""
        )
        return AgentError(f"{how} before it answered {self._method}{said}", code)


def quote_one_line(text: str) -> str:
    """Return an agent's text on one line, without control characters, cut in the middle."""
    words = clean_line(truncate_middle(text, 8 * QUOTE_LIMIT))
    return truncate_middle(words, QUOTE_LIMIT).replace("\n", " ")


# --- Answers to an agent's permission requests while nobody is there to ask ---------------------------------
# Rules:
#
# - The agent's own configuration comes first: the agent asks only about what that leaves open.
# - Nothing is allowed for ever: `allow_always` may outlive the run, so it is never chosen.
# - What a call does is the agent's own claim. `edits` keeps an honest agent inside its project; what must
#   never happen takes a sandbox.


READ_KINDS: Final = frozenset({"read", "search", "think"})
EDIT_KINDS: Final = frozenset({"edit", "move", "delete"})
TOOL_TITLES: Final = ("mcp__supervisor__{}", "supervisor_{}", "{} (supervisor MCP Server)")
"""How Claude Code, OpenCode and Gemini CLI name a tool of the MCP server `supervisor`."""
CALL_FILES_LIMIT: Final = 100
"""Files of one call that are checked; a call with more is not allowed."""
PATH_LIMIT: Final = 4096
"""Characters of a path; Linux takes as many bytes."""


class PermissionLevel(StrEnum):
    """Which permission requests of an agent are granted.

    `edits`: read, change files of the project, and call our tools that need no permission; no commands, no
    network.
    """

    ALL = "all"
    EDITS = "edits"
    NONE = "none"


class AgentPermit(Struct, frozen=True):
    """The permissions for one project. `tools` are the names of our tools that need no permission."""

    leave: PermissionLevel
    project: str
    tools: tuple[str, ...] = ()

    def allows(self, call: ToolCallUpdate) -> bool:
        """Return whether the user allows the agent this call."""
        if self.leave is not PermissionLevel.EDITS:
            return self.leave is PermissionLevel.ALL
        if call.title in {title.format(tool) for title in TOOL_TITLES for tool in self.tools}:
            return True
        paths = [location.path for location in call.locations or ()]
        inside = len(paths) <= CALL_FILES_LIMIT and all(
            _is_inside_project(path, self.project) for path in paths
        )
        return inside and (call.kind in READ_KINDS or (call.kind in EDIT_KINDS and bool(paths)))


def choose_permission_answer(asked: PermissionRequest, *, allow: bool) -> dict[str, Any]:
    """Choose an answer for this one time; if no option fits, the answer is "cancelled", a refusal."""
    kinds = ("allow_once",) if allow else ("reject_once", "reject_always")
    found = _first_option(asked.options, kinds) or _first_option(asked.options, ("reject_once",))
    return {"outcome": {"outcome": "selected", "optionId": found.option_id}} if found else CANCELLED


def _first_option(options: Sequence[PermissionOption], kinds: Sequence[str]) -> PermissionOption | None:
    return next((option for kind in kinds for option in options if option.kind == kind), None)


def _is_inside_project(path: str, project: str) -> bool:
    """Return whether a file, absolute or relative to the project, really lies in it."""
    if len(path) > PATH_LIMIT:
        return False
    try:
        return Path(project, path).resolve().is_relative_to(Path(project).resolve())
    except (OSError, RuntimeError, ValueError):
        return False
