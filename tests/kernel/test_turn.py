"""What can be told from a turn by looking alone."""

from __future__ import annotations

import pytest

from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, Turn
from support.cases import called


@pytest.mark.parametrize("doing", ToolAction)
def test_only_running_editing_and_delegating_may_change_a_project(doing: ToolAction) -> None:
    assert Turn(calls=(called(doing),)).changed == (
        doing in (ToolAction.RUN, ToolAction.EDIT, ToolAction.DELEGATE)
    )


def test_a_turn_without_calls_changed_nothing_and_asks_nothing() -> None:
    assert (Turn().changed, Turn().asking, Turn().open_todos) == (False, False, ())


@pytest.mark.parametrize("outcome", CallOutcome)
def test_a_turn_asks_while_its_question_is_open(outcome: CallOutcome) -> None:
    assert Turn(calls=(called(ToolAction.ASK, outcome),)).asking == (outcome is CallOutcome.PENDING)


def test_another_call_that_is_open_asks_nothing() -> None:
    assert not Turn(calls=(called(ToolAction.RUN, CallOutcome.PENDING),)).asking


def test_todos_that_are_not_done_are_open() -> None:
    todos = (Todo("a", done=True), Todo("b", done=False), Todo("c", done=False))
    assert Turn(todos=todos).open_todos == ("b", "c")
