"""Whose a call of our own tools is, and about which nobody is asked."""

from __future__ import annotations

import pytest

from sidecar.kernel.effects import NoReply, ToolCallReply
from sidecar.kernel.events import ToolCalled
from sidecar.systems.supervision.policy.sessions import answer_tool_call, needs_no_approval
from support.cases import KEY, PROJECT
from support.table import over_table


def call(*, certain: bool = True, subagent: bool = False) -> ToolCalled:
    return ToolCalled(key=KEY, project=PROJECT, tool="status", certain=certain, subagent=subagent)


@over_table(
    ("toolset", "reads", "asks", "spare"),
    [
        ("core", True, False, True),
        ("core", False, False, False),
        ("journal", True, False, True),
        ("journal", False, False, True),
        ("core", False, True, False),
        ("core", True, True, False),
        ("journal", True, True, False),
        ("a later one", True, False, True),
        ("a later one", False, False, False),
    ],
)
def test_reading_and_the_journal_are_spared_and_nothing_that_makes_something_run(
    toolset: str,
    reads: bool,  # noqa: FBT001 - a table
    asks: bool,  # noqa: FBT001 - a table
    spare: bool,  # noqa: FBT001 - a table
) -> None:
    assert needs_no_approval(toolset, reads=reads, asks=asks) is spare


@pytest.mark.parametrize("spare", [True, False])
def test_a_call_of_our_tool_is_the_sessions_own_whoever_of_its_agents_makes_it(
    spare: bool,  # noqa: FBT001 - a table
) -> None:
    for subagent in (True, False):
        assert answer_tool_call(call(subagent=subagent), spare=spare) == ToolCallReply(
            session=KEY.id, spared=spare
        )


def test_a_tool_that_is_only_called_as_ours_is_asked_about() -> None:
    assert answer_tool_call(call(certain=False), spare=True) == ToolCallReply(session=KEY.id, spared=False)


def test_a_tool_that_we_do_not_have_is_left_alone() -> None:
    assert answer_tool_call(call(), spare=None) == NoReply()
