"""What may be reported of a judged stop: what was missing, what was known, what is left.

The agent sees it too, so nothing here reveals how close a verdict was: the judge's confidence and the
thresholds it is compared with are withheld from the agent that is judged (law 9).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ledger import gather_evidence
from sidecar.kernel import budget
from sidecar.kernel.effects import Continue, Ruling
from sidecar.kernel.events import JudgeAnswered
from sidecar.kernel.evidence import ClaimStatus, Evidence, Source
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.session import Session, active_goal
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import TimedFact
from sidecar.kernel.verdict import Incomplete

FACT_DETAIL_LIMIT: Final = 400
"""Characters at the end of a fact's detail that are reported, where the fact speaks against being done."""
FACT_OVERHEAD: Final = 60
"""Bytes that a fact takes in addition to its text: its id, its source, its flags."""


class Point(Struct, frozen=True):
    """One missing point. `criterion`: "goal", "request", the id of a criterion of the rubric, or ""."""

    text: str
    criterion: str = ""


class Next(StrEnum):
    """How the session's next stop is handled."""

    OFF = "off"
    PAUSED = "paused"
    SHADOW = "shadow"
    GOAL = "goal"
    FREE = "free"
    """No goal is judged: only clear cases are sent back."""


class Left(Struct, frozen=True, kw_only=True):
    """Spending and its limits. Without an active goal only continuations since the last prompt count."""

    continuations: int
    continuations_of: int
    tokens: int = 0
    tokens_of: int = 0
    seconds: int = 0
    seconds_of: int = 0


def missing_points(ruling: Ruling, heard: Iterable[TimedFact]) -> tuple[Point, ...]:
    """Return what was missing when an agent was sent back; () where it was not."""
    if not isinstance(ruling, Continue):
        return ()
    verdicts = (one.fact.judgement.verdict for one in heard if isinstance(one.fact, JudgeAnswered))
    criteria = {
        gap.point: gap.criterion
        for verdict in verdicts
        if isinstance(verdict, Incomplete)
        for gap in verdict.missing
    }
    return tuple(Point(text, criteria.get(text, "")) for text in ruling.feedback.missing)


def contradicted_claims(inquiry: Inquiry) -> tuple[str, ...]:
    """Return the agent's claims that the evidence contradicts, and by what."""
    wrong = (claim for claim in inquiry.claims if claim.status is ClaimStatus.CONTRADICTED)
    return tuple(f"\u201c{claim.text}\u201d: {claim.because}" for claim in wrong)


def stop_evidence(inquiry: Inquiry) -> tuple[Evidence, ...]:
    """Return the facts that were numbered for this stop; where it needed none, those that there would be."""
    return inquiry.evidence or gather_evidence(inquiry.turn, inquiry.runs, inquiry.project_state).evidence


def evidence_from_record(
    gates: Iterable[str], findings: Iterable[str], claims: Iterable[str]
) -> tuple[Evidence, ...]:
    """Return the same as far as a record's lines contain it: R1, R2, ..."""
    lines = (
        *((Source.GATE, line) for line in gates),
        *((Source.CHANGE, line) for line in findings),
        *((Source.CLAIM, line) for line in claims),
    )
    return tuple(
        Evidence(id=f"R{number}", source=source, fact=line) for number, (source, line) in enumerate(lines, 1)
    )


def evidence_within_size(evidence: Iterable[Evidence], room: int) -> tuple[tuple[Evidence, ...], int]:
    """Return as many facts as `room` bytes hold, and the number of those left out.

    Facts that speak against being done are chosen first, then what Supervisor ran itself, then the others in
    the order of their numbers. The result is in the order of the numbers.
    """
    every = [replace(fact, detail=fact.detail[-FACT_DETAIL_LIMIT:] if fact.bad else "") for fact in evidence]
    chosen: list[Evidence] = []
    for fact in sorted(every, key=_evidence_rank):
        size = FACT_OVERHEAD + len(f"{fact.fact}{fact.detail}".encode("utf-8", "replace"))
        if size > room:
            break
        room -= size
        chosen.append(fact)
    kept = {fact.id for fact in chosen}
    return tuple(fact for fact in every if fact.id in kept), len(every) - len(chosen)


def _evidence_rank(fact: Evidence) -> int:
    if fact.bad and not fact.stale:
        return 0
    return 1 if fact.source is Source.GATE else 2


def budget_left(session: Session, settings: Settings) -> Left:
    """Return what the session has spent of its budget."""
    goal = active_goal(session)
    if goal is None:
        return Left(continuations=session.unasked, continuations_of=budget.goalless_budget(session))
    return Left(
        continuations=goal.spent.continuations,
        continuations_of=budget.continuation_budget(session, settings),
        tokens=goal.spent.tokens,
        tokens_of=goal.max_tokens or settings.goal_max_tokens,
        seconds=int(goal.spent.seconds),
        seconds_of=goal.max_seconds or settings.goal_max_seconds,
    )


def next_stop_handling(session: Session, settings: Settings, off: str) -> Next:
    """Return how the next stop is handled. `off`: see SwitchStore."""
    goal = session.goal
    if off:
        return Next.OFF
    if goal is not None and goal.status is GoalStatus.PAUSED:
        return Next.PAUSED
    if settings.mode == "shadow":
        return Next.SHADOW
    return Next.GOAL if active_goal(session) else Next.FREE
