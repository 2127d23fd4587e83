"""What proof by execution costs: a gate with the runs of old checks that follow it, against the gate alone.

A suite of 1 s, and in a full run one of 60 s, in three projects: no check changed, a test changed and its old
version passes (one more run), a test was bent and its old version fails (three more runs). All of a stop's
own looks at the files are in it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

from measure import Figure, Report, in_turn, rounds
from stage import Unfit

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import CheckComparison, Gate, GateRun, Kind, Outcome

ROUNDS: Final = 10
LIMIT_S: Final = 600.0
WRONG: Final = "def minus(a, b):\n    return a + b\n"
RIGHT: Final = "def minus(a, b):\n    return a - b\n"
TEST: Final = (
    "import time\nfrom calc import minus\n\n\n"
    "def test_minus():\n    time.sleep({0})\n    assert minus(3, 2) == {1}\n"
)
CASES: Final = {
    "no check changed": (RIGHT, 1, 0),
    "a test changed, the old one passes": (RIGHT, "0 + 1", 1),
    "a test was bent, the old one fails": (WRONG, 5, 3),
}
"""Code and expected value after the work, and how many runs follow the gate's own."""


def measured(*, quick: bool) -> Report:
    """Every case, with a suite of 1 s and one of 60 s."""
    figures: list[Figure] = []
    for seconds, times in ((1, rounds(ROUNDS, quick=quick)), *(() if quick else ((60, 1),))):
        for case, (code, expected, more) in CASES.items():
            with tempfile.TemporaryDirectory(prefix="sv-bench-") as folder, asyncio.Runner() as runner:
                stop = _Stop(Path(folder), seconds, runner)
                stop.work(code, TEST.format(seconds, expected))
                with_proof, alone = in_turn(times, partial(stop.judged, more), stop.gate_alone, warm_up=0)
            name = f"a suite of {seconds} s, {case}"
            figures.append(Figure(name=name, ours=with_proof, against="the gate alone", peer=alone))
    return Report(tuple(figures))


class _Stop:
    """A project with a baseline and a gate."""

    def __init__(self, folder: Path, seconds: float, runner: asyncio.Runner) -> None:
        self._project, self._runner = folder / "project", runner
        self._project.mkdir()
        (folder / "kept").mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._environment = kept | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = f"{sys.executable} -m pytest -q -p no:cacheprovider"
        self._gate = Gate(id="tests", command=command, why="benchmark", kind=Kind.TESTS, counts=True)
        self._workspace = GitWorkspace(folder / "kept")
        subprocess.run(["git", "init", "-q"], cwd=self._project, check=True)  # noqa: S607 - on the PATH
        self.work(WRONG, TEST.format(seconds, 1))
        self._base: FileBaseline = runner.run(self._workspace.remember(str(self._project), self._environment))

    def work(self, code: str, test: str) -> None:
        (self._project / "calc.py").write_text(code)
        (self._project / "test_calc.py").write_text(test)

    def gate_alone(self) -> float:
        return self._timed(self._run_gate)

    def judged(self, more: int) -> float:
        return self._timed(lambda: self._run_all(more))

    def _timed(self, work: Callable[[], Coroutine[Any, Any, None]]) -> float:
        begun = time.perf_counter()
        self._runner.run(work())
        return (time.perf_counter() - begun) * 1000

    async def _run_gate(self) -> None:
        await self._passed(GateContext(project=str(self._project), tree="t", environment=self._environment))

    async def _passed(self, at: GateContext) -> GateRun:
        (done,) = await ProjectGates(workspace=self._workspace).run((self._gate,), at, LIMIT_S)
        if done.outcome is not Outcome.PASSED:
            raise Unfit(f"the gate did not pass: {done.reason} {done.failures}")
        return done

    async def _run_all(self, more: int) -> None:
        project = str(self._project)
        changes = await self._workspace.since(self._base, project, self._environment)
        at = GateContext(
            project=project,
            tree=changes.tree,
            environment=self._environment,
            base=self._base,
            since=time.time(),
        )
        done = await self._passed(at)
        changed = [file.path for file in changes.files if file.path.startswith("test_")]
        seen: tuple[CheckComparison, ...] = ()
        if changed:
            seen = await ScratchChecks(self._workspace).compare(at, [done], LIMIT_S)
        ran = sum(run is not None for one in seen for run in (one.old, one.base, one.copy, one.fresh))
        if ran != more:
            raise Unfit(f"{ran} runs followed, not {more}")
