"""What `supervisor doctor` checks of the tools: starts their server as a host would, and asks for a list."""

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
from sidecar.hosts.installing import DoctorFinding, error_finding, ok_finding, warning_finding
from sidecar.platform.dialogue import LineTooLongError, NotLaunchedError, ProcessDialogue, open_dialogue

SECONDS: Final = 30.0
"""Longest wait for the list, in seconds: the first client of a sidecar waits a second or two."""
LONGEST: Final = 1 << 20
"""Longest line of the server, in bytes; the list is one line."""
LINES: Final = 100
"""Lines that are read in search of the list."""
LIST: Final = 2
"""The id of the request for the list."""
CLIENT: Final = {"name": "supervisor-doctor", "version": __version__}
HELLO: Final = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
SAID: Final = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": LIST, "method": "tools/list"},
)


class ServerResult(Struct, frozen=True):
    """What the server answers, as far as it is the list."""

    tools: tuple[msgspec.Raw, ...] | None = None


class ServerMessage(Struct, frozen=True):
    """A line of the server: a response, or something that is ignored here."""

    id: int | str | None = None
    result: ServerResult = ServerResult()


async def check_offered_tools(host: str, command: Sequence[str]) -> DoctorFinding:
    """Start the server with this command, as the host does, and count the tools it offers."""
    try:
        async with (
            asyncio.timeout(SECONDS),
            open_dialogue(command, cwd=str(Path.cwd()), environment=os.environ, longest=LONGEST) as server,
        ):
            number = await _count_tools(server)
    except TimeoutError:
        why = f"no list came within {SECONDS:g} s"
    except (NotLaunchedError, LineTooLongError, msgspec.DecodeError) as trouble:
        why = str(trouble) or "its list is too long"
    else:
        if number:
            return ok_finding(f"{host} can reach the tools: {number} are offered")
        return warning_finding(
            f"{host} can reach the tools, and none is switched on", "supervisor toolset list"
        )
    return error_finding(f"{host} cannot reach the tools: {why}", shlex.join(command))


async def _count_tools(server: ProcessDialogue) -> int:
    """Request the list, and count it. Raises NotLaunchedError where the server ends before it answers."""
    for one in SAID:
        await server.say(msgspec.json.encode(one))
    for _ in range(LINES):
        line = await server.hear()
        if line is None:
            break
        answer = msgspec.json.decode(line, type=ServerMessage)
        if answer.id == LIST:
            if answer.result.tools is None:
                raise NotLaunchedError("it answers without a list")
            return len(answer.result.tools)
    await server.exit_code()
    said = server.errors().decode("utf-8", "replace").strip()
    raise NotLaunchedError(" ".join(said.split())[:300] or "it ended without an answer")
