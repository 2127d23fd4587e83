"""Which text of a file that steers is in force after an edit."""

from __future__ import annotations

from sidecar.kernel.rubric import (
    EditAuthor,
    EditedText,
    EditState,
    accept_held_edit,
    settle_edit,
    text_digest,
)
from support.table import over_table

OLD, NEW, THIRD = (EditedText("/p/rubric.md", text) for text in ("old", "new", "third"))
CALM, HOLDING, UNSURE = EditState(OLD), EditState(OLD, NEW), EditState(OLD, NEW, unsure=True)
MOVED = EditedText("/q/rubric.md", "new")
MOVED_OLD = EditedText("/q/rubric.md", "old")


@over_table(
    ("before", "now", "author", "after"),
    [
        (CALM, OLD, EditAuthor.AGENT, CALM),
        (CALM, NEW, EditAuthor.AGENT, HOLDING),
        (CALM, NEW, EditAuthor.UNSURE, UNSURE),
        (CALM, NEW, EditAuthor.USER, EditState(NEW)),
        (CALM, NEW, EditAuthor.UNKNOWN, CALM),
        (HOLDING, NEW, EditAuthor.USER, HOLDING),
        (HOLDING, NEW, EditAuthor.AGENT, HOLDING),
        (HOLDING, OLD, EditAuthor.UNKNOWN, CALM),
        (HOLDING, THIRD, EditAuthor.AGENT, EditState(OLD, THIRD)),
        (HOLDING, THIRD, EditAuthor.UNSURE, EditState(OLD, THIRD, unsure=True)),
        (HOLDING, THIRD, EditAuthor.USER, EditState(THIRD)),
        (HOLDING, THIRD, EditAuthor.UNKNOWN, HOLDING),
        (UNSURE, NEW, EditAuthor.USER, UNSURE),
        (CALM, MOVED, EditAuthor.AGENT, EditState(OLD, MOVED)),
        (CALM, MOVED_OLD, EditAuthor.AGENT, EditState(MOVED_OLD)),
    ],
)
def test_what_is_in_force_after_a_look(
    before: EditState, now: EditedText, author: EditAuthor, after: EditState
) -> None:
    assert settle_edit(before, now, author) == after


@over_table(
    ("before", "approved", "after"),
    [
        (UNSURE, {text_digest(NEW)}, EditState(NEW)),
        (UNSURE, {text_digest(THIRD)}, UNSURE),
        (HOLDING, {text_digest(NEW)}, HOLDING),
    ],
)
def test_a_person_who_was_told_and_speaks_lets_go_what_may_be_theirs(
    before: EditState, approved: set[str], after: EditState
) -> None:
    assert settle_edit(before, NEW, EditAuthor.UNKNOWN, frozenset(approved)) == after


def test_what_is_accepted_is_what_was_held() -> None:
    assert accept_held_edit(HOLDING) == accept_held_edit(UNSURE) == EditState(NEW)
    assert accept_held_edit(CALM) == CALM
