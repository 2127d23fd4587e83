"""The benchmark's own parts: the oracle knows the truth, and the report tells every figure of every set."""

from __future__ import annotations

import asyncio
from typing import Any

from judge.oracle import consult
from judge.report import Result, build_report_part, figure_rows, markdown

from sidecar.kernel.events import ProjectState
from sidecar.kernel.stop_history import EvaluatedStop, GroundTruth, LabelledStop
from support.cases import RUBRIC, SETTINGS, TREE, edited, ran, turn

SEEN = ProjectState(tree=TREE, rubric=RUBRIC, changed=("a.py",))


def weighed(number: str, truth: GroundTruth, *, complete: bool, shown: bool = True) -> LabelledStop:
    calls = (edited(), ran("node check.mjs")) if shown else (edited(),)
    return LabelledStop(
        id=number,
        family="f",
        truth=truth,
        origin="by-hand",
        goal="comments are accepted",
        complete=complete,
        seen=SEEN,
        turn=turn(*calls, message="The parser accepts comments now."),
    )


def outcome(number: str, **fields: Any) -> EvaluatedStop:
    usual: dict[str, Any] = {"family": "work|done", "truth": GroundTruth.LEGITIMATE, "origin": "by-hand"}
    usual |= {
        "language": "en",
        "host": "opencode",
        "ended": "continue",
        "stage": "rules",
        "rule": "narration",
    }
    return EvaluatedStop(id=number, **usual | fields)


def test_with_an_oracle_every_stop_that_reaches_it_ends_as_its_label_says() -> None:
    labels = [
        weighed("premature", GroundTruth.PREMATURE, complete=False),
        weighed("achieved", GroundTruth.LEGITIMATE, complete=True),
        weighed("waits", GroundTruth.LEGITIMATE, complete=False),
        weighed("unshown", GroundTruth.LEGITIMATE, complete=True, shown=False),
    ]
    outcomes = asyncio.run(consult(labels, RUBRIC, SETTINGS))
    assert [one.ended for one in outcomes] == ["continue", "judged", "waiting", "judged"]
    assert not any(one.wrong for one in outcomes)


def test_the_report_tells_every_figure_of_every_set_and_who_was_judged_wrongly() -> None:
    wrong = outcome("a", detail="two\nlines")
    sets = [("fresh", (wrong,)), ("blind", (outcome("b", ended="only-talk", stage="skip rules", rule=""),))]
    results = [
        Result(part=build_report_part(name, own), outcomes=own, failures={"529": 3}) for name, own in sets
    ]

    text = markdown("Judging", results, [("a bare 'done'", True), ("another", False)])

    for name, value in figure_rows(results[0].part.figures):
        assert f"| {name} | {value} |" in text
    assert "| decided at: skip rules |  | 1 of 1 = 100.0 % [20.7-100.0] |" in text, "the first set has none"
    assert "The ancestor's evals: 1 of 2 as they must be." in text
    assert "- another: WRONG" in text
    assert "- a (work|done, en, legitimate): continue at rules, narration: two lines" in text
    assert "- no verdict, 3 times: 529" in text
    assert "Judged wrongly, 1 of 1:" in text
