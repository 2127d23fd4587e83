"""What is told of a judged stop: all of it where there is room, else the weightiest part of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.effects import Continue, Feedback, Rest, RestReason
from sidecar.kernel.evidence import Evidence, Gap, Incomplete, Source
from sidecar.kernel.goal import GoalSpending, GoalStatus
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import TimedFact
from sidecar.systems.supervision.policy.decision_story import (
    FACT_DETAIL_LIMIT,
    FACT_OVERHEAD,
    Left,
    Next,
    Point,
    budget_left,
    evidence_from_record,
    evidence_within_size,
    missing_points,
    next_stop_handling,
)
from support.cases import goal, judged, session, waiting

EVIDENCE = st.lists(
    st.builds(
        Evidence,
        id=st.just(""),
        source=st.sampled_from(Source),
        fact=st.text(max_size=80),
        detail=st.text(max_size=2 * FACT_DETAIL_LIMIT),
        stale=st.booleans(),
        bad=st.booleans(),
    ),
    max_size=12,
)


def numbered(facts: list[Evidence]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            id=f"E{number}", source=one.source, fact=one.fact, detail=one.detail, stale=one.stale, bad=one.bad
        )
        for number, one in enumerate(facts, 1)
    )


def weight(fact: Evidence) -> int:
    return 0 if fact.bad and not fact.stale else 1 if fact.source is Source.GATE else 2


@given(facts=EVIDENCE.map(numbered), room=st.integers(0, 3000))
def test_what_is_told_has_room_keeps_its_order_and_hides_nothing_weightier(
    facts: tuple[Evidence, ...], room: int
) -> None:
    told, left_out = evidence_within_size(facts, room)
    assert (
        sum(FACT_OVERHEAD + len((one.fact + one.detail).encode("utf-8", "replace")) for one in told) <= room
    )
    assert len(told) + left_out == len(facts)
    ids = [fact.id for fact in facts]
    order = [ids.index(one.id) for one in told]
    assert order == sorted(order)
    kept = {one.id for one in told}
    heaviest_hidden = min((weight(fact) for fact in facts if fact.id not in kept), default=3)
    assert all(weight(one) <= heaviest_hidden for one in told)
    assert all(one.bad or not one.detail for one in told)


def test_with_room_for_all_nothing_is_left_out() -> None:
    facts = numbered([Evidence(id="", source=Source.TOOL, fact="it ran")] * 3)
    assert evidence_within_size(facts, 1000) == (facts, 0)


def test_the_lines_of_a_record_are_numbered_through() -> None:
    known = evidence_from_record(("tests: failed",), (), ("tests-pass: contradicted", "lint-clean: unknown"))
    assert [(one.id, one.source) for one in known] == [
        ("R1", Source.GATE),
        ("R2", Source.CLAIM),
        ("R3", Source.CLAIM),
    ]


def sent_back(*missing: str) -> Continue:
    return Continue(
        feedback=Feedback(kind="incomplete", id="abc123", number=1, budget=3, missing=missing), note=""
    )


def test_a_point_has_the_criterion_that_the_judge_named_for_it() -> None:
    gaps = (Gap("no test", "verified", ()), Gap("no docs", "goal", ()))
    heard = (
        TimedFact(0.0, judged(waiting())),
        TimedFact(0.0, judged(Incomplete(missing=gaps, next_step="Write one.", confidence=0.9))),
    )
    assert missing_points(sent_back("no test", "`make` fails"), heard) == (
        Point("no test", "verified"),
        Point("`make` fails", ""),
    )
    assert missing_points(Rest(reason=RestReason.CLEAN), heard) == ()


def test_what_is_left_is_that_of_the_goal_else_that_since_the_last_prompt() -> None:
    spent = GoalSpending(continuations=2, tokens=30, seconds=4.9)
    assert budget_left(
        session(goal=goal(spent=spent, max_tokens=100), retry=5), Settings(goal_max_seconds=60)
    ) == Left(continuations=2, continuations_of=5, tokens=30, tokens_of=100, seconds=4, seconds_of=60)
    assert budget_left(session(goal=goal(status=GoalStatus.ACHIEVED), unasked=1), Settings()) == Left(
        continuations=1, continuations_of=3
    )


def test_that_it_is_off_or_paused_outweighs_shadow_mode() -> None:
    shadow, paused = Settings(mode="shadow"), session(goal=goal(status=GoalStatus.PAUSED))
    assert next_stop_handling(paused, shadow, "off for you") is Next.OFF
    assert next_stop_handling(paused, shadow, "") is Next.PAUSED
    assert next_stop_handling(session(goal=goal()), shadow, "") is Next.SHADOW
