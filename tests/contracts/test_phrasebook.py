"""What every Phrasebook does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.effects import Feedback
from sidecar.kernel.evidence import Evidence, Source
from sidecar.systems.supervision.messages import FEEDBACK_KINDS, MessageFiles
from sidecar.systems.supervision.ports import AgentMessages
from support.memory_stores import PlainMessages

SHIPPED = Path(__file__).parents[2] / "rubric"
LIMIT = 9_000
"""UTF-16 code units that every text stays under."""
FEEDBACK = Feedback(
    kind="gates-failed",
    id="ab12cd",
    number=2,
    budget=16,
    condition="all tests in tests/auth pass",
    missing=("tests: 3 of 41 failed", "tests/auth/test_login.py::test_locked"),
    next_step="Repair what fails, then run the check yourself.",
    evidence=(Evidence(id="E1", source=Source.GATE, fact="tests failed", detail="assert 1 == 2", bad=True),),
)


@pytest.fixture(scope="module", params=("shipped", "no files", "memory"))
def messages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AgentMessages:
    if request.param == "memory":
        return PlainMessages()
    return MessageFiles(SHIPPED if request.param == "shipped" else tmp_path_factory.mktemp("empty"))


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("kind", [*FEEDBACK_KINDS, "a kind of tomorrow"])
def test_a_continuation_opens_with_its_id_and_says_what_is_missing_and_what_is_next(
    messages: AgentMessages, kind: str
) -> None:
    text = messages.continuation(replace(FEEDBACK, kind=kind))
    assert text.startswith("[supervisor ab12cd] ")
    assert "[supervisor ab12cd]" in text.split("\n", 1)[0]
    for said in ("2", "16", FEEDBACK.condition, *FEEDBACK.missing, FEEDBACK.next_step):
        assert said in text


def test_a_goal_is_told_with_its_words_checks_and_budget(messages: AgentMessages) -> None:
    text = messages.goal_context("every link\nin the docs works", ("make links", "pytest -q"), 7)
    for said in ("| every link\n| in the docs works", "make links", "pytest -q", "7"):
        assert said in text


def test_the_longest_goal_is_told_whole(messages: AgentMessages) -> None:
    condition = ("every word counts " * 222).rstrip()
    text = messages.goal_context(condition, tuple(f"make check-{n}" for n in range(100)), 16)
    assert condition in text
    assert units(text) < LIMIT


texts = st.one_of(
    st.text(max_size=100),
    st.sampled_from(["x", "🌱", "`", "```", "$id", "$$", "${condition}", "\n", "\x1b[31m", "\ud800"]).flatmap(
        lambda piece: st.integers(0, 5000).map(lambda times: piece * times)
    ),
)
facts = st.builds(Evidence, id=st.just("E1"), source=st.sampled_from(Source), fact=texts, detail=texts)
feedbacks = st.builds(
    Feedback,
    kind=st.sampled_from([*FEEDBACK_KINDS, "none"]),
    id=st.just("ab12cd"),
    number=st.integers(1, 100),
    budget=st.integers(1, 100),
    condition=texts,
    missing=st.lists(texts, max_size=30).map(tuple),
    next_step=texts,
    evidence=st.lists(facts, max_size=30).map(tuple),
    stalls=st.integers(0, 3),
)


@given(feedback=feedbacks)
def test_whatever_is_fed_back_stays_under_the_limit(messages: AgentMessages, feedback: Feedback) -> None:
    text = messages.continuation(feedback)
    assert text.startswith("[supervisor ab12cd] ")
    assert units(text) < LIMIT
    text.encode()


@given(condition=texts, checks=st.lists(texts, max_size=30).map(tuple), budget=st.integers(1, 100))
def test_whatever_the_goal_its_context_stays_under_the_limit(
    messages: AgentMessages, condition: str, checks: tuple[str, ...], budget: int
) -> None:
    text = messages.goal_context(condition, checks, budget)
    assert units(text) < LIMIT
    text.encode()
