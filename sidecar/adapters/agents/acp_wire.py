"""The part of the Agent Client Protocol (version 1) that a client without an editor needs.

The laws of this file:

- What we send is what we can do: no files and no terminals of ours are offered.
- What we read is read leniently: unknown fields, kinds and reasons are no fault, and null stands for absent.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct

PROTOCOL_VERSION: Final = 1
SIGN_IN_FIRST: Final = -32_000
"""The code of the refusal of an agent that nobody has signed in to."""
NO_SUCH_METHOD: Final = -32_601
BAD_PARAMETERS: Final = -32_602


class Message(Struct, frozen=True):
    """One line: a question (method and id), news (method alone) or an answer (id alone)."""

    id: Raw = Raw()
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"null")
    error: Fault | None = None


class Fault(Struct, frozen=True, omit_defaults=True):
    """Why a question was not answered."""

    code: int
    message: str = ""
    data: Raw = Raw(b"null")


class Question(Struct, frozen=True, kw_only=True):
    """A question of ours."""

    jsonrpc: str = "2.0"
    id: int
    method: str
    params: Struct


class News(Struct, frozen=True, kw_only=True):
    """What we tell without waiting for an answer."""

    jsonrpc: str = "2.0"
    method: str
    params: Struct


class Answer(Struct, frozen=True, kw_only=True):
    """Our answer to a question of the agent's."""

    jsonrpc: str = "2.0"
    id: Raw
    result: Struct


class Refusal(Struct, frozen=True, kw_only=True):
    """The same where we have none."""

    jsonrpc: str = "2.0"
    id: Raw
    error: Fault


# --- initialize ---


class Files(Struct, frozen=True, rename="camel"):
    """Whether the agent may read and write files through us."""

    read_text_file: bool = False
    write_text_file: bool = False


class ClientCapabilities(Struct, frozen=True):
    """What the agent may ask of us."""

    fs: Files = Files()
    terminal: bool = False


class Implementation(Struct, frozen=True):
    """Who speaks."""

    name: str
    version: str


class Initialize(Struct, frozen=True, kw_only=True, rename="camel"):
    """The first question."""

    protocol_version: int = PROTOCOL_VERSION
    client_capabilities: ClientCapabilities = ClientCapabilities()
    client_info: Implementation


class McpCapabilities(Struct, frozen=True):
    """Over what, beside standard input and output, the agent reaches MCP servers."""

    http: bool | None = None


class AgentCapabilities(Struct, frozen=True, rename="camel"):
    """What the agent can do."""

    mcp_capabilities: McpCapabilities | None = None


class AuthMethod(Struct, frozen=True):
    """One way to sign in."""

    name: str = ""
    description: str | None = None


class Initialized(Struct, frozen=True, rename="camel"):
    """The answer to the first question."""

    protocol_version: int
    agent_capabilities: AgentCapabilities | None = None
    auth_methods: tuple[AuthMethod, ...] | None = None

    @property
    def reaches_http(self) -> bool:
        """Whether it can be given an MCP server's URL."""
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
    """An MCP server that the agent starts; every agent can. It is the kind that has no `type`."""

    name: str
    command: str
    args: tuple[str, ...]
    env: tuple[Header, ...]


class NewSession(Struct, frozen=True, rename="camel"):
    """Begin a conversation in a folder, given as an absolute path."""

    cwd: str
    mcp_servers: tuple[HttpServer | StdioServer, ...] = ()


class Opened(Struct, frozen=True, rename="camel"):
    """The conversation has begun."""

    session_id: str


class Text(Struct, frozen=True, tag_field="type", tag="text"):
    """A piece of a prompt."""

    text: str


class Prompt(Struct, frozen=True, rename="camel"):
    """Begin a turn."""

    session_id: str
    prompt: tuple[Text, ...]


class Prompted(Struct, frozen=True, rename="camel"):
    """The turn has ended."""

    stop_reason: str


class Cancel(Struct, frozen=True, rename="camel"):
    """End the turn early."""

    session_id: str


# --- session/update ---


class Content(Struct, frozen=True):
    """One block of what is said; text where `type` says so."""

    type: str = ""
    text: str | None = None


class Update(Struct, frozen=True, rename="camel"):
    """One thing that happened. What `content` is depends on its kind, `session_update`."""

    session_update: str
    content: Raw = Raw(b"null")
    title: str | None = None
    status: str | None = None
    tool_call_id: str = ""


class Updated(Struct, frozen=True, rename="camel"):
    """News of a session."""

    session_id: str
    update: Update


# --- session/request_permission ---


class Location(Struct, frozen=True):
    """A file that a tool call is about."""

    path: str


class ToolCall(Struct, frozen=True):
    """What a permission is asked for, in the agent's words."""

    title: str | None = None
    kind: str | None = None
    locations: tuple[Location, ...] | None = None


class Option(Struct, frozen=True, rename="camel"):
    """One answer to choose from; its kind is allow_once, allow_always, reject_once or reject_always."""

    option_id: str
    kind: str


class Permission(Struct, frozen=True, rename="camel"):
    """The question whether it may do something."""

    tool_call: ToolCall
    options: tuple[Option, ...]


class Selected(Struct, frozen=True, rename="camel", tag_field="outcome", tag="selected"):
    """This answer."""

    option_id: str


class Cancelled(Struct, frozen=True, tag_field="outcome", tag="cancelled"):
    """No answer: the turn is being cancelled, or none of them would do."""


class Decision(Struct, frozen=True):
    """The answer to a permission."""

    outcome: Selected | Cancelled
