"""What stands on a host's screen: three lines at most, none without an end, and what to type to go on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sidecar.kernel.effects import Continue, Inquiry, Rest
from sidecar.kernel.evidence import MissingWork
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.rubric.policy import held_edit_message
from sidecar.systems.supervision.messages import FEEDBACK_KINDS
from sidecar.systems.supervision.policy.continuations import (
    GOAL_ENDINGS,
    end_goal,
    end_rewound_goal,
    rest_unjudged,
    send_agent_back,
    waiting_note,
)
from sidecar.systems.supervision.policy.orders import GOAL_USAGE, NO_GOAL, describe_new_goal
from support.cases import SETTINGS, session, stopped, with_goal

LONG = "x" * 900 + "\n" + "y" * 900
LINES = 3
LINE_LENGTH = 400
"""Characters; three lines of a screen of 120 columns, at worst."""
TYPED = re.compile(r"\b[Tt]ype\b|/supervisor:")
NOTHING_TO_TYPE = {GoalStatus.ACHIEVED, GoalStatus.COMPLETED}


def inquiry(of: Session) -> Inquiry:
    return Inquiry(session=of, stop=stopped(), settings=SETTINGS)


def _messages() -> Iterator[tuple[str, str, bool]]:
    """The name, the text at its longest, and whether there is something to type."""
    for kind in FEEDBACK_KINDS:
        for held in (with_goal(), session()):
            missing_work = MissingWork(kind=kind, missing=(LONG,) * 30, next_step=LONG)
            ruling = send_agent_back(inquiry(held), missing_work, 0.0)[1]
            assert isinstance(ruling, Continue)
            yield f"{kind} {held.goal is not None}", ruling.note, True
    for status in GOAL_ENDINGS:
        ending = end_goal(inquiry(with_goal()), status, LONG, missing=LONG)[1]
        assert isinstance(ending, Rest)
        yield status, ending.note, status not in NOTHING_TO_TYPE and status is not GoalStatus.EXHAUSTED
    for name, (_, ruling) in {
        "unjudged": rest_unjudged(inquiry(with_goal()), LONG, "supervisor doctor"),
        "rewound": end_rewound_goal(inquiry(with_goal(condition=LONG))),
    }.items():
        assert isinstance(ruling, Rest)
        yield name, ruling.note, True
    goal = with_goal(condition=LONG).goal
    assert goal is not None
    yield "goal set", describe_new_goal(with_goal(), goal, Settings(), "Decided by: `pytest -q`.").text, False
    yield "waiting", waiting_note(LONG, session()), True
    edit = HeldEdit(path="/project/.supervisor/rubric.md", digest="d", summary=LONG)
    yield "held", held_edit_message(edit), True
    yield "no goal", f"Supervisor: {NO_GOAL}", True
    yield "usage", GOAL_USAGE.text, True


@pytest.mark.parametrize(("text", "types"), [pytest.param(*one, id=name) for name, *one in _messages()])
def test_a_message_has_three_lines_at_most_and_says_what_to_type(text: str, *, types: bool) -> None:
    lines = text.split("\n")
    assert lines[0].startswith("Supervisor: ")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= LINE_LENGTH
    assert bool(TYPED.search(text)) or not types
