"""One run of one gate: a shell line in the gate's folder, with the session's own environment.

The laws of this file:

- The project's virtual environment comes first in that environment, without marks of agents.
- Reports go to a folder of their own that is gone afterwards; the project gets no file of ours.
- A tool that does not know the flags which ask for a report is run again without them.
- A folder outside the project is refused: a configuration in the repository names it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters import processes
from sidecar.adapters.gates.outcome import refused, ruled
from sidecar.adapters.project_python import PythonMissingError, with_python
from sidecar.adapters.reports import text, tools
from sidecar.adapters.reports.report import Written
from sidecar.adapters.reports.tools import Order
from sidecar.model.gate import Gate, GateRun, Outcome
from sidecar.ports import Site

KEEP: Final = 1 << 18
"""Bytes of output kept while a gate runs; the summary is looked for in them."""


class _Place(Struct, frozen=True, kw_only=True):
    """Where a line runs, and for how long: until a time of the loop's clock."""

    folder: Path
    scratch: Path
    environment: Mapping[str, str]
    until: float


async def once(gate: Gate, at: Site, seconds: float) -> GateRun:
    """Run a gate to its end, at most `seconds`. Raises only CancelledError, after the group was killed."""
    blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree)
    until = asyncio.get_running_loop().time() + seconds
    if why := outside(gate, at.project):
        return replace(blank, reason=why)
    try:
        with tempfile.TemporaryDirectory(prefix="supervisor-gate-", ignore_cleanup_errors=True) as scratch:
            folder = Path(at.project, gate.folder)
            line, environment = await with_python(gate.command, str(folder), at.environment, at.project)
            place = _Place(folder=folder, scratch=Path(scratch), environment=environment, until=until)
            return await _reported(blank, line, place)
    except (PythonMissingError, OSError) as error:
        return replace(blank, reason=str(error))


def outside(gate: Gate, project: str) -> str:
    """Why a gate's folder is none to run in; "" where it is."""
    if not gate.folder:
        return ""
    try:
        root = Path(project).resolve()
        place = (root / gate.folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return f"the folder {gate.folder!r} cannot be resolved"
    if not place.is_relative_to(root):
        return f"the folder {gate.folder!r} is outside the project"
    return "" if place.is_dir() else f"the folder {gate.folder!r} is not there"


async def _reported(blank: GateRun, line: str, place: _Place) -> GateRun:
    """Run the line so that it reports, and where its tool cannot, as it is."""
    order = await asyncio.to_thread(tools.order, line, place.folder, place.scratch)
    done, written = await _ran(order, place)
    if order.line != line and refused(done, order, written):
        order = replace(order, line=line)
        done, written = await _ran(order, place)
    # In a thread, for a report may have many megabytes.
    return await asyncio.to_thread(ruled, blank, done, order, written)


async def _ran(order: Order, place: _Place) -> tuple[processes.Finished, Written]:
    since = place.scratch.stat().st_mtime_ns
    done = await processes.run(
        order.line,
        cwd=str(place.folder),
        environment=place.environment,
        seconds=round(max(place.until - asyncio.get_running_loop().time(), 0), 2),
        keep=tools.MUCH if order.tool and order.tool.output else KEEP,
    )
    words = await asyncio.to_thread(_words, done.output, place.scratch.name)
    return done, Written(scratch=place.scratch, folder=place.folder, text=words, since=since)


def _words(output: bytes, scratch: str) -> str:
    """The text without lines in which a tool names our report: it is another one in every run."""
    return "\n".join(line for line in text.plain(output).split("\n") if scratch not in line)
