"""When a judge's answer may be believed: it must agree with the evidence, or it is overruled (law 5)."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.model.evidence import Evidence, Source
from sidecar.model.verdict import Abstain, Complete, Impossible, Verdict

SURE = 0.5
"""Least confidence of a verdict that counts while a goal is set."""

SURE_UNASKED = 0.7
"""Least confidence of a verdict that sends an agent back with no goal set: precision first (law 8)."""


def objection(verdict: Verdict, evidence: Iterable[Evidence], *, asked: bool) -> str:
    """Why this verdict does not count, in one line; "" where it does. `asked`: a goal is set."""
    if isinstance(verdict, Abstain):
        return f"the judge abstained: {verdict.reason}"
    least = SURE if asked else SURE_UNASKED
    if verdict.confidence < least:
        return f"the judge was not sure enough ({verdict.confidence:.2f} of {least:.2f})"
    if isinstance(verdict, Complete):
        return _unfounded([(met.criterion, met.evidence) for met in verdict.criteria], evidence)
    if isinstance(verdict, Impossible):
        known = {fact.id for fact in evidence}
        return _absent(verdict.evidence, known)
    return ""


def _unfounded(claims: Iterable[tuple[str, tuple[str, ...]]], evidence: Iterable[Evidence]) -> str:
    facts = {fact.id: fact for fact in evidence}
    weighed = set[str]()
    for criterion, cited in claims:
        if absent := _absent(cited, facts.keys()):
            return absent
        if not any(_shows(facts[number]) for number in cited):
            return f"the evidence cited for {criterion!r} is stale, a mere claim, or speaks against it"
        weighed |= set(cited)
    unseen = [
        one.id for one in facts.values() if one.source is Source.CHANGE and one.bad and one.id not in weighed
    ]
    return f"the verdict does not weigh changes to the checks: {', '.join(unseen)}" if unseen else ""


def _shows(fact: Evidence) -> bool:
    """Whether a fact can show that something holds: what is stale, bad or only said cannot (law 2)."""
    return not (fact.stale or fact.bad or fact.source is Source.CLAIM)


def _absent(cited: Iterable[str], known: Iterable[str]) -> str:
    missing = sorted(set(cited) - set(known))
    return f"the verdict cites evidence that is not there: {', '.join(missing)}" if missing else ""
