"""Whether the checks are still what they were: gate integrity.

A change to a test or to a check's settings is no accusation. A grave one (a test skipped, an assertion that
cannot fail, a threshold lowered) is asked about once: undo it, or say why it is right. From then on, and from
the start for all others, the judge weighs it. None lets a goal become achieved unseen: gates alone decide
nothing while there is one, a judge must have cited every grave one, and the user's note names them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from sidecar.model.finding import Finding, Weight
from sidecar.model.turn import Doing, Turn

NAMED = 10
"""Findings that the agent or the user is told of at once."""


OF_CHECKS = re.compile(
    r"(^|/)(tests?|__tests__|specs?|__snapshots__|\.github|\.circleci)/|(^|/)(test_|conftest)|[._]test\.|[._]spec\."
    r"|(^|/)(pytest\.ini|pyproject\.toml|setup\.cfg|tox\.ini|package\.json|Makefile|\.coveragerc|tsconfig.*\.json"
    r"|(jest|vitest|eslint|biome)\.\S*)$"
)
"""Paths that as a rule belong to a check."""


def edited(turn: Turn) -> bool:
    """Whether this turn edited what looks like a test or a check's settings: worth a closer look."""
    return any(
        OF_CHECKS.search(path) for call in turn.calls if call.doing is Doing.EDIT for path in call.paths
    )


def grave(found: Iterable[Finding], asked_about: Iterable[str] = ()) -> tuple[Finding, ...]:
    """The grave ones that the agent was not asked about yet."""
    asked = frozenset(asked_about)
    return tuple(one for one in found if one.weight is Weight.GRAVE and digest(one) not in asked)


def digest(finding: Finding) -> str:
    """The same for the same change, wherever its line moved."""
    parts = (finding.change, finding.file, finding.before, finding.after)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def line(finding: Finding) -> str:
    """One finding in one line: where, what, and how it read before and after."""
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    weak = " (seen by its text alone)" if finding.weak else ""
    return f"{place}: {finding.change.replace('-', ' ')}{_versions(finding)}{weak}"


def told(found: Iterable[Finding]) -> tuple[str, ...]:
    """The first findings in words, and how many there are besides."""
    lines = [line(one) for one in found]
    rest = (f"and {len(lines) - NAMED} more",) if len(lines) > NAMED else ()
    return (*lines[:NAMED], *rest)


def _versions(finding: Finding) -> str:
    match finding.before, finding.after:
        case "", "":
            return ""
        case before, "":
            return f": gone is `{before}`"
        case "", after:
            return f": new is `{after}`"
        case before, after:
            return f": `{before}` became `{after}`"
