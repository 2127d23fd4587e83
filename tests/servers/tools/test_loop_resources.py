"""The resources of the task loop: what they hold, for whose session, and without secrets."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from servers.tools.desk import Desk, as_json
from sidecar.servers.tools.tool import Caller, RefusalError, UnknownToolError
from support.cases import KEY

pytestmark = pytest.mark.proves("the loop")

BOUND = Caller(bound=KEY)


async def read(desk: Desk, path: str, caller: Caller = BOUND) -> Any:
    return as_json(await desk.toolbox.read(f"supervisor://{path}", "", caller))


async def test_each_resource_tells_what_its_tool_tells(desk: Desk) -> None:
    await desk.ask("session_start", command="fix the parser", command_type="bug")
    status = await desk.data("session_status")
    agents = (await read(desk, "agents"))["agents"]
    name = agents[0]["id"]

    assert await read(desk, f"agents/{name}") == await desk.data("agent_info", agent_id=name)
    assert await read(desk, "session/current") == status
    assert (await read(desk, "session/history"))["events"] == status["events"]
    config = await read(desk, "config")
    assert config["loop"]["max_iterations"] == 10
    assert list(config["models"]) == ["small", "medium", "large"]


@pytest.mark.parametrize("path", ["nothing", "agents/", "session", "agents/nobody"])
async def test_an_unknown_address_is_refused(desk: Desk, path: str) -> None:
    with pytest.raises((UnknownToolError, RefusalError)):
        await read(desk, path)


async def test_no_session_is_guessed_and_nothing_is_there_while_it_is_switched_off(desk: Desk) -> None:
    with pytest.raises(RefusalError):
        await read(desk, "session/current", Caller())
    desk.on = ("core",)
    assert desk.toolbox.resources() == ()
    with pytest.raises(UnknownToolError):
        await read(desk, "session/current")


async def test_no_secret_of_the_session_is_in_them(desk: Desk) -> None:
    await desk.meet(DEPLOY_TOKEN="hunter2-and-more")
    await desk.ask("session_start", command="use hunter2-and-more", command_type="bug")
    found = [await read(desk, path) for path in ("session/current", "session/history")]

    assert b"use " in msgspec.json.encode(found)
    assert b"hunter2" not in msgspec.json.encode(found)
