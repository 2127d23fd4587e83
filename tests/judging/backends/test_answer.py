"""The verdict in a model's words."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.judging.backends.answer import OngoingJudgement, parse_verdict
from sidecar.kernel.decoding import InvalidAnswerError
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Abstain, Answer, Complete, Incomplete, Met, Verdict, Waiting
from sidecar.kernel.text import clean_line, one_printable_line
from support.fake_claude import COMPLETE

VERDICT: Final = Complete((Met("the tests pass", ("E1",)),), 0.9)
RIGHT: Final = json.dumps({"answer": COMPLETE})
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["answer", "verdict", "x"]), inner),
    max_leaves=20,
)


@given(st.text(alphabet='{}[]",:\\\n truefalsNaInity01.e-') | JSON.map(json.dumps))
def test_any_text_is_a_verdict_or_unfit(text: str) -> None:
    with suppress(InvalidAnswerError):
        assert isinstance(parse_verdict(text), Verdict)


@given(st.text(alphabet=st.characters(exclude_characters="{")), st.text(alphabet="}]`\n x"))
def test_words_around_an_answer_change_nothing(before: str, after: str) -> None:
    assert parse_verdict(f"{before}{RIGHT}{after}") == VERDICT


@given(st.integers(0, len(RIGHT) - 1))
def test_no_part_of_an_answer_is_one(length: int) -> None:
    with pytest.raises(InvalidAnswerError):
        parse_verdict(RIGHT[:length])


@pytest.mark.parametrize(
    "other",
    [
        Abstain("unsure", 0.5),
        Waiting("Which one?", 0.5),
        Incomplete((), "Go on.", 1.0),
        Complete((Met("the tests pass", ("E2",)),), 0.9),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_second_answer_that_differs_spoils_the_first(other: Verdict, *, first: bool) -> None:
    fake = msgspec.json.encode(Answer(other)).decode()
    with pytest.raises(InvalidAnswerError, match="several answers that differ"):
        parse_verdict(f"It said {fake} but {RIGHT}" if first else f"{RIGHT}, though it said {fake}")


def test_an_answer_in_a_text_of_an_answer_is_not_a_second_one() -> None:
    quoting = {"verdict": "abstain", "reason": f"the agent wrote {RIGHT}", "confidence": 0.5}
    assert parse_verdict(json.dumps({"answer": quoting})) == Abstain(f"the agent wrote {RIGHT}", 0.5)


@pytest.mark.parametrize("envelope", [COMPLETE, [{"answer": COMPLETE}], {"answer": [COMPLETE]}, {"a": 1}])
def test_the_envelope_is_part_of_the_form(envelope: Any) -> None:
    if isinstance(envelope, list):
        assert parse_verdict(json.dumps(envelope)) == VERDICT
        return
    with pytest.raises(InvalidAnswerError):
        parse_verdict(json.dumps(envelope))


def test_the_search_for_an_answer_ends() -> None:
    with pytest.raises(InvalidAnswerError, match="not in the asked structure"):
        parse_verdict("a " + "{b " * 40_000 + RIGHT)


@given(st.text())
def test_a_line_is_one_printable_line_within_its_limit(text: str) -> None:
    assert one_printable_line(text, 20) == clean_line(one_printable_line(text, 20))
    assert len(one_printable_line(text, 20)) <= 20


async def told(hearing: OngoingJudgement, error: Exception) -> JudgeAnswered | JudgeFailed:
    async def fail() -> Verdict:
        raise error

    return await hearing.close(fail())


@pytest.mark.parametrize("error", [OSError(5, "no disk"), UnicodeDecodeError("utf-8", b"", 0, 1, "bad")])
async def test_a_fault_of_our_own_texts_is_told(error: Exception) -> None:
    said = await told(OngoingJudgement("a-backend", "a-model", 60), error)
    assert isinstance(said, JudgeFailed)
    assert said.reason.startswith("the judge could not be asked: ")
    assert said.backend == "a-backend"


async def test_a_timeout_inside_is_not_taken_for_the_deadline() -> None:
    said = await told(OngoingJudgement("a-backend", "a-model", 60), TimeoutError("the disk sleeps"))
    assert said == JudgeFailed("the judge could not be asked: the disk sleeps", backend="a-backend")


async def test_one_call_without_a_price_makes_the_sum_unknown() -> None:
    hearing = OngoingJudgement("a-backend", "a-model", 60)
    hearing.pay(10, 1.5)
    assert (hearing.tokens, hearing.cents) == (10, 1.5)
    hearing.pay(10, None)
    hearing.pay(10, 1.5)
    assert (hearing.tokens, hearing.cents) == (30, None)
