"""Whether a piece of work is done: what is claimed, and how it stands by the laws of a stop (law 13)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from sidecar.kernel.evidence import IntegrityFinding
from sidecar.kernel.gate import Gate, GateRun
from sidecar.kernel.goal import Goal
from sidecar.kernel.session import Environment, SessionKey


class Standing(StrEnum):
    """How a piece of work stands."""

    PROVED = "proved"
    """By checks that ran, on the files as they are."""
    JUDGED = "judged"
    """By a judge's word, which cites what shows it."""
    NOT_JUDGED = "not-judged"
    """Nothing speaks against it, and nobody looked at what it asks for beyond the checks."""
    OPEN = "open"
    """Something is missing."""
    HELD = "held"
    """Only a person can tell, or let it go on."""


class WorkClaim(Struct, frozen=True, kw_only=True):
    """A piece of work that its agent says is done.

    `goal` is what was asked for, with the files as they were when it began and what the agent was asked
    already. `required` are the gates that count, by id, and whether each must pass; `gates` are such as the
    project does not offer, or that somebody approved for this work. `said`: its own words.
    """

    key: SessionKey
    project: str
    environment: Environment
    goal: Goal
    required: Mapping[str, bool]
    gates: tuple[Gate, ...] = ()
    said: str = ""


class WorkVerdict(Struct, frozen=True, kw_only=True):
    """How it stands, and why. `goal` remembers what the agent was asked now.

    `missing` and `next_step` are for the agent. `runs` ended on `tree`; of these, `required` are those whose
    failure counts. `changed` are the paths that differ from the beginning, None where that is not known.
    `findings` are changes of the checks. `tokens` and `cents` are what judging took.
    """

    standing: Standing
    why: str
    goal: Goal
    missing: tuple[str, ...] = ()
    next_step: str = ""
    runs: tuple[GateRun, ...] = ()
    tree: str = ""
    changed: tuple[str, ...] | None = None
    findings: tuple[IntegrityFinding, ...] = ()
    tokens: int = 0
    cents: float | None = None
