"""`supervisor toolset`: chooses which tools agents are offered."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final, get_args

import click
from msgspec import Raw

from sidecar.cli.goal import refuse_agents
from sidecar.cli.held_files import CommandLineFiles
from sidecar.cli.printing import echo, echo_json
from sidecar.kernel.settings import TOOLSET
from sidecar.platform.client import SidecarClient, SidecarError
from sidecar.platform.configuration import ConfigurationFile, user_config_folder
from sidecar.platform.paths import user_paths
from sidecar.platform.toml import UnusableError
from sidecar.platform.toml_edit import write_toml_list

TOOLSET_NAMES: Final = get_args(TOOLSET)
NAME_ARGUMENT: Final = click.argument("name", type=click.Choice(TOOLSET_NAMES))
CONFIG_KEY: Final = "toolsets"


@click.group(invoke_without_command=True)
@click.pass_context
def toolset(context: click.Context) -> None:
    """Choose which tools agents are offered: every one costs their context in every request."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@toolset.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: whether each is on.")
def list_(*, as_json: bool = False) -> None:
    """Show the toolsets, and which are on."""
    settings, problems = ConfigurationFile(os.environ).load()
    if as_json:
        echo_json({name: name in settings.toolsets for name in TOOLSET_NAMES})
    for name in () if as_json else TOOLSET_NAMES:
        echo(f"{name}: {'on' if name in settings.toolsets else 'off'}")
    for problem in problems:
        echo(f"supervisor: {problem}", err=True)


@toolset.command()
@NAME_ARGUMENT
def enable(name: str) -> None:
    """Offer the tools of NAME."""
    _switch_toolset(name, on=True)


@toolset.command()
@NAME_ARGUMENT
def disable(name: str) -> None:
    """Offer the tools of NAME no more."""
    _switch_toolset(name, on=False)


def _switch_toolset(name: str, *, on: bool) -> None:
    """Write the choice into the user's config.toml, and notify connected agents."""
    refuse_agents()
    settings, _ = ConfigurationFile(os.environ).load()
    others = [one for one in settings.toolsets if one != name]
    wanted = ([*settings.toolsets] if name in settings.toolsets else [*others, name]) if on else others
    folder = user_config_folder(os.environ)
    if folder is None:
        raise click.ClickException("the environment names no home: set HOME")
    place = folder / "config.toml"
    try:
        write_toml_list(place, CONFIG_KEY, wanted)
    except UnusableError as error:
        raise click.ClickException(f"{place}: {error}") from error
    CommandLineFiles().vouch(place)
    _notify_sidecar()
    echo(f"The toolset {name} is {'on' if on else 'off'} ({place}).")


def _notify_sidecar() -> None:
    """Let a running sidecar notify its clients; none is started for that."""
    client = SidecarClient(user_paths())
    hello = client.greet()
    if hello is not None and not hello.leaving:
        with suppress(SidecarError):
            client.call("toolsets", None, Raw)
