"""`supervisor audit`: shows, verifies and exports what was done under context locks."""

from __future__ import annotations

import os
import shlex
import sys
from collections import deque
from pathlib import Path
from typing import Final

import click

from sidecar.cli.printing import echo, echo_json_text, local_time
from sidecar.kernel.audit import AuditEntry
from sidecar.kernel.log import LoggedEvent
from sidecar.kernel.text import clean_line
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.process_table import ProcessTable
from sidecar.systems.governance.audit import audit_line
from sidecar.systems.governance.locks import Locks
from sidecar.systems.governance.policy.chain import verify_export
from sidecar.systems.supervision.policy.origins import describe_processes
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
    rest = filter(None, (entry.result, iteration, entry.agent and f"by {entry.agent}", entry.error))
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
