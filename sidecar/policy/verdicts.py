"""When a judge's answer may be believed: it must agree with the evidence, or it is overruled (law 5).

complete    no cited fact is missing. No text addressed to the judge was found by the worker's hand. No check
            failed on these files, and whatever else speaks against was weighed: some part cites it. While a
            goal is set, each part cites a fact that could have been otherwise: a gate that passed, a run of
            the agent's own that could have failed; files and git only for a goal that is about these. A check
            must have looked at what is new, not only at what was there before
incomplete  no cited fact is missing, and at least one point stands: its criterion is in force and more than
            a note, and no passed gate contradicts it. With no goal, one of them rests on a criterion of the
            rubric, or on a fact that speaks against
impossible  it cites something that was tried and failed
any         it is as sure as it must be

A judge that was talked into an answer, and cites whatever helps, comes no further than these laws let it.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.model.effects import Case
from sidecar.model.evidence import Evidence, Source, Worth
from sidecar.model.rubric import Severity
from sidecar.model.verdict import Abstain, Complete, Gap, Impossible, Incomplete, Met, Verdict
from sidecar.policy.steering import steers
from sidecar.policy.subject import Subject, about_checks, idle, of_files, subject, tested

SURE: Final = 0.5
"""Least confidence of a verdict that counts while a goal is set."""
SURE_UNASKED: Final = 0.7
"""Least confidence of a verdict that sends an agent back with no goal set: precision first (law 8)."""
BAND: Final = 0.1
"""How near to the least confidence one answer does not settle it."""
ALWAYS: Final = frozenset({"goal", "request"})
"""Criteria that are in force without a rubric."""
PROOF: Final = frozenset({Worth.WORK, Worth.CHECK})
FAILS: Final = re.compile(
    r"\b(?:still )?(?:fails?|failing|failed|(?:is|are) (?:red|broken|not (?:passing|green|clean))"
    r"|(?:do|does|did) not (?:pass|succeed|compile))\b\s*(?:$|[.,;:)(`'\"])",
    re.IGNORECASE,
)
NAMED: Final = 40
"""Characters between the name of a gate and the words that say that it fails."""


def objection(verdict: Verdict, case: Case, *, asked: bool) -> str:
    """Why this verdict does not count, in one line; "" where it does. `asked`: a goal is set."""
    if isinstance(verdict, Abstain):
        return f"the judge abstained: {verdict.reason}"
    least = SURE if asked else SURE_UNASKED
    if verdict.confidence < least:
        return f"the judge was not sure enough ({verdict.confidence:.2f} of {least:.2f})"
    facts = {fact.id: fact for fact in case.evidence}
    if absent := sorted(cited(verdict) - facts.keys()):
        return f"the verdict cites evidence that is not there: {', '.join(absent)}"
    return _at_odds(verdict, case, facts, asked=asked)


def near(verdict: Verdict, *, asked: bool) -> bool:
    """Whether a second answer is wanted: the confidence is within BAND of the least that counts."""
    if isinstance(verdict, Abstain):
        return False
    return round(abs(verdict.confidence - (SURE if asked else SURE_UNASKED)), 6) <= BAND


def cited(verdict: Verdict) -> frozenset[str]:
    """Every id of evidence that a verdict names."""
    match verdict:
        case Complete():
            return frozenset(number for met in verdict.criteria for number in met.evidence)
        case Incomplete():
            return frozenset(number for gap in verdict.missing for number in gap.evidence)
        case Impossible():
            return frozenset(verdict.evidence)
        case _:
            return frozenset()


def _at_odds(verdict: Verdict, case: Case, facts: dict[str, Evidence], *, asked: bool) -> str:
    match verdict:
        case Complete():
            return _contradicted(verdict, case) or _unshown(verdict, case, facts, asked=asked)
        case Incomplete():
            return _pointless(verdict, case, asked=asked)
        case Impossible():
            return _untried([facts[number] for number in verdict.evidence])
        case _:
            return ""


# --- complete -----------------------------------------------------------------------------------------------


def _contradicted(verdict: Complete, case: Case) -> str:
    """What speaks against being done and cannot be, or was not, weighed."""
    if steering := next((fact for fact in case.evidence if steers(fact, case)), None):
        return f"{steering.fact.partition(': ')[0]}: a person must look"
    held = [fact for fact in case.evidence if fact.bad and (fact.source is Source.GATE or not fact.stale)]
    held = [fact for fact in held if fact.source is not Source.STEERING]
    if failed := [fact.id for fact in held if fact.worth is Worth.CHECK]:
        return f"checks failed or could not run: {', '.join(failed)}"
    weighed = cited(verdict)
    for source, what in UNWEIGHED.items():
        if unseen := [fact.id for fact in held if fact.source is source and fact.id not in weighed]:
            return f"the verdict does not weigh {what}: {', '.join(unseen)}"
    return ""


UNWEIGHED: Final = {
    Source.CHANGE: "changes to the checks",
    Source.TOOL: "what failed",
    Source.TODO: "what is open on the agent's own list",
    Source.CLAIM: "claims that are contradicted",
    Source.GATE: "gates",
}
"""What speaks against being done, and must be cited by the part whose criterion says why it does not."""


def _unshown(verdict: Complete, case: Case, facts: dict[str, Evidence], *, asked: bool) -> str:
    for met in verdict.criteria:
        if all(_shows(facts[number]) is None for number in met.evidence):
            return f"the evidence cited for {met.criterion!r} is stale, a mere claim, or speaks against it"
    return _unproved(verdict, case, facts) if asked else ""


def _unproved(verdict: Complete, case: Case, facts: dict[str, Evidence]) -> str:
    """What lacks a proof while a goal is set."""
    about = subject(case.condition, case.edits, unseen=bool(case.edits_unseen))
    proofs = {number for number in cited(verdict) if _shows(facts[number]) in PROOF}
    if about is not Subject.FILES and not _unknown(case):
        told = {number for number in proofs if _looks_at_it(facts[number], case)}
        if proofs and not told:
            return "the checks that passed show only that nothing broke: none of them looked at what is new"
        proofs = told
    if not proofs and about is Subject.BOTH:
        return "nothing cited could have failed, and the goal is about more than files"
    for met in verdict.criteria:
        if not proofs.intersection(met.evidence) and not _shown_by_files(met, case, facts, about):
            return f"nothing cited for {met.criterion!r} could have failed"
    return ""


def _unknown(case: Case) -> bool:
    """Whether it is not known what was changed: then nothing follows from it."""
    edited = (
        fact.source is Source.TOOL and fact.worth is Worth.FILES and not fact.bad for fact in case.evidence
    )
    return bool(case.edits_unseen) or (not case.edits and any(edited))


def _looks_at_it(fact: Evidence, case: Case) -> bool:
    """Whether a proof has seen what the goal asks for, and not only that nothing broke.

    A run of the project's own program has. A check has where the goal is that it passes. Else something that
    can run must have been changed; and a gate counts only where tests were changed too, or where the agent
    has seen its work run: that an old check still passes is no sign of anything new.
    """
    if fact.worth is Worth.WORK or fact.call.startswith("check:"):
        return True
    if about_checks(case.condition, fact.fact.partition("`")[2].partition("`")[0]):
        return True
    if idle(case.edits):
        return False
    return fact.source is Source.TOOL or tested(case.edits) or any(map(_seen_run, case.evidence))


def _shows(fact: Evidence) -> Worth | None:
    """What a fact can show; None where it is stale, bad or only said (law 2)."""
    nothing = fact.stale or fact.bad or fact.source in (Source.CLAIM, Source.STEERING)
    return None if nothing else fact.worth


def _seen_run(fact: Evidence) -> bool:
    return fact.source is Source.TOOL and _shows(fact) in PROOF


def _shown_by_files(met: Met, case: Case, facts: dict[str, Evidence], about: Subject) -> bool:
    files = about is Subject.FILES or (about is Subject.BOTH and of_files(met.criterion, case.edits))
    return files and any(_shows(facts[number]) is Worth.FILES for number in met.evidence)


# --- incomplete and impossible ------------------------------------------------------------------------------


def upheld(verdict: Incomplete, case: Case) -> tuple[Gap, ...]:
    """The points that stand: the others may not be told to the agent."""
    return tuple(gap for gap in verdict.missing if _in_force(gap, case) and not _refuted(gap, case))


def _pointless(verdict: Incomplete, case: Case, *, asked: bool) -> str:
    gaps = upheld(verdict, case)
    if not gaps:
        unknown = sorted({gap.criterion for gap in verdict.missing if not _in_force(gap, case)})
        if unknown:
            return f"no point that is missing rests on a criterion in force: {', '.join(unknown)}"[:500]
        return "gates that passed on these very files contradict every point"
    if asked or any(gap.criterion not in ALWAYS for gap in gaps):
        return ""
    against = {fact.id for fact in case.evidence if fact.bad and not fact.stale}
    if any(against.intersection(gap.evidence) for gap in gaps):
        return ""
    return "no goal is set, and neither the rubric nor evidence says that anything is missing"


def _in_force(gap: Gap, case: Case) -> bool:
    """Whether the criterion of a point may send an agent back: one of the rubric, and more than a note."""
    if gap.criterion in ALWAYS:
        return True
    return any(
        gap.criterion == (one.id or one.name) and one.severity is not Severity.NOTE
        for one in case.rubric.criteria
    )


def _refuted(gap: Gap, case: Case) -> bool:
    """Whether gates that passed on these very files are all that is cited, or say the contrary."""
    passed = [fact for fact in case.evidence if fact.source is Source.GATE and _shows(fact) is Worth.CHECK]
    ids = {fact.id for fact in passed}
    if gap.evidence and ids.issuperset(gap.evidence):
        return True
    bad = {fact.id for fact in case.evidence if fact.bad and not fact.stale}
    return not bad.intersection(gap.evidence) and any(_says_fails(gap.point, fact) for fact in passed)


def _says_fails(point: str, passed: Evidence) -> bool:
    """Whether a point says of a gate that passed that it fails, by its name or its command."""
    command = passed.fact.partition("`")[2].partition("`")[0]
    for name in (passed.call.partition(":")[0], command):
        at = point.lower().find(name.lower()) if name else -1
        end = at + len(name)
        if (
            at >= 0
            and not point[at - 1 : at].isalnum()
            and FAILS.match(point[end : end + NAMED].lstrip(" `'\""))
        ):
            return True
    return False


def _untried(facts: list[Evidence]) -> str:
    tried = any(fact.bad and fact.source in (Source.TOOL, Source.GATE) for fact in facts)
    return "" if tried else "nothing that the verdict cites was tried and failed"
