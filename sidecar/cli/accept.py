"""`supervisor accept`: lets an edit count that waits because it may be the agent's (law 9)."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from typing import Final

import click
from msgspec.structs import replace

from sidecar.cli.gates import FOLDER_ARGUMENT
from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo, echo_json
from sidecar.kernel.held_edits import HeldEdit
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from sidecar.systems.supervision.people import HeldEditsRequest

DECLINED: Final = 1


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
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on. Look at what is shown, then add --yes")
    if not yes and not click.confirm("Let this count?", default=False):
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
    yield from _diff_lines(edit)


def _diff_lines(edit: HeldEdit) -> Iterator[str]:
    before, now = escape_unprintable_lines(edit.before), escape_unprintable_lines(edit.now)
    lines = difflib.unified_diff(before, now, "in force", "held", lineterm="")
    yield from (f"  {line}" for line in lines)
