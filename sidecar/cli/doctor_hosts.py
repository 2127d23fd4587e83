"""What `supervisor doctor` checks of Claude Code and OpenCode: version, our plugin, whether it answers."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar import __version__
from sidecar.cli.doctor_checks import (
    DoctorFinding,
    HostFindings,
    check_offered_tools,
    error_finding,
    ok_finding,
    problem_finding,
    silent_hook_findings,
    version_finding,
    warning_finding,
)
from sidecar.cli.install_opencode import OpenCodeFile, loaded_plugin_files, plugin_file_scope
from sidecar.hosts.claude_code.install import (
    RUBRIC_PLUGIN_ID,
    deny_rules,
    missing_deny_rules,
    user_settings_file,
)
from sidecar.hosts.opencode import install as plugin_file
from sidecar.hosts.opencode.install import FILE_LIMIT, identify_plugin_file
from sidecar.kernel.decoding import read_json
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.installation import HostError
from sidecar.platform.paths import user_paths
from sidecar.platform.processes import ProcessEnding, ProcessResult, find_program, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# --- Claude Code --------------------------------------------------------------------------------------------


TESTED_CLAUDE: Final = ("2.1.197", "2.1.330")
"""Versions of Claude Code that the real-host tests run; one older than the first is a warning."""
GET_CLAUDE: Final = "npm install -g @anthropic-ai/claude-code"
INSTALL_IN_CLAUDE: Final = "supervisor install claude-code"
UPGRADE: Final = "supervisor upgrade"
UPDATE: Final = "claude plugin update supervisor@supervisor"
OURS: Final = "supervisor@"
"""Prefix of the plugin's id, whatever marketplace it came from."""
SERVER: Final = "supervisor"
"""Name of the MCP server in the plugin that offers the tools."""
ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"
CLAUDE_PROBE: Final = "/supervisor:retry"
"""A slash command that needs no model request: an answer shows that host, hooks, relay and sidecar work."""
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


def find_claude() -> str:
    """The path of the `claude` on PATH, "" where there is none."""
    return find_program("claude", os.environ, str(Path.cwd()))


async def examine_claude(*, needed: bool) -> HostFindings:
    """Check version and plugin. `needed`: no other host has our plugin, so this one must."""
    here = str(Path.cwd())
    said = await _run_host(find_claude(), "--version", seconds=20, folder=here)
    listed = await _run_host(find_claude(), "plugin", "list", "--json", seconds=30, folder=here)
    known = version_finding("Claude Code", said.output, TESTED_CLAUDE[0], "claude update")
    plugins = read_json(listed.output, list[_Plugin])
    if plugins is None:
        unlisted = warning_finding("Claude Code does not list its plugins", "claude plugin list")
        return HostFindings((known, unlisted))
    ours = [one for one in plugins if one.id.startswith(OURS)]
    lines = [known, _plugin_finding(ours, needed=needed)]
    lines += [
        ok_finding(f"plugin {one.id} {one.version}: the language server for .md files")
        for one in plugins
        if one.id == RUBRIC_PLUGIN_ID and one.enabled
    ]
    enabled = [one for one in ours if one.enabled]
    if not enabled:
        return HostFindings(tuple(lines))
    lines += [
        warning_finding(f"the plugin is of version {version}, this is {__version__}", UPGRADE)
        for version in sorted({one.version for one in enabled} - {__version__})
    ]
    lines += [_own_files_finding(), *silent_hook_findings()]
    for one in enabled:
        if server := one.mcp_servers.get(SERVER):
            command = [word.replace(ROOT, one.install_path) for word in (server.command, *server.args)]
            tools = partial(check_offered_tools, "Claude Code", command)
            return HostFindings(tuple(lines), probe_claude, tools)
    lines.append(warning_finding("the plugin brings no tools into Claude Code", UPDATE))
    return HostFindings(tuple(lines), probe_claude)


