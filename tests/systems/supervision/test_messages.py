"""Wordings from files: short, bounded, with data quoted as data, and loud when a wording is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import Feedback
from sidecar.kernel.evidence import Evidence, Source
from sidecar.systems.supervision.messages import FEEDBACK_KINDS, MessageFiles, render_continuation

SHIPPED = Path(__file__).parents[3] / "rubric"
FEEDBACK = Feedback(
    kind="gates-failed",
    id="ab12cd",
    number=2,
    budget=16,
    condition="all tests pass",
    missing=("tests: 3 of 41 failed",),
    next_step="Repair what fails, then run the check yourself.",
    evidence=(Evidence(id="E1", source=Source.GATE, fact="tests failed", detail="assert 1 == 2"),),
)
ALL = "$again $budget $condition $evidence $id $left $missing $next_step $number $stalls"


@pytest.fixture
def shipped() -> MessageFiles:
    return MessageFiles(SHIPPED)


def book(folder: Path, text: str) -> MessageFiles:
    (folder / "continuation.md").write_text(text)
    return MessageFiles(folder)


def said(folder: Path, template: str, feedback: Feedback = FEEDBACK) -> str:
    """What a template of `gates-failed` becomes, without the id before it."""
    return (
        book(folder, f"## gates-failed\n\n{template}\n")
        .continuation(feedback)
        .removeprefix("[supervisor ab12cd] ")
    )


# --- the wordings that ship ---


def test_the_shipped_wordings_have_no_problems(shipped: MessageFiles) -> None:
    assert shipped.problems() == ()


@pytest.mark.parametrize("kind", FEEDBACK_KINDS)
def test_a_shipped_wording_is_short_leads_to_one_next_step_and_leaves_no_placeholder(
    shipped: MessageFiles, kind: str
) -> None:
    text = shipped.continuation(replace(FEEDBACK, kind=kind, stalls=2))
    own = text.replace(FEEDBACK.condition, "")
    assert len(own) < 1600
    assert len(text.split("\n", 1)[0]) < 140
    assert text.count("Next step:") == 1
    assert text.endswith(f"Next step: {FEEDBACK.next_step}")
    assert "$" not in text
    assert "Sent back 2 of 16" in text


@pytest.mark.parametrize("kind", FEEDBACK_KINDS)
def test_what_is_not_there_leaves_no_heading_behind(shipped: MessageFiles, kind: str) -> None:
    text = shipped.continuation(Feedback(kind=kind, id="ab12cd", number=1, budget=3, missing=("one",)))
    assert not re.search(r":\n\n|:$|\n\n\n|Next step", text)
    assert "goal" not in text


@pytest.mark.parametrize("kind", FEEDBACK_KINDS)
def test_a_stall_says_that_nothing_moved_and_asks_for_another_way(shipped: MessageFiles, kind: str) -> None:
    calm = shipped.continuation(replace(FEEDBACK, kind=kind))
    stalled = shipped.continuation(replace(FEEDBACK, kind=kind, stalls=2))
    assert "Nothing has moved" not in calm
    assert "Nothing has moved since you were last sent back (times in a row: 2)" in stalled


def test_a_goal_without_checks_speaks_of_none(shipped: MessageFiles) -> None:
    with_checks = " ".join(shipped.goal_context("x", ("make",), 5).split())
    without = " ".join(shipped.goal_context("x", (), 5).split())
    assert "runs these commands itself and reads their exit codes: | make " in with_checks
    assert "runs these commands" not in without
    assert "at most 5 times" in without
    assert "Only the user can change, pause or clear the goal" in without


# --- filling in ---


def test_every_placeholder_is_filled_in(tmp_path: Path) -> None:
    text = book(tmp_path, f"## gates-failed\n{ALL}\n## again\nagain $stalls\n").continuation(
        replace(FEEDBACK, stalls=3)
    )
    assert "$" not in text
    for part in (
        "again 3",
        "16",
        "all tests pass",
        "tests failed",
        "ab12cd",
        "14",
        "- tests: 3 of 41",
        "2",
    ):
        assert part in text


def test_terminal_codes_and_control_characters_do_not_pass(tmp_path: Path) -> None:
    detail = "\x1b[31mFAILED\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\x00\x07 a\tb\r\nc\x9b"
    evidence = (Evidence(id="E1", source=Source.TOOL, fact="a\x1b[1mb", detail=detail, stale=True),)
    assert said(tmp_path, "$evidence", replace(FEEDBACK, evidence=evidence)) == (
        "| ab (stale)\n|     FAILED link a\tb\n|     c"
    )


# --- cutting ---


def crowded(**more: int) -> Feedback:
    """A feedback with these numbers of characters."""
    size = {"detail": 2000, "missing": 1000, "condition": 4000, "next_step": 1000} | more
    return replace(
        FEEDBACK,
        condition="C" * size["condition"],
        missing=("M" * size["missing"],) * 20,
        next_step="N" * size["next_step"],
        evidence=(Evidence(id="E1", source=Source.GATE, fact="F", detail=f"begin{'D' * size['detail']}end"),)
        * 20,
    )


@pytest.mark.parametrize("kind", [*FEEDBACK_KINDS, "none"])
def test_id_next_step_and_the_beginning_of_the_condition_are_never_cut(
    shipped: MessageFiles, kind: str
) -> None:
    text = shipped.continuation(replace(crowded(), kind=kind, stalls=1))
    assert text.startswith("[supervisor ab12cd]")
    assert "C" * 499 in text
    assert "N" * 1000 in text
    assert "M" * 100 in text
    assert len(text) < 9000


def test_details_are_cut_first_and_at_their_beginning(shipped: MessageFiles) -> None:
    text = shipped.continuation(crowded(missing=10, condition=1000))
    assert "C" * 1000 in text
    assert text.count("- MMMMMMMMMM") == 20
    assert "begin" not in text
    assert "Dend" in text


def test_what_is_missing_is_cut_before_the_condition(shipped: MessageFiles) -> None:
    text = shipped.continuation(crowded())
    assert "C" * 4000 in text
    assert "D" not in text.replace("Do not", "")
    assert "M" * 299 + "…" in text
    assert "- ... 10 more" in text
    assert "... 15 more" in text


@pytest.mark.parametrize("kind", [*FEEDBACK_KINDS, "none"])
def test_the_limit_counts_as_the_host_does(shipped: MessageFiles, kind: str) -> None:
    full = "🌱" * 4000
    evidence = (Evidence(id="E1", source=Source.GATE, fact=full, detail=full),) * 20
    text = shipped.continuation(
        replace(FEEDBACK, kind=kind, condition=full, missing=(full,) * 20, next_step=full, evidence=evidence)
    )
    assert len(text.encode("utf-16-le")) < 2 * 9000
    assert f"\n| {'🌱' * 499}" in text
    assert f": {'🌱' * 1499}" in text


def test_wordings_that_are_too_long_give_way_to_plain_ones(tmp_path: Path) -> None:
    plain = render_continuation(FEEDBACK).removeprefix("[supervisor ab12cd] ")
    assert said(tmp_path, "word " * 2000) == plain


# --- missing wordings ---


def test_without_wordings_there_are_labels_and_data(tmp_path: Path) -> None:
    empty = MessageFiles(tmp_path)
    assert empty.continuation(replace(FEEDBACK, stalls=1)) == (
        "[supervisor ab12cd] gates-failed: 2/16\n\n"
        "goal:\n| all tests pass\n\n"
        "missing:\n- tests: 3 of 41 failed\n\n"
        "evidence:\n| tests failed\n|     assert 1 == 2\n\n"
        "stalls: 1\n\n"
        "next step: Repair what fails, then run the check yourself."
    )
    assert empty.goal_context("x", (), 5) == "goal:\n| x\n\nbudget: 5"
    assert len(empty.problems()) == len(FEEDBACK_KINDS) + 2


def test_problems_name_file_section_and_placeholder(tmp_path: Path) -> None:
    wordings = "\n".join(f"## {kind}\n$next_step\n" for kind in FEEDBACK_KINDS[1:])
    (tmp_path / "goal.md").write_text("## goal\n$condition $number\n")
    assert book(tmp_path, f"{wordings}\n## again\n$oops\n").problems() == (
        f"{tmp_path}/continuation.md: the section `## gates-failed` is missing or empty",
        f"{tmp_path}/continuation.md: `## again` names $oops, which nothing fills in",
        f"{tmp_path}/goal.md: `## goal` names $number, which nothing fills in",
    )


@pytest.mark.parametrize("content", [b"\xff", b"x" * 10_000_000, b""])
def test_a_file_that_cannot_be_read_is_a_problem_and_no_end(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "continuation.md").write_bytes(content)
    assert MessageFiles(tmp_path).continuation(FEEDBACK) == render_continuation(FEEDBACK)
    assert MessageFiles(tmp_path).problems()


def test_an_edit_counts_at_once(tmp_path: Path) -> None:
    wordings = book(tmp_path, "## gates-failed\none\n")
    assert wordings.continuation(FEEDBACK).endswith("one")
    (tmp_path / "continuation.md").write_text("## gates-failed\ntwo\n")
    assert wordings.continuation(FEEDBACK).endswith("two")
