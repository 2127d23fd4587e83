"""What came after a stop that was sent back, the figures of many stops, and the story of one."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.kernel.log import StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.systems.supervision.policy.decision_story import (
    NOT_KEPT,
    ReplayedInquiry,
    Story,
    summarize_stop,
    tell_decision,
)
from sidecar.systems.supervision.policy.history import (
    Decision,
    add_follow_ups,
    check_figures,
    describe_shadow,
    flaky_checks,
    stop_figures,
)
from support.cases import KEY, judged, with_goal
from support.kept_stops import kept, missing
from support.play import World

pytestmark = pytest.mark.proves("seeing and asking back")

FAILS, PASSES = "tests: failed", "tests: passed (flaky)"


def decision(decided: str = "continue", key: SessionKey = KEY, day: str = "d1", **stop: Any) -> Decision:
    stop = {"tree": "t1", **stop}
    return Decision(at=1.0, day=day, session=key, project="/p", stop=StopJudged(decided=decided, **stop))


@pytest.mark.parametrize(
    ("followed", "then"),
    [
        ("repaired", [decision("achieved", gates=(PASSES,))]),
        ("changed", [decision(tree="t2", gates=(FAILS,))]),
        ("nothing", [decision("stalled", gates=(FAILS,))]),
        ("unknown", [decision("unjudged", tree="")]),
        ("unknown", []),
        ("unknown", [decision("achieved", key=SessionKey("opencode", "s"), gates=(PASSES,))]),
        ("repaired", [decision("interrupted", tree=""), decision("achieved", gates=(PASSES,))]),
    ],
)
def test_whether_sending_back_was_right_is_read_from_the_sessions_next_stop(
    followed: str, then: list[Decision]
) -> None:
    first, *later = add_follow_ups([decision(gates=("lint: passed", FAILS)), *then])
    assert first.followed == followed
    assert [one.followed for one in later if not one.sent_back] == [
        None for one in later if not one.sent_back
    ]


def test_figures_add_up_by_group_and_leave_subagents_out() -> None:
    stops = add_follow_ups(
        [
            decision(gates=(FAILS,), seconds=2.0, judge="cli", judge_tokens=10),
            decision("achieved", gates=(PASSES,), seconds=1.0, judge="cli", judge_tokens=5, judge_cents=0.5),
            decision("judged"),
            decision("subagent"),
            decision("continue", day="d2"),
        ]
    )
    first, second = stop_figures(stops, "day")
    assert (first.name, first.stops, first.sent_back, first.right) == ("d1", 3, 1, 1)
    assert (first.achieved, first.judged) == (1, 1)
    assert (first.seconds, first.tokens, first.cents, first.unpriced) == (3.0, 15, 0.5, 1)
    assert (second.name, second.stops, second.right, second.unpriced) == ("d2", 1, 0, 0)
    (of_host,) = stop_figures(stops, "host")
    assert of_host.stops == 4


def test_what_shadow_mode_would_have_sent_back_is_counted_apart_and_right_only_where_a_check_shows_it() -> (
    None
):
    stops = add_follow_ups(
        [
            decision("shadow", gates=(FAILS,)),
            decision("achieved", gates=(PASSES,), tree="t2"),
            decision("shadow"),
            decision("nothing-suspicious", tree="t3"),
        ]
    )
    (found,) = stop_figures(stops, "all")
    assert (found.sent_back, found.right, found.nothing) == (0, 0, 0)
    assert (found.would_send_back, found.would_be_right) == (2, 1)


IN_SHADOW = [decision("shadow", gates=(FAILS,)), decision("only-talk", gates=(PASSES,))]
A_WEEK_S = 7 * 86_400.0


@pytest.mark.parametrize(
    ("stops", "later", "said"),
    [
        ([], 9 * A_WEEK_S, "nothing is sent back, only recorded."),
        (IN_SHADOW, A_WEEK_S - 1, "nothing is sent back, only recorded."),
        (
            IN_SHADOW,
            A_WEEK_S,
            "2 stops in 7 days, 1 would have been sent back, 1 of them shown to be right: ",
        ),
        (IN_SHADOW * 25, 60.0, "50 stops in 1 day, 25 would have been sent back, 25 of them "),
        ([*IN_SHADOW * 30, decision(), *IN_SHADOW], 60.0, "nothing is sent back, only recorded."),
    ],
    ids=["no stop", "less than a week", "a week", "many stops", "of a time before it"],
)
def test_shadow_mode_is_summed_up_after_a_week_or_many_stops(
    stops: list[Decision], later: float, said: str
) -> None:
    line = describe_shadow(add_follow_ups(stops), 1.0 + later)
    assert line.startswith(f"Supervisor: shadow mode: {said}")
    assert line.endswith(" Type in a shell: supervisor on")


def test_checks_are_sorted_by_time_and_an_answer_from_memory_is_no_run() -> None:
    stops = [
        decision(gates=("lint: passed", FAILS), gate_seconds=(9.0, 3.0)),
        decision(gates=("lint: passed (cached)", PASSES), gate_seconds=(0.0, 1.0)),
    ]
    lint, tests = check_figures(stops)
    assert (lint.name, lint.runs, lint.failed, lint.seconds) == ("lint", 1, 0, 9.0)
    assert (tests.name, tests.runs, tests.failed, tests.seconds, tests.slowest) == ("tests", 2, 1, 2.0, 3.0)


@pytest.mark.parametrize(
    ("flaky", "stops"),
    [
        ({"tests"}, [decision(gates=(PASSES,), flaky=("tests",))]),
        ({"tests"}, [decision(gates=(FAILS, "lint: passed")), decision(gates=("tests: passed",))]),
        (set(), [decision(gates=(FAILS,)), decision(tree="t2", gates=("tests: passed",))]),
        (set(), [decision(tree="", gates=(FAILS,)), decision(tree="", gates=("tests: passed",))]),
        (set(), [decision(gates=(PASSES,))]),
    ],
)
def test_a_check_that_failed_and_passed_on_the_same_files_is_flaky(
    flaky: set[str], stops: list[Decision]
) -> None:
    assert flaky_checks(stops) == flaky


@pytest.mark.parametrize(
    ("decided", "stop", "said"),
    [
        ("continue", {"stage": "gates"}, "sent back by checks"),
        ("continue", {"stage": "judge", "rule": "false-complete"}, "sent back by false-complete"),
        ("achieved", {"stage": "gates"}, "achieved by checks"),
        ("unjudged", {"stage": "judge"}, "not judged"),
        ("only-talk", {"stage": "skip rules"}, "only talk"),
        ("judged", {"stage": "judge"}, "judged"),
        ("shadow", {"stage": "gates"}, "would have been sent back by checks"),
    ],
)
def test_a_ruling_is_summed_up_in_plain_words(decided: str, stop: dict[str, str], said: str) -> None:
    assert summarize_stop(StopJudged(decided=decided, **stop)) == said  # type: ignore[arg-type] # texts


def lines(story: Story, about: str) -> tuple[str, ...]:
    return next((step.lines for step in story.steps if step.about == about), ())


def test_the_story_of_a_kept_stop_has_the_judges_word_but_not_how_sure_it_was() -> None:
    played = kept(with_goal(), World(judge=judged(missing("left-work"))))
    known = ReplayedInquiry(inquiry=played.inquiry, ruling=played.ruling, facts=played.stop.facts)
    story = tell_decision(decision(judge="cli", judge_tokens=7), known)
    assert any(
        "missing: left-work does not hold (no evidence named)" in line for line in lines(story, "judge")
    )
    assert lines(story, "effect")[0].startswith("continuation 1 of ")
    assert lines(story, "cost") == ("0.0 s; cli: 7 tokens, no known price",)
    assert not any("0.9" in line for step in story.steps for line in step.lines)


def test_of_a_stop_that_is_not_kept_the_record_is_told() -> None:
    story = tell_decision(decision(gates=(FAILS,), claims=("tests-pass: contradicted",)), None)
    assert lines(story, "checks") == (FAILS,)
    assert lines(story, "not known") == (NOT_KEPT,)