def _own_files_finding() -> DoctorFinding:
    """Whether the host keeps its agent from our own files."""
    settings, folders = user_settings_file(os.environ), user_paths()
    if missing_deny_rules(settings, deny_rules(folders, folders.recorded_runtime())):
        return warning_finding(
            f"{settings} does not keep the agent from Supervisor's own files", INSTALL_IN_CLAUDE
        )
    return ok_finding(f"{settings} keeps the agent from Supervisor's own files")


def _plugin_finding(ours: Sequence[_Plugin], *, needed: bool) -> DoctorFinding:
    if not ours:
        return problem_finding("the plugin is not installed in Claude Code", INSTALL_IN_CLAUDE, needed=needed)
    if not any(plugin.enabled for plugin in ours):
        enable = f"claude plugin enable {ours[0].id}"
        return problem_finding("the plugin is disabled in Claude Code", enable, needed=needed)
    return ok_finding(f"plugin {ours[0].id} {ours[0].version}")


async def probe_claude() -> DoctorFinding:
    """Make a real call through the host, its hooks, the relay and the sidecar, without a model request."""
    words = ("-p", CLAUDE_PROBE, "--no-session-persistence")
    with tempfile.TemporaryDirectory(prefix="supervisor-probe-") as folder:
        said = await _run_host(find_claude(), *words, seconds=PROBE_SECONDS, folder=folder)
    return _probe_finding(
        said,
        "hooks fire: a typed command was answered by the sidecar, without a model request",
        error_finding("the host did not answer the probe in time", f"claude -p {CLAUDE_PROBE}"),
        error_finding("hooks do not fire", INSTALL_IN_CLAUDE),
    )


def _probe_finding(
    said: ProcessResult, fine: str, late: DoctorFinding, failed: DoctorFinding
) -> DoctorFinding:
    text = said.output.decode(errors="replace")
    if "budget of" in text:
        return ok_finding(fine)
    if said.ending is ProcessEnding.TIMED_OUT:
        return late
    why = " ".join((text or said.errors.decode(errors="replace")).split())[:200]
    return replace(failed, what=f"{failed.what}: {why or 'no answer'}")


async def _run_host(*words: str, seconds: float, folder: str) -> ProcessResult:
    environment = {**os.environ, **NO_TRACE}
    return await run_process(words, cwd=folder, environment=environment, seconds=seconds, separate=True)


# --- OpenCode -----------------------------------------------------------------------------------------------


TESTED_OPENCODE: Final = "1.18.33"
"""Version of OpenCode that the real-host tests run; an older one is a warning."""
GET_OPENCODE: Final = "npm install -g opencode-ai"
INSTALL_IN_OPENCODE: Final = "supervisor install opencode"
OPENCODE_PROBE: Final = ("run", "--command", "supervisor:retry")
"""A command that needs no model request; OpenCode itself refuses it where our plugin file is not loaded."""
NO_TRACE: Final = {"OPENCODE_DB": ":memory:"}
"""Keeps the session of a probe out of the user's sessions of OpenCode."""


def find_opencode() -> str:
    """The path of the `opencode` on PATH, "" where there is none."""
    return find_program("opencode", os.environ, str(Path.cwd()))


def installed_plugin_files() -> tuple[Path, ...]:
    """Our plugin files that an OpenCode started in the current folder loads."""
    return loaded_plugin_files(os.environ, Path.cwd())


