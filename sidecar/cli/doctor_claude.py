"""What `supervisor doctor` finds of Claude Code: its version, our plugin, and whether its hooks fire."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.plugin import RUBRIC_PLUGIN
from sidecar.adapters.processes import Ending, Finished, find, run
from sidecar.cli.doctor_tools import offered
from sidecar.cli.findings import Host, Level, Line, amiss, error, ok, version, warning

TESTED: Final = ("2.1.197", "2.1.330")
"""Versions of Claude Code that the real-host tests run; older than the first is a warning."""
GET: Final = "npm install -g @anthropic-ai/claude-code"
INSTALL: Final = "supervisor install claude-code"
UPDATE: Final = "claude plugin update supervisor@supervisor"
OURS: Final = "supervisor@"
"""How the plugin's name begins, whatever marketplace it came from."""
SERVER: Final = "supervisor"
"""The name of the server of the tools within the plugin."""
ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"
PROBE: Final = "/supervisor:retry"
"""A typed command that costs no model request: if it is answered, host, hooks, relay and sidecar work."""
PROBE_SECONDS: Final = 60.0


class _Server(Struct, frozen=True):
    command: str = ""
    args: tuple[str, ...] = ()


class _Plugin(Struct, frozen=True, rename="camel"):
    id: str = ""
    enabled: bool = False
    version: str = ""
    install_path: str = ""
    mcp_servers: dict[str, _Server] = {}


def program() -> str:
    """The `claude` on PATH, "" where there is none."""
    return find("claude", os.environ, str(Path.cwd()))


async def examine(*, needed: bool) -> Host:
    """Version and plugin. `needed`: no other host has our plugin, so this one must."""
    said = await _ask("--version", seconds=20, folder=str(Path.cwd()))
    listed = await _ask("plugin", "list", "--json", seconds=30, folder=str(Path.cwd()))
    plugin = _installed(listed.output, needed=needed)
    known = version("Claude Code", said.output, TESTED[0], "claude update")
    lines = (known, plugin, *_rubric_editor(listed.output))
    if plugin.level is not Level.OK:
        return Host(lines)
    server = _server(listed.output)
    if server:
        return Host(lines, probe, partial(offered, "Claude Code", server))
    return Host((*lines, warning("the plugin brings no tools into Claude Code", UPDATE)), probe)


def _server(listing: bytes) -> tuple[str, ...]:
    """What the host starts for the tools, as it says itself; () where that is nothing."""
    for plugin in _listed(listing) or ():
        server = plugin.mcp_servers.get(SERVER)
        if server is not None and plugin.enabled and plugin.id.startswith(OURS):
            return tuple(one.replace(ROOT, plugin.install_path) for one in (server.command, *server.args))
    return ()


def _rubric_editor(listing: bytes) -> tuple[Line, ...]:
    """The second plugin, where somebody wanted it."""
    found = [one for one in _listed(listing) or () if one.id == RUBRIC_PLUGIN and one.enabled]
    return tuple(ok(f"plugin {one.id} {one.version}: the language server for .md files") for one in found[:1])


def _listed(listing: bytes) -> list[_Plugin] | None:
    try:
        return msgspec.json.decode(listing, type=list[_Plugin])
    except msgspec.DecodeError:
        return None


def _installed(listing: bytes, *, needed: bool) -> Line:
    plugins = _listed(listing)
    if plugins is None:
        return warning("Claude Code does not list its plugins", "claude plugin list")
    ours = [plugin for plugin in plugins if plugin.id.startswith(OURS)]
    if not ours:
        return amiss("the plugin is not installed in Claude Code", INSTALL, needed=needed)
    if not any(plugin.enabled for plugin in ours):
        enable = f"claude plugin enable {ours[0].id}"
        return amiss("the plugin is disabled in Claude Code", enable, needed=needed)
    return ok(f"plugin {ours[0].id} {ours[0].version}")


async def probe() -> Line:
    """A real call: the host, its hooks, the relay and the sidecar, at no model request."""
    with tempfile.TemporaryDirectory(prefix="supervisor-probe-") as folder:
        said = await _ask("-p", PROBE, "--no-session-persistence", seconds=PROBE_SECONDS, folder=folder)
    text = said.output.decode(errors="replace")
    if "budget of" in text:
        return ok("hooks fire: a typed command was answered by the sidecar, without a model request")
    if said.ending is Ending.TIMED_OUT:
        return error("the host did not answer the probe in time", f"claude -p {PROBE}")
    why = (text or said.errors.decode(errors="replace")).strip()[:200]
    return error(f"hooks do not fire: {why or 'no answer'}", INSTALL)


async def _ask(*arguments: str, seconds: float, folder: str) -> Finished:
    return await run(
        [program(), *arguments], cwd=folder, environment=dict(os.environ), seconds=seconds, separate=True
    )
