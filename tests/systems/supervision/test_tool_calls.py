"""A call of one of our tools, as a host tells of it before it makes the call."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.kernel.effects import HostAnswer, NoReply, ToolCallReply
from sidecar.kernel.events import ToolCalled
from sidecar.systems.supervision.ports import OtherSystems
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY, PROJECT, with_goal
from support.fakes import Fakes

SPARED = {"status": True, "gates_run": False}


class Tools(OtherSystems):
    """The tools of a test."""

    def may_call_unasked(self, tool: str) -> bool | None:
        return SPARED.get(tool)


async def called(fakes: Fakes, tool: str, **fields: Any) -> HostAnswer:
    supervisor = Supervisor(fakes.services, others=Tools())
    return await supervisor.tell(ToolCalled(key=KEY, project=PROJECT, tool=tool, certain=True, **fields))


@pytest.mark.parametrize("tool", SPARED)
@pytest.mark.parametrize("subagent", [True, False])
async def test_the_call_is_the_sessions_and_the_tool_says_whether_to_ask(
    fakes: Fakes,
    tool: str,
    subagent: bool,  # noqa: FBT001 - a table
) -> None:
    answer = await called(fakes, tool, subagent=subagent)
    assert answer == ToolCallReply(session=KEY.id, spared=SPARED[tool])


async def test_a_session_that_nobody_knew_is_known_from_then_on(fakes: Fakes) -> None:
    await called(fakes, "status")
    assert fakes.state().project == PROJECT


async def test_a_session_that_is_known_stays_as_it_is(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    before = fakes.state()
    await called(fakes, "status")
    assert fakes.state() == before


async def test_a_tool_of_somebody_else_is_no_business_of_ours(fakes: Fakes) -> None:
    assert await called(fakes, "reboot") == NoReply()
    assert fakes.store.load(KEY) is None


async def test_a_call_in_a_host_of_our_own_is_left_alone(fakes: Fakes) -> None:
    assert await called(fakes, "status", ours=True) == NoReply()


async def test_where_the_state_cannot_be_kept_the_call_goes_on_and_the_tool_says_why(fakes: Fakes) -> None:
    fakes.store.full = True
    assert await called(fakes, "status") == ToolCallReply(session=KEY.id, spared=True)


async def test_where_the_state_cannot_be_read_the_host_is_told_nothing(fakes: Fakes) -> None:
    fakes.store.unreadable = True
    assert await called(fakes, "status") == NoReply()
