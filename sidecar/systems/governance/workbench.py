"""What a phase does in a copy of the project: it asks a worker or the caller, and gathers our own evidence.

A worker's word stands beside the evidence and can only lower what it shows, except for clauses that nothing
else than somebody's judgement can decide; these must name what shows them.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from sidecar.evidence.gates.goal_checks import asks_for_change_of_checks
from sidecar.evidence.gates.policy import runnable_gates, unapproved_gate_runs
from sidecar.evidence.proof.old_checks import find_weakenings
from sidecar.evidence.proof.policy import describe_findings
from sidecar.evidence.tree.checkout import CheckedCopy, WorkCopy
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.evidence import CheckChange, FindingSeverity
from sidecar.kernel.gate import NOTHING_SHOWN, REMOTE_GATE_KINDS, Gate, GateRun, Kind, Outcome
from sidecar.kernel.governance import GovernedPhase, JudgedClause, KeptFile, WrittenAnswer
from sidecar.kernel.masking import SecretMask, mask_gate_run
from sidecar.kernel.text import fill_template
from sidecar.platform.apply import ApplyError, ChangeApplier
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, write_whole
from sidecar.platform.paths import lies_inside
from sidecar.rubric.texts import read_prompt
from sidecar.systems.governance.policy.verdicts import Clause, ClauseKind, ClauseResult
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.workers.backend import route_model
from sidecar.workers.gateway import OutsideError, write_files
from sidecar.workers.ports import WorkerTask

# --- evidence -----------------------------------------------------------------------------------------------


REVIEW_KINDS: Final = frozenset((Kind.TYPES, Kind.LINT, Kind.SECURITY, Kind.BUILD))
"""Gates that a review runs; testing runs all others."""
TEST_KINDS: Final = frozenset((Kind.TESTS, Kind.COVERAGE, Kind.CHECK))
UNPLANNED: Final = frozenset((CheckChange.EXPECTATION_CHANGED, CheckChange.CHECKS_DROPPED))
"""What a change may do to the checks only if the plan asks for it."""
OUTPUT_LENGTH: Final = 4_000
FILE_LIMIT: Final = 16 << 20
"""Bytes of a file that is kept as evidence, or searched for a text."""
NOT_APPROVED: Final = "nobody approved it"
PLACE: Final = re.compile(r"(?P<path>[^\s:`'\"]+)(?::\d+)?")


@dataclass(frozen=True, kw_only=True)
class CopyEvidence(CheckedCopy):
    """Gathers evidence about one copy. `merged`: the files merged since its base."""

    services: GovernanceServices
    merged: tuple[str, ...]
    mask: SecretMask

    async def gates(self, project: str, kinds: Collection[Kind]) -> tuple[GateRun, ...]:
        """Run the project's approved gates of these kinds in the copy, required or not."""
        catalog = await self.services.shared.catalog.list(project, self.copy.environment)
        wanted = [gate for gate in catalog.gates if gate.kind in kinds and gate.kind not in REMOTE_GATE_KINDS]
        return await self.run(wanted)

    async def run(self, gates: Sequence[Gate]) -> tuple[GateRun, ...]:
        """Run these gates in the copy, those that nobody approved excepted."""
        runs: tuple[GateRun, ...] = ()
        if may := runnable_gates(gates):
            at = self.context(await self.changes())
            runs = await self.services.shared.gates.run(may, at, self._seconds)
        return (*(mask_gate_run(run, self.mask) for run in runs), *unapproved_gate_runs(gates, ""))

    async def weakened(self, runs: Iterable[GateRun], asked: str) -> tuple[str, ...]:
        """Say which checks were weakened, and which code gets around one.

        `asked`: what was planned. An expectation that changed, or a check that was dropped, counts unless the
        plan asks for it.
        """
        changes = await self.changes()
        passed = tuple(run for run in runs if run.outcome is Outcome.PASSED)
        at, old_checks = self.context(changes), self.services.shared.old_checks
        compare = partial(old_checks.compare, at, seconds=self._seconds)
        found = await find_weakenings(compare, changes.files, passed, asked)
        counted = frozenset() if asks_for_change_of_checks(asked) else UNPLANNED
        grave = [one for one in found if one.weight is FindingSeverity.GRAVE or one.change in counted]
        return tuple(map(self.mask, describe_findings(grave)))

    @property
    def _seconds(self) -> float:
        return float(self.services.shared.configuration.load()[0].gates.seconds)

    # --- clauses ------------------------------------------------------------------------------------------

    async def clause(self, clause: Clause, *, may_run: bool, word: JudgedClause | None) -> ClauseResult:
        """Verify one clause. `word`: what the worker says of it."""
        match clause.kind:
            case ClauseKind.RUN:
                holds, why = await self._run_clause(clause) if may_run else (None, NOT_APPROVED)
            case ClauseKind.FILE:
                there = self._place(clause.subject)
                holds = there is not None and there.exists()
                why = "it exists" if holds else "it does not exist"
            case ClauseKind.TEXT:
                holds, why = self._find_text(clause)
            case ClauseKind.JUDGED:
                holds, why = self._judge(word)
        return ClauseResult(clause=clause, holds=holds, why=why)

    async def _run_clause(self, clause: Clause) -> tuple[bool | None, str]:
        gate = Gate(id="clause", command=clause.subject, why="a task is verified by it", required=True)
        (run,) = await self.run((gate,))
        why = run.reason or (run.output or "it passed").strip()[-OUTPUT_LENGTH:]
        return None if run.outcome in NOTHING_SHOWN else run.outcome is Outcome.PASSED, why

    def _find_text(self, clause: Clause) -> tuple[bool, str]:
        content = self._read(clause.subject)
        if content is None:
            return False, f"{clause.subject} cannot be read"
        found = clause.content in content.decode("utf-8", "replace")
        return found, "it is there" if found else "it is not there"

    def _judge(self, word: JudgedClause | None) -> tuple[bool | None, str]:
        """Take the worker's word; a yes must name a file of the copy."""
        if word is None:
            return None, "nobody judged it"
        places = (self._place(named["path"]) for named in PLACE.finditer(word.evidence))
        if word.holds and not any(place is not None and place.is_file() for place in places):
            return None, f"it is said to hold, and what shows it is not there: {word.evidence[:200]}"
        return word.holds, word.evidence

    # --- files --------------------------------------------------------------------------------------------

    def keep_files(self, lock: str, paths: Iterable[str]) -> tuple[KeptFile, ...]:
        """Keep files of the copy as evidence, named by their digests; one that is not there is left out."""
        folder, kept = self.services.kept / lock, []
        for path in paths:
            if (content := self._read(path)) is not None:
                digest = hashlib.sha256(content).hexdigest()
                target = folder / f"{digest[:16]}{Path(path).suffix}"
                ensure_folder(folder)
                write_whole(target, content)
                kept.append(KeptFile(path=str(target), digest=digest))
        return tuple(kept)

    def _read(self, path: str) -> bytes | None:
        """Return a file of the copy, None where there is none that can be read."""
        place = self._place(path)
        try:
            return read_whole(place, FILE_LIMIT) if place else None
        except (OSError, UnusableFileError):
            return None

    def _place(self, path: str) -> Path | None:
        """Return where a path leads in the copy, None where it leads out of it."""
        place = Path(self.copy.project, path)
        return place.resolve() if lies_inside(place, Path(self.copy.project)) else None


