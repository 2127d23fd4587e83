"""Governed phases over the services of a test, and what workers answer in them.

The work is that of support/tdd_projects.py: the project in Python lacks `sub`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from sidecar.kernel.governance import Analysis, GovernedPhase, ImplementAnswer, Plan, ReviewAnswer, TestAnswer
from sidecar.systems.governance.service import Governance
from sidecar.systems.supervision.ports import Services
from sidecar.wiring.headless import build_governance
from sidecar.workers.ports import Workers
from support.scripted_workers import ScriptedWorkers
from support.tdd_projects import SUB, SUB_TEST

ANSWERS: Final[dict[GovernedPhase, type[Struct]]] = {
    GovernedPhase.ANALYZE: Analysis,
    GovernedPhase.PLAN: Plan,
    GovernedPhase.IMPLEMENT: ImplementAnswer,
    GovernedPhase.REVIEW: ReviewAnswer,
    GovernedPhase.TEST: TestAnswer,
}
"""What the worker of a phase answers; conduct has none."""
PROBLEM: Final = "sub is missing"
NO_NFRS: Final = {"performance": "", "maintainability": "", "security": "", "compatibility": ""}
ANALYSIS: Final = {"verifiability": "HARD", "nfrs": NO_NFRS, "risks": [], "unknowns": []}
TASK: Final = {
    "todo": "add sub",
    "done_when": "sub(3, 2) is 1",
    "verify_by": "text: calc.py contains def sub",
}
PLAN: Final = {"tasks": [TASK], "dependencies": []}
MADE: Final = {"calc.py": SUB, "tests/test_sub.py": SUB_TEST}
"""The files that do it."""
APPROVED: Final[dict[str, Any]] = {
    "result": "APPROVED",
    "issues": [],
    "nfrs": NO_NFRS,
    "quick_fix_trigger": None,
}
REJECTED: Final = APPROVED | {
    "result": "REJECTED",
    "issues": [{"task_ref": "1", "severity": "MAJOR", "description": "sub(0) is not handled"}],
}
PASSED: Final = {"result": "PASSED", "clauses": [], "metrics": [], "screenshots": []}


def implemented(*paths: str) -> dict[str, Any]:
    """What a worker answers that changed these files for task 1."""
    return {"files": [{"path": path, "task_ref": "1"} for path in paths], "message": "done"}


def governance_over(services: Services, state: Path, workers: Workers | None = None) -> Governance:
    """`state`: a folder of the test."""
    return build_governance(state, services, workers or ScriptedWorkers(()))
