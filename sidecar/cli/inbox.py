"""`supervisor inbox`: exchanges stops and decisions as files, for agents without hooks (docs/markers.md)."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import Final

import click
import msgspec
from msgspec import Raw

from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo
from sidecar.hosts.marker_inbox import InboxDecision
from sidecar.kernel.text import escape_unprintable
from sidecar.platform import client
from sidecar.platform.client import DOCTOR_ADVICE, SidecarError
from sidecar.platform.paths import user_paths
from sidecar.servers.methods import InboxCall, InboxOpened

SHORT_LIFE_S: Final = 5.0
"""A sidecar that ends within so many seconds has a fault of its own."""
SHORT_LIVES: Final = 3
"""Give up after so many such sidecars in a row."""


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
    opened = call_sidecar("inbox", InboxCall(session=session, project=project), InboxOpened)
    if only_path:
        echo(opened.folder)
        return
    with suppress(KeyboardInterrupt):
        _follow_decisions()


def _follow_decisions() -> None:
    """Print the folder and decisions of each sidecar in turn. Raises SidecarError when they end too soon."""
    short = 0
    while short < SHORT_LIVES:
        began = time.monotonic()
        os.chdir(user_paths().run)  # the path of a socket has at most 108 bytes, so use it by its name
        # BrokenPipeError is not suppressed: it means that nobody reads our output
        with suppress(ConnectionRefusedError, ConnectionResetError):
            asyncio.run(client.request_sidecar("inbox", InboxCall(watch=True), _print_notification))
        short = short + 1 if time.monotonic() < began + SHORT_LIFE_S else 0
        call_sidecar("inbox", InboxCall(), InboxOpened)  # starts the next sidecar
    raise SidecarError("the sidecar ends as soon as it was started", DOCTOR_ADVICE)


def _print_notification(method: str, params: Raw) -> None:
    if method == "opened":
        echo(msgspec.json.decode(params, type=InboxOpened).folder)
    elif method == "decided":
        echo(format_decision(msgspec.json.decode(params, type=InboxDecision)))


def format_decision(decided: InboxDecision) -> str:
    """One decision as a line for a person."""
    who = f" {decided.session}" if decided.session else ""
    return escape_unprintable(f"{decided.name}{who}: {decided.decision}: {decided.reason}")
