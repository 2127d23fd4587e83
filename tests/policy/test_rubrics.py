"""Which rubric counts after an edit, and what a person is told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.model.rubric import Criterion, Held, Rubric, Severity
from sidecar.policy.rubrics import (
    Hand,
    Standing,
    Text,
    accepted,
    described,
    settled,
    summary,
    told,
    told_change,
)

OLD, NEW, THIRD = Text("/p/rubric.md", "old"), Text("/p/rubric.md", "new"), Text("/p/rubric.md", "third")
CALM, HOLDING = Standing(OLD), Standing(OLD, NEW)
RUBRIC = Rubric(
    patterns=(Criterion("A", "a", "a"),),
    antipatterns=(Criterion("B", "b", "b"),),
    origin="/p/.supervisor/rubric.md",
)
HELD = Held(path="/p/.supervisor/rubric.md", digest="d1", summary="1 pattern gone (A)")


@pytest.mark.parametrize(
    ("before", "now", "hand", "after"),
    [
        (CALM, OLD, Hand.AGENT, CALM),
        (CALM, NEW, Hand.AGENT, HOLDING),
        (CALM, NEW, Hand.USER, Standing(NEW)),
        (CALM, NEW, Hand.UNKNOWN, CALM),
        (HOLDING, NEW, Hand.USER, HOLDING),
        (HOLDING, NEW, Hand.AGENT, HOLDING),
        (HOLDING, OLD, Hand.UNKNOWN, CALM),
        (HOLDING, THIRD, Hand.AGENT, Standing(OLD, THIRD)),
        (HOLDING, THIRD, Hand.USER, Standing(THIRD)),
        (HOLDING, THIRD, Hand.UNKNOWN, HOLDING),
        (HOLDING, Text("/q/rubric.md", "new"), Hand.AGENT, Standing(OLD, Text("/q/rubric.md", "new"))),
        (CALM, Text("/q/rubric.md", "old"), Hand.AGENT, Standing(Text("/q/rubric.md", "old"))),
    ],
)
def test_what_stands_after_a_look(before: Standing, now: Text, hand: Hand, after: Standing) -> None:
    assert settled(before, now, hand) == after


def test_what_is_accepted_is_what_was_held() -> None:
    assert accepted(HOLDING) == Standing(NEW)
    assert accepted(CALM) == CALM


def test_a_summary_names_what_is_gone_added_and_changed() -> None:
    after = Rubric(
        patterns=(replace(RUBRIC.patterns[0], severity=Severity.NOTE),),
        antipatterns=tuple(Criterion(f"N{n}\n\x1b[31m" + "x" * 60, "", f"n{n}") for n in range(5)),
        legitimate=(Criterion("Ask", "", "ask"),),
        origin="",
    )
    first, *rest = summary(RUBRIC, after).split("; ")
    assert first == "1 pattern changed (A)"
    assert rest[0] == "1 antipattern gone (B)"
    assert rest[1].startswith("5 antipatterns added (N0")
    assert rest[1].endswith(", ...)")
    assert rest[2] == "1 legitimate stop added (Ask)"
    assert all(part.isprintable() and len(part) < 200 for part in rest)
    assert summary(RUBRIC, replace(RUBRIC, origin="elsewhere")) == "its criteria stay as they are"


def test_a_held_edit_is_told_with_what_to_type() -> None:
    assert told(RUBRIC) == ""
    assert told(replace(RUBRIC, held=HELD)) == (
        "Supervisor: the agent edited the rubric, /p/.supervisor/rubric.md (1 pattern gone (A)). "
        "It is held until you type /supervisor:rubric accept"
    )
    assert told_change(RUBRIC) == ""
    assert told_change(replace(RUBRIC, changed="x: y")) == "Supervisor: the rubric in force changed: x: y"


@pytest.mark.parametrize(
    ("origin", "why"),
    [
        ("/p/.supervisor/rubric.md", "the project's own"),
        ("/home/u/.config/supervisor/rubric.md", "yours; the project has none that serves"),
        ("/opt/plugin/rubric/rubric.md", "the default; neither project nor user has one that serves"),
        ("/pp/.supervisor/rubric.md", "the default; neither project nor user has one that serves"),
    ],
)
def test_a_description_says_which_file_is_in_force_and_why(origin: str, why: str) -> None:
    first, second = described(replace(RUBRIC, origin=origin), "/p/").splitlines()
    assert first == (
        f"Supervisor: rubric in force: {origin} ({why}; 1 patterns, 1 antipatterns, 0 legitimate stops)"
    )
    assert second == "Nothing is held."


def test_a_description_says_what_was_passed_over_and_what_is_held() -> None:
    rubric = replace(RUBRIC, rejected=("/p/x: a folder\nno", "/p/y: a link"), held=HELD)
    assert described(rubric, "").splitlines()[1:] == [
        "passed over: /p/x: a folder no",
        "passed over: /p/y: a link",
        "held: /p/.supervisor/rubric.md: 1 pattern gone (A). Type /supervisor:rubric accept",
    ]
