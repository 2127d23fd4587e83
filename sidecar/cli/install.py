"""`supervisor install`, `upgrade` and `uninstall`: all print what they do, and can be repeated safely."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agent_shell
from sidecar.cli.install_opencode import OpenCodeFile, Steps, loaded_plugin_files, plugin_file_scope
from sidecar.cli.options import CLAUDE_CODE, OPENCODE, HostChoice
from sidecar.cli.printing import echo
from sidecar.hosts.claude_code import install as plugin
from sidecar.platform import installation, paths, processes
from sidecar.platform.client import SidecarClient, StopOutcome

HOSTS: Final = (CLAUDE_CODE, OPENCODE)
HOST_ARGUMENT: Final = click.argument("host", type=HostChoice(HOSTS))
SCOPE_OPTION: Final = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For you everywhere, or for everybody who works on the project in this folder.",
)
PRINT_ONLY_OPTION: Final = click.option("--print-only", is_flag=True, help="Only say what would be done.")
PURGE_OPTION: Final = click.option(
    "--purge",
    is_flag=True,
    help="With the last host, also remove your settings and what Supervisor remembers of sessions.",
)
RUBRIC_EDITOR_OPTION: Final = click.option(
    "--with-rubric-editor",
    is_flag=True,
    help="For claude-code: a second plugin shows the agent what is wrong with a rubric.md. It takes the "
    "language server for all .md files, so leave it out where another plugin should have it.",
)
STATUS_LINE_OPTION: Final = click.option(
    "--status-line",
    "with_status_line",
    is_flag=True,
    help="Show where the goal stands: in Claude Code's status line, behind what is there; in OpenCode beside "
    "the prompt.",
)


@click.command()
@HOST_ARGUMENT
@SCOPE_OPTION
@RUBRIC_EDITOR_OPTION
@STATUS_LINE_OPTION
@PRINT_ONLY_OPTION
def install(
    host: str, scope: str, *, with_rubric_editor: bool, with_status_line: bool, print_only: bool
) -> None:
    """Put Supervisor into a host: its plugin, and which sidecar the plugin starts."""
    if with_rubric_editor and host != CLAUDE_CODE:
        raise click.UsageError(
            f"--with-rubric-editor belongs to {CLAUDE_CODE}; {host} has it in its one file"
        )
    runtime, steps = _announced_runtime(), Steps(print_only)
    if host == CLAUDE_CODE:
        plugins = (plugin.PLUGIN_ID, *((plugin.RUBRIC_PLUGIN_ID,) if with_rubric_editor else ()))
        _install_into_claude(scope, plugins, runtime, steps)
        if with_status_line:
            settings = plugin.user_settings_file(os.environ)
            shown = f"show the goal in the status line of {settings}"
            steps.do(shown, plugin.put_status_line, settings, runtime)
    else:
        _install_into_opencode(scope, runtime, steps, status_line=with_status_line)


@click.command()
@PRINT_ONLY_OPTION
def upgrade(*, print_only: bool) -> None:
    """Bring the plugin in every host to the version of this command, and end the sidecar.

    The command itself is upgraded by what installed it (`uv tool upgrade`, `pipx upgrade`, `pip install`);
    the runtime of a marketplace plugin by /supervisor:install, typed in Claude Code after `/plugin update`.
    """
    here, done = str(Path.cwd()), False
    runtime, steps = _announced_runtime(), Steps(print_only)
    ending = "end the sidecar; the next event of a host starts it with the code that is installed now"
    steps.do(ending, lambda: f"the sidecar: {SidecarClient(paths.user_paths()).stop()}")
    try:
        installed = plugin.ClaudePlugins(os.environ, here).installed()
    except installation.HostError as trouble:
        echo(f"Claude Code: {trouble}")
        installed = ()
    for scope in dict.fromkeys(one.scope for one in installed if one.project_path in {"", here}):
        plugins = tuple(one.id for one in installed if one.scope == scope)
        _install_into_claude(scope, plugins, runtime, steps, verb="update")
        done = True
    for place in loaded_plugin_files(os.environ, Path.cwd()):
        _install_into_opencode(plugin_file_scope(place), runtime, steps)
        done = True
    if not done:
        raise installation.HostError(
            "no host has Supervisor here", *(f"supervisor install {one}" for one in HOSTS)
        )


def _announced_runtime() -> Path:
    runtime = _runtime_command()
    echo(f"record {runtime} in {paths.user_paths().runtime}")
    echo(f"compile the packages that a start imports: {', '.join(installation.compiled_packages())}")
    return runtime


def _install_into_claude(
    scope: str, plugins: Sequence[str], runtime: Path, steps: Steps, *, verb: str = "install"
) -> None:
    """Install or update the plugins, then the rules that keep the host's agent from our own files."""
    orders: list[tuple[str, ...]] = [("plugin", "marketplace", "add", str(installation.plugin_root()))]
    orders += [("plugin", verb, one, "--scope", scope) for one in plugins]
    folders, settings = paths.user_paths(), plugin.user_settings_file(os.environ)
    old, new = (plugin.deny_rules(folders, one) for one in (folders.recorded_runtime(), runtime))
    _run_in_claude(plugin.ClaudePlugins(os.environ, str(Path.cwd())), orders, steps)
    if not steps.print_only:
        _prepare_runtime(runtime)
        plugin.repair_copies(os.environ)
    denial = f"deny the agent, in {settings}: {', '.join(new)}"
    steps.do(denial, plugin.replace_deny_rules, settings, old, new)
    if not steps.print_only:
        echo("Done. Start claude in a project and type: /supervisor:goal all tests pass")


