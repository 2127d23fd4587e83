"""The methods `tool` and `tools`: what `supervisor tool` asks of the sidecar."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from msgspec import Raw

from servers.tools.desk import Desk
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.servers.tools.door import ToolsHandler
from support.cases import KEY, PROJECT, session

if TYPE_CHECKING:
    from sidecar.servers.control import Peer


NOBODY = cast("Peer", SimpleNamespace(pid=0))
"""A process that the system does not name."""


@pytest.fixture
def door(desk: Desk) -> ToolsHandler:
    return ToolsHandler(lambda: desk.toolbox, desk.clients)


async def asked(door: ToolsHandler, **call: Any) -> Any:
    return msgspec.json.decode(await door.call(Raw(msgspec.json.encode(call)), NOBODY))


async def test_a_person_means_the_session_seen_last_in_the_folder(desk: Desk, door: ToolsHandler) -> None:
    found = await asked(door, name="task_add", arguments={"content": "one"}, project=f"{PROJECT}/src")
    assert found["refused"] is False
    assert found["data"] == {"id": "T1", "status": "remaining", "content": "one"}
    assert found["text"] == "T1 [remaining, by user] one"
    assert [task.content for task in desk.journal.tasks] == ["one"]


async def test_a_folder_without_a_session_is_told_what_to_do(door: ToolsHandler) -> None:
    with pytest.raises(BadInputError, match=r"/elsewhere.*--session"):
        await asked(door, name="task_list", project="/elsewhere")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"name": "task_ad", "session": "s1"}, "The tools are: "),
        ({"name": "x" * 1_000_000, "session": "s1"}, "There is no tool"),
        ({"name": "task_add", "session": "s1"}, "`content`"),
        ({"name": "task_add", "session": "s2"}, "knows no session"),
        ({"name": "task_list", "arguments": {"session": "s1"}}, "knows no session"),
    ],
)
async def test_a_refusal_is_an_answer_and_not_a_fault(
    door: ToolsHandler, call: dict[str, Any], why: str
) -> None:
    if call["name"] == "task_list":
        call = {**call, "session": "s2"}
    found = await asked(door, **call)
    assert found["refused"] is True
    assert found["data"] is None
    assert why in found["text"]
    assert len(found["text"]) < 1_000


async def test_arguments_that_name_another_session_than_the_folders_are_refused(
    desk: Desk, door: ToolsHandler
) -> None:
    desk.fakes.store.save(session(key=SessionKey("opencode", "s2"), project="/elsewhere"))
    found = await asked(door, name="task_list", arguments={"session": "s2"}, project=PROJECT)
    assert found["refused"] is True
    assert KEY.id not in found["text"]


async def test_an_agents_session_is_never_guessed(door: ToolsHandler) -> None:
    agent = {"name": "task_list", "author": "agent"}
    assert "do not guess" in (await asked(door, **agent, project=PROJECT))["text"]
    assert (await asked(door, **agent, session="s1", project=PROJECT))["text"] == "No tasks"


async def test_from_an_agents_shell_nothing_is_made_to_run(desk: Desk, door: ToolsHandler) -> None:
    asking = [offer.name for offer in desk.toolbox.all_offers() if offer.asks]
    assert asking
    for name in asking:
        found = await asked(door, name=name, session="s1", project=PROJECT, author="agent")
        assert found["refused"] is True
        assert "nobody could be asked" in found["text"]
    assert desk.fakes.gates.deadlines == []


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"name": 3},
        {"name": "status", "arguments": []},
        {"name": "status", "author": "root"},
        {"nam": "x"},
    ],
)
async def test_what_is_no_call_is_bad_input(door: ToolsHandler, call: dict[str, Any]) -> None:
    with pytest.raises(BadInputError):
        await asked(door, **call)
