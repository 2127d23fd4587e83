"""Decides whether a judge's answer counts: it must agree with the evidence, or it is overruled (law 5).

    complete    Every cited fact exists. No check failed on the current files, and all other evidence against
                being done was weighed: some part cites it. If a goal is set, each part cites a fact of some
                worth: a run, files or git. Where nothing was executed that bears on the goal, the agent wrote
                nothing that is addressed to the judge; and the goal is judged then, not achieved.
    incomplete  Every cited fact exists, and at least one point stands: its criterion is in force and not just
                a note, and no passed gate contradicts it. Without a goal, one of the points rests on a
                criterion of the rubric or on a fact that speaks against being done.
    impossible  It cites something that was tried and failed.
    any         Its confidence is high enough.

These laws also hold for a judge that was talked into an answer and cites whatever helps: its word cannot end
a goal whose checks fail, never ran or do not bear on it.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.injection import addresses_judge
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import (
    Abstain,
    Complete,
    Evidence,
    EvidenceStrength,
    Gap,
    Impossible,
    Incomplete,
    Source,
    Verdict,
)
from sidecar.kernel.rubric import Severity

MIN_CONFIDENCE: Final = 0.5
"""Least confidence of a verdict that counts if a goal is set."""
MIN_CONFIDENCE_NO_GOAL: Final = 0.7
"""Least confidence of a verdict that counts if no goal is set: precision first (law 8)."""
SECOND_ANSWER_BAND: Final = 0.1
"""Distance from the least confidence within which one answer is not enough."""
BUILTIN_CRITERIA: Final = frozenset({"goal", "request"})
"""Criteria that are in force without a rubric."""
SAYS_FAILS: Final = re.compile(
    r"\b(?:still )?(?:fails?|failing|failed|(?:is|are) (?:red|broken|not (?:passing|green|clean))"
    r"|(?:do|does|did) not (?:pass|succeed|compile))\b\s*(?:$|[.,;:)(`'\"])",
    re.IGNORECASE,
)
MAX_NAME_DISTANCE: Final = 40
"""Characters after the name of a gate in which the words that it fails are looked for."""


def verdict_objection(verdict: Verdict, case: JudgeCase, *, asked: bool) -> str:
    """Why this verdict does not count, in one line; "" if it does. `asked`: a goal is set."""
    if isinstance(verdict, Abstain):
        return f"the judge abstained: {verdict.reason}"
    least = MIN_CONFIDENCE if asked else MIN_CONFIDENCE_NO_GOAL
    if verdict.confidence < least:
        return f"the judge was not sure enough ({verdict.confidence:.2f} of {least:.2f})"
    facts = {fact.id: fact for fact in case.evidence}
    if absent := sorted(cited_evidence(verdict) - facts.keys()):
        return f"the verdict cites evidence that is not there: {', '.join(absent)}"
    return _conflict_with_evidence(verdict, case, facts, asked=asked)


def is_near_threshold(verdict: Verdict, *, asked: bool) -> bool:
    """Whether a second answer is needed: the confidence is within SECOND_ANSWER_BAND of the least."""
    if isinstance(verdict, Abstain):
        return False
    least = MIN_CONFIDENCE if asked else MIN_CONFIDENCE_NO_GOAL
    return round(abs(verdict.confidence - least), 6) <= SECOND_ANSWER_BAND


def cited_evidence(verdict: Verdict) -> frozenset[str]:
    """Return every evidence id that a verdict cites."""
    match verdict:
        case Complete():
            return frozenset(number for met in verdict.criteria for number in met.evidence)
        case Incomplete():
            return frozenset(number for gap in verdict.missing for number in gap.evidence)
        case Impossible():
            return frozenset(verdict.evidence)
        case _:
            return frozenset()


def _conflict_with_evidence(
    verdict: Verdict, case: JudgeCase, facts: dict[str, Evidence], *, asked: bool
) -> str:
    match verdict:
        case Complete():
            return (
                _find_contradiction(verdict, case)
                or _unsupported_criterion(verdict, facts, asked=asked)
                or (_text_for_judge(case) if asked else "")
            )
        case Incomplete():
            return _incomplete_objection(verdict, case, asked=asked)
        case Impossible():
            cited = [facts[number] for number in verdict.evidence]
            tried = any(fact.bad and fact.source in (Source.TOOL, Source.GATE) for fact in cited)
            return "" if tried else "nothing that the verdict cites was tried and failed"
        case _:
            return ""


# --- complete -----------------------------------------------------------------------------------------------


def _find_contradiction(verdict: Complete, case: JudgeCase) -> str:
    """What rules out `complete`: facts that no verdict can outweigh, and facts that it did not weigh."""
    held = [fact for fact in case.evidence if fact.bad and (fact.source is Source.GATE or not fact.stale)]
    held = [fact for fact in held if fact.source is not Source.STEERING]
    if failed := [fact.id for fact in held if fact.worth is EvidenceStrength.CHECK]:
        return f"checks failed or could not run: {', '.join(failed)}"
    weighed = cited_evidence(verdict)
    for source, what in MUST_BE_WEIGHED.items():
        if unseen := [fact.id for fact in held if fact.source is source and fact.id not in weighed]:
            return f"the verdict does not weigh {what}: {', '.join(unseen)}"
    return ""


MUST_BE_WEIGHED: Final = {
    Source.CHANGE: "changes to the checks",
    Source.TOOL: "what failed",
    Source.TODO: "what is open on the agent's own list",
    Source.CLAIM: "claims that are contradicted",
    Source.GATE: "gates",
}
"""Kinds of evidence against being done that the verdict must cite where it explains them away."""


def _text_for_judge(case: JudgeCase) -> str:
    """What makes a person look: text for the judge by the agent's hand, where its word is all there is."""
    if case.proof:
        return ""
    asked = (case.condition, *case.prompts)
    found = (fact.fact for fact in case.evidence if fact.own and addresses_judge(fact, asked))
    return next((f"{fact}: a person must look" for fact in found), "")


