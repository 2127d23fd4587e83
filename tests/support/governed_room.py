"""A real project with its real tests under governance; only the workers are played."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sidecar.kernel.governance import (
    AnalyzeInput,
    ErrorType,
    FinalDecision,
    GovernedPhase,
    ImplementInput,
    ReviewInput,
)
from sidecar.kernel.settings import Mode
from sidecar.platform.steering import UNHELD
from sidecar.systems.governance.policy.work import Question, Work
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.governance.service import NEW, Governance, PhaseOutcome, conduct
from sidecar.systems.supervision.ports import Services
from sidecar.wiring.headless import build_governance
from sidecar.wiring.supervision import build_services
from support.governed import ANALYSIS, APPROVED, MADE, PASSED, PLAN, implemented
from support.scripted_workers import ScriptedWorkers, Step
from support.tdd_projects import PYTHON, contents, lay_out

BROKEN = {"calc.py": "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"}


def answers(**answer: Any) -> Step:
    return lambda _: answer


def implements(files: dict[str, str], listed: tuple[str, ...] | None = None) -> Step:
    """Write files, and list them (or others) as done for task 1."""

    def step(folder: Path) -> dict[str, Any]:
        lay_out(folder, files)
        return implemented(*(files if listed is None else listed))

    return step


GOOD = (answers(**ANALYSIS), answers(**PLAN), implements(MADE), answers(**APPROVED), answers(**PASSED))


class Room:
    """A project under governance, by workers that do what a test wrote."""

    def __init__(self, folder: Path) -> None:
        self.project, self.state, self.config = folder / "project", folder / "state", folder / "config"
        self.state.mkdir()
        lay_out(self.project, PYTHON)
        self.workers = ScriptedWorkers(())
        self.outcomes: list[PhaseOutcome] = []
        self.asked: list[Question] = []
        self.approves = True  # the project's checks
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.caller = PhaseCaller(project=str(self.project), environment=self.environment)

    def governance(self, *steps: Step) -> Governance:
        self.workers = ScriptedWorkers(steps)
        return build_governance(self.state, self.shared(), self.workers)

    def shared(self) -> Services:
        return build_services(self.state, UNHELD)

    async def approve(self) -> None:
        """The user approves the project's checks."""
        catalog = self.shared().catalog
        found = await catalog.list(str(self.project), self.environment)
        catalog.approve(str(self.project), found.gates)

    async def conduct(
        self,
        *steps: Step,
        mode: Mode = Mode.FAST,
        says: str = "",
        lock: str = NEW,
        problem: str = "sub is missing",
        rules: tuple[str, ...] = (),
    ) -> Work:
        """Conduct it all; `says`: the person answers so to everything, "" nobody is there."""

        def ask(question: Question) -> tuple[bool, str] | None:
            self.asked.append(question)
            return (says == "yes", "not so") if says else None

        if self.approves:
            await self.approve()
        given = {
            GovernedPhase.ANALYZE: AnalyzeInput(problem_statement=problem),
            GovernedPhase.IMPLEMENT: ImplementInput(om_rules=rules),
            GovernedPhase.REVIEW: ReviewInput(quick_fix_eligible=True),
        }
        return await conduct(
            self.governance(*steps),
            self.caller,
            given,
            lock,
            mode if lock == NEW else None,
            tell=lambda _: None,
            show=self.outcomes.append,
            ask=ask,
        )

    @property
    def errors(self) -> list[ErrorType | None]:
        return [one.error.type if one.error else None for one in self.outcomes]

    def last(self) -> FinalDecision:
        final = self.outcomes[-1].payload
        assert isinstance(final, FinalDecision)
        return final

    def holds(self, files: Mapping[str, str]) -> bool:
        return contents(self.project, but=(".git",)) == files
