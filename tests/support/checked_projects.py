"""A real repository with a baseline, whose checks run in copies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from msgspec.structs import replace

from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import CopyVersion, GateContext
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.proof.policy import rate_comparison
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.effects import Wanted
from sidecar.kernel.evidence import CheckChange, FileBaseline
from sidecar.kernel.gate import CheckComparison, CheckTrial, Gate, GateRun, Kind, Outcome
from support.git_projects import git
from support.loops import run

PYTEST = Gate(
    id="tests",
    command="python -m pytest -q",
    why="",
    kind=Kind.TESTS,
    required=True,
    counts=True,
    approved=True,
)
LIMIT_S = 120.0


class Project:
    """A real repository with a baseline."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder, self.kept = folder / "project", folder / "kept"
        self.folder.mkdir()
        self.kept.mkdir()
        git(self.folder, "init", "--quiet")
        self.write(files)
        self.workspace = GitWorkspace(self.kept)
        self.base = FileBaseline()
        self.old_checks = ScratchChecks(self.workspace)

    @property
    def environment(self) -> dict[str, str]:
        session = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
        session["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what is installed here is slow to load
        return {**session, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    def begin(self) -> None:
        self.base = run(self.workspace.remember(str(self.folder), self.environment))

    def compare(
        self, gate: Gate = PYTEST, wanted: Wanted = Wanted.NOTHING, ended: Outcome = Outcome.PASSED
    ) -> tuple[CheckComparison, ...]:
        async def compare() -> tuple[CheckComparison, ...]:
            at, now = await self._ran(gate, ended)
            return await self.old_checks.compare(replace(at, base=self.base), [now], LIMIT_S, wanted)

        return run(compare())

    def try_to_fail(self, gate: Gate = PYTEST, seconds: float = LIMIT_S) -> CheckTrial:
        async def attempt() -> CheckTrial:
            at, now = await self._ran(gate)
            (trial,) = await self.old_checks.try_to_fail(replace(at, base=self.base), [now], seconds)
            return trial

        return run(attempt())

    async def _ran(self, gate: Gate, ended: Outcome = Outcome.PASSED) -> tuple[GateContext, GateRun]:
        tree = await self.workspace.fingerprint(str(self.folder), self.environment)
        at = GateContext(project=str(self.folder), tree=tree, environment=self.environment)
        now = await run_gate_once(gate, at, LIMIT_S)
        assert now.outcome is ended, now
        return at, now

    def found(self, gate: Gate = PYTEST) -> list[CheckChange]:
        return [one.change for comparison in self.compare(gate) for one in rate_comparison(comparison)]

    def copy(self, version: CopyVersion, into: Path) -> dict[str, str]:
        into.mkdir()
        copy = run(self.workspace.copy(self.base, str(self.folder), self.environment, version, into))
        assert copy.unseen == ""
        return {
            path.relative_to(into).as_posix(): path.read_text() for path in into.rglob("*") if path.is_file()
        }


def check(command: str) -> Gate:
    return Gate(id="check:1", command=command, why="", required=True, approved=True)
