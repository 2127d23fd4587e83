"""Decides what it means that the checks that passed did not open a file of the product that changed.

A check says something about files of the languages that it opened, in its folder. A file beside these that no
test imports yet is covered; a file in another language, or in a package whose checks did not run, is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sidecar.evidence.diffs import DOCUMENTATION_FILE, SETTINGS_FILE, TEST_FILE, generated_file_reason
from sidecar.evidence.proof.check_files import bears_on_checks, is_installed, language_family
from sidecar.kernel.evidence import CheckChange, FileChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.platform.environments import known_environments

SHOWN_FILES: Final = 3
READING_KINDS: Final = frozenset((Kind.LINT, Kind.SECURITY))
"""Kinds that read every file and run none: they count only where nothing else passed."""
TYPE_STUB: Final = ".d."


def find_product_code(files: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the changed files whose text a check of the product ought to open; in doubt not."""
    return tuple(file.path for file in files if _is_product_code(file))


def _is_product_code(file: FileChange) -> bool:
    path, text = file.path, file.after or ""
    if file.link or not text.strip() or text == file.before or not language_family(path):
        return False
    folders = {*path.split("/")[:-1]}
    return not (
        bears_on_checks(path)
        or is_installed(path)
        or folders & known_environments().unsearched
        or any(pattern.search(path) for pattern in (TEST_FILE, SETTINGS_FILE, DOCUMENTATION_FILE))
        or TYPE_STUB in path.rpartition("/")[2]
        or generated_file_reason(path, text)
    )


def find_unopened(code: Sequence[str], runs: Iterable[GateRun]) -> tuple[str, ...]:
    """Return the files of `code` that no check that passed opened; empty where nobody can tell."""
    passed = _looking_runs(runs)
    opened = {path for run in passed for path in run.opened or ()}
    return tuple(path for path in code if path not in opened) if passed else ()


def _looking_runs(runs: Iterable[GateRun]) -> list[GateRun]:
    """Return the runs that passed and that may have looked at the code; none where one cannot tell."""
    passed = [run for run in runs if run.outcome is Outcome.PASSED]
    passed = [run for run in passed if run.gate.kind not in READING_KINDS] or passed
    return [] if any(run.opened is None for run in passed) else passed


def covers_ecosystem(run: GateRun, path: str) -> bool:
    """Whether a check opened files of this language, and runs in the folder of this file or above it."""
    if run.gate.folder and not path.startswith(f"{run.gate.folder}/"):
        return False
    return language_family(path) in {language_family(opened) for opened in run.opened or ()}


def rate_opened(code: Sequence[str], runs: Sequence[GateRun]) -> tuple[IntegrityFinding, ...]:
    """Return the changed files of the product that no check that passed looked at; at most three."""
    passed = _looking_runs(runs)
    unseen = [
        path for path in find_unopened(code, runs) if not any(covers_ecosystem(run, path) for run in passed)
    ]
    return tuple(
        IntegrityFinding(change=CheckChange.LOOKED_ELSEWHERE, weight=FindingSeverity.SHOWN, file=path)
        for path in unseen[:SHOWN_FILES]
    )
