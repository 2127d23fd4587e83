"""Approves for one stop the detected checks that the agent itself ran, under the permission of its host.

Such a check may run again, unchanged: the same simple command in the same folder, or another call of the same
known runner that selects nothing. What the command leads to (a script, a recipe) must be what it was when the
goal was set, by the digest that an approval covers, so that no changed command is smuggled in.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from sidecar.evidence.claims.check_runs import NOT_STARTED_CODES, CheckScope, find_check_scope
from sidecar.evidence.commands.kinds import OF_THE_PROJECT, command, kinds_of
from sidecar.evidence.gates.approvals import gate_digest
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin
from sidecar.kernel.turn import CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.shell.commands import unwrap_command
from sidecar.platform.shell.line import parse_simple_commands
from sidecar.platform.tools import find_tool

SHELL_TOOLS = frozenset(("Bash", "bash"))
"""The hosts' tools that ask for permission and run a line in a shell."""
WHOLE_SCOPES = frozenset((CheckScope.WHOLE, CheckScope.COUNTED))


def approve_what_agent_ran(
    catalog: AvailableGates,
    turn: Turn,
    project: str,
    changed: Collection[str] | None,
    defined: Collection[str],
) -> AvailableGates:
    """Return the gates, with those approved that a call of the turn ran.

    `changed`: the paths that differ from the baseline, None where that is unknown. `defined`: the digests of
    the gates at the baseline.
    """
    ran = tuple(_commands_run(turn, project))
    gates = tuple(
        replace(gate, approved=True, changed=False, lent=True)
        if _may_be_lent(gate, changed, defined) and _was_run(gate, project, ran)
        else gate
        for gate in catalog.gates
    )
    return replace(catalog, gates=gates)


def describe_lent_gates(gates: Collection[Gate]) -> str:
    """Say which gates ran only because the agent had run them; "" for none."""
    names = ", ".join(dict.fromkeys(f"`{gate.command}`" for gate in gates if gate.lent))
    if not names:
        return ""
    return f"{names} was run again, because the agent ran it itself; to approve it: /supervisor:trust"


def _may_be_lent(gate: Gate, changed: Collection[str] | None, defined: Collection[str]) -> bool:
    """Whether a detected gate runs what it would have run when the goal was set."""
    if gate.approved or gate.origin is not GateOrigin.DETECTED or gate.python:
        return False
    if gate.behind:
        return gate_digest(gate) in defined
    files = {os.path.normpath(os.path.join(gate.folder, word)) for word in gate.command.split()}  # noqa: PTH118 - no file is touched
    return files.isdisjoint(changed) if changed is not None else gate_digest(gate) in defined


def _was_run(gate: Gate, project: str, ran: Collection[tuple[str, CommandRun]]) -> bool:
    folder = os.path.normpath(os.path.join(project, gate.folder))  # noqa: PTH118 - as above
    wanted = parse_simple_commands(gate.command)
    return len(wanted) == 1 and any(here == folder and _stands_for(run, wanted[0], gate) for here, run in ran)


def _stands_for(run: CommandRun, wanted: CommandRun, gate: Gate) -> bool:
    """Whether a command that ran is this one, or another whole run of the same known runner."""
    if set(run.assignments) != set(wanted.assignments):
        return False
    if unwrap_command(run.argv) == unwrap_command(wanted.argv):
        return True
    name = next(iter(command(wanted)), "")
    tool = find_tool(name)
    return (
        tool is not None
        and tool.kinds_from not in OF_THE_PROJECT
        and command(run)[:1] == (name,)
        and gate.kind in kinds_of(run) & kinds_of(wanted)
        and {find_check_scope(one, gate.kind) for one in (run, wanted)} <= WHOLE_SCOPES
    )


def _commands_run(turn: Turn, project: str) -> Iterator[tuple[str, CommandRun]]:
    """Yield the commands that certainly ran, with their folders, "" where unknown.

    Some hosts begin each call in the project, others where the last one ended.
    """
    began = os.path.normpath(project)
    for call in turn.calls:
        here = began
        if call.doing is not ToolAction.RUN or call.tool not in SHELL_TOOLS:
            continue
        for at, run in enumerate(call.runs):
            if run.argv[0] == "cd":
                here = _folder_after(here, run)
            elif _certainly_ran(call, at):
                yield here, run
        if here != os.path.normpath(project):
            began = ""


def _folder_after(here: str, cd: CommandRun) -> str:
    target = cd.argv[1] if len(cd.argv) == 2 else "$"  # noqa: PLR2004 - the command and its folder
    if "$" in target or target.startswith(("~", "-")) or not (here or target.startswith("/")):
        return ""
    return os.path.normpath(os.path.join(here, target))  # noqa: PTH118 - as above


def _certainly_ran(call: ToolCall, at: int) -> bool:
    """Whether the host executed the command: the first of its line, or one that the exit code shows."""
    run, code = call.runs[at], call.exit_code
    if code is None or code in NOT_STARTED_CODES or run.background or run.fate is FailureHandling.UNKNOWN:
        return False
    if at == 0:
        return True
    behind_cd = all(before.argv[0] == "cd" for before in call.runs[:at])
    return (behind_cd or run.implied) if code == 0 else run.blamed
