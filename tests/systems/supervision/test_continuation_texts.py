"""What an agent is told when it is sent back, by the wordings that ship: new every time, and no whole log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.evidence.ledger import gather_evidence
from sidecar.kernel.effects import Continue, Feedback, Inquiry
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Evidence, MissingWork, Source
from sidecar.kernel.gate import GateRun, Outcome
from sidecar.systems.supervision.messages import FEEDBACK_KINDS, MessageFiles
from sidecar.systems.supervision.policy.continuations import send_agent_back, settle_continuation
from support.cases import PYTEST, RUBRIC, SETTINGS, TREE, session, stopped, turn, with_goal

SHIPPED: Final = MessageFiles(Path(__file__).parents[3] / "rubric")
ROUNDS: Final = 8
"""Continuations that are tried; the policy ends the row sooner."""
LINE: Final = st.text(st.sampled_from("abc $`{}[]#1:\\\u00fc\u6e2c"), max_size=40)
TEXTS: Final = st.lists(LINE.filter(str.strip), min_size=1, max_size=4).map(tuple)
MISSING_WORK: Final = st.builds(
    MissingWork,
    kind=st.sampled_from(FEEDBACK_KINDS),
    missing=TEXTS,
    next_step=LINE,
    evidence=st.lists(
        st.builds(Evidence, id=st.just("E1"), source=st.sampled_from(Source), fact=LINE, detail=LINE),
        max_size=4,
    ).map(tuple),
)


def said(ruling: Continue) -> str:
    """The text without the id, which is new every time by itself."""
    text = SHIPPED.continuation(ruling.feedback)
    assert text.startswith(f"[supervisor {ruling.feedback.id}] ")
    return text.removeprefix(f"[supervisor {ruling.feedback.id}] ")


def row(all_missing: list[MissingWork], *, goal: bool) -> list[str]:
    """What is said when the agent stops again and again, and each continuation arrives."""
    inquiry = Inquiry(
        session=with_goal() if goal else session(),
        stop=stopped(),
        settings=SETTINGS,
        project_state=ProjectState(tree=TREE, rubric=RUBRIC),
    )
    texts: list[str] = []
    for missing_work in all_missing:
        inquiry, ruling = send_agent_back(inquiry, missing_work, 0.0)
        if not isinstance(ruling, Continue):
            break
        texts.append(said(ruling))
        arrived = turn(arrived=(ruling.feedback.id,), calls_since_arrival=1)
        current, there = settle_continuation(inquiry.session, arrived, continued=True)
        inquiry = replace(inquiry, session=current, arrived=there)
    return texts


@given(missing_work=MISSING_WORK, goal=st.booleans())
def test_where_nothing_moved_no_text_is_said_twice_even_without_its_id(
    missing_work: MissingWork,
    goal: bool,  # noqa: FBT001 - drawn
) -> None:
    texts = row([missing_work] * ROUNDS, goal=goal)
    assert len(texts) >= 3
    assert len(set(texts)) == len(texts)
    assert all("Nothing has moved" in text for text in texts[1:])
    assert "Nothing has moved" not in texts[0]


@given(all_missing=st.lists(MISSING_WORK, min_size=2, max_size=ROUNDS), goal=st.booleans())
def test_in_no_row_of_reasons_a_text_is_said_twice(all_missing: list[MissingWork], goal: bool) -> None:  # noqa: FBT001 - drawn
    texts = row(all_missing, goal=goal)
    assert len(set(texts)) == len(texts)


def failing(output: str, failures: tuple[str, ...]) -> Feedback:
    run = GateRun(
        gate=replace(PYTEST, required=True),
        outcome=Outcome.FAILED,
        exit_code=1,
        output=output[-4_000:],
        failures=failures,
        tree=TREE,
    )
    known = gather_evidence(turn(), (run,), ProjectState(tree=TREE, rubric=RUBRIC)).evidence
    return Feedback(
        kind="gates-failed",
        id="ab12cd",
        number=2,
        budget=16,
        missing=("`pytest -q` failed",),
        next_step="Repair it.",
        evidence=tuple(fact for fact in known if fact.source is Source.GATE),
    )


FAILURES: Final = st.lists(st.integers(0, 999), min_size=1, max_size=5, unique=True)


@given(failed=FAILURES, passed=st.integers(0, 3_000))
def test_the_failing_lines_are_shown_and_nothing_else_of_the_log(failed: list[int], passed: int) -> None:
    lines = tuple(f"test_{number}.py::test_{number} - assert {number} == 1000" for number in failed)
    log = "\n".join(
        [*(f"test_ok_{number} PASSED" for number in range(passed)), *lines, "== short summary =="]
    )
    text = SHIPPED.continuation(failing(log, lines))
    assert all(line in text for line in lines)
    assert "PASSED" not in text
    assert "short summary" not in text


@given(before=st.integers(0, 5_000), after=st.integers(0, 8))
def test_of_a_log_that_nobody_could_read_the_end_is_shown_and_not_its_beginning(
    before: int, after: int
) -> None:
    lines = [f"step {number} of the build went well" for number in range(before)]
    log = "\n".join(["the very first line", *lines, "error: cannot find -lcart", *["make: stopping"] * after])
    text = SHIPPED.continuation(failing(log, ()))
    assert "error: cannot find -lcart" in text
    assert text.count("went well") < 80
    assert ("the very first line" in text) is (len(log) <= 2_000)
