"""What Supervisor knew at the last judged stop: numbered, dated, bounded, and marked where it is stale."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from servers.tools.core_room import CoreRoom, settled
from servers.tools.desk import Desk, as_json
from sidecar.kernel.effects import Continue
from support.cases import (
    PYTEST,
    edited,
    incomplete,
    ran,
    session,
    stopped,
    talk,
    turn,
)
from support.fakes import ENVIRONMENT, command
from support.scripted_gates import FAILED, PASSED

ROOM = 2_000 * 3.5
"""Bytes of 2,000 tokens, by the bound that the list of tools is measured with."""


async def stop(desk: Desk, **fields: str) -> None:
    await desk.fakes.tell(stopped(environment=ENVIRONMENT, **fields))
    await settled(desk.fakes.supervisor)


async def test_before_any_stop_was_judged_it_says_so_and_what_is_open(desk: Desk) -> None:
    desk.fakes.store.put(session())
    await desk.ask("task_batch_add", tasks=[{"content": f"task {number}"} for number in range(9)])
    await desk.ask("task_status", id="T1", status="completed")
    await desk.ask("note_add", content="the server does not start", type="stuck")
    await desk.ask("note_add", content="the server is slow", type="learning")
    desk.fakes.transcripts.script(talk())
    await stop(desk)
    found = await desk.data("evidence")
    assert (found["at"], found["facts"]) == (None, [])
    assert found["open_tasks"] == [f"T{number} task {number - 1}" for number in range(2, 10)]
    text = await desk.text("evidence")
    assert text.startswith("No stop of this session was judged yet")
    assert "T2 task 1" in text
    assert "the server does not start" in text
    assert "the server is slow" not in text


async def test_the_facts_are_those_that_the_judge_was_shown(desk: Desk) -> None:
    desk.fakes.catalog.gates = (replace(PYTEST, approved=True),)
    desk.fakes.gates.script("pytest -q", replace(PASSED, executed=5))
    desk.fakes.judge.script(incomplete())
    await stop(desk)
    (case,) = desk.fakes.judge.cases
    found = await desk.data("evidence")
    assert [(fact["id"], fact["fact"]) for fact in found["facts"]] == [
        (fact.id, fact.fact) for fact in case.evidence
    ]
    assert (found["decided"], found["tree"], found["left_out"]) == ("continue", "tree-1", 0)
    desk.fakes.clock.advance(40)
    text = await desk.text("evidence")
    assert "40 seconds ago (decided: continue; files: tree-1)" in text
    assert "E1 (gate): Supervisor ran `pytest -q`" in text


async def test_a_failed_gate_speaks_against_and_shows_its_failures(desk: Desk) -> None:
    desk.fakes.catalog.gates = (PYTEST,)
    desk.fakes.gates.script("pytest -q", FAILED)
    await desk.fakes.reply(command("all tests pass"))
    await stop(desk)
    assert "E1 (gate, against): Supervisor ran `pytest -q`: failed, exit code 1\n  test_a: it failed" in (
        await desk.text("evidence")
    )


async def test_whether_files_moved_since_is_told_where_it_can_be(desk: Desk) -> None:
    await stop(desk)
    assert (await desk.data("evidence"))["moved_since"] is False
    assert "No file changed since." in await desk.text("evidence")
    desk.fakes.workspace.tree = "tree-2"
    assert (await desk.data("evidence"))["moved_since"] is True
    assert "Files changed since" in await desk.text("evidence")
    desk.fakes.workspace.tree = ""
    assert (await desk.data("evidence"))["moved_since"] is None
    assert "is not known" in await desk.text("evidence")


async def test_much_evidence_is_bounded_and_what_speaks_against_comes_first(desk: Desk) -> None:
    calls = [ran(f"make part-{number}-" + "x" * 400, output="y" * 2000) for number in range(100)]
    failing = ran("make " + "z" * 300, 2, output="\u6f22" * 2000)
    desk.fakes.transcripts.script(turn(edited(), failing, *calls))
    await desk.ask("task_batch_add", tasks=[{"content": "t" * 4000}] * 80)
    for _ in range(10):
        await desk.ask("note_add", content="n" * 4000, type="stuck")
    await stop(desk)
    answer = await desk.ask("evidence")
    found = as_json(answer.data)
    assert found["left_out"] > 0
    assert any("make zzz" in fact["fact"] and fact["bad"] for fact in found["facts"])
    assert len(msgspec.json.encode(answer.data)) < ROOM
    assert len(answer.text.encode()) < ROOM
    assert f"{found['left_out']} more facts" in answer.text
    assert "... 72" in answer.text


@pytest.mark.process
async def test_on_a_real_project_it_survives_a_new_sidecar_and_goes_stale_with_an_edit(
    tmp_path: Path,
) -> None:
    room = CoreRoom(tmp_path)
    await room.meet()
    await room.goal("all tests pass")
    room.fakes.transcripts.script(turn())
    assert isinstance(await room.stop(), Continue)
    await settled(room.supervisor)
    text = (await room.ask("evidence")).text
    assert "(gate, against): Supervisor ran" in text
    assert "test_two" in text
    assert "No file changed since." in text
    room.write("doubling.py", "# later\n")
    assert "Files changed since" in (await room.ask("evidence")).text
    anew = room.reopened()
    found = as_json((await anew.ask("evidence")).data)
    assert found["moved_since"] is None, "no environment is known to look with"
    assert "test_two" in str(found["facts"])
    assert "test_two" in (await anew.ask("explain")).text
