"""`supervisor serve` and `stop`: the sidecar."""

from __future__ import annotations

from collections.abc import Callable

import click

from sidecar.cli.printing import echo
from sidecar.platform import paths
from sidecar.platform.client import SidecarClient


@click.command()
@click.pass_obj
def serve(live: Callable[[], int]) -> int:
    """Be the sidecar.

    Hosts start it on demand, and it ends by itself when none has called for a while. Where one runs already,
    this ends at once; an older one is replaced when it has finished what it does.
    """
    return live()


@click.command()
def stop() -> None:
    """End the sidecar.

    What it judges at this moment is given up: those agents rest. The next event of a host starts it again; to
    switch Supervisor off, see `supervisor off`.
    """
    echo(f"The sidecar: {SidecarClient(paths.user_paths()).stop()}.")
