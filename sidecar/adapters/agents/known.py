"""How programs get a prompt and our tools. What a program is known by is its name; one row for each.

Every program gets the address of its tools in its environment, and its prompt on standard input, or where its
command says {prompt}. A known one is also told of our MCP server in its own way, unless its user names a
configuration for it. Nothing here starts or writes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from sidecar.ports import Access, Environment, Errand

SERVER: Final = "supervisor"
"""The name of our MCP server in every host."""
PROMPT, MCP_CONFIG, MCP_URL = "{prompt}", "{mcp_config}", "{mcp_url}"


class Outfit(Struct, frozen=True, kw_only=True):
    """What a program is started with."""

    command: tuple[str, ...]
    environment: Environment
    stdin: bytes = b""


class Kit(Struct, frozen=True, kw_only=True):
    """Where the tools are; `config` is the path of the file with `mcp_config`, `tools` need no leave."""

    access: Access
    config: str
    tools: tuple[str, ...]


class _Result(Struct, frozen=True):
    """The last line of `claude --output-format json` and `stream-json`."""

    result: str
    type: str


class Program(Struct, frozen=True):
    """One row: how to tell it of our tools, and what it said last, by what it printed."""

    equip: Callable[[Outfit, Kit], Outfit]
    said: Callable[[str], str] = str


def program(command: tuple[str, ...]) -> Program:
    """The row of a command's program."""
    return PROGRAMS.get(PurePath(command[0]).name, OTHER)


def outfit(command: tuple[str, ...], errand: Errand, config: str, tools: tuple[str, ...]) -> Outfit:
    """What to start for this errand."""
    access = errand.access
    fills = {PROMPT: errand.prompt, MCP_CONFIG: config, MCP_URL: access.url if access else ""}
    prompt = errand.prompt.encode("utf-8", "replace")
    plain = Outfit(
        command=tuple(_filled(word, fills) for word in command),
        environment=errand.environment,
        stdin=b"" if any(PROMPT in word for word in command) else prompt,
    )
    if access is None:
        return plain
    told = {"SUPERVISOR_MCP_URL": access.url, "SUPERVISOR_MCP_TOKEN": access.token}
    known = replace(plain, environment={**plain.environment, **told})
    return program(command).equip(known, Kit(access=access, config=config, tools=tools))


def mcp_config(access: Access) -> bytes:
    """The tools' address in the form that Claude Code reads, and many other programs.

    `alwaysLoad`: Claude Code 2.1.330 hides tools behind a search for tools else.
    """
    server = {"type": "http", "url": access.url, "headers": _headers(access), "alwaysLoad": True}
    return msgspec.json.encode({"mcpServers": {SERVER: server}})


def _filled(word: str, fills: dict[str, str]) -> str:
    """A word of the command, its placeholders filled in once; a program takes no NUL."""
    for name, value in fills.items():
        if name in word:
            return word.replace(name, value.replace("\0", ""))
    return word


def _headers(access: Access) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.token}"}


# --- the rows -----------------------------------------------------------------------------------------------


def _as_it_is(given: Outfit, _kit: Kit) -> Outfit:
    return given


def _claude(given: Outfit, kit: Kit) -> Outfit:
    """One file more, and leave for what needs none. Without = an option would take the next words too."""
    if any(word.startswith("--mcp-config") for word in given.command):
        return given
    allowed = ",".join(f"mcp__{SERVER}__{tool}" for tool in kit.tools)
    more = (f"--mcp-config={kit.config}", *((f"--allowedTools={allowed}",) if allowed else ()))
    return replace(given, command=(*given.command, *more))


def _claude_said(printed: str) -> str:
    """The result, where it was asked for as JSON."""
    line = printed.rstrip().rpartition("\n")[2]
    try:
        found = msgspec.json.decode(line, type=_Result)
    except (msgspec.DecodeError, RecursionError):
        return printed
    return found.result if found.type == "result" else printed


def _opencode(given: Outfit, kit: Kit) -> Outfit:
    """One server more in what the user's environment says of the configuration."""
    name = "OPENCODE_CONFIG_CONTENT"
    content = _table(given.environment.get(name, ""))
    server = {
        "type": "remote",
        "url": kit.access.url,
        "headers": _headers(kit.access),
        "oauth": False,
        "enabled": True,
    }
    mcp = content.get("mcp")
    content["mcp"] = {**(mcp if isinstance(mcp, dict) else {}), SERVER: server}
    told = msgspec.json.encode(content).decode()
    return replace(given, environment={**given.environment, name: told})


def _table(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}


OTHER: Final = Program(_as_it_is)
PROGRAMS: Final = {"claude": Program(_claude, _claude_said), "opencode": Program(_opencode)}
