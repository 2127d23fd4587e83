"""The messages of the Agent Client Protocol (version 1) that a client without an editor needs.

Rules of this file:

- We announce only what we can do: no files and no terminals are offered.
- Decoding is lenient: unknown fields, kinds and reasons are no errors, and null means absent.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct

PROTOCOL_VERSION: Final = 1
SIGN_IN_FIRST: Final = -32_000
"""The error code of an agent that nobody has signed in to."""

# --- initialize ---


class FileSystemCapability(Struct, frozen=True, rename="camel"):
    """Whether the agent may read and write files through us."""

    read_text_file: bool = False
    write_text_file: bool = False


class ClientCapabilities(Struct, frozen=True):
    """What the agent may ask of us."""

    fs: FileSystemCapability = FileSystemCapability()
    terminal: bool = False


class Implementation(Struct, frozen=True):
    """The name and version of a client or an agent."""

    name: str
    version: str


class InitializeRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The first request."""

    protocol_version: int = PROTOCOL_VERSION
    client_capabilities: ClientCapabilities = ClientCapabilities()
    client_info: Implementation


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


# --- session/new, session/prompt, session/cancel ---


class Header(Struct, frozen=True):
    """One header of an HTTP request, or one variable of an environment."""

    name: str
    value: str


class HttpServer(Struct, frozen=True, tag_field="type", tag="http"):
    """An MCP server that speaks Streamable HTTP."""

    name: str
    url: str
    headers: tuple[Header, ...]


class StdioServer(Struct, frozen=True):
    """An MCP server that the agent starts, which every agent supports. This kind has no `type`."""

    name: str
    command: str
    args: tuple[str, ...]
    env: tuple[Header, ...]


class NewSessionRequest(Struct, frozen=True, rename="camel"):
    """Begin a conversation in a folder, given as an absolute path."""

    cwd: str
    mcp_servers: tuple[HttpServer | StdioServer, ...] = ()


class NewSessionResponse(Struct, frozen=True, rename="camel"):
    """The conversation has begun."""

    session_id: str


class PromptText(Struct, frozen=True, tag_field="type", tag="text"):
    """A piece of a prompt."""

    text: str


class PromptRequest(Struct, frozen=True, rename="camel"):
    """Begin a turn."""

    session_id: str
    prompt: tuple[PromptText, ...]


class PromptResponse(Struct, frozen=True, rename="camel"):
    """The turn has ended."""

    stop_reason: str
    usage: Raw = Raw(b"null")


class PromptUsage(Struct, frozen=True, rename="camel"):
    """The tokens of a session so far. The protocol calls it unstable."""

    total_tokens: int


class CancelNotification(Struct, frozen=True, rename="camel"):
    """End the turn early."""

    session_id: str


# --- session/update ---


class AcpContentBlock(Struct, frozen=True):
    """One block of content; it is text if `type` says so."""

    type: str = ""
    text: str | None = None


class UsageCost(Struct, frozen=True):
    """What a session cost so far."""

    amount: float
    currency: str


class SessionUpdate(Struct, frozen=True, rename="camel"):
    """One event of a session. The form of `content` depends on its kind, `session_update`."""

    session_update: str
    content: Raw = Raw(b"null")
    title: str | None = None
    status: str | None = None
    tool_call_id: str = ""
    cost: UsageCost | None = None


class SessionNotification(Struct, frozen=True, rename="camel"):
    """The notification of an event of a session."""

    session_id: str
    update: SessionUpdate


# --- session/request_permission ---


class ToolCallLocation(Struct, frozen=True):
    """A file that a tool call is about."""

    path: str


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


class SelectedOutcome(Struct, frozen=True, rename="camel", tag_field="outcome", tag="selected"):
    """This option was chosen."""

    option_id: str


class CancelledOutcome(Struct, frozen=True, tag_field="outcome", tag="cancelled"):
    """No option was chosen: the turn is being cancelled, or none of the options fits."""


class PermissionResponse(Struct, frozen=True):
    """The response to a permission request."""

    outcome: SelectedOutcome | CancelledOutcome