def _run_in_claude(claude: plugin.ClaudePlugins, orders: Sequence[tuple[str, ...]], steps: Steps) -> None:
    for order in orders:
        steps.do(shlex.join(("claude", *order)), claude.run, *order)


def _install_into_opencode(scope: str, runtime: Path, steps: Steps, *, status_line: bool = False) -> None:
    place = OpenCodeFile(os.environ, Path.cwd(), scope)
    text = place.text(runtime)
    if not steps.print_only:
        _prepare_runtime(runtime)
    place.put(text, steps)
    place.put_status_line(runtime, steps, wanted=status_line)
    if not steps.print_only:
        echo("Done. Start opencode in a project and type: /supervisor:goal all tests pass")


def _prepare_runtime(runtime: Path) -> None:
    """Record the runtime, so that hosts find it, and compile its packages, so that it starts quickly."""
    paths.user_paths().record_runtime(runtime)
    CommandLineFiles().vouch(paths.user_paths().runtime)
    if uncompiled := installation.compile_packages():
        echo(f"  not compiled, which costs time at each start: {', '.join(uncompiled)}")


@click.command()
@HOST_ARGUMENT
@SCOPE_OPTION
@PURGE_OPTION
@PRINT_ONLY_OPTION
def uninstall(host: str, scope: str, *, purge: bool, print_only: bool) -> None:
    """Take Supervisor out of a host. What it remembers of sessions stays unless you --purge it."""
    if purge:
        refuse_agent_shell()  # the record of what they did is what is removed
        if not print_only:
            SidecarClient(paths.user_paths()).stop()  # it refuses agents, whatever code it runs
    if host == OPENCODE:
        _remove_from_opencode(scope, Steps(print_only), purge=purge)
    else:
        _remove_from_claude(scope, Steps(print_only), purge=purge)


def _remove_from_claude(scope: str, steps: Steps, *, purge: bool) -> None:
    host_plugins = plugin.ClaudePlugins(os.environ, str(Path.cwd()))
    folders, settings = paths.user_paths(), plugin.user_settings_file(os.environ)
    installed = host_plugins.installed()
    ours = [one for one in installed if one.scope == scope and one.project_path in {"", str(Path.cwd())}]
    orders: list[tuple[str, ...]] = [("plugin", "uninstall", one.id, "--scope", scope) for one in ours]
    last = len(installed) == len(ours)
    if last and host_plugins.known():
        orders.append(("plugin", "marketplace", "remove", plugin.MARKETPLACE))
    if last:  # while the runtime is there, which may lie in the plugin's data
        denied = plugin.deny_rules(folders, folders.recorded_runtime())
        told = f"take what an install denied the agent out of {settings}"
        steps.do(told, plugin.replace_deny_rules, settings, denied, ())
    _run_in_claude(host_plugins, orders, steps)
    if not ours:
        echo(f"the plugin is not installed in the scope {scope}")
    if last:
        told = f"take our part of the status line out of {settings}"
        steps.do(told, plugin.put_status_line, settings, None)
        other = "OpenCode" if loaded_plugin_files(os.environ, Path.cwd()) else ""
        _remove_runtime(other, steps, purge=purge)


def _remove_from_opencode(scope: str, steps: Steps, *, purge: bool) -> None:
    place = OpenCodeFile(os.environ, Path.cwd(), scope)
    place.take(steps)
    if elsewhere := place.elsewhere():
        echo(f"{elsewhere[0]} stays")
        return
    _remove_runtime("Claude Code" if _claude_has_plugin() else "", steps, purge=purge)


def _claude_has_plugin() -> bool:
    """Whether our plugin is in Claude Code; assumed where `claude` exists but does not list its plugins."""
    try:
        return bool(plugin.ClaudePlugins(os.environ, str(Path.cwd())).installed())
    except installation.HostError:
        return bool(processes.find_program("claude", os.environ, str(Path.cwd())))


def _remove_runtime(other: str, steps: Steps, *, purge: bool) -> None:
    """End the sidecar and forget the runtime; keep both where another host, `other`, needs them."""
    folders = paths.user_paths()
    if other:
        echo(f"{other} needs the sidecar and {folders.runtime}: they stay")
        return

    def end() -> str:
        ended = SidecarClient(folders).stop()
        folders.forget_runtime()
        return f"the sidecar: {StopOutcome.ENDED if purge else ended}"

    steps.do(f"end the sidecar, remove {folders.runtime}", end)
    if not purge:
        echo(f"What Supervisor remembers stays in {folders.state}, your settings in {folders.config}.")
        echo("The command goes as it came, for instance: uv tool uninstall supervisor-sidecar")
        return
    if not steps.print_only:
        SidecarClient(folders).wait_until_gone()
    places = (folders.state, folders.config, plugin.cached_plugins(os.environ))
    for folder in filter(Path.exists, places):
        steps.do(f"remove {folder}", shutil.rmtree, folder)


def _runtime_command() -> Path:
    """The absolute, lasting path of this installation's `supervisor` command. Raises HostError."""
    for path in (Path(sys.argv[0]).absolute(), Path(sysconfig.get_path("scripts"), "supervisor")):
        if path.name == "supervisor" and path.is_file() and os.access(path, os.X_OK):
            return path
    raise installation.HostError(
        f"there is no `supervisor` command in {sysconfig.get_path('scripts')} that a host could start",
        "install the package, for instance: uv tool install supervisor-sidecar",
    )
