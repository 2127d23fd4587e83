"""What can be told of a stop after it was judged: what was missing, what was known, what is left.

It is told to the agent too, so nothing here says how near a verdict was: the sureness of a judge and the
thresholds that it is held against are no business of the one who is judged (law 9).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.claim import Standing
from sidecar.model.effects import Continue, Ruling
from sidecar.model.events import Judged
from sidecar.model.evidence import Evidence, Source
from sidecar.model.goal import Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.kept import Heard
from sidecar.model.session import Session
from sidecar.model.settings import Settings
from sidecar.model.verdict import Incomplete
from sidecar.policy import budget
from sidecar.policy.evidence import gather
from sidecar.policy.skip import active_goal

DETAIL: Final = 400
"""Characters at the end of a fact's detail that are told, where the fact speaks against being done."""
LEAD: Final = 60
"""Bytes that a fact takes beside its text: its id, its source, its marks."""


class Point(Struct, frozen=True):
    """One thing that was missing. `criterion`: "goal", "request", the id of one of the rubric, or ""."""

    text: str
    criterion: str = ""


class Next(StrEnum):
    """What becomes of the session's next stop."""

    OFF = "off"
    PAUSED = "paused"
    SHADOW = "shadow"
    GOAL = "goal"
    FREE = "free"
    """No goal is judged: only clear cases are sent back."""


class Left(Struct, frozen=True, kw_only=True):
    """What is spent of what. Without an active goal only continuations count: those since the last prompt."""

    continuations: int
    continuations_of: int
    tokens: int = 0
    tokens_of: int = 0
    seconds: int = 0
    seconds_of: int = 0


def points(ruling: Ruling, heard: Iterable[Heard]) -> tuple[Point, ...]:
    """What was missing when an agent was sent back; () where it was not."""
    if not isinstance(ruling, Continue):
        return ()
    verdicts = (one.fact.judgement.verdict for one in heard if isinstance(one.fact, Judged))
    criteria = {
        gap.point: gap.criterion
        for verdict in verdicts
        if isinstance(verdict, Incomplete)
        for gap in verdict.missing
    }
    return tuple(Point(text, criteria.get(text, "")) for text in ruling.feedback.missing)


def contradicted(inquiry: Inquiry) -> tuple[str, ...]:
    """What the agent said and the evidence contradicts, and by what."""
    wrong = (claim for claim in inquiry.claims if claim.standing is Standing.CONTRADICTED)
    return tuple(f"\u201c{claim.text}\u201d: {claim.because}" for claim in wrong)


def facts(inquiry: Inquiry) -> tuple[Evidence, ...]:
    """The facts that were numbered for this stop; where it was clear without them, those there would be."""
    return inquiry.evidence or gather(inquiry.turn, inquiry.runs, inquiry.survey).evidence


def of_record(gates: Iterable[str], findings: Iterable[str], claims: Iterable[str]) -> tuple[Evidence, ...]:
    """The same as far as the lines of a record tell: R1, R2, ..."""
    lines = (
        *((Source.GATE, line) for line in gates),
        *((Source.CHANGE, line) for line in findings),
        *((Source.CLAIM, line) for line in claims),
    )
    return tuple(
        Evidence(id=f"R{number}", source=source, fact=line) for number, (source, line) in enumerate(lines, 1)
    )


def bounded(evidence: Iterable[Evidence], room: int) -> tuple[tuple[Evidence, ...], int]:
    """As many facts as `room` bytes hold, and how many are left out.

    What speaks against being done comes first, then what Supervisor ran itself; then the order in which they
    were numbered. That is the order of what is given.
    """
    every = [replace(fact, detail=fact.detail[-DETAIL:] if fact.bad else "") for fact in evidence]
    chosen: list[Evidence] = []
    for fact in sorted(every, key=_rank):
        size = LEAD + len(f"{fact.fact}{fact.detail}".encode("utf-8", "replace"))
        if size > room:
            break
        room -= size
        chosen.append(fact)
    kept = {fact.id for fact in chosen}
    return tuple(fact for fact in every if fact.id in kept), len(every) - len(chosen)


def _rank(fact: Evidence) -> int:
    if fact.bad and not fact.stale:
        return 0
    return 1 if fact.source is Source.GATE else 2


def left(session: Session, settings: Settings) -> Left:
    """What the session has spent of its budget."""
    goal = active_goal(session)
    if goal is None:
        return Left(continuations=session.unasked, continuations_of=budget.unasked(session))
    return Left(
        continuations=goal.spent.continuations,
        continuations_of=budget.continuations(session, settings),
        tokens=goal.spent.tokens,
        tokens_of=goal.max_tokens or settings.goal_max_tokens,
        seconds=int(goal.spent.seconds),
        seconds_of=goal.max_seconds or settings.goal_max_seconds,
    )


def coming(session: Session, settings: Settings, off: str) -> Next:
    """What becomes of the next stop. `off`: see ports.Switches."""
    goal = session.goal
    if off:
        return Next.OFF
    if goal is not None and goal.status is Status.PAUSED:
        return Next.PAUSED
    if settings.mode == "shadow":
        return Next.SHADOW
    return Next.GOAL if active_goal(session) else Next.FREE
