"""Counts which changed lines of Python a check runs, by the coverage.py of the project's own environment.

That takes another run of the check, since one that is traced may end otherwise. The count decides nothing.
Where nothing can be counted there are no lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.evidence.ports import GateContext
from sidecar.kernel.evidence import FileChange
from sidecar.kernel.gate import Gate
from sidecar.platform.environments import PythonMissingError, with_project_python
from sidecar.platform.files import scratch_folder
from sidecar.platform.processes import run_process

PYTHON_MODULE: Final = "python -m "
"""How a command begins that coverage.py can run, too."""


class FileLines(Struct, frozen=True):
    """The lines of a file that ran, and the other ones with code."""

    executed_lines: frozenset[int]
    missing_lines: frozenset[int]


class LineReport(Struct, frozen=True):
    """A report of coverage.py in JSON."""

    files: dict[str, FileLines]


async def count_run_lines(
    gate: Gate, at: GateContext, files: Iterable[FileChange], seconds: float
) -> tuple[int, int]:
    """Return how many changed lines this gate runs in its own process, and how many of them are code."""
    changed = {file.path: _changed_lines(file) for file in files}
    place = str(Path(at.project, gate.folder))
    async with scratch_folder("coverage") as folder:
        own = {"COVERAGE_RCFILE": os.devnull, "COVERAGE_FILE": str(folder / "data")}
        try:
            tool, environment = await with_project_python(
                f"{PYTHON_MODULE}coverage", place, {**at.environment, **own}, at.project, gate.python
            )
        except PythonMissingError:
            return 0, 0
        traced = f"{tool} run -m {gate.command.removeprefix(PYTHON_MODULE)}"
        order = f'{traced}; {tool} json -q -o "$COVERAGE_FILE.json"'
        await run_process(order, cwd=place, environment=environment, seconds=seconds, tied=True)
        try:
            found = msgspec.json.decode((folder / "data.json").read_bytes(), type=LineReport).files
        except (OSError, msgspec.DecodeError):
            return 0, 0
    seen = [(changed.get(str(Path(gate.folder, name)), set()), lines) for name, lines in found.items()]
    ran = sum(len(ours & lines.executed_lines) for ours, lines in seen)
    return ran, ran + sum(len(ours & lines.missing_lines) for ours, lines in seen)


def _changed_lines(file: FileChange) -> set[int]:
    before, after = (file.before or "").splitlines(), (file.after or "").splitlines()
    blocks = SequenceMatcher(None, before, after).get_opcodes()
    return {line + 1 for tag, *_, low, high in blocks if tag != "equal" for line in range(low, high)}
