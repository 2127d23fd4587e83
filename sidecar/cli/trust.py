"""`supervisor trust` and `accept`: what a user lets count (laws 9 and 12)."""

from __future__ import annotations

import asyncio
import difflib
import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import click
from msgspec.structs import replace

from sidecar.cli.gates import GateServices, build_gate_services, select_gates
from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.options import FOLDER_ARGUMENT
from sidecar.cli.printing import echo, echo_json
from sidecar.evidence.gates.approvals import (
    APPROVAL_TEXT_LIMIT,
    Approval,
    approval_covers,
    find_approval,
    truncate_approval_text,
)
from sidecar.kernel.gate import REMOTE_GATE_KINDS, AvailableGates, Gate, GateOrigin
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.text import escape_unencodable, escape_unprintable, escape_unprintable_lines
from sidecar.systems.supervision.people import HeldEditsRequest

DECLINED = 1


@click.command()
@FOLDER_ARGUMENT
@click.option("--yes", is_flag=True, help="Approve what is shown without asking.")
@click.option("--only", multiple=True, metavar="ID", help="Approve only this check. May be repeated.")
@click.option("--list", "listing", is_flag=True, help="Only show what is approved and what is not.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print one JSON list for a script.")
@click.option("--revoke", is_flag=True, help="Take all approvals for FOLDER back.")
def trust(  # noqa: PLR0913 - one parameter per option
    folder: str, only: tuple[str, ...], *, yes: bool, listing: bool, as_json: bool, revoke: bool
) -> None:
    """Approve the commands that the files of FOLDER (else of the current folder) name.

    They are shown with what is behind them; nothing else is approved, and a change needs another approval.
    Exit codes: 0 approved or nothing to approve, 1 declined, 2 no terminal to ask on and no --yes.
    """
    if listing and (yes or revoke or only):
        raise click.UsageError("--list goes with nothing else")
    if as_json and not listing:
        raise click.UsageError("--json goes with --list")
    if revoke and (yes or only):
        raise click.UsageError("--revoke goes with nothing else")
    doors = build_gate_services()
    if listing:
        _print_approvals(doors, folder, as_json=as_json)
        return
    refuse_agents(noted=True)
    if revoke:
        count = doors.trust.revoke(folder)
        echo(f"{count} approved before, none now: {escape_unprintable(folder)}")
        return
    sys.exit(_approve_gates(doors, folder, only, yes=yes))


def _load_catalog(doors: GateServices, folder: str) -> AvailableGates:
    return asyncio.run(doors.catalog.list(folder, os.environ))


def _print_approvals(doors: GateServices, folder: str, *, as_json: bool) -> None:
    catalog, approvals = _load_catalog(doors, folder), doors.trust.approvals(folder)
    if as_json:
        fields = ("id", "command", "folder", "behind", "why")
        echo_json(
            [
                {name: escape_unencodable(getattr(gate, name)) for name in fields}
                | {"approval": _approval_status(gate, find_approval(approvals, gate))}
                for gate in catalog.approvable
            ]
        )
        return
    _print_gates(catalog.approvable, approvals)
    if not catalog.approvable:
        echo("No file here names a command that Supervisor would run.")
    _print_problems(catalog)


def _approve_gates(doors: GateServices, folder: str, only: tuple[str, ...], *, yes: bool) -> int:
    """Show the gates, ask once, and approve exactly what was shown."""
    catalog, approvals = _load_catalog(doors, folder), doors.trust.approvals(folder)
    shown = select_gates(replace(catalog, gates=catalog.approvable), only)
    _print_gates(shown, approvals)
    _print_problems(catalog)
    new = [gate for gate in shown if not gate.approved]
    if not new:
        echo("There is nothing to approve.")
        return 0
    if not yes and not confirm_at_terminal(f"Approve {len(new)} of them for {escape_unprintable(folder)}?"):
        echo("Nothing was approved.")
        return DECLINED
    doors.trust.approve(folder, new)
    echo(f"Approved: {', '.join(escape_unprintable(gate.id) for gate in new)}. `supervisor gates` runs them.")
    return 0


def confirm_at_terminal(question: str) -> bool:
    """Ask the person at the terminal. Raises UsageError where there is none."""
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on. Look at what is shown, then add --yes")
    return click.confirm(question, default=False)


def _print_problems(catalog: AvailableGates) -> None:
    for problem in catalog.problems:
        echo(f"supervisor: {escape_unprintable(problem)}", err=True)


def _print_gates(gates: Sequence[Gate], approvals: Mapping[str, Approval]) -> None:
    for gate in gates:
        for line in describe_approval(gate, find_approval(approvals, gate)):
            echo(line)
        echo()


