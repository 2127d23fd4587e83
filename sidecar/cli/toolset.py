"""`supervisor toolset`: which tools agents are offered."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final, get_args

import click
from msgspec import Raw

from sidecar.adapters.client import Client, SidecarError
from sidecar.adapters.paths import of_user
from sidecar.adapters.settings.list_edit import write_list
from sidecar.adapters.settings.toml_file import UnusableError
from sidecar.adapters.settings.user_file import ConfigurationFile, user_folder
from sidecar.cli.goal import refuse_agents
from sidecar.model.settings import TOOLSET

KNOWN: Final = get_args(TOOLSET)
NAME: Final = click.argument("name", type=click.Choice(KNOWN))
KEY: Final = "toolsets"


@click.group(invoke_without_command=True)
@click.pass_context
def toolset(context: click.Context) -> None:
    """Choose which tools agents are offered: every one costs their context in every request."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@toolset.command(name="list")
def list_() -> None:
    """Show the toolsets, and which are on."""
    settings, problems = ConfigurationFile(os.environ).load()
    for name in KNOWN:
        click.echo(f"{name}: {'on' if name in settings.toolsets else 'off'}")
    for problem in problems:
        click.echo(f"! {problem}", err=True)


@toolset.command()
@NAME
def enable(name: str) -> None:
    """Offer the tools of NAME."""
    _switch(name, on=True)


@toolset.command()
@NAME
def disable(name: str) -> None:
    """Offer the tools of NAME no more."""
    _switch(name, on=False)


def _switch(name: str, *, on: bool) -> None:
    """Write it into the user's config.toml, and tell agents that are connected."""
    refuse_agents()
    settings, _ = ConfigurationFile(os.environ).load()
    others = [one for one in settings.toolsets if one != name]
    wanted = ([*settings.toolsets] if name in settings.toolsets else [*others, name]) if on else others
    folder = user_folder(os.environ)
    if folder is None:
        raise click.ClickException("the environment names no home: set HOME")
    place = folder / "config.toml"
    try:
        write_list(place, KEY, wanted)
    except UnusableError as error:
        raise click.ClickException(f"{place}: {error}") from error
    _tell()
    click.echo(f"The toolset {name} is {'on' if on else 'off'} ({place}).")


def _tell() -> None:
    """Let a running sidecar tell its clients; none is started for that."""
    client = Client(of_user())
    hello = client.greet()
    if hello is not None and not hello.leaving:
        with suppress(SidecarError):
            client.call("toolsets", None, Raw)
