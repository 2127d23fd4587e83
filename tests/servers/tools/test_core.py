"""The first tools that read: where a session stands, and the rubric."""

from __future__ import annotations

from servers.tools.desk import CONDITION, Desk, as_json
from sidecar.kernel.session import Session, SessionKey
from sidecar.servers.tools.tool import Caller
from support.cases import KEY, RUBRIC, goal, session


async def test_the_status_tells_goal_budget_and_exit_code(desk: Desk) -> None:
    found = await desk.data("status")
    assert (found["session"], found["host"]) == (KEY.id, KEY.host)
    assert (found["status"], found["exit_code"]) == ("active", 1)
    assert CONDITION in await desk.text("status")
    assert "continuations 0/16" in await desk.text("status")


async def test_a_session_without_a_goal_is_told_so_and_that_is_no_error(desk: Desk) -> None:
    desk.fakes.store.put(session())
    found = await desk.data("status")
    assert (found["status"], found["exit_code"]) == ("none", 3)
    assert "no goal is set" in await desk.text("status")


async def test_a_session_of_another_host_with_the_same_id_is_not_told_of(desk: Desk) -> None:
    other = SessionKey("marker", KEY.id)
    desk.fakes.store.put(Session(key=other, project="/elsewhere", goal=goal("another secret goal")))
    for key in (KEY, other):
        answer = await desk.toolbox.call("status", {}, Caller(bound=key))
        assert as_json(answer.data)["host"] == key.host


async def test_the_rubric_tells_its_file_and_every_criterion_in_words_and_as_data(desk: Desk) -> None:
    found = await desk.data("rubric")
    assert found["file"] == RUBRIC.origin
    assert found["patterns"] == as_json(RUBRIC.patterns)
    assert found["antipatterns"] == as_json(RUBRIC.antipatterns)
    said = await desk.text("rubric")
    for criterion in (*RUBRIC.criteria, *RUBRIC.legitimate):
        assert criterion.name in said
