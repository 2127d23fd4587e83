"""Findings of `supervisor doctor`, one line each with what to type; and its checks of tools and hooks."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.cli.options import CLAUDE_CODE
from sidecar.hosts.claude_code.install import user_folder, user_settings_file
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.hosts.steering import SETTINGS_LIMIT
from sidecar.kernel.session import SessionKey
from sidecar.platform.dialogue import LineTooLongError, NotLaunchedError, ProcessDialogue, open_dialogue
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import SystemClock
from sidecar.platform.session_documents import file_stem
from sidecar.servers.control import is_newer_version

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    if not is_newer_version(tested, number):
        return ok_finding(f"{host} {number}")
    return warning_finding(f"{host} {number or '?'} is older than what is tested ({tested})", update)


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


MANAGED_SETTINGS: Final = Path("/etc/claude-code/managed-settings.json")
PROJECT_SETTINGS: Final = (".claude/settings.json", ".claude/settings.local.json")


class _Switches(Struct, frozen=True, rename="camel"):
    disable_all_hooks: bool = False
    allow_managed_hooks_only: bool = False


def silent_hook_findings() -> tuple[DoctorFinding, ...]:
    """Why hooks do not run in the current folder; where no reason is found, that they did not."""
    return tuple(_switched_off()) or tuple(_unheard_session())


def _switched_off() -> Iterator[DoctorFinding]:
    own = [Path.cwd() / one for one in PROJECT_SETTINGS]
    for path in (user_settings_file(os.environ), *own, MANAGED_SETTINGS):
        with suppress(OSError, UnusableFileError, msgspec.DecodeError):
            switches = msgspec.json.decode(read_whole(path, SETTINGS_LIMIT, follow=True), type=_Switches)
            only_managed = switches.allow_managed_hooks_only and path == MANAGED_SETTINGS
            if switches.disable_all_hooks or only_managed:
                name = "disableAllHooks" if switches.disable_all_hooks else "allowManagedHooksOnly"
                said = f"{name} in {path} keeps our hooks from running"
                yield error_finding(said, f"set it to false: {path}")


def _unheard_session() -> Iterator[DoctorFinding]:
    """The newest session here, if it ended a turn since the install and no hook of it was answer."""
    folders = user_paths()
    with suppress(OSError, ValueError):
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
        sessions = (user_folder(os.environ) / "projects" / slug).glob("*.jsonl")
        newest = max(sessions, key=lambda path: path.stat().st_mtime)
        key = SessionKey(CLAUDE_CODE, newest.stem)
        known = (folders.state / "sessions" / f"{file_stem(key)}.json").exists()
        if known or newest.stat().st_mtime < folders.runtime.stat().st_mtime:
            return
        if RecordFiles(RECORD, SystemClock().pause).ended(key, str(newest)):
            yield error_finding(
                f"Claude Code worked here (session {newest.stem}) and no hook of ours ran",
                "start claude anew here: hooks are read at its start, and --safe-mode runs none",
            )
