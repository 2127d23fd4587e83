"""`supervisor install` and `supervisor uninstall`: they say what they do, do it, and may be done twice."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from sidecar.adapters import paths, plugin, processes
from sidecar.adapters.client import Client
from sidecar.cli.install_opencode import OpenCodeFile, loaded

CLAUDE_CODE: Final = "claude-code"
OPENCODE: Final = "opencode"
HOST: Final = click.argument("host", type=click.Choice([CLAUDE_CODE, OPENCODE]))
SCOPE: Final = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For you everywhere, or for everybody who works on the project in this folder.",
)
CLAUDE: Final = click.option(
    "--claude", default="", metavar="PATH", help="The claude to use for claude-code, else the one on PATH."
)
PRINT_ONLY: Final = click.option("--print-only", is_flag=True, help="Say what would be done, and do nothing.")
RUBRIC: Final = click.option(
    "--with-rubric-editor",
    is_flag=True,
    help="For claude-code: a second plugin shows the agent what is wrong with a rubric.md. It takes the "
    "language server for all .md files, so leave it out where another plugin should have it.",
)


@click.command()
@HOST
@SCOPE
@CLAUDE
@RUBRIC
@PRINT_ONLY
def install(host: str, scope: str, claude: str, *, with_rubric_editor: bool, print_only: bool) -> None:
    """Put Supervisor into a host: its plugin, and which sidecar the plugin starts."""
    _fitting(host, claude)
    if with_rubric_editor and host != CLAUDE_CODE:
        raise click.UsageError(
            f"--with-rubric-editor belongs to {CLAUDE_CODE}; {host} has it in its one file"
        )
    runtime = _runtime()
    click.echo(f"record {runtime} in {paths.of_user().runtime}")
    click.echo(f"compile the packages that a start imports: {', '.join(plugin.COMPILED)}")
    if host == CLAUDE_CODE:
        plugins = (plugin.PLUGIN, *((plugin.RUBRIC_PLUGIN,) if with_rubric_editor else ()))
        _into_claude(scope, claude, plugins, None if print_only else runtime)
    else:
        _into_opencode(scope, runtime, print_only=print_only)


def _into_claude(scope: str, claude: str, plugins: Sequence[str], runtime: Path | None) -> None:
    """Only say what would be done where there is no `runtime`."""
    orders: list[tuple[str, ...]] = [("plugin", "marketplace", "add", str(plugin.plugin_root()))]
    orders += [("plugin", "install", one, "--scope", scope) for one in plugins]
    if runtime is None:
        for order in orders:
            _show(order)
        return
    host_plugins = plugin.ClaudePlugins(os.environ, str(Path.cwd()), claude)
    _make_ready(runtime)
    for order in orders:
        _show(order)
        click.echo(f"  {host_plugins.run(*order)}")
    click.echo("Done. Start claude in a project and type: /supervisor:goal all tests pass")


def _into_opencode(scope: str, runtime: Path, *, print_only: bool) -> None:
    place = OpenCodeFile(os.environ, Path.cwd(), scope)
    text = place.text(runtime)
    if not print_only:
        _make_ready(runtime)
    place.put(text, print_only=print_only)
    if not print_only:
        click.echo("Done. Start opencode in a project and type: /supervisor:goal all tests pass")


def _make_ready(runtime: Path) -> None:
    """Let hosts find the runtime, and let it start quickly."""
    paths.of_user().record_runtime(runtime)
    if uncompiled := plugin.compile_packages():
        click.echo(f"  not compiled, which costs time at each start: {', '.join(uncompiled)}")


@click.command()
@HOST
@SCOPE
@CLAUDE
@PRINT_ONLY
def uninstall(host: str, scope: str, claude: str, *, print_only: bool) -> None:
    """Take Supervisor out of a host. What it remembers of sessions stays, and is named."""
    _fitting(host, claude)
    if host == OPENCODE:
        _out_of_opencode(scope, print_only=print_only)
    else:
        _out_of_claude(scope, claude, print_only=print_only)


def _out_of_claude(scope: str, claude: str, *, print_only: bool) -> None:
    host_plugins = plugin.ClaudePlugins(os.environ, str(Path.cwd()), claude)
    installed = host_plugins.installed()
    ours = [one for one in installed if one.scope == scope and one.project_path in {"", str(Path.cwd())}]
    orders: list[tuple[str, ...]] = [("plugin", "uninstall", one.id, "--scope", scope) for one in ours]
    last = len(installed) == len(ours)
    if last and host_plugins.known():
        orders.append(("plugin", "marketplace", "remove", plugin.MARKETPLACE))
    for order in orders:
        _show(order)
        if not print_only:
            click.echo(f"  {host_plugins.run(*order)}")
    if not ours:
        click.echo(f"the plugin is not installed in the scope {scope}")
    if last:
        _leave("OpenCode" if loaded(os.environ, Path.cwd()) else "", print_only=print_only)


def _out_of_opencode(scope: str, *, print_only: bool) -> None:
    place = OpenCodeFile(os.environ, Path.cwd(), scope)
    place.take(print_only=print_only)
    if elsewhere := place.elsewhere():
        click.echo(f"{elsewhere[0]} stays")
        return
    _leave("Claude Code" if _claude_has_it() else "", print_only=print_only)


def _claude_has_it() -> bool:
    """Whether our plugin is in Claude Code; a host that does not tell may need us."""
    try:
        return bool(plugin.ClaudePlugins(os.environ, str(Path.cwd())).installed())
    except plugin.HostError:
        return bool(processes.find("claude", os.environ, str(Path.cwd())))


def _leave(other: str, *, print_only: bool) -> None:
    """Remove what only the plugin needed; nothing where another host needs it."""
    folders = paths.of_user()
    if other:
        click.echo(f"{other} needs the sidecar and {folders.runtime}: they stay")
        return
    click.echo(f"end the sidecar, remove {folders.runtime}")
    if not print_only:
        click.echo(f"  the sidecar: {Client(folders).stop()}")
        folders.forget_runtime()
    click.echo(f"What Supervisor remembers stays in {folders.state}, your settings in {folders.config}.")


def _fitting(host: str, claude: str) -> None:
    if claude and host != CLAUDE_CODE:
        raise click.UsageError(f"--claude belongs to {CLAUDE_CODE}; {host} is a file in a folder")


def _show(order: tuple[str, ...]) -> None:
    click.echo(shlex.join(("claude", *order)))


def _runtime() -> Path:
    """The `supervisor` command of this installation, as an absolute path that outlives this process."""
    for path in (Path(sys.argv[0]).absolute(), Path(sysconfig.get_path("scripts"), "supervisor")):
        if path.name == "supervisor" and path.is_file() and os.access(path, os.X_OK):
            return path
    raise plugin.HostError(
        f"there is no `supervisor` command in {sysconfig.get_path('scripts')} that a host could start",
        "install the package, for instance: uv tool install supervisor-sidecar",
    )
