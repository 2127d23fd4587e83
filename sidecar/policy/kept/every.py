"""All rules of gate integrity over one reading."""

from __future__ import annotations

from sidecar.model.finding import Finding, Weight
from sidecar.model.inspection import Reading
from sidecar.policy.kept import settings, tests, unexplained

LIMIT = 200
"""Findings of one stop that are kept, grave ones first."""


def findings(reading: Reading) -> tuple[Finding, ...]:
    """Every change to the checks, grave ones first, then by file and line."""
    found = {*tests.findings(reading), *settings.findings(reading)}
    found |= set(unexplained.findings(reading, {one.file for one in found}))
    ordered = sorted(found, key=lambda one: (one.weight is not Weight.GRAVE, one.file, one.line, one.change))
    return tuple(ordered[:LIMIT])
