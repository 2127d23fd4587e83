"""Which criteria spoke at a stop, how often lately, and how often it was right."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sidecar.judging.replays import count_firings, fired_criteria, measure_criteria, rubric_digest
from sidecar.judging.rules.every import STOP_RULES
from sidecar.kernel.stop_history import CONTINUE_DECISION, EvaluatedStop, FiringCount, GroundTruth
from support.cases import RUBRIC, UNREACHABLE, abstain, complete
from support.kept_stops import LAX, STRICT, asked, missing, unasked


def outcome(truth: GroundTruth = GroundTruth.PREMATURE, **fields: Any) -> EvaluatedStop:
    usual: dict[str, Any] = {
        "id": "1",
        "family": "f",
        "origin": "by-hand",
        "language": "en",
        "host": "h",
        "ended": CONTINUE_DECISION,
        "stage": "judge",
    }
    return EvaluatedStop(truth=truth, **usual | fields)


def test_a_criterion_that_the_judge_named_spoke_once_however_many_points_it_has() -> None:
    stops = [
        asked(missing("left-work", "left-work", "no-comments"), at=1.0),
        asked(missing("left-work"), at=2.0),
        asked(complete(), at=3.0),
        asked(UNREACHABLE, at=4.0),
    ]
    assert count_firings(map(fired_criteria, stops)) == {
        "left-work": FiringCount(2, 4, 2.0),
        "no-comments": FiringCount(1, 4, 1.0),
    }


def test_a_rule_that_decided_speaks_for_the_criterion_of_its_id() -> None:
    stop = unasked("Shall I continue?")
    assert (stop.stage, stop.rule) == ("rules", "permission-seeking")
    assert fired_criteria(stop).ids == {"permission-seeking"}


def test_a_suspicion_and_a_sign_of_a_legitimate_stop_speak_for_nothing() -> None:
    assert fired_criteria(replace(unasked(), stage="judge")).ids == frozenset()
    assert fired_criteria(replace(unasked(), rule="legitimate:credentials")).ids == frozenset()
    assert fired_criteria(replace(unasked(), rule="")).ids == frozenset()


def test_a_rule_and_a_judge_that_say_the_same_at_one_stop_count_once() -> None:
    stop = replace(asked(missing("permission-seeking")), stage="rules", rule="permission-seeking")
    assert count_firings([fired_criteria(stop)]) == {"permission-seeking": FiringCount(1, 1, stop.at)}


def test_without_stops_nothing_fired() -> None:
    assert count_firings([]) == {}


def test_the_rules_that_are_antipatterns_of_the_default_rubric_have_their_ids() -> None:
    assert {"permission-seeking", "stopped-with-todos", "false-complete"} <= {rule.id for rule in STOP_RULES}


def test_only_stops_that_were_sent_back_measure_a_criterion() -> None:
    outcomes = [
        outcome(criteria=("left-work", "tests")),
        outcome(GroundTruth.LEGITIMATE, criteria=("left-work",)),
        outcome(ended="unjudged", criteria=("left-work",)),
        outcome(stage="rules", rule="narration"),
        outcome(stage="judge", rule="false-complete"),
    ]
    found = measure_criteria(outcomes, RUBRIC, on="2026-11-22", by="rules")
    assert {name: (one.right, one.of) for name, one in found.items()} == {
        "left-work": (1, 2),
        "tests": (1, 1),
        "narration": (1, 1),
    }
    assert {(one.on, one.by, one.rubric) for one in found.values()} == {
        ("2026-11-22", "rules", rubric_digest(RUBRIC))
    }


def test_a_digest_tells_what_a_rubric_asks_for_and_not_where_it_is() -> None:
    assert rubric_digest(replace(RUBRIC, origin="elsewhere", rejected=("x",))) == rubric_digest(RUBRIC)
    assert len({rubric_digest(RUBRIC), rubric_digest(STRICT), rubric_digest(LAX)}) == 3


def test_an_abstention_names_nothing() -> None:
    assert fired_criteria(asked(abstain())).ids == frozenset()
