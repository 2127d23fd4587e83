"""Judged stops as they are kept: played in a world of literals, with all that policy was told on the way."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, Inquiry, Rest, Ruling
from sidecar.kernel.events import JudgeFailed, ProjectState
from sidecar.kernel.evidence import Gap, Incomplete, Verdict
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.session import Session
from sidecar.kernel.stop_history import RecordedStop, TimedFact, ruling_outcome
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry
from support.cases import PROJECT, RUBRIC, SETTINGS, judged, stopped, turn, with_goal
from support.play import NOON, World, answer

STRICT = replace(RUBRIC, antipatterns=(*RUBRIC.antipatterns, Criterion("No comments", "", id="no-comments")))
"""The rubric of `RUBRIC`, and one criterion more."""
LAX = replace(RUBRIC, antipatterns=(Criterion("No comments", "", id="no-comments"),))
"""It no longer has the criterion `left-work`."""


class Kept(Struct, frozen=True):
    """A stop as it is kept, and how it really came out."""

    stop: RecordedStop
    inquiry: Inquiry
    ruling: Ruling


def kept(session: Session, world: World, rubric: Rubric = RUBRIC, at: float = NOON, **stop: Any) -> Kept:
    """Judge one stop of this session in this world, by this rubric."""
    first = Inquiry(session=session, stop=stopped(**stop), settings=SETTINGS)
    inquiry, order = begin_inquiry(first)
    heard: list[TimedFact] = []
    while not isinstance(order, Continue | Rest):
        fact = answer(order, world)
        if isinstance(fact, ProjectState):
            fact = replace(fact, rubric=rubric)
        heard.append(TimedFact(at + len(heard), fact))
        inquiry, order = advance_inquiry(inquiry, fact, heard[-1].at)
    how, why = ruling_outcome(order)
    whole = RecordedStop(
        at=at,
        project=first.stop.project,
        inquiry=first,
        facts=tuple(heard),
        ended=how,
        detail=why,
        stage=inquiry.stage,
        rule=inquiry.rule,
    )
    return Kept(whole, inquiry, order)


def asked(verdict: Verdict | JudgeFailed | None = None, at: float = NOON, **stop: Any) -> RecordedStop:
    """A stop with a goal that only the judge could decide; it said that work is left."""
    said = verdict or missing("left-work")
    world = World(judge=said if isinstance(said, JudgeFailed) else judged(said))
    return kept(with_goal(), world, at=at, **stop).stop


def unasked(message: str = "Shall I continue?", at: float = NOON, project: str = PROJECT) -> RecordedStop:
    """A stop without a goal that rules decide, or let go."""
    return kept(Session(key=stopped().key), World(turn=turn(message=message)), at=at, project=project).stop


def missing(*criteria: str) -> Incomplete:
    """Something is missing for each of these criteria."""
    gaps = tuple(Gap(f"{name} does not hold", name, ()) for name in criteria)
    return Incomplete(missing=gaps, next_step="Do it.", confidence=0.9)
