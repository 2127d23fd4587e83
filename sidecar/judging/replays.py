"""Replays judged stops under another rubric, and counts how often criteria fire and are right.

The rubric affects a ruling only through the judge: the case shows its criteria, and the answer is checked
against them. So if the case is unchanged, the recorded answer is still valid. If it changed, the recorded
answer still shows which points the new rubric no longer supports; what else the judge would say, only a model
can tell.

A judge names criteria by their ids. A rule fires for the criterion that has the rule's id:
permission-seeking, stopped-with-todos and false-complete are antipatterns of the default rubric too. The
other rules have no criterion there, but count for one that a user gives their id. What a rule only suspects
is left to the judge. Signs of a legitimate stop count for no criterion, since no agent is sent back for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, JudgeCase, Ruling
from sidecar.kernel.events import JudgeAnswered
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.stop_history import (
    CONTINUE_DECISION,
    EvaluatedStop,
    FiringCount,
    MeasuredPrecision,
    RecordedStop,
    ReplayedStop,
)
from sidecar.kernel.verdict import Incomplete, Verdict
from sidecar.rubric.globs import applicable_rubric

MAX_DETAIL_LENGTH: Final = 600
"""Maximum characters of the detail that says why a stop ended as it did."""


def ruling_outcome(ruling: Ruling) -> tuple[str, str]:
    """Return how a stop ended ("continue" or a RestReason) and why."""
    if isinstance(ruling, Continue):
        return CONTINUE_DECISION, "; ".join(ruling.feedback.missing)[:MAX_DETAIL_LENGTH]
    return ruling.reason.value, ruling.detail[:MAX_DETAIL_LENGTH]


def shows_other_criteria(case: JudgeCase, was: Rubric, changed: tuple[str, ...] | None) -> bool:
    """Whether this case shows other criteria than rubric `was` had for these changed files."""
    return _visible_criteria(case.rubric) != _visible_criteria(applicable_rubric(was, changed))


def _visible_criteria(rubric: Rubric) -> tuple[tuple[Criterion, ...], ...]:
    """The criteria as a judge sees them: whether one is limited to some files, but not to which."""
    return tuple(
        tuple(replace(one, applies_to=("",) if one.applies_to else ()) for one in group)
        for group in (rubric.patterns, rubric.antipatterns, rubric.legitimate)
    )


def summarize_replays(done: Sequence[ReplayedStop]) -> str:
    """Summarize all replays in one line."""
    if not done:
        return "there is no stop to replay: none was kept for this project yet"
    which = "stop" if len(done) == 1 else f"{len(done)} stops"
    changed, open_ = sum(one.changed for one in done), sum(one.asks for one in done)
    line = f"replay on the last {which}: {changed} verdict{'s change' if changed != 1 else ' changes'}"
    return f"{line}, {open_} cannot be told without a model" if open_ else line


# --- How often criteria fire, and how often they are right --------------------------------------------------


RULE_DECISION_STAGE = "rules"
"""The stage in which a rule decides by itself."""
LEGITIMATE_PREFIX = "legitimate:"
"""Prefix of the rule name if the rule accepted the stop as legitimate."""


class CriteriaFiring(Struct, frozen=True):
    """The ids of the criteria that fired at one stop; `at` is in seconds since the epoch."""

    at: float
    ids: frozenset[str]


def missing_criterion_ids(verdict: Verdict) -> frozenset[str]:
    """Return the ids that a verdict names as missing."""
    if not isinstance(verdict, Incomplete):
        return frozenset()
    return frozenset(gap.criterion for gap in verdict.missing)


def fired_criteria(stop: RecordedStop) -> CriteriaFiring:
    """Return what fired at this stop, whether or not the agent was sent back for it."""
    said = (
        missing_criterion_ids(one.fact.judgement.verdict)
        for one in stop.heard
        if isinstance(one.fact, JudgeAnswered)
    )
    return CriteriaFiring(stop.at, frozenset().union(_deciding_rule_ids(stop.stage, stop.rule), *said))


def count_firings(firings: Iterable[CriteriaFiring]) -> Mapping[str, FiringCount]:
    """Count how often each criterion fired over all these stops; those that never did are left out."""
    every = tuple(firings)
    when: dict[str, list[float]] = {}
    for one in every:
        for name in one.ids:
            when.setdefault(name, []).append(one.at)
    return {name: FiringCount(len(times), len(every), max(times)) for name, times in when.items()}


def measure_criteria(
    outcomes: Iterable[EvaluatedStop], rubric: Rubric, *, on: str, by: str
) -> Mapping[str, MeasuredPrecision]:
    """Count, per criterion, the stops sent back for it, and how many of them were premature.

    `on` is the day of the measurement, `by` the judge.
    """
    truths: dict[str, list[bool]] = {}
    for one in outcomes:
        if one.sent_back:
            for name in criteria_behind(one):
                truths.setdefault(name, []).append(one.premature)
    seal = rubric_digest(rubric)
    return {
        name: MeasuredPrecision(right=sum(known), of=len(known), on=on, by=by, rubric=seal)
        for name, known in truths.items()
    }


def criteria_behind(one: EvaluatedStop) -> frozenset[str]:
    """The ids of the criteria that the judge named, and of the rule that decided."""
    return _deciding_rule_ids(one.stage, one.rule).union(one.criteria)


def rubric_digest(rubric: Rubric) -> str:
    """Digest of the criteria of a rubric, independent of where the rubric was read from."""
    groups = (rubric.patterns, rubric.antipatterns, rubric.legitimate)
    return hashlib.sha256(msgspec.msgpack.encode(groups)).hexdigest()[:16]


def _deciding_rule_ids(stage: str, rule: str) -> frozenset[str]:
    decided = stage == RULE_DECISION_STAGE and rule and not rule.startswith(LEGITIMATE_PREFIX)
    return frozenset((rule,)) if decided else frozenset()
