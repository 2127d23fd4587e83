"""A machine in a team, with a real sidecar, relay and server."""

from __future__ import annotations

from contextlib import closing
from typing import Final

import pytest

from real_hosts.waiting import until
from sidecar.kernel.log import EventFilter, OrderGiven
from sidecar.platform.team.membership import Membership, load_membership, new_machine, save_membership
from sidecar.platform.team.ports import TeamOrder
from support.postgres import as_login
from support.scene import Stage
from support.teams import TeamPlace

pytestmark = pytest.mark.process
RUBRIC: Final = b"## Patterns\n- done: it is done\n## Antipatterns\n- talk: it is not\n"


async def test_a_session_is_seen_and_ordered_from_another_machine_and_forgotten_there(
    stage: Stage, team_url: str
) -> None:
    state = stage.sessions.parent
    agent = await stage.agent_with_goal()
    joined = Membership(url=as_login(team_url, "agent1"), name="laptop", person="ann")
    save_membership(state, new_machine(state, joined))  # while the sidecar runs
    made = load_membership(state)
    assert made
    with closing(TeamPlace(team_url)) as place:
        team = place.member("", "eve")
        until(lambda: team.read(EventFilter(kinds=("order-given",))), "the goal in the team's log")
        assert [one.session for one in team.sessions(9)] == [agent.session]

        team.save("organisation/rubric.md", RUBRIC, 0)
        team.order(TeamOrder(machine=made.machine, session=agent.session, text="goal pause"))
        orders = EventFilter(kinds=("order-given",))
        paused = until(
            lambda: [one.event for one in team.read(orders) if one.event.origin == "eve (team)"], "the order"
        )
        assert isinstance(paused[0].data, OrderGiven)
        report = stage.report()
        assert report.status == "paused"
        assert report.rubric == str(state / "team" / "rubric.md")
        assert report.team
        assert report.team.detail.startswith("joined as laptop")
        agent.say("Done.")
        assert "`goal pause` was ordered by eve (team)" in (await agent.stop()).system_message

        assert "The team forgets" in stage.supervisor("forget", agent.session).stdout
        until(lambda: not team.sessions(9), "an empty list of sessions")
