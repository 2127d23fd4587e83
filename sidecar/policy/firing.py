"""For which criteria agents were sent back, and how often that was right.

A judge names criteria by their ids. A rule speaks for the criterion of its own id: permission-seeking,
stopped-with-todos and false-complete are antipatterns of the default rubric too. The other rules stand for no
criterion of it; they speak for one that somebody gives their id. What a rule merely suspects is left to the
judge, and signs of a legitimate stop speak for no criterion: nobody is sent back for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from sidecar.model.evaluation import Outcome
from sidecar.model.events import Judged
from sidecar.model.kept import Fired, KeptStop, Measured
from sidecar.model.rubric import Rubric
from sidecar.model.verdict import Incomplete, Verdict

RULES = "rules"
"""The stage in which a rule decides by itself."""
LEGITIMATE = "legitimate:"
"""How the rule begins that lets an agent rest."""


class Firing(Struct, frozen=True):
    """The ids of the criteria that spoke at one stop."""

    at: float
    ids: frozenset[str]


def named(verdict: Verdict) -> frozenset[str]:
    """The ids that a verdict names as missing."""
    if not isinstance(verdict, Incomplete):
        return frozenset()
    return frozenset(gap.criterion for gap in verdict.missing)


def firing(stop: KeptStop) -> Firing:
    """What spoke at this stop, whether or not the agent was sent back for it."""
    said = (named(one.fact.judgement.verdict) for one in stop.heard if isinstance(one.fact, Judged))
    return Firing(stop.at, frozenset().union(_rule(stop.stage, stop.rule), *said))


def tally(firings: Iterable[Firing]) -> Mapping[str, Fired]:
    """How often each criterion that spoke at all did, of all these stops."""
    every = tuple(firings)
    when: dict[str, list[float]] = {}
    for one in every:
        for name in one.ids:
            when.setdefault(name, []).append(one.at)
    return {name: Fired(len(times), len(every), max(times)) for name, times in when.items()}


def measured(outcomes: Iterable[Outcome], rubric: Rubric, *, on: str, by: str) -> Mapping[str, Measured]:
    """Of the stops that were sent back for a criterion, those that were premature."""
    truths: dict[str, list[bool]] = {}
    for one in outcomes:
        if one.sent_back:
            for name in _rule(one.stage, one.rule).union(one.criteria):
                truths.setdefault(name, []).append(one.premature)
    seal = digest(rubric)
    return {
        name: Measured(right=sum(known), of=len(known), on=on, by=by, rubric=seal)
        for name, known in truths.items()
    }


def digest(rubric: Rubric) -> str:
    """What tells rubrics apart that ask for different things; where it was read from does not matter."""
    groups = (rubric.patterns, rubric.antipatterns, rubric.legitimate)
    return hashlib.sha256(msgspec.msgpack.encode(groups)).hexdigest()[:16]


def _rule(stage: str, rule: str) -> frozenset[str]:
    decided = stage == RULES and rule and not rule.startswith(LEGITIMATE)
    return frozenset((rule,)) if decided else frozenset()
