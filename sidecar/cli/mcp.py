"""`supervisor mcp`: what a host starts to reach the tools of agents."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from sidecar import __version__
from sidecar.servers.mcp import pipe

if TYPE_CHECKING:
    from sidecar.servers.mcp.pipe import Link


@click.command()
def mcp() -> None:
    """Speak MCP on standard input and output.

    It is for the configuration of a host, where `supervisor install` puts it. It starts the sidecar where
    none runs, and ends with its input.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a host's terminal sends it to all of its children
    try:
        pipe.Pipe(_connected).run()
    except (OSError, pipe.PipeError) as error:
        from sidecar.adapters.client import DOCTOR, SidecarError  # noqa: PLC0415 - trouble alone pays for it

        raise SidecarError(f"the sidecar does not answer ({error})", DOCTOR) from error


def _connected(resumed: bool) -> Link:  # noqa: FBT001 - the pipe's signature
    """Connect to a sidecar that is not older than we are, started where needed; raises SidecarError."""
    with suppress(ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
        if link := _reached(resumed=resumed):
            return link
    from sidecar.adapters.client import Client  # noqa: PLC0415 - where a sidecar runs, nobody waits for this
    from sidecar.adapters.paths import of_user  # noqa: PLC0415 - as above

    Client(of_user()).start()
    if link := _reached(resumed=resumed):
        return link
    raise pipe.PipeError("it makes room for another one, which does not come")


def _reached(*, resumed: bool) -> Link | None:
    return pipe.reach(pipe.run_folder(os.environ), __version__, resumed=resumed)
