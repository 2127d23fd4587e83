"""Finds where a change gets around the checks: by its files, and by running the checks as they were."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from sidecar.evidence.proof.check_files import changes_dependencies, may_bear_on_checks
from sidecar.evidence.proof.policy import rate_comparison, relevant_findings
from sidecar.evidence.proof.product_marks import find_product_marks
from sidecar.kernel.changes import FileChange
from sidecar.kernel.evidence import IntegrityFinding
from sidecar.kernel.gate import CheckComparison, GateRun

CompareRuns = Callable[[Sequence[GateRun]], Awaitable[tuple[CheckComparison, ...]]]
"""Compares runs with their checks as they were: `OldChecks.compare` with all else given."""


async def find_weakenings(
    compare: CompareRuns, files: Sequence[FileChange], passed: Sequence[GateRun], asked: str
) -> tuple[IntegrityFinding, ...]:
    """Return what these changed files have against gates that passed. `asked`: as in `rate_comparison`."""
    found = relevant_findings(find_product_marks(files), {run.gate.kind for run in passed})
    if not passed or not may_bear_on_checks(files):
        return found
    upgraded = changes_dependencies(files)
    compared = await compare(passed)
    return (*found, *(one for seen in compared for one in rate_comparison(seen, asked, upgraded=upgraded)))
