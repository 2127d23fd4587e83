"""`supervisor off` and `supervisor on`: for you, or for one project."""

from __future__ import annotations

import os

import click

from sidecar.app.people import Toggle
from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import ask

PROJECT = click.option("--project", is_flag=True, help="For this folder and what is below it only.")


@click.command()
@PROJECT
def off(*, project: bool) -> None:
    """Switch Supervisor off: stops are left alone, goals cannot be set."""
    _toggle(on=False, project=project)


@click.command()
@PROJECT
def on(*, project: bool) -> None:
    """Switch Supervisor on again."""
    _toggle(on=True, project=project)


def _toggle(*, on: bool, project: bool) -> None:
    refuse_agents()
    folder = os.getcwd() if project else None  # noqa: PTH109 - sent as text
    click.echo(ask("toggle", Toggle(on=on, project=folder), str))
