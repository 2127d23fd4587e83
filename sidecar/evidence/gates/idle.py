"""Says why a run that ended well executed nothing: it was up to date, replayed a cache, or only printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sidecar.evidence.commands.kinds import kinds_of
from sidecar.evidence.detection.detect import list_commands_behind
from sidecar.evidence.detection.folder import FileBudget, PackageRoot
from sidecar.evidence.reports.tools import find_started_tool
from sidecar.kernel.gate import NOTHING_EXECUTED, Gate, Kind
from sidecar.kernel.text import clean_line
from sidecar.kernel.turn import CommandRun
from sidecar.platform.tools import find_tool, known_tools

NAMED_COMMANDS: Final = 3
REPLAYED: Final = tuple(
    re.compile(pattern, re.MULTILINE) for tool in known_tools().tools for pattern in tool.output.replayed
)


def up_to_date_question(line: str, folder: Path) -> str:
    """Return the line that ends with 0 where a check by make or task has nothing to do; "" for other lines.

    A build that is up to date is built; tests that are up to date were not run.
    """
    simple = find_started_tool(line, folder)
    tool = find_tool(simple.name) if simple else None
    if simple is None or tool is None or not tool.up_to_date:
        return ""
    kinds = kinds_of(CommandRun(argv=simple.words[simple.program :], text=line))
    return simple.with_flags(tool.up_to_date) if kinds - {Kind.BUILD} else ""


def explain_idle_run(gate: Gate, folder: Path, output: str, executed: int | None) -> str:
    """Return why a run that ended with 0 executed nothing; "" where it may have."""
    if any(pattern.search(output) for pattern in REPLAYED):
        return f"{NOTHING_EXECUTED}: an earlier result was replayed from a cache"
    if executed is not None:
        return ""
    started = list_commands_behind(gate.command, PackageRoot(folder, "", (), FileBudget(), ""))
    shown = ", ".join(f"`{clean_line(one.text, 60)}`" for one in started[:NAMED_COMMANDS])
    if started and all(one.idle for one in started):
        return f"{NOTHING_EXECUTED}: `{gate.command}` only prints or prepares: {shown}"
    if started and gate.counts and not any(one.tests for one in started):
        return f"{NOTHING_EXECUTED} that tests: `{gate.command}` starts {shown}"
    return ""
