"""`supervisor install`, `upgrade` and `uninstall`: all print what they do, and can be repeated safely."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from sidecar.cli.config import SHADOW, CommandLineFiles, config_path, write_setting
from sidecar.cli.goal import refuse_agent_shell, refuse_agents
from sidecar.cli.options import HostChoice
from sidecar.cli.printing import echo
from sidecar.hosts.installers import INSTALLERS, build_installers
from sidecar.hosts.installing import (
    RUBRIC_EDITOR,
    STATUS_LINE,
    HostInstaller,
    InstallOrder,
    Steps,
)
from sidecar.platform import installation, paths
from sidecar.platform.client import SidecarClient, StopOutcome

HOST_ARGUMENT: Final = click.argument("host", type=HostChoice(tuple(INSTALLERS)), metavar="HOST")
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
    RUBRIC_EDITOR,
    is_flag=True,
    help="For claude-code: a second plugin shows the agent what is wrong with a rubric.md. It takes the "
    "language server for all .md files, so leave it out where another plugin should have it.",
)
STATUS_LINE_OPTION: Final = click.option(
    STATUS_LINE,
    "with_status_line",
    is_flag=True,
    help="Show where the goal stands: in Claude Code's status line, behind what is there; in OpenCode beside "
    "the prompt.",
)


YES_OPTION: Final = click.option(
    "--yes",
    is_flag=True,
    help="Answer yes where a host takes a plugin only with your consent, as Codex does.",
)


@click.command()
@HOST_ARGUMENT
@SCOPE_OPTION
@RUBRIC_EDITOR_OPTION
@STATUS_LINE_OPTION
@click.option(
    "--shadow", is_flag=True, help="Only judge and show what would be sent back, until: supervisor on."
)
@YES_OPTION
@PRINT_ONLY_OPTION
def install(  # noqa: PLR0913 - one parameter per option
    host: str,
    scope: str,
    *,
    with_rubric_editor: bool,
    with_status_line: bool,
    shadow: bool,
    yes: bool,
    print_only: bool,
) -> None:
    """Put Supervisor into a host: its plugin, and which sidecar the plugin starts.

    HOST is claude-code, opencode, codex, copilot or gemini.
    """
    installer = _installers()[host]
    typed = {RUBRIC_EDITOR: with_rubric_editor, STATUS_LINE: with_status_line}
    options = frozenset(option for option, on in typed.items() if on)
    for option in options & installer.refused.keys():
        raise click.UsageError(f"{option} is not for {host}: {installer.refused[option]}")
    runtime, prepare = _announced_runtime()
    order = InstallOrder(
        scope=scope,
        runtime=runtime,
        prepare=prepare,
        options=options,
        agree=lambda question: yes or (sys.stdin.isatty() and click.confirm(question)),
    )
    steps = Steps(print_only, echo)
    if shadow:
        refuse_agents(noted=True)
    _put(installer, order, steps)
    if shadow:  # not before: a host that cannot be installed must not end enforcement in the others
        said = "only judge, and show what would be sent back, in every host, until you type: supervisor on"
        steps.do(f"{said} (mode, in {config_path()})", write_setting, *SHADOW)


@click.command()
@PRINT_ONLY_OPTION
def upgrade(*, print_only: bool) -> None:
    """Bring the plugin in every host to the version of this command, and end the sidecar.

    The command itself is upgraded by what installed it (`uv tool upgrade`, `pipx upgrade`, `pip install`);
    the runtime of a marketplace plugin by /supervisor:install, typed in Claude Code after `/plugin update`.
    """
    (runtime, prepare), steps, done = _announced_runtime(), Steps(print_only, echo), False
    ending = "end the sidecar; the next event of a host starts it with the code that is installed now"
    steps.do(ending, lambda: f"the sidecar: {SidecarClient(paths.user_paths()).stop()}")
    for installer in _installers().values():
        try:
            scopes = installer.scopes()
        except installation.HostError as trouble:
            echo(f"{installer.title}: {trouble}")
            continue
        for scope in scopes:
            order = InstallOrder(scope=scope, runtime=runtime, prepare=prepare, renew=True)
            _put(installer, order, steps)
            done = True
    if not done:
        raise installation.HostError(
            "no host has Supervisor here", *(f"supervisor install {one}" for one in INSTALLERS)
        )


def _installers() -> dict[str, HostInstaller]:
    return build_installers(os.environ, Path.cwd())


def _announced_runtime() -> tuple[Path, Callable[[], None]]:
    """Say which command hosts will start; return it, and what records it."""
    runtime = _runtime_command()
    echo(f"record {runtime} in {paths.user_paths().runtime}")
    echo(f"compile the packages that a start imports: {', '.join(installation.compiled_packages())}")
    return runtime, partial(_prepare_runtime, runtime)


def _put(installer: HostInstaller, order: InstallOrder, steps: Steps) -> None:
    installer.put(order, steps)
    if not steps.print_only:
        echo(f"Done. Start {installer.command} in a project and type: {installer.typed}")


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
    """Take Supervisor out of a host. What it remembers of sessions stays unless you --purge it.

    HOST is claude-code, opencode, codex, copilot or gemini.
    """
    if purge:
        refuse_agent_shell()  # the record of what they did is what is removed
        if not print_only:
            SidecarClient(paths.user_paths()).stop()  # it refuses agents, whatever code it runs
    steps, installers = Steps(print_only, echo), _installers()
    if installers[host].take(scope, steps):
        _remove_runtime(host, installers, steps, purge=purge)


def _remove_runtime(host: str, installers: dict[str, HostInstaller], steps: Steps, *, purge: bool) -> None:
    """End the sidecar and forget the runtime; keep both where another host than `host` needs them."""
    folders = paths.user_paths()
    others = (one.title for name, one in installers.items() if name != host and one.holds())
    if other := next(others, ""):
        echo(f"{other} needs the sidecar and {folders.runtime}: they stay")
        return

    def end() -> str:
        ended = SidecarClient(folders).stop()
        folders.forget_runtime()
        return f"the sidecar: {StopOutcome.ENDED if purge else ended}"

    steps.do(f"end the sidecar, remove {folders.runtime}", end)
    if not purge:
        echo(f"What Supervisor remembers stays in {folders.state}, your settings in {folders.config}.")
        echo(f"To remove both: supervisor uninstall {host} --purge")
        echo("The command goes as it came, for instance: uv tool uninstall supervisor-sidecar")
        return
    if not steps.print_only:
        SidecarClient(folders).wait_until_gone()
    kept = (folder for one in installers.values() for folder in one.leftovers())
    for folder in filter(Path.exists, (folders.state, folders.config, *kept)):
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
