"""Findings of `supervisor doctor`, one line each with what to type; and its check of the agents' tools."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.platform.dialogue import LineTooLongError, NotLaunchedError, ProcessDialogue, open_dialogue


class FindingLevel(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class DoctorFinding(Struct, frozen=True):
    """One finding. `remedy` is what to type, empty where all is well."""

    level: FindingLevel
    what: str
    remedy: str = ""


class HostFindings(Struct, frozen=True):
    """The findings for one host, and checks that the caller may run later.

    `probe` makes a real call; None without our plugin, because a model would answer then. `tools` starts the
    tools server as this host would, and asks for its tools; None where the host would start none.
    """

    lines: tuple[DoctorFinding, ...]
    probe: Callable[[], Awaitable[DoctorFinding]] | None = None
    tools: Callable[[], Awaitable[DoctorFinding]] | None = None


def ok_finding(what: str) -> DoctorFinding:
    """A finding for something that works."""
    return DoctorFinding(FindingLevel.OK, what)


def warning_finding(what: str, remedy: str) -> DoctorFinding:
    """A finding for something that works, but not as it should."""
    return DoctorFinding(FindingLevel.WARNING, what, remedy)


def error_finding(what: str, remedy: str) -> DoctorFinding:
    """A finding for something that does not work."""
    return DoctorFinding(FindingLevel.ERROR, what, remedy)


def problem_finding(what: str, remedy: str, *, needed: bool) -> DoctorFinding:
    """A finding for something that does not work: an error where it is needed, else a warning."""
    return DoctorFinding(FindingLevel.ERROR if needed else FindingLevel.WARNING, what, remedy)


def version_finding(host: str, said: bytes, tested: str, update: str) -> DoctorFinding:
    """The version that a host reports; a warning where it is older than `tested`, the oldest tested one."""
    last = said.decode(errors="replace").strip().rpartition("\n")[2]
    number = last.split(" ")[0][:40]
    if _version_numbers(number) >= _version_numbers(tested):
        return ok_finding(f"{host} {number}")
    return warning_finding(f"{host} {number or '?'} is older than what is tested ({tested})", update)


def _version_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


# --- The tools: start their server as a host would, and ask for the list ------------------------------------


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


class OfferedTool(Struct, frozen=True):
    """One tool that is offered."""

    name: str


class OfferedTools(Struct, frozen=True):
    """The result of `tools/list`."""

    tools: tuple[OfferedTool, ...]


class ServerMessage(Struct, frozen=True):
    """A line of the server: a response, or something that is ignored here."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw(b"")


async def check_offered_tools(host: str, command: Sequence[str]) -> DoctorFinding:
    """Start the server with this command, as the host does, and count the tools it offers."""
    try:
        async with (
            asyncio.timeout(SECONDS),
            open_dialogue(command, cwd=str(Path.cwd()), environment=os.environ, longest=LONGEST) as server,
        ):
            number = len(await _request_tool_list(server))
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


async def _request_tool_list(server: ProcessDialogue) -> tuple[OfferedTool, ...]:
    """Request the list. Raises NotLaunchedError where the server ends before it answers."""
    for one in SAID:
        await server.say(msgspec.json.encode(one))
    for _ in range(LINES):
        line = await server.hear()
        if line is None:
            break
        heard = msgspec.json.decode(line, type=ServerMessage)
        if heard.id == LIST:
            return msgspec.json.decode(heard.result, type=OfferedTools).tools
    await server.exit_code()
    said = server.errors().decode("utf-8", "replace").strip()
    raise NotLaunchedError(" ".join(said.split())[:300] or "it ended without an answer")
