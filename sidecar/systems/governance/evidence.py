"""Our own evidence about a change in a copy of the project: its gates, the old checks, the clauses.

A worker's word stands beside it and can only lower what it shows, except for clauses that nothing else than
somebody's judgement can decide; these must name what shows them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from sidecar.evidence.gates.conditions import asks_for_change_of_checks
from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof import policy as proof
from sidecar.evidence.proof.check_files import changes_dependencies, may_bear_on_checks
from sidecar.evidence.proof.product_marks import find_product_marks
from sidecar.evidence.tree.copies import WorkCopy
from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.evidence import CheckChange, FindingSeverity
from sidecar.kernel.gate import NOTHING_SHOWN, REMOTE_GATE_KINDS, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.governance import KeptFile
from sidecar.kernel.masking import SecretMask, mask_gate_run
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, write_whole
from sidecar.systems.governance.policy.clauses import Clause, ClauseKind, ClauseResult
from sidecar.systems.governance.policy.phases import JudgedClause
from sidecar.systems.governance.ports import GovernanceServices

REVIEW_KINDS: Final = frozenset((Kind.TYPES, Kind.LINT, Kind.SECURITY, Kind.BUILD))
"""Gates that a review runs; testing runs all others."""
TEST_KINDS: Final = frozenset((Kind.TESTS, Kind.COVERAGE, Kind.CHECK))
UNPLANNED: Final = frozenset((CheckChange.EXPECTATION_CHANGED, CheckChange.CHECKS_DROPPED))
"""What a change may do to the checks only if the plan asks for it."""
OUTPUT_LENGTH: Final = 4_000
FILE_LIMIT: Final = 16 << 20
"""Bytes of a file that is kept as evidence, or searched for a text."""
NOT_APPROVED: Final = "nobody approved it (supervisor trust)"
PLACE: Final = re.compile(r"(?P<path>[^\s:`'\"]+)(?::\d+)?")


class CopyEvidence:
    """Gathers evidence about one copy. `base`: its files before the change was put into them."""

    def __init__(
        self, services: GovernanceServices, copy: WorkCopy, base: FileBaseline, mask: SecretMask
    ) -> None:
        self._services, self._copy, self._base, self._mask = services, copy, base, mask

    async def gates(self, project: str, kinds: Collection[Kind]) -> tuple[GateRun, ...]:
        """Run the project's approved gates of these kinds in the copy, required or not."""
        catalog = await self._services.catalog.list(project, self._copy.environment)
        wanted = [gate for gate in catalog.gates if gate.kind in kinds and gate.kind not in REMOTE_GATE_KINDS]
        return await self.run(wanted)

    async def run(self, gates: Sequence[Gate]) -> tuple[GateRun, ...]:
        """Run these gates in the copy, those that nobody approved excepted."""
        may = [gate for gate in gates if gate.approved or gate.origin is GateOrigin.TYPED]
        blank = tuple(
            GateRun(gate=gate, outcome=Outcome.NOT_APPROVED, tree="", reason=NOT_APPROVED)
            for gate in gates
            if gate not in may
        )
        if not may:
            return blank
        settings, _ = self._services.configuration.load()
        tree = await self._services.workspace.fingerprint(self._copy.project, self._copy.environment)
        at = GateContext(project=self._copy.project, tree=tree, environment=self._copy.environment)
        runs = await self._services.gates.run(may, at, float(settings.gates.seconds))
        return (*(mask_gate_run(run, self._mask) for run in runs), *blank)

    async def weakened(self, runs: Iterable[GateRun], asked: str) -> tuple[str, ...]:
        """Say which checks were weakened, and which code gets around one.

        `asked`: what was planned. An expectation that changed, or a check that was dropped, counts unless the
        plan asks for it.
        """
        services, copy = self._services, self._copy
        changes = await services.workspace.since(self._base, copy.project, copy.environment)
        passed = tuple(run for run in runs if run.outcome is Outcome.PASSED)
        found = proof.relevant_findings(find_product_marks(changes.files), {run.gate.kind for run in passed})
        if passed and may_bear_on_checks(changes.files):
            seconds = float(services.configuration.load()[0].gates.seconds)
            at = GateContext(
                project=copy.project, tree=changes.tree, environment=copy.environment, base=self._base
            )
            upgraded = changes_dependencies(changes.files)
            for one in await services.old_checks.compare(self._base, at, passed, seconds):
                found += proof.rate_comparison(one, asked, upgraded=upgraded)
        planned = asks_for_change_of_checks(asked)
        counted = [
            one
            for one in found
            if one.weight is FindingSeverity.GRAVE or (one.change in UNPLANNED and not planned)
        ]
        return tuple(map(self._mask, proof.describe_findings(counted)))

    async def clause(self, clause: Clause, *, may_run: bool, word: JudgedClause | None) -> ClauseResult:
        """Verify one clause. `word`: what the worker says of it."""
        match clause.kind:
            case ClauseKind.RUN:
                return await self._run_clause(clause, may_run=may_run)
            case ClauseKind.FILE:
                there = self._place(clause.subject)
                found = there is not None and there.exists()
                return ClauseResult(
                    clause=clause, holds=found, why="it exists" if found else "it does not exist"
                )
            case ClauseKind.TEXT:
                return self._text_clause(clause)
            case ClauseKind.JUDGED:
                return self._judged_clause(clause, word)

    async def _run_clause(self, clause: Clause, *, may_run: bool) -> ClauseResult:
        if not may_run:
            return ClauseResult(clause=clause, holds=None, why=NOT_APPROVED)
        gate = Gate(id="clause", command=clause.subject, why="a task is verified by it", required=True)
        (run,) = await self.run((gate,))
        said = run.reason or (run.output or "it passed").strip()[-OUTPUT_LENGTH:]
        holds = None if run.outcome in NOTHING_SHOWN else run.outcome is Outcome.PASSED
        return ClauseResult(clause=clause, holds=holds, why=said)

    def _text_clause(self, clause: Clause) -> ClauseResult:
        place = self._place(clause.subject)
        try:
            text = read_whole(place, FILE_LIMIT).decode("utf-8", "replace") if place else ""
        except (OSError, UnusableFileError) as error:
            return ClauseResult(clause=clause, holds=False, why=f"{clause.subject} cannot be read: {error}")
        found = clause.content in text
        return ClauseResult(clause=clause, holds=found, why="it is there" if found else "it is not there")

    def _judged_clause(self, clause: Clause, word: JudgedClause | None) -> ClauseResult:
        """Take the worker's word; a yes must name a file of the copy."""
        if word is None:
            return ClauseResult(clause=clause, holds=None, why="nobody judged it")
        places = (self._place(named["path"]) for named in PLACE.finditer(word.evidence))
        if word.holds and not any(place is not None and place.is_file() for place in places):
            why = f"it is said to hold, and what shows it is not there: {word.evidence[:200]}"
            return ClauseResult(clause=clause, holds=None, why=why)
        return ClauseResult(clause=clause, holds=word.holds, why=word.evidence)

    def keep_files(self, lock: str, paths: Iterable[str]) -> tuple[KeptFile, ...]:
        """Keep files of the copy as evidence, named by their digests; one that is not there is left out."""
        folder, kept = self._services.kept / lock, []
        for path in paths:
            place = self._place(path)
            try:
                content = read_whole(place, FILE_LIMIT) if place else None
            except (OSError, UnusableFileError):
                content = None
            if content is not None and place is not None:
                digest = hashlib.sha256(content).hexdigest()
                ensure_folder(self._services.kept)
                ensure_folder(folder)
                target = folder / f"{digest[:16]}{place.suffix}"
                write_whole(target, content)
                kept.append(KeptFile(path=str(target), digest=digest))
        return tuple(kept)

    def _place(self, path: str) -> Path | None:
        """Return where a path leads in the copy, None where it leads out of it."""
        root = Path(self._copy.project).resolve()
        try:
            place = (root / path).resolve()
        except (OSError, ValueError):
            return None
        return place if place.is_relative_to(root) else None


def describe_runs(runs: Iterable[GateRun]) -> str:
    """Return the end of what was run, gate by gate."""
    told = (f"$ {run.gate.command}\n{run.outcome} {run.reason}\n{run.output.strip()}".strip() for run in runs)
    return "\n\n".join(told)[-OUTPUT_LENGTH:]
