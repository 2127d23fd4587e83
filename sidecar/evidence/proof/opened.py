"""Decides what it means that the checks that passed did not open a file of the product that changed.

A check says something about files of the languages that it opened, in its folder. A file beside these that no
test imports yet is covered; a file in another language, or in a package whose checks did not run, is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import CheckChange, IntegrityFinding
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.platform.data import load_data

SHOWN_FILES: Final = 3
READING_KINDS: Final = frozenset((Kind.LINT, Kind.SECURITY))
"""Kinds that read every file and run none: they count only where nothing else passed."""


class LanguageFamilies(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    families: tuple[str, ...]


@cache
def _families() -> dict[str, str]:
    families = load_data("language_families", LanguageFamilies).families
    return {ending: family for family in families for ending in family.split()}


def language_family(path: str) -> str:
    """Return the languages that are checked together with that of a program file; "" for any other file."""
    return _families().get(path.rpartition("/")[2].rpartition(".")[2].lower(), "")


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
        IntegrityFinding(change=CheckChange.LOOKED_ELSEWHERE, file=path) for path in unseen[:SHOWN_FILES]
    )
