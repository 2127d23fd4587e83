"""`supervisor inbox`: stops as files, for agents without hooks (docs/markers.md)."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import Final

import click
import msgspec
from msgspec import Raw

from sidecar.adapters.client import DOCTOR, SidecarError
from sidecar.adapters.markers import peer
from sidecar.adapters.markers.inbox import Decided
from sidecar.adapters.paths import of_user
from sidecar.cli.checks import visible
from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import ask
from sidecar.servers.inbox import InboxCall, Opened

SHORT_S: Final = 5.0
"""Seconds: a sidecar that ends sooner ends for a reason of its own."""
SHORT_LIVES: Final = 3
"""So many of them in a row are no accident."""


@click.command()
@click.option("--path", "only_path", is_flag=True, help="Print the folder, and end.")
@click.option("--session", default="", help="Make this session of the present folder known: work begins.")
def inbox(*, only_path: bool, session: str) -> None:
    """Take stops as files, and print one line for each decision.

    An agent without hooks, or a container that shares only a folder, puts a stop into the folder that is
    printed first, and finds the decision beside it. Without --path this keeps a sidecar running until ctrl-c,
    and the folder is printed again when another one took over.
    """
    if session:
        refuse_agents()
    project = os.getcwd()  # noqa: PTH109 - sent as text
    opened = ask("inbox", InboxCall(session=session, project=project), Opened)
    if only_path:
        click.echo(opened.folder)
        return
    with suppress(KeyboardInterrupt):
        _look_on()


def _look_on() -> None:
    """Print the folder and decisions, of one sidecar after the other."""
    short = 0
    while short < SHORT_LIVES:
        began = time.monotonic()
        os.chdir(of_user().run)  # a socket's path may have 108 bytes
        with suppress(ConnectionRefusedError, ConnectionResetError):  # no broken pipe: nobody looks on then
            asyncio.run(peer.ask("inbox", InboxCall(watch=True), _print))
        short = short + 1 if time.monotonic() < began + SHORT_S else 0
        ask("inbox", InboxCall(), Opened)  # starts the next one
    raise SidecarError("the sidecar ends as soon as it was started", DOCTOR)


def _print(method: str, params: Raw) -> None:
    if method == "opened":
        click.echo(msgspec.json.decode(params, type=Opened).folder)
    elif method == "decided":
        click.echo(line(msgspec.json.decode(params, type=Decided)))


def line(decided: Decided) -> str:
    """One decision, for a person."""
    who = f" {decided.session}" if decided.session else ""
    return visible(f"{decided.name}{who}: {decided.decision}: {decided.reason}")