def describe_approval(gate: Gate, approval: Approval | None) -> Iterator[str]:
    """Everything that an approval covers; where it has changed, also the differences from before."""
    yield f"{escape_unprintable(gate.id)}: {_approval_status(gate, approval)}"
    yield f"    why      {escape_unprintable(gate.why)}"
    yield from _labelled_text("command", gate.command)
    if gate.folder:
        yield f"    in       {escape_unprintable(gate.folder)}"
    if gate.python:
        yield f"    python   {escape_unprintable(gate.python)}"
    if gate.behind:
        yield from _labelled_text("behind", gate.behind)
    if gate.least is not None:
        yield f"    least    {gate.least:g} percent of coverage"
    if approval and not gate.approved:
        yield from _approval_changes(gate, approval)


def _approval_status(gate: Gate, approval: Approval | None) -> str:
    if gate.kind in REMOTE_GATE_KINDS:
        return "needs no approval, it only reads"
    if gate.origin is GateOrigin.USER:
        return "approved by your own config.toml"
    if gate.approved or approval_covers(approval, gate):
        return "approved"
    return "CHANGED since you approved it" if approval else "not approved"


def _approval_changes(gate: Gate, approval: Approval) -> Iterator[str]:
    """The differences from what was approved, as far as the recorded texts show them."""
    pairs = (
        ("command", approval.command, truncate_approval_text(gate.command)),
        ("folder", approval.folder, truncate_approval_text(gate.folder)),
        ("behind", approval.behind, truncate_approval_text(gate.behind)),
    )
    changed = [pair for pair in pairs if pair[1] != pair[2]]
    for name, old, new in changed:
        yield f"    {name} before -> after:"
        lines = difflib.unified_diff(
            escape_unprintable_lines(old), escape_unprintable_lines(new), n=1, lineterm=""
        )
        yield from (f"      {line}" for line in itertools.islice(lines, 2, None) if not line.startswith("@@"))
    if not changed:
        yield f"    what changed is how it counts, or lies beyond the first {APPROVAL_TEXT_LIMIT} characters"


def _labelled_text(name: str, text: str) -> Iterator[str]:
    """A text of one or more lines beside its label."""
    first, *rest = escape_unprintable_lines(text)
    yield f"    {name:<8} {first}"
    yield from (f"    {'':<8} {line}" for line in rest)


@click.command(short_help="Let held edits count.")
@FOLDER_ARGUMENT
@click.option("--yes", is_flag=True, help="Accept what is shown without asking.")
@click.option("--json", "as_json", is_flag=True, help="Only print what waits, as a JSON list for a script.")
def accept(folder: str, *, yes: bool, as_json: bool) -> None:
    """Show the edits that wait, of your own files and of FOLDER's (else the current one), and let them count.

    Exit codes: 0 accepted or nothing is held, 1 declined, 2 no terminal to ask on and no --yes.
    """
    asked = HeldEditsRequest(project=folder, environment=dict(os.environ))
    if as_json:
        if yes:
            raise click.UsageError("--json accepts nothing, so it does not go with --yes")
        echo_json(call_sidecar("held", asked, tuple[HeldEdit, ...]))
        return
    refuse_agents()
    _accept_held(asked, call_sidecar("held", asked, tuple[HeldEdit, ...]), yes=yes)


def _accept_held(asked: HeldEditsRequest, held: tuple[HeldEdit, ...], *, yes: bool) -> None:
    if not held:
        echo("Nothing is held.")
        return
    for edit in held:
        for line in held_edit_lines(edit):
            echo(line)
    if not yes and not confirm_at_terminal("Let this count?"):
        echo("Nothing was accepted; it is held as before.")
        sys.exit(DECLINED)
    shown = tuple(edit.digest for edit in held)
    lines = call_sidecar("accept", replace(asked, digests=shown), tuple[str, ...])
    for accepted in lines:
        echo(escape_unprintable(accepted))
    if len(lines) < len(held):
        raise click.ClickException("what is held has changed since it was shown; look at it again")


def held_edit_lines(edit: HeldEdit) -> Iterator[str]:
    """Return the edit for a terminal: where, what, and the difference."""
    yield f"{escape_unprintable(edit.path)}: {escape_unprintable(edit.summary)}"
    before, now = escape_unprintable_lines(edit.before), escape_unprintable_lines(edit.now)
    lines = difflib.unified_diff(before, now, "in force", "held", lineterm="")
    yield from (f"  {line}" for line in lines)
