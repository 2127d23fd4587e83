"""`supervisor forget`: removes what is stored of a session, or of everything before a day."""

from __future__ import annotations

import datetime as dt

import click

from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo
from sidecar.systems.supervision.forgetting import ForgetRequest


@click.command()
@click.argument("session", default="")
@click.option(
    "--before", type=click.DateTime(["%Y-%m-%d"]), help="Everything before this day, such as 2026-11-01."
)
def forget(session: str, before: dt.datetime | None) -> None:
    """Remove what is stored of SESSION (an ID, or HOST:ID), or what is older than a day.

    Its events, state, journal, kept stops, and how its project looked when its goal began. This cannot be
    taken back.
    """
    if bool(session) == (before is not None):
        raise click.UsageError("name either a session or --before DATE")
    refuse_agents()
    at = before.astimezone().timestamp() if before is not None else None
    echo(call_sidecar("forget", ForgetRequest(session=session, before=at), str))
