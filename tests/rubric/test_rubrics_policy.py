"""Which rubric counts after an edit, and what a person is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.rubric import Criterion, HeldEdit, Rubric, Severity
from sidecar.kernel.text import clean_line
from sidecar.rubric.policy import (
    MAX_FAULT_LENGTH,
    MAX_FAULTS_NAMED,
    describe_rubric,
    held_edit_message,
    saved_file_messages,
    summarize_rubric_changes,
)

RUBRIC = Rubric(
    patterns=(Criterion("A", "a", "a"),),
    antipatterns=(Criterion("B", "b", "b"),),
    origin="/p/.supervisor/rubric.md",
)
HELD = HeldEdit(path="/p/.supervisor/rubric.md", digest="d1", summary="1 pattern gone (A)")


def test_a_summary_names_what_is_gone_added_and_changed() -> None:
    after = Rubric(
        patterns=(replace(RUBRIC.patterns[0], severity=Severity.NOTE),),
        antipatterns=tuple(Criterion(f"N{n}\n\x1b[31m" + "x" * 60, "", f"n{n}") for n in range(5)),
        legitimate=(Criterion("Ask", "", "ask"),),
        origin="",
    )
    first, *rest = summarize_rubric_changes(RUBRIC, after).split("; ")
    assert first == "1 pattern changed (A)"
    assert rest[0] == "1 antipattern gone (B)"
    assert rest[1].startswith("5 antipatterns added (N0")
    assert rest[1].endswith(", ...)")
    assert rest[2] == "1 legitimate stop added (Ask)"
    assert all(part.isprintable() and len(part) < 200 for part in rest)
    assert (
        summarize_rubric_changes(RUBRIC, replace(RUBRIC, origin="elsewhere"))
        == "its criteria stay as they are"
    )


def test_a_held_edit_is_told_with_what_to_type() -> None:
    assert held_edit_message(HELD) == (
        "Supervisor: /p/.supervisor/rubric.md was changed while an agent worked (1 pattern gone (A)). "
        "It does not count until you type /supervisor:accept"
    )
    assert " .supervisor/rubric.md was" in held_edit_message(replace(HELD, project="/p"))


@given(st.text(max_size=2000), st.lists(st.text(max_size=2000), max_size=20), st.booleans())
def test_whatever_a_saved_file_says_the_lines_are_few_short_and_printable(
    text: str,
    faults: list[str],
    serves: bool,  # noqa: FBT001 - drawn
) -> None:
    edit = HeldEdit(path="/c", digest="d", summary=text, faults=tuple(faults), serves=serves)
    lines = (held_edit_message(edit), *saved_file_messages(edit))
    assert len(lines) <= MAX_FAULTS_NAMED + 2
    for line in lines:
        assert line.rstrip() == clean_line(line)
        assert len(line) <= MAX_FAULTS_NAMED * (MAX_FAULT_LENGTH + 2) + 100


@pytest.mark.parametrize(
    ("origin", "why"),
    [
        ("/p/.supervisor/rubric.md", "the project's own"),
        ("/home/u/.config/supervisor/rubric.md", "yours; the project has none in force"),
        ("/opt/plugin/rubric/rubric.md", "the default; neither project nor user has one in force"),
        ("/pp/.supervisor/rubric.md", "the default; neither project nor user has one in force"),
    ],
)
def test_a_description_says_which_file_is_in_force_and_why(origin: str, why: str) -> None:
    first, second = describe_rubric(replace(RUBRIC, origin=origin), "/p/")
    assert first == (f"rubric in force: {origin} ({why}; 1 pattern, 1 antipattern, 0 legitimate stops)")
    assert second == "Nothing is held."


def test_a_file_that_was_broken_while_in_force_is_described_as_it_was_before() -> None:
    own = "/p/.supervisor/rubric.md"
    first = describe_rubric(replace(RUBRIC, origin=own, broken=True), "/p")[0]
    assert first.startswith(f"rubric in force: {own} (the project's own, as it was before it was broken; ")


def test_a_description_says_what_was_passed_over_and_what_is_held() -> None:
    rubric = replace(RUBRIC, rejected=("/p/x: a folder\nno", "/p/y: a link"), held=HELD)
    assert describe_rubric(rubric, "")[1:] == (
        "passed over: /p/x: a folder no; /p/y: a link",
        "held: /p/.supervisor/rubric.md: 1 pattern gone (A). Type /supervisor:accept",
    )