async def examine_opencode(*, needed: bool) -> HostFindings:
    """Check version, plugin file and what keeps it from working. `needed`: no other host has our plugin."""
    if not find_opencode():
        lines = [warning_finding("OpenCode is not on PATH", GET_OPENCODE)]
    else:
        said = await _run_host(find_opencode(), "--version", seconds=20, folder=str(Path.cwd()))
        lines = [version_finding("OpenCode", said.output, TESTED_OPENCODE, "opencode upgrade")]
    ours = installed_plugin_files()
    if not ours:
        lines.append(
            problem_finding("the plugin is not installed in OpenCode", INSTALL_IN_OPENCODE, needed=needed)
        )
    lines += [_plugin_file_finding(path) for path in ours]
    if len(ours) > 1:
        lines.append(
            warning_finding(f"there are {len(ours)} of them, and one is enough", _uninstall_command(ours[-1]))
        )
    pure = plugin_file.is_switched_on(os.environ, "OPENCODE_PURE")
    if pure:
        lines.append(
            warning_finding("OpenCode loads no plugin while OPENCODE_PURE is set", "unset OPENCODE_PURE")
        )
    lines += _package_findings() if ours else []
    if not ours or not find_opencode() or pure:
        return HostFindings(tuple(lines))
    runtime = user_paths().recorded_runtime()
    tools = partial(check_offered_tools, "OpenCode", (str(runtime), "mcp")) if runtime else None
    return HostFindings(tuple(lines), probe_opencode, tools)


def _plugin_file_finding(path: Path) -> DoctorFinding:
    """Whether a plugin file of ours is what this installation would write."""
    scope, is_ours = plugin_file_scope(path), identify_plugin_file(path)
    runtime = user_paths().recorded_runtime()
    remedy = f"{INSTALL_IN_OPENCODE} --scope project" if scope == "project" else INSTALL_IN_OPENCODE
    try:
        wanted = OpenCodeFile(os.environ, Path.cwd(), scope).text(runtime or Path("supervisor"))
        if read_whole(path, FILE_LIMIT) == wanted.encode():
            return ok_finding(f"plugin {path} ({scope})")
    except HostError as trouble:
        return error_finding(str(trouble), trouble.moves[0])
    except (OSError, UnusableFileError):
        return warning_finding(f"{path} cannot be read", f"ls -l {path}")
    if is_ours is not None and is_ours.changed:
        return warning_finding(f"{path} was changed by hand", remedy)
    return warning_finding(f"{path} is not what this version of Supervisor installs", remedy)


def _uninstall_command(path: Path) -> str:
    """The command that removes a superfluous plugin file: `rm` where it is not in this project's folder."""
    here = plugin_file.opencode_project_folder(Path.cwd())
    return "supervisor uninstall opencode --scope project" if here in path.parents else f"rm {path}"


def _package_findings() -> Iterator[DoctorFinding]:
    """How npm's packages, or our stand-in for them, affect a start of OpenCode."""
    for folder in dict.fromkeys(plugin_file.opencode_config_folders(os.environ, Path.cwd())):
        others = plugin_file.foreign_plugins(folder)
        if others and plugin_file.has_stand_in(folder):
            yield warning_finding(
                f"our stand-in for npm's packages hides them from {others[0]}", INSTALL_IN_OPENCODE
            )
        elif folder.is_dir() and os.access(folder, os.W_OK) and not (folder / "node_modules").exists():
            yield warning_finding(
                f"OpenCode fetches packages into {folder} before it loads plugins; "
                "offline it waits more than a minute at each start",
                "start opencode once while online",
            )


async def probe_opencode() -> DoctorFinding:
    """Make a real call through the host, our plugin file and the sidecar, without a model request."""
    everywhere = any(plugin_file_scope(path) == "user" for path in installed_plugin_files())
    with tempfile.TemporaryDirectory(prefix="supervisor-probe-") as empty:
        folder = empty if everywhere else str(Path.cwd())
        said = await _run_host(find_opencode(), *OPENCODE_PROBE, seconds=PROBE_SECONDS, folder=folder)
    shown = f"opencode {' '.join(OPENCODE_PROBE)}"
    return _probe_finding(
        said,
        "OpenCode answers: a typed command reached the sidecar, without a model request",
        error_finding("OpenCode did not answer the probe in time", shown),
        error_finding("OpenCode does not carry out our commands", shown),
    )
