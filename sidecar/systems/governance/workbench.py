"""What a phase does in a copy of the project: it asks a worker or the caller, and gathers our own evidence.

A worker's word stands beside the evidence and can only lower what it shows, except for clauses that nothing
else than somebody's judgement can decide; these must name what shows them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import NOTHING_SHOWN, GateRun, Kind, Outcome
from sidecar.kernel.governance import GovernedPhase, JudgedClause, KeptFile, WrittenAnswer
from sidecar.platform.apply import ApplyError, ChangeApplier
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, write_whole
from sidecar.platform.paths import lies_inside
from sidecar.systems.governance.policy.verdicts import Clause, ClauseKind, ClauseResult
from sidecar.work.place import CheckedCopy, WorkCopy
from sidecar.workers.gateway import OutsideError, write_files

# --- evidence -----------------------------------------------------------------------------------------------


REVIEW_KINDS: Final = frozenset((Kind.TYPES, Kind.LINT, Kind.SECURITY, Kind.BUILD))
"""Gates that a review runs; testing runs all others that run a command here."""
TEST_KINDS: Final = frozenset((Kind.TESTS, Kind.COVERAGE, Kind.CHECK))
OUTPUT_LENGTH: Final = 4_000
FILE_LIMIT: Final = 16 << 20
"""Bytes of a file that is kept as evidence, or searched for a text."""
AS_BEFORE: Final = "it fails as it did before the change, which shows nothing"
NOT_RUN: Final = "it was not run"
PLACE: Final = re.compile(r"(?P<path>[^\s:`'\"]+)(?::(?P<line>\d+))?")


@dataclass(frozen=True, kw_only=True)
class CopyEvidence(CheckedCopy):
    """Gathers evidence about a copy. `kept`: the folder for files; `merged`: what was merged."""

    kept: Path
    merged: tuple[str, ...]

    # --- clauses ------------------------------------------------------------------------------------------

    def verify(self, clause: Clause, runs: Iterable[GateRun]) -> ClauseResult:
        """Verify one clause. What is to be judged is not, see `judge`."""
        holds: bool | None = None
        match clause.kind:
            case ClauseKind.RUN:
                run = {run.gate.command: run for run in runs if not run.gate.folder}.get(clause.subject)
                if run is None or run.outcome in NOTHING_SHOWN:
                    why = run.reason if run else NOT_RUN
                elif run.outcome is Outcome.FAILED and not run.gate.required:
                    why = AS_BEFORE
                else:
                    holds, why = run.outcome is Outcome.PASSED, run.output.strip() or "it passed"
                why = why[-OUTPUT_LENGTH:]
            case ClauseKind.FILE:
                there = self._place(clause.subject)
                holds = there is not None and there.exists()
                why = "it exists" if holds else "it does not exist"
            case ClauseKind.TEXT:
                content = self._read(clause.subject)
                holds = content is not None and clause.content in content.decode("utf-8", "replace")
                why = "it is there" if holds else "it is not there" if content else "it cannot be read"
            case ClauseKind.JUDGED:
                why = "nobody judged it who did not do the work"
        return ClauseResult(clause=clause, holds=holds, why=why)

    def judge(self, result: ClauseResult, word: JudgedClause) -> ClauseResult:
        """Take the word of a worker that did not do the work; a yes must name a place in the copy."""
        if (result.clause.kind, result.clause.text) != (ClauseKind.JUDGED, word.clause.strip()):
            return result
        if word.holds and not any(map(self._shows, PLACE.finditer(word.evidence))):
            return replace(
                result, why=f"it is said to hold, and what shows it is not there: {word.evidence[:200]}"
            )
        return replace(result, holds=word.holds, why=word.evidence)

    def _shows(self, named: re.Match[str]) -> bool:
        content = self._read(named["path"])
        return content is not None and int(named["line"] or 0) <= len(content.splitlines())

    # --- files --------------------------------------------------------------------------------------------

    def keep_files(self, lock: str, paths: Iterable[str]) -> tuple[KeptFile, ...]:
        """Keep files of the copy as evidence, named by their digests; one that is not there is left out."""
        folder, kept = self.kept / lock, []
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


A = TypeVar("A", bound=Struct)


def take_answer(phase: GovernedPhase, answer: type[A], said: Struct) -> A:
    """Return the work of the calling agent. Raises BadInputError where it does not fit."""
    if (given := getattr(said, "answer", None)) is None:
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
