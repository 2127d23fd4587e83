"""`supervisor off` and `supervisor on`: switch Supervisor for the user, or for one project."""

from __future__ import annotations

import os

import click

from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo
from sidecar.systems.supervision.people import SwitchRequest

PROJECT_OPTION = click.option("--project", is_flag=True, help="For this folder and what is below it only.")


@click.command()
@PROJECT_OPTION
def off(*, project: bool) -> None:
    """Switch Supervisor off: stops are left alone, goals cannot be set."""
    _switch_supervisor(on=False, project=project)


@click.command()
@PROJECT_OPTION
def on(*, project: bool) -> None:
    """Switch Supervisor on again."""
    _switch_supervisor(on=True, project=project)


def _switch_supervisor(*, on: bool, project: bool) -> None:
    refuse_agents()
    folder = os.getcwd()  # noqa: PTH109 - sent as text
    request = SwitchRequest(on=on, project=folder if project else None, folder=folder)
    echo(call_sidecar("toggle", request, str))
