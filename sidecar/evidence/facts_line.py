"""One line for the person at a stop without a goal: what changed, read from no wording."""

from __future__ import annotations

from typing import Final

from sidecar.evidence.claims.check_runs import find_check_runs
from sidecar.evidence.claims.turn_effects import edit_places
from sidecar.evidence.claims.worked import STANDARD_CHECK_KINDS
from sidecar.evidence.commands.kinds import command
from sidecar.kernel.events import ProjectState
from sidecar.kernel.gate import GateRun
from sidecar.kernel.text import clean_line, counted
from sidecar.kernel.turn import Turn

LINE_LIMIT: Final = 119
"""Characters of the whole line."""
NAMED_FILES: Final = 3


def describe_facts(turn: Turn, runs: tuple[GateRun, ...], state: ProjectState) -> str:
    """Return the line, "" where nothing changed since the prompt."""
    commits = state.repository.commits if state.repository else 0
    if not (state.edits or state.changed or commits):
        return ""
    for named in range(NAMED_FILES, -1, -1):
        parts = (_files(state, named), _git(state), _checks(turn, runs))
        line = f"Supervisor: {'; '.join(filter(None, parts))}"
        if len(line) <= LINE_LIMIT:
            return line
    return f"{line[: LINE_LIMIT - 3]}..."


def _files(state: ProjectState, named: int) -> str:
    edits = [edit for edit in state.edits if edit.path]
    total = max(len(state.changed or ()), len(edits))
    if not total:
        return ""
    shown = ", ".join(f"{edit.mark} {clean_line(edit.path, LINE_LIMIT)}" for edit in edits[:named])
    more = total - len(edits[:named])
    if not shown:
        return f"files: {more} changed"
    return f"files: {shown}" + (f" and {more} more" if more else "")


def _git(state: ProjectState) -> str:
    git = state.repository
    if git is None or git.commits is None:
        return ""
    left = f"{git.dirty} not committed" if git.dirty else "all committed"
    return f"git: {counted(git.commits, 'new commit')}, {left}"


def _checks(turn: Turn, runs: tuple[GateRun, ...]) -> str:
    """Say how the last check ended: the last that Supervisor ran at this stop, else the agent's own."""
    if runs:
        line = runs[-1].gate.command.partition("\n")[0][:30]
        return f"checks: {line} {runs[-1].outcome} (run by Supervisor)"
    own = (run for kind in STANDARD_CHECK_KINDS for run in find_check_runs(turn, kind))
    last = max(own, key=lambda run: run.at, default=None)
    if last is None:
        return "checks: none ran"
    old = any(place > last.at for place in edit_places(turn))
    code = "?" if last.call.exit_code is None else last.call.exit_code
    program, *words = command(last.run)
    name = " ".join((program, *(word for word in words[:1] if word.isalpha())))  # `npm test`
    return f"checks: {name} exit {code}" + (", before the last change" if old else "")
