"""`supervisor lock`: who may change a project under governance."""

from __future__ import annotations

import os
from typing import Final

import click

from sidecar.cli.audit import open_locks
from sidecar.cli.goal import refuse_agents
from sidecar.cli.options import PROJECT
from sidecar.cli.printing import echo, echo_json, local_time
from sidecar.kernel.audit import Mode
from sidecar.kernel.governance import ContextLock
from sidecar.platform.paths import user_paths
from sidecar.systems.governance.locks import BROKEN, RELEASED, SHELL, Locks
from sidecar.wiring.platform import build_platform

MODE: Final = click.Choice([mode.value for mode in Mode])


@click.group()
def lock() -> None:
    """One holder at a time may change a project under governance."""


@lock.command()
@click.option(
    "--mode",
    type=MODE,
    default=Mode.FULL.value,
    show_default=True,
    help="How strictly its phases are governed.",
)
@click.option("--minutes", type=click.IntRange(1, 10_080), help="When it ends; else the configured time.")
@PROJECT
def acquire(mode: str, minutes: int | None, project: str) -> None:
    """Acquire the lock of this project for this shell. It ends with the shell, or when its time is over."""
    minutes = minutes or build_platform(user_paths().state).configuration.load()[0].governance.lock_minutes
    parent = os.getppid()
    held = _ordered().acquire(project, SHELL, Mode(mode), minutes * 60.0, parent if parent > 1 else 0)
    echo(_line(held))


@lock.command()
@click.argument("ident", metavar="ID")
def release(ident: str) -> None:
    """Release a lock: its work is over."""
    echo(f"{_ordered().end(ident, RELEASED).id} is released.")


@lock.command("break")
@click.argument("ident", metavar="ID")
def break_(ident: str) -> None:
    """End a lock, whoever holds it. Its holder is refused from then on."""
    broken = _ordered().end(ident, BROKEN)
    echo(f"{broken.id} is broken. It was held by {broken.holder}.")


@lock.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def list_(*, as_json: bool) -> None:
    """Show the locks that are held."""
    held = open_locks().held()
    if as_json:
        echo_json(held)
        return
    for one in held:
        echo(f"{_line(one)}, held by {one.holder}: {one.project}")
    if not held:
        echo("No lock is held.")


def _line(held: ContextLock) -> str:
    return f"{held.id} {held.mode} until {local_time(held.expires, '%Y-%m-%d %H:%M')}"


def _ordered() -> Locks:
    """Return the locks, to be changed by a person's order."""
    refuse_agents()
    return open_locks()
