"""What `supervisor doctor` finds of the tools: it starts their server as a host would, and asks for them."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.adapters.dialogue import Dialogue, NotLaunchedError, TooLongError, dialogue
from sidecar.cli.findings import Line, error, ok, warning

SECONDS: Final = 30.0
"""Longest wait for the list: the first client of a sidecar waits a second or two."""
LONGEST: Final = 1 << 20
"""Bytes of the list."""
LINES: Final = 100
"""Lines that may come before it."""
LIST: Final = 2
"""The id of the request for it."""
CLIENT: Final = {"name": "supervisor-doctor", "version": __version__}
HELLO: Final = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
SAID: Final = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": LIST, "method": "tools/list"},
)


class Tool(Struct, frozen=True):
    """One that is offered."""

    name: str


class Tools(Struct, frozen=True):
    """All that are offered."""

    tools: tuple[Tool, ...]


class Heard(Struct, frozen=True):
    """A line of the server: an answer, or something that does not matter here."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw(b"")


async def offered(host: str, command: Sequence[str]) -> Line:
    """Start the server with this command, as the host does, and count what it offers."""
    try:
        async with (
            asyncio.timeout(SECONDS),
            dialogue(command, cwd=str(Path.cwd()), environment=os.environ, longest=LONGEST) as server,
        ):
            number = len(await _listed(server))
    except TimeoutError:
        why = f"no list came within {SECONDS:g} s"
    except (NotLaunchedError, TooLongError, msgspec.DecodeError) as trouble:
        why = str(trouble) or "its list is too long"
    else:
        if number:
            return ok(f"{host} can reach the tools: {number} are offered")
        return warning(f"{host} can reach the tools, and none is switched on", "supervisor toolset list")
    return error(f"{host} cannot reach the tools: {why}", shlex.join(command))


async def _listed(server: Dialogue) -> tuple[Tool, ...]:
    """Raises NotLaunchedError where it ends before it answers."""
    for one in SAID:
        await server.say(msgspec.json.encode(one))
    for _ in range(LINES):
        line = await server.hear()
        if line is None:
            break
        heard = msgspec.json.decode(line, type=Heard)
        if heard.id == LIST:
            return msgspec.json.decode(heard.result, type=Tools).tools
    await server.exit_code()
    said = server.errors().decode("utf-8", "replace").strip()
    raise NotLaunchedError(" ".join(said.split())[:300] or "it ended without an answer")
