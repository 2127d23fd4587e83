"""Every law of a complete verdict, said again by an independent oracle, on random evidence."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.judging.verdicts import verdict_objection
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import Complete, Evidence, EvidenceStrength, Met, Source
from support.verdict_cases import case

DEEP = settings(suppress_health_check=[HealthCheck.filter_too_much])
"""Most random verdicts break a law, as they should; about one in five is believed."""
OFTEN_NOT = st.sampled_from([False, False, False, True])
FACTS = st.builds(
    Evidence,
    id=st.just(""),
    source=st.sampled_from([*Source, Source.TOOL, Source.TOOL, Source.GATE, Source.GATE]),
    fact=st.just("Supervisor ran `make`: so"),
    call=st.sampled_from(["", "tests", "check:1"]),
    stale=OFTEN_NOT,
    bad=OFTEN_NOT,
    worth=st.sampled_from([*EvidenceStrength, EvidenceStrength.CHECK, EvidenceStrength.CHECK]),
    own=st.booleans(),
)
PROOF = st.sampled_from([(), ("`make` passed",)])


@st.composite
def judgements(draw: st.DrawFn) -> tuple[Complete, JudgeCase]:
    """A verdict that as a rule weighs what speaks against, and a case."""
    drawn = draw(st.lists(FACTS, min_size=1, max_size=5))
    facts = tuple(replace(fact, id=f"E{number}") for number, fact in enumerate(drawn, start=1))
    ids = [*(fact.id for fact in facts), "E9"]
    against = [fact.id for fact in facts if fact.bad] if draw(st.sampled_from([True, True, False])) else []
    parts = [
        Met(criterion, (*draw(st.lists(st.sampled_from(ids[: None if odd else -1]), min_size=1)), *against))
        for criterion, odd in draw(
            st.lists(st.tuples(st.sampled_from(["it works", "told"]), OFTEN_NOT), min_size=1, max_size=3)
        )
    ]
    confidence = draw(st.sampled_from([0.3, 0.5, 0.7, 0.9]))
    return Complete(tuple(parts), confidence), case(*facts, proof=draw(PROOF))


def sound(fact: Evidence) -> bool:
    return not (fact.stale or fact.bad) and fact.source not in (Source.CLAIM, Source.STEERING)


@DEEP
@given(judgements())
def test_a_complete_without_objection_breaks_no_law(judgement: tuple[Complete, JudgeCase]) -> None:
    verdict, shown = judgement
    assume(verdict_objection(verdict, shown, asked=True) == "")
    by_id = {fact.id: fact for fact in shown.evidence}
    cited = {number for met in verdict.criteria for number in met.evidence}
    assert verdict.confidence >= 0.5
    assert cited <= by_id.keys()
    for fact in shown.evidence:
        if fact.source is Source.STEERING:
            assert fact.stale or not fact.own or shown.proof
        elif fact.bad:
            assert fact.stale or fact.worth is not EvidenceStrength.CHECK
            assert fact.source is not Source.GATE or fact.worth is not EvidenceStrength.CHECK
            assert fact.stale or fact.id in cited or fact.source is Source.REPOSITORY
    for met in verdict.criteria:
        proofs = [by_id[number] for number in met.evidence if sound(by_id[number])]
        assert any(one.worth is not EvidenceStrength.NOTHING for one in proofs)


@DEEP
@given(judgements())
def test_a_complete_that_was_believed_is_not_believed_once_a_check_fails(
    judgement: tuple[Complete, JudgeCase],
) -> None:
    verdict, shown = judgement
    assume(verdict_objection(verdict, shown, asked=True) == "")
    red = Evidence(
        id="E99",
        source=Source.GATE,
        fact="Supervisor ran `x`: failed",
        bad=True,
        worth=EvidenceStrength.CHECK,
    )
    worse = replace(shown, evidence=(*shown.evidence, red))
    citing = replace(verdict, criteria=(*verdict.criteria, Met("x", ("E99", *verdict.criteria[0].evidence))))
    assert verdict_objection(verdict, worse, asked=True) != ""
    assert verdict_objection(citing, worse, asked=True) != ""