def _unsupported_criterion(verdict: Complete, facts: dict[str, Evidence], *, asked: bool) -> str:
    for met in verdict.criteria:
        worth = {facts[number].proves for number in met.evidence} - {None}
        if not worth:
            return f"the evidence cited for {met.criterion!r} is stale, a mere claim, or speaks against it"
        if asked and worth == {EvidenceStrength.NOTHING}:
            return f"nothing cited for {met.criterion!r} could have failed"
    return ""


# --- incomplete ---------------------------------------------------------------------------------------------


def upheld_gaps(verdict: Incomplete, case: JudgeCase) -> tuple[Gap, ...]:
    """The points that stand; the others must not be reported to the agent."""
    return tuple(
        gap for gap in verdict.missing if _gap_in_force(gap, case) and not _gap_is_refuted(gap, case)
    )


def _incomplete_objection(verdict: Incomplete, case: JudgeCase, *, asked: bool) -> str:
    gaps = upheld_gaps(verdict, case)
    if not gaps:
        unknown = sorted({gap.criterion for gap in verdict.missing if not _gap_in_force(gap, case)})
        if unknown:
            return f"no point that is missing rests on a criterion in force: {', '.join(unknown)}"[:500]
        return "checks that passed on these very files contradict every point"
    if asked or any(gap.criterion not in BUILTIN_CRITERIA for gap in gaps):
        return ""
    against = {fact.id for fact in case.evidence if fact.bad and not fact.stale}
    if any(against.intersection(gap.evidence) for gap in gaps):
        return ""
    return "no goal is set, and neither the rubric nor evidence says that anything is missing"


def _gap_in_force(gap: Gap, case: JudgeCase) -> bool:
    """Whether the criterion of a point may send an agent back: built in, or in the rubric and not a note."""
    if gap.criterion in BUILTIN_CRITERIA:
        return True
    return any(
        gap.criterion == (one.id or one.name) and one.severity is not Severity.NOTE
        for one in case.rubric.criteria
    )


def _gap_is_refuted(gap: Gap, case: JudgeCase) -> bool:
    """Whether passed gates refute a point.

    They do if the point cites nothing but passed gates, or if it says that a passed gate fails.
    """
    gates = (fact for fact in case.evidence if fact.source is Source.GATE)
    passed = [fact for fact in gates if fact.proves is EvidenceStrength.CHECK]
    ids = {fact.id for fact in passed}
    if gap.evidence and ids.issuperset(gap.evidence):
        return True
    bad = {fact.id for fact in case.evidence if fact.bad and not fact.stale}
    return not bad.intersection(gap.evidence) and any(_says_gate_fails(gap.point, fact) for fact in passed)


def _says_gate_fails(point: str, passed: Evidence) -> bool:
    """Whether a point says that a gate fails, by its name or command, although the gate passed."""
    command = passed.fact.partition("`")[2].partition("`")[0]
    for name in (passed.call.partition(":")[0], command):
        at = point.lower().find(name.lower()) if name else -1
        end = at + len(name)
        if (
            at >= 0
            and not point[at - 1 : at].isalnum()
            and SAYS_FAILS.match(point[end : end + MAX_NAME_DISTANCE].lstrip(" `'\""))
        ):
            return True
    return False
