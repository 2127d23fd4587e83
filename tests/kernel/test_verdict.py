"""A verdict cannot contradict itself, and what a model answers is read strictly."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sidecar.kernel.evidence import (
    Abstain,
    Answer,
    Complete,
    Gap,
    Impossible,
    Incomplete,
    Met,
    Verdict,
    Waiting,
)
from support.table import over_table

READ: dict[str, tuple[dict[str, Any], Verdict]] = {
    "complete": (
        {"criteria": [{"criterion": "tests pass", "evidence": ["E1", "E12"]}], "confidence": 1},
        Complete(criteria=(Met("tests pass", ("E1", "E12")),), confidence=1.0),
    ),
    "incomplete": (
        {
            "missing": [{"point": "docs", "criterion": "goal", "evidence": ["E1"]}],
            "next_step": "Write them.",
            "confidence": 0.5,
        },
        Incomplete(missing=(Gap("docs", "goal", ("E1",)),), next_step="Write them.", confidence=0.5),
    ),
    "waiting": ({"question": "Which?", "confidence": 0}, Waiting(question="Which?", confidence=0.0)),
    "impossible": (
        {"reason": "no parser", "evidence": ["E1"], "confidence": 0.9},
        Impossible(reason="no parser", evidence=("E1",), confidence=0.9),
    ),
    "abstain": ({"reason": "unclear", "confidence": 0.9}, Abstain(reason="unclear", confidence=0.9)),
}


def decode(answer: object) -> Verdict:
    return msgspec.json.decode(json.dumps({"answer": answer}), type=Answer).answer


@pytest.mark.parametrize("tag", READ)
def test_each_verdict_is_read_by_its_tag(tag: str) -> None:
    fields, verdict = READ[tag]
    assert decode({"verdict": tag} | fields) == verdict
    assert msgspec.json.decode(msgspec.json.encode(Answer(verdict)), type=Answer) == Answer(verdict)


def bad(tag: str, **fields: Any) -> dict[str, Any]:
    return {"verdict": tag} | READ[tag][0] | fields


MET = {"criterion": "x", "evidence": ["E1"]}
REFUSED: dict[str, object] = {
    "no tag": READ["complete"][0],
    "another tag": {"verdict": "done"} | READ["complete"][0],
    "complete without a criterion": bad("complete", criteria=[]),
    "complete without evidence": bad("complete", criteria=[MET | {"evidence": []}]),
    "complete with something missing": bad("complete", missing=["docs"]),
    "evidence by its text": bad("complete", criteria=[MET | {"evidence": ["I ran it"]}]),
    "evidence by its number": bad("complete", criteria=[MET | {"evidence": [1]}]),
    "evidence with more behind it": bad("complete", criteria=[MET | {"evidence": ["E1 and E2"]}]),
    "evidence with a fifth digit": bad("complete", criteria=[MET | {"evidence": ["E12345"]}]),
    "a criterion without a name": bad("complete", criteria=[MET | {"criterion": ""}]),
    "too many criteria": bad("complete", criteria=[MET] * 51),
    "incomplete with nothing missing": bad("incomplete", missing=[]),
    "incomplete with an empty point": bad("incomplete", missing=[""]),
    "incomplete without a next step": bad("incomplete", next_step=""),
    "too many points": bad("incomplete", missing=["x"] * 21),
    "a point that is too long": bad("incomplete", missing=["x" * 1001]),
    "waiting for nothing": bad("waiting", question=""),
    "impossible without evidence": bad("impossible", evidence=[]),
    "no confidence": {"verdict": "abstain", "reason": "x"},
    "confidence above 1": bad("abstain", confidence=1.1),
    "confidence below 0": bad("abstain", confidence=-0.1),
    "confidence in words": bad("abstain", confidence="high"),
    "a list": [bad("abstain")],
    "nothing": None,
}


@over_table("what", REFUSED)
def test_what_is_no_verdict_is_refused(what: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(REFUSED[what])


def test_more_beside_the_answer_is_refused() -> None:
    raw = json.dumps({"answer": bad("abstain"), "achieved": True})
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(raw, type=Answer)


def test_the_schema_for_the_model_is_an_object_that_names_every_verdict() -> None:
    schema = msgspec.json.schema(Answer)
    definitions = schema["$defs"]
    assert definitions["Answer"]["type"] == "object"
    named = {
        body["properties"]["verdict"]["enum"][0]
        for name, body in definitions.items()
        if name not in ("Answer", "Gap", "Met")
    }
    assert named == set(READ)
