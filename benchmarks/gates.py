"""What a gate costs beside its command: pytest through our gate and without it, and a remembered pass."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from measure import Figure, Report, in_turn, rounds

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome

ROUNDS: Final = 20
LIMIT_S: Final = 120.0
TESTS: Final = 20
"""Tests of the project, each in no time: the smallest project has the worst ratio."""


def measured(*, quick: bool) -> Report:
    """A gate that is run, one that is remembered, and the bare command."""
    with tempfile.TemporaryDirectory(prefix="sv-bench-") as folder, asyncio.Runner() as runner:
        project = Path(folder)
        (project / "test_a.py").write_text("".join(f"def test_{n}(): pass\n" for n in range(TESTS)))
        environment = _environment()
        command = f"{sys.executable} -m pytest -q -p no:cacheprovider"
        gate = Gate(id="tests", command=command, why="benchmark", kind=Kind.TESTS, counts=True)
        site = GateContext(project=folder, tree="t1", environment=environment)
        warm = ProjectGates()

        def run(gates: ProjectGates) -> GateRun:
            return runner.run(gates.run((gate,), site, LIMIT_S))[0]

        def bare(line: list[str]) -> None:
            subprocess.run(  # noqa: S603 - our own line
                line, cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL
            )

        _sure(run(warm), cached=False)
        ran, remembered, alone, nothing = in_turn(
            rounds(ROUNDS, quick=quick),
            _timed(lambda: _sure(run(ProjectGates()), cached=False)),
            _timed(lambda: _sure(run(warm), cached=True)),
            _timed(lambda: bare(command.split())),
            _timed(lambda: bare([sys.executable, "-I", "-S", "-c", "pass"])),
        )
    return Report(
        (
            Figure(
                name="pytest through a gate", ours=ran, against="the same line alone", peer=alone, aim=1.25
            ),
            Figure(name="pytest through a gate", ours=ran, against="its pass, remembered", peer=remembered),
            Figure(
                name="a remembered pass", ours=remembered, against="python -I -S -c pass", peer=nothing, aim=1
            ),
        )
    )


def _sure(run: GateRun, *, cached: bool) -> None:
    if (run.outcome, run.executed, run.cached) != (Outcome.PASSED, TESTS, cached):
        raise RuntimeError(run)


def _timed(work: Callable[[], None]) -> Callable[[], float]:
    def job() -> float:
        begun = time.perf_counter()
        work()
        return (time.perf_counter() - begun) * 1000

    return job


def _environment() -> dict[str, str]:
    """The same for both: as a gate has it, which writes no compiled files."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
