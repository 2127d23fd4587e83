"""A kept stop ends as it did under its own rubric, and under another one only as far as that can be told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.judging.asking import JudgeAccess
from sidecar.kernel.effects import RestReason
from sidecar.kernel.events import JudgeFailed
from sidecar.kernel.evidence import Verdict
from sidecar.kernel.rubric import Criterion, Rubric, Severity
from sidecar.kernel.session import ProgressSnapshot, Session
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.kernel.stop_history import CONTINUE_DECISION, EvaluatedStop, RecordedStop
from sidecar.systems.supervision.evaluation import (
    AbsentJudge,
    RecordedPlay,
    evaluate_stops,
    recorded_outcome,
)
from sidecar.systems.supervision.stop_keeping import mask_recorded_stop
from support.cases import (
    KEY,
    PROJECT,
    RUBRIC,
    UNREACHABLE,
    abstain,
    after,
    complete,
    judged,
    said,
    session,
    task,
    with_goal,
)
from support.histories import GOALS, rarely, worlds
from support.kept_stops import LAX, STRICT, asked, kept, missing, unasked
from support.logs import stops_in
from support.loops import run
from support.memory_stores import MemorySpending
from support.play import World
from support.scripted_ports import ScriptedJudge

ELSEWHERE = replace(STRICT, patterns=(*STRICT.patterns, Criterion("Docs", "", "docs", applies_to=("*.md",))))
"""One of its criteria is about files that no world changes."""
SESSIONS = st.one_of(
    st.just(Session(key=KEY)),
    st.sampled_from(GOALS).map(with_goal),
    st.integers(0, 17).map(lambda spent: session(goal=after(spent), pending=said(), stalls=spent % 4)),
    st.just(session(unasked=3, movement=ProgressSnapshot(tree="tree-a"), retry=5)),
)


RULES = Settings(judge=JudgeSettings(backend="rules"))
OPEN = "the judge would see other criteria"


def play(stop: RecordedStop, rubric: Rubric, *answers: Verdict | JudgeFailed) -> EvaluatedStop:
    """Play one stop again; a judge with these answers is asked, where there are any."""
    settings = Settings(judge=JudgeSettings(backend="openai")) if answers else RULES
    (done,) = asyncio.run(
        evaluate_stops([stop], rubric, JudgeAccess(judge=ScriptedJudge(*answers), settings=settings))
    )
    return done


# --- under the rubric that it was judged by -----------------------------------------------------------------


@given(SESSIONS, worlds(), st.booleans(), rarely(), st.sampled_from([RUBRIC, STRICT, LAX, ELSEWHERE]))
def test_under_its_own_rubric_a_stop_that_was_kept_on_disk_has_exactly_the_ruling_it_had(
    before: Session,
    world: World,
    headless: bool,  # noqa: FBT001 - drawn
    busy: bool,  # noqa: FBT001 - drawn
    rubric: Rubric,
) -> None:
    tasks = (task("t1"),) if busy else ()
    world = replace(world, turn=replace(world.turn, queued=False, interrupted=False))
    was = kept(before, world, rubric, headless=headless, background=tasks)
    event(f"{was.stop.stage}: {was.stop.ended}")
    with TemporaryDirectory() as folder:
        files = stops_in(Path(folder))
        files.keep(mask_recorded_stop(was.stop, str))
        (again,) = files.last(PROJECT, 1).stops
    assert run(RecordedPlay(again, rubric).rule()) == (was.inquiry, was.ruling)
    done = play(again, rubric)
    assert (done.ended, done.asked, done.failed) == (recorded_outcome(again).ended, False, "")


# --- under another one, as the judge said then --------------------------------------------------------------


def test_nobody_is_sent_back_for_a_criterion_that_is_gone() -> None:
    stop = asked(missing("left-work"))
    assert stop.ended == CONTINUE_DECISION
    done = play(stop, LAX)
    assert (done.ended, done.failed) == (RestReason.UNJUDGED, "")
    assert "rests on a criterion in force: left-work" in done.detail


def test_nobody_is_sent_back_for_a_criterion_that_is_a_note_now() -> None:
    note = replace(RUBRIC.antipatterns[0], severity=Severity.NOTE)
    done = play(asked(missing("left-work")), replace(RUBRIC, antipatterns=(note,)))
    assert (done.ended, done.failed) == (RestReason.UNJUDGED, "")


def test_a_point_that_rested_on_nothing_in_force_sends_back_once_its_criterion_is_there() -> None:
    done = play(asked(missing("no-comments")), STRICT)
    assert (done.ended, done.failed) == (CONTINUE_DECISION, "")


def test_where_the_judge_would_see_another_case_it_cannot_be_told_without_a_model() -> None:
    done = play(asked(missing("left-work")), STRICT)
    assert (done.ended, done.failed) == (CONTINUE_DECISION, OPEN)


def test_what_says_the_same_at_another_place_is_the_same_case() -> None:
    moved = replace(RUBRIC, origin="/elsewhere/rubric.md", rejected=("x",))
    assert play(asked(), moved).failed == ""


def test_criteria_that_are_about_other_files_make_no_other_case() -> None:
    docs = Criterion("Docs true", "They are.", id="docs-true", applies_to=("*.md",))
    more = replace(RUBRIC, patterns=(*RUBRIC.patterns, docs))
    assert play(asked(), more).failed == ""
    was = kept(with_goal(), World(judge=judged(missing("left-work"))), more).stop
    assert play(was, RUBRIC).failed == ""
    code = replace(docs, applies_to=("*.py",))
    assert play(asked(), replace(RUBRIC, patterns=(*RUBRIC.patterns, code))).failed == OPEN


def test_a_glob_that_means_these_files_as_the_one_before_did_makes_no_other_case() -> None:
    wide, narrow = (replace(STRICT.antipatterns[-1], applies_to=(glob,)) for glob in ("*.py", "a.py"))
    was = kept(with_goal(), World(judge=judged(missing("left-work"))), _with(wide)).stop
    assert play(was, _with(narrow)).failed == ""
    assert play(was, STRICT).failed == OPEN, "for some files, or for all: that is shown"


def _with(criterion: Criterion) -> Rubric:
    return replace(RUBRIC, antipatterns=(*RUBRIC.antipatterns, criterion))


@pytest.mark.parametrize("message", ["Shall I continue?", "All done."])
def test_what_rules_decide_no_rubric_changes(message: str) -> None:
    stop = unasked(message)
    done = play(stop, LAX)
    assert (done.ended, done.failed) == (stop.ended, "")


def test_facts_that_are_not_those_that_policy_asks_for_tell_nothing() -> None:
    stop = asked()
    for heard in (stop.facts[:-1], stop.facts[1:], ()):
        done = play(replace(stop, facts=heard), RUBRIC)
        assert (done.ended, done.failed) == (stop.ended, "today's rules ask for facts that were not kept")


# --- with a model -------------------------------------------------------------------------------------------


def test_a_model_is_asked_where_the_case_is_another_one() -> None:
    done = play(asked(missing("left-work")), STRICT, abstain())
    assert (done.ended, done.asked, done.failed) == (RestReason.UNJUDGED, True, "")
    done = play(asked(abstain()), STRICT, missing("no-comments"))
    assert (done.ended, done.asked, done.failed) == (CONTINUE_DECISION, True, "")


def test_nobody_is_asked_about_a_case_that_stays_the_same() -> None:
    assert play(asked(missing("left-work")), RUBRIC, abstain()).ended == CONTINUE_DECISION
    assert play(unasked(), STRICT, abstain()).ended == CONTINUE_DECISION


def test_a_judge_that_fails_leaves_the_ending_open() -> None:
    done = play(asked(missing("left-work")), STRICT, UNREACHABLE)
    assert done.failed == "no backend can be reached"


def test_an_answer_near_the_threshold_is_asked_for_twice_and_both_are_new() -> None:
    near = replace(missing("left-work"), confidence=0.5)
    stop = asked(near)
    assert len(stop.facts) == 4, "the judge was asked twice then"
    done = play(stop, STRICT, near, complete("E2", confidence=0.5))
    assert "asked twice, the judge said incomplete, then complete" in done.detail


def test_a_day_whose_judging_is_spent_asks_nobody_more() -> None:
    settings = Settings(judge=JudgeSettings(daily_tokens=100))
    judge = ScriptedJudge(abstain())
    asking = JudgeAccess(judge=judge, settings=settings, spending=MemorySpending(tokens=100))
    (done,) = asyncio.run(evaluate_stops([asked()], STRICT, asking))
    assert "the daily limit of judging is reached" in done.failed
    assert judge.cases == []


def test_stops_come_out_in_their_order_and_each_is_told_of() -> None:
    stops = [asked(at=float(number)) for number in range(9)]
    told: list[EvaluatedStop] = []
    asking = JudgeAccess(judge=AbsentJudge(), settings=RULES)
    done = asyncio.run(evaluate_stops(stops, LAX, asking, told.append))
    assert [one.at for one in done] == [float(number) for number in range(9)]
    assert sorted(told, key=lambda one: one.at) == list(done)