def describe_runs(runs: Iterable[GateRun]) -> str:
    """Return the end of what was run, gate by gate."""
    blocks = (
        f"$ {run.gate.command}\n{run.outcome} {run.reason}\n{run.output.strip()}".strip() for run in runs
    )
    return "\n\n".join(blocks)[-OUTPUT_LENGTH:]


# --- the work, of a headless agent or of the calling one; both by one schema --------------------------------


CALLER: Final = "caller"

A = TypeVar("A", bound=Struct)

log = logging.getLogger(__name__)


async def ask_worker(
    services: GovernanceServices,
    phase: GovernedPhase,
    answer: type[A],
    values: Mapping[str, str],
    copy: WorkCopy,
) -> tuple[A, str]:
    """Return a worker's answer, and who it was. Raises WorkerError."""
    settings, _ = services.shared.configuration.load()
    head, text = read_prompt("governance", phase)
    task = WorkerTask(
        prompt=fill_template(text, values),
        answer=answer,
        tools=head.tools,
        model=route_model("", f"governance_{phase}", settings, preset=head.model),
        project=copy.project,
        environment=copy.environment,
        guarded=copy.origin,
    )
    done = await services.workers.run(task, settings, log.debug)
    return done.answer, f"worker {done.model}"


def take_answer(phase: GovernedPhase, answer: type[A], given: dict[str, Any] | None) -> A:
    """Return the work of the calling agent. Raises BadInputError where it does not fit."""
    if given is None:
        schema = msgspec.json.encode(msgspec.json.schema(answer)).decode()
        raise BadInputError(
            f"no worker does this phase ([governance] workers = false): do the work of {phase} yourself and "
            f"pass it as input_data.answer, which fits this JSON schema: {schema}"
        )
    try:
        return msgspec.convert(given, answer)
    except msgspec.ValidationError as error:
        raise BadInputError(f"input_data.answer does not fit the phase {phase}: {error}") from None


def write_answer(answer: WrittenAnswer, copy: WorkCopy, applier: ChangeApplier) -> None:
    """Write into a copy what the calling agent made. Raises BadInputError where a file may not be written."""
    try:
        write_files(applier, copy.project, ((one.path, one.content) for one in answer.files))
    except (OutsideError, ApplyError, OSError, UnusableFileError) as error:
        raise BadInputError(f"input_data.answer cannot be written: {error}") from None
