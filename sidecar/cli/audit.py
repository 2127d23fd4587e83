"""`supervisor audit` and `lock`: what was done under context locks, and who holds them."""

from __future__ import annotations

import os
import shlex
import sys
from collections import deque
from pathlib import Path
from typing import Final

import click

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.options import PROJECT
from sidecar.cli.printing import echo, echo_json, echo_json_text, local_time
from sidecar.kernel.governance import ContextLock
from sidecar.kernel.log import AuditEntry, LoggedEvent
from sidecar.kernel.settings import Mode
from sidecar.kernel.text import clean_line
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.process_table import ProcessTable
from sidecar.systems.governance.audit import audit_line
from sidecar.systems.governance.locks import BROKEN, RELEASED, SHELL, Locks
from sidecar.systems.governance.policy.chain import verify_export
from sidecar.systems.governance.policy.work import describe_cost
from sidecar.systems.supervision.policy.orders import describe_processes
from sidecar.wiring.headless import build_locks
from sidecar.wiring.platform import build_platform

FAULTS: Final = 10
"""Faults that are printed."""
REST: Final = 200
"""Maximum characters of what a line says at its end."""
LOCK_OPTION = click.option("--lock", default="", metavar="ID", help="Only the entries of this lock.")


def open_locks() -> Locks:
    """Return the locks, as a person changes them, with the audit."""
    state = user_paths().state
    platform = build_platform(state)
    return build_locks(state, platform.log, platform.clock, agent="person", origin=typed_by())


def typed_by() -> str:
    """Return by which processes the command was typed."""
    return describe_processes(ProcessTable().ancestry(os.getpid()), at_work=False)


@click.group()
def audit() -> None:
    """What was done under context locks: every phase, its input and output, and who did it."""


@audit.command()
@LOCK_OPTION
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="How many entries.")
@click.option("--json", "as_json", is_flag=True, help="Print each entry as one line of JSON, whole.")
def show(lock: str, last: int, *, as_json: bool) -> None:
    """Show the last entries, oldest first."""
    for event in deque(open_locks().audit.events(lock), last):
        if as_json:
            echo_json_text(audit_line(event).decode())
        else:
            echo(_shown_line(event))


def _shown_line(event: LoggedEvent) -> str:
    entry = event.data
    when = local_time(event.at)
    if not isinstance(entry, AuditEntry):
        return f"    ? {when} damaged, at position {event.position} of the log"
    iteration = f"#{entry.iteration}" if entry.iteration else ""
    rest = filter(
        None,
        (entry.result, iteration, entry.agent and f"by {entry.agent}", describe_cost(entry), entry.error),
    )
    return f"{entry.number:>5} {when} {entry.lock:<12} {entry.tool:<15} {clean_line(' '.join(rest), REST)}"


@audit.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def verify(file: Path | None) -> None:
    """Find out whether an entry was changed, dropped or added: in the log, or in an exported FILE.

    A lock's part holds together as far as it goes: that entries of other locks are missing is no fault.
    Exit codes: 0 no fault, 1 faults; the first are printed.
    """
    found = verify_export(file.read_bytes()) if file else open_locks().audit.verify()
    for fault in found.faults[:FAULTS]:
        place = f"line {fault.line}, " if file else ""
        echo(f"{place}entry {fault.number}: {fault.what}", err=True)
    if found.faults:
        sys.exit(1)
    echo(f"{found.entries} entr{'y' if found.entries == 1 else 'ies'}, none changed, dropped or added")


@audit.command()
@LOCK_OPTION
@click.option(
    "--output", type=click.Path(dir_okay=False, resolve_path=True, path_type=Path), help="Into this file."
)
def export(lock: str, output: Path | None) -> None:
    """Print the audit as lines of JSON, with a last line that seals it: supervisor audit verify FILE.

    With --lock only a part: each line can be verified, and the order, but not what other locks did.
    """
    data = open_locks().audit.export(lock)
    if output is None:
        echo_json_text(data.decode().removesuffix("\n"))
        return
    write_whole(output, data)
    echo(f"{len(data.splitlines()) - 1} entries: {output}")
    echo("Who wants to sign it types:")
    echo(f"  ssh-keygen -Y sign -n supervisor-audit -f ~/.ssh/id_ed25519 {shlex.quote(str(output))}")


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
    if minutes is None:
        minutes = ConfigurationFile(os.environ, CommandLineFiles()).load()[0].governance.lock_minutes
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
