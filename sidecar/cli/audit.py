"""`supervisor audit`: shows, verifies and exports what was done under context locks."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import shlex
import sys
from collections import deque
from pathlib import Path
from typing import Final

import click

from sidecar.cli.goal import refuse_agents
from sidecar.cli.printing import echo, echo_json_text, local_time
from sidecar.kernel.audit import AuditEntry
from sidecar.kernel.log import EventFilter, LoggedEvent
from sidecar.kernel.text import clean_line
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.process_table import ProcessTable
from sidecar.platform.processes import ProcessResult, find_program, run_process
from sidecar.systems.governance.audit import Audit, audit_line
from sidecar.systems.governance.locks import Locks
from sidecar.systems.governance.policy.chain import Verification, verify_export
from sidecar.systems.supervision.policy.origins import describe_processes
from sidecar.wiring.governance import build_locks
from sidecar.wiring.platform import build_platform

NAMESPACE: Final = "supervisor-audit"
"""What a signature is for, as ssh-keygen wants to be told."""
SIGNING_S: Final = 120.0
"""Seconds for ssh-keygen: a key in a token may wait for a touch."""
FAULTS: Final = 10
"""Faults that are printed."""
REST: Final = 200
"""Maximum characters of what a line says at its end."""
LOCK_OPTION = click.option("--lock", default="", metavar="ID", help="Only the entries of this lock.")


def open_governance() -> tuple[Audit, Locks]:
    """Return the audit, and the locks as a person changes them: what happens to one is in the audit."""
    state = user_paths().state
    platform = build_platform(state)
    built = build_locks(state, platform.log, platform.clock, agent="person", origin=typed_by())
    return built.audit, built.locks


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
    for event in deque(open_governance()[0].events(lock), last):
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
@click.option(
    "--allowed-signers",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="Verify FILE.sig too: who may sign, as `man ssh-keygen` describes it.",
)
def verify(file: Path | None, allowed_signers: str | None) -> None:
    """Find out whether an entry was changed, dropped or added: in the log, or in an exported FILE.

    A lock's part holds together as far as it goes: that entries of other locks are missing is no fault.
    Exit codes: 0 no fault, 1 faults; the first are printed.
    """
    if allowed_signers and file is None:
        raise click.UsageError("--allowed-signers needs the FILE that was signed")
    data = file.read_bytes() if file else b""
    if file and allowed_signers:
        echo(f"signed by {_signer(file, data, allowed_signers)}")
    found = verify_export(data) if file else open_governance()[0].verify()
    for fault in found.faults[:FAULTS]:
        place = f"line {fault.line}, " if file else ""
        echo(f"{place}entry {fault.number}: {fault.what}", err=True)
    if found.faults:
        sys.exit(1)
    echo(_said(found))


def _said(found: Verification) -> str:
    entries = f"{found.entries} entr{'y' if found.entries == 1 else 'ies'}, none changed, dropped or added"
    return entries + (f"; {found.forgotten} removed on order" if found.forgotten else "")


@audit.command()
@LOCK_OPTION
@click.option(
    "--output", type=click.Path(dir_okay=False, resolve_path=True, path_type=Path), help="Into this file."
)
@click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="Sign the file with this SSH key.",
)
def export(lock: str, output: Path | None, key: str | None) -> None:
    """Print the audit as lines of JSON, with a last line that seals it: supervisor audit verify FILE.

    With --lock only a part: each line can be verified, and the order, but not what other locks did.
    """
    if key and output is None:
        raise click.UsageError("--sign needs --output FILE")
    data = open_governance()[0].export(lock)
    if output is None:
        echo_json_text(data.decode().removesuffix("\n"))
        return
    write_whole(output, data)
    echo(f"{len(data.splitlines()) - 1} entries: {output}")
    if key:
        signature = _signature_of(output)
        signature.unlink(missing_ok=True)
        _ssh_keygen("sign", "-n", NAMESPACE, "-f", key, str(output))
        quoted, signed = shlex.quote(str(signature)), shlex.quote(str(output))
        echo(f"ssh-keygen -Y verify -f ALLOWED_SIGNERS -I WHO -n {NAMESPACE} -s {quoted} < {signed}")


def _signature_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.sig")


def _signer(file: Path, data: bytes, allowed: str) -> str:
    """Return whose signature it is. Raises ClickException where it is nobody's who may sign."""
    signature = str(_signature_of(file).resolve())
    found = _ssh_keygen("find-principals", "-s", signature, "-f", allowed)
    signer = found.output.decode("utf-8", "replace").partition("\n")[0]
    _ssh_keygen("verify", "-f", allowed, "-I", signer, "-n", NAMESPACE, "-s", signature, stdin=data)
    return signer


def _ssh_keygen(action: str, *arguments: str, stdin: bytes = b"") -> ProcessResult:
    program = find_program("ssh-keygen", os.environ, str(Path.cwd()))
    if not program:
        raise click.ClickException("ssh-keygen is not on the PATH. It comes with OpenSSH")
    done = asyncio.run(
        run_process(
            (program, "-Y", action, *arguments),
            cwd="/",
            environment=os.environ,
            seconds=SIGNING_S,
            stdin=stdin,
            separate=True,
        )
    )
    if done.exit_code != 0:
        why = done.reason or (done.output + done.errors).decode("utf-8", "replace").strip()
        raise click.ClickException(f"ssh-keygen -Y {action} failed: {clean_line(why, REST)}")
    return done


@audit.command()
@LOCK_OPTION
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), help="Everything before this day.")
@click.option("--yes", is_flag=True, help="Yes, remove it for ever.")
def forget(lock: str, before: dt.datetime | None, *, yes: bool) -> None:
    """Remove entries. One that names their numbers is added, so that no other gap can hide behind them.

    Entries of a lock that is held stay.
    """
    if not (lock or before):
        raise click.UsageError("name --lock ID or --before DATE")
    if not yes:
        raise click.UsageError("this cannot be taken back. If you mean it, add --yes")
    refuse_agents()
    log, locks = open_governance()
    wanted = EventFilter(before=before.astimezone().timestamp() if before else None)
    held = {found.id for found in locks.held()}
    count = log.forget(wanted, lock=lock, held=held, origin=typed_by())
    echo(f"{count} audit entr{'y' if count == 1 else 'ies'} removed")
