"""`supervisor install` and `supervisor uninstall`: they say what they do, do it, and may be done twice."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from pathlib import Path
from typing import Final

import click

from sidecar.adapters import paths, plugin
from sidecar.adapters.client import Client

HOST: Final = click.argument("host", type=click.Choice(["claude-code"]))
SCOPE: Final = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For you everywhere, or for everybody who works on the project in this folder.",
)
CLAUDE: Final = click.option(
    "--claude", default="", metavar="PATH", help="The claude to use, else the one on PATH."
)
PRINT_ONLY: Final = click.option("--print-only", is_flag=True, help="Say what would be done, and do nothing.")


@click.command()
@HOST
@SCOPE
@CLAUDE
@PRINT_ONLY
def install(host: str, scope: str, claude: str, *, print_only: bool) -> None:  # noqa: ARG001 - there is one host
    """Put Supervisor into a host: its plugin, and which sidecar the plugin starts."""
    folders, root, runtime = paths.of_user(), plugin.plugin_root(), _runtime()
    orders = (
        ("plugin", "marketplace", "add", str(root)),
        ("plugin", "install", plugin.PLUGIN, "--scope", scope),
    )
    click.echo(f"record {runtime} in {folders.runtime}")
    click.echo(f"compile the packages that a start imports: {', '.join(plugin.COMPILED)}")
    if print_only:
        for order in orders:
            _show(order)
        return
    host_plugins = plugin.ClaudePlugins(os.environ, str(Path.cwd()), claude)
    folders.record_runtime(runtime)
    if uncompiled := plugin.compile_packages():
        click.echo(f"  not compiled, which costs time at each start: {', '.join(uncompiled)}")
    for order in orders:
        _show(order)
        click.echo(f"  {host_plugins.run(*order)}")
    click.echo("Done. Start claude in a project and type: /supervisor:goal all tests pass")


@click.command()
@HOST
@SCOPE
@CLAUDE
@PRINT_ONLY
def uninstall(host: str, scope: str, claude: str, *, print_only: bool) -> None:  # noqa: ARG001 - there is one host
    """Take Supervisor out of a host. What it remembers of sessions stays, and is named."""
    folders = paths.of_user()
    host_plugins = plugin.ClaudePlugins(os.environ, str(Path.cwd()), claude)
    installed = host_plugins.installed()
    ours = [one for one in installed if one.scope == scope and one.project_path in {"", str(Path.cwd())}]
    orders: list[tuple[str, ...]] = [("plugin", "uninstall", plugin.PLUGIN, "--scope", scope)] if ours else []
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
        _leave(folders, print_only=print_only)


def _leave(folders: paths.Paths, *, print_only: bool) -> None:
    """Remove what only the plugin needed."""
    click.echo(f"end the sidecar, remove {folders.runtime}")
    if not print_only:
        click.echo(f"  the sidecar: {Client(folders).stop()}")
        folders.forget_runtime()
    click.echo(f"What Supervisor remembers stays in {folders.state}, your settings in {folders.config}.")


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
