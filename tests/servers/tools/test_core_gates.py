"""The agent lists and runs the project's checks: on a real project, and in words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from servers.tools.core_room import GOOD, LIMIT, CoreRoom
from servers.tools.desk import Desk, as_json
from sidecar.kernel.effects import Continue, Rest, RestReason
from sidecar.kernel.gate import Gate, GateOrigin, Outcome
from sidecar.platform.log_readings import read_record
from sidecar.servers.tools.tool import BEAT_S, Caller, ToolAnswer
from support.cases import KEY, PROJECT, PYTEST, session, turn
from support.fakes import command, prompt
from support.scripted_gates import FAILED, PASSED, ScriptedEnding

TESTS = replace(PYTEST, approved=True)
LINT = Gate(
    id="lint:web", command="npm run lint", why="package.json", origin=GateOrigin.DETECTED, folder="web"
)


@pytest.fixture
async def room(tmp_path: Path) -> CoreRoom:
    room = CoreRoom(tmp_path)
    await room.meet()
    return room


def outcomes(answer: ToolAnswer) -> dict[str, str]:
    return {run["gate"]["id"]: run["outcome"] for run in as_json(answer.data)["gates"]}


# --- on a real project --------------------------------------------------------------------------------------


@pytest.mark.process
async def test_what_the_user_has_not_approved_is_listed_and_does_not_run(room: CoreRoom) -> None:
    listed = await room.ask("gates")
    (gate,) = as_json(listed.data)["gates"]
    assert (gate["id"], "approved" in gate, "required" in gate) == ("tests", False, False)
    assert "supervisor trust" in listed.text
    ran = await room.ask("gates_run")
    assert outcomes(ran) == {"tests": "not-approved"}
    assert "supervisor trust" in ran.text
    assert not (room.project / "tests" / "__pycache__").exists()


@pytest.mark.proves("the loop")
@pytest.mark.process
async def test_a_failing_test_is_named_and_progress_is_told(room: CoreRoom) -> None:
    heard: list[tuple[float, float, str]] = []

    async def report(done: float, total: float, what: str) -> None:
        heard.append((done, total, what))

    await room.approve()
    answer = await room.ask("gates_run", report)
    (gate,) = as_json(answer.data)["gates"]
    assert (gate["outcome"], gate["exit_code"], gate["executed"]) == ("failed", 1, 1)
    assert "test_two" in answer.text
    assert heard == [(0, 1, "tests: running"), (1, 1, "tests: failed")]


@pytest.mark.process
async def test_an_agent_that_saw_it_fail_is_sent_back_and_one_that_mended_it_is_not(room: CoreRoom) -> None:
    await room.goal("all tests pass")
    assert as_json((await room.ask("gates_run")).data)["ok"] is False
    room.fakes.transcripts.script(turn(last_message_id="m1"), turn(last_message_id="m2"))
    assert isinstance(await room.stop(), Continue)
    room.write("doubling.py", GOOD)
    assert as_json((await room.ask("gates_run")).data)["ok"] is True
    answer = await room.stop(continued=True)
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.ACHIEVED
    assert read_record(room.services.log, KEY)[-1].gates == ("tests: passed (cached)",), "it ran once"


# --- in words -----------------------------------------------------------------------------------------------


@pytest.fixture
async def two(desk: Desk) -> Desk:
    desk.fakes.catalog.gates = (LINT, TESTS)
    desk.fakes.gates.script(TESTS.command, PASSED)
    return desk


async def test_the_list_says_what_a_stop_runs_and_why(two: Desk) -> None:
    text = await two.text("gates")
    assert text.startswith("At the next stop Supervisor runs")
    assert "- tests: `pytest -q` (advisory): pyproject.toml names pytest" in text
    assert "- lint:web: `npm run lint` (advisory, in web, not approved): package.json" in text
    two.fakes.store.put(session())
    assert (await two.text("gates")).startswith("No goal is set")


async def test_the_list_says_how_each_ended_last_how_long_ago_and_whether_that_still_holds(two: Desk) -> None:
    await two.fakes.reply(command("all tests pass"))
    two.fakes.gates.script(TESTS.command, FAILED)
    await two.fakes.sent_back()
    two.fakes.clock.advance(90)
    found = await two.data("gates")
    assert found["last"] == {"tests": "failed"}
    text = await two.text("gates")
    assert "(required, last: failed)" in text
    assert "90 seconds ago" in text
    assert "Files changed since" not in text
    two.fakes.workspace.tree = "tree-2"
    assert "Files changed since" in await two.text("gates")


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (replace(PASSED, executed=5), "- tests: `pytest -q`: passed, advisory, 5 tests"),
        (FAILED, "- tests: `pytest -q`: failed, advisory, exit code 1\n  test_a: it failed"),
        (
            ScriptedEnding(outcome=Outcome.COULD_NOT_RUN, reason="not found"),
            "could-not-run, advisory, not found",
        ),
    ],
)
async def test_a_run_says_how_it_ended(two: Desk, end: ScriptedEnding, said: str) -> None:
    two.fakes.gates.script(TESTS.command, end)
    text = await two.text("gates_run", only=["tests"])
    assert said in text
    assert text.endswith("only that counts.")


async def test_only_running_makes_the_host_ask_its_user(desk: Desk) -> None:
    offers = {one.name: one for one in desk.toolbox.offers()}
    assert (offers["gates_run"].asks, offers["gates_run"].reads) == (True, False)
    for name in ("gates", "evidence", "explain"):
        assert (offers[name].asks, offers[name].reads) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"only": ["tpyes\x1b[2J" + "y" * 5000]}, 'no check "tpyes'),
        ({"only": ["x"] * 101}, "do not fit"),
        ({"only": "tests"}, "do not fit"),
    ],
)
async def test_bad_names_are_refused_in_few_words(two: Desk, arguments: dict[str, Any], said: str) -> None:
    refusal = await two.refusal("gates_run", **arguments)
    assert said in refusal
    assert len(refusal) < 800
    assert "\x1b" not in refusal


async def test_every_refusal_says_what_to_do(two: Desk) -> None:
    two.fakes.switches.turn(on=False, project=PROJECT)
    assert "`supervisor on --project`" in await two.refusal("gates_run")
    two.fakes.switches.turn(on=True, project=PROJECT)
    await two.fakes.rest(read_only=True)
    assert "plan mode" in await two.refusal("gates_run")
    unmet = Desk()
    for name in ("gates", "gates_run"):
        assert "has not heard from this session's host" in await unmet.refusal(name)
    await unmet.fakes.tell(prompt())
    assert (await unmet.data("gates"))["gates"] == []


async def test_a_long_check_is_heard_of_again_and_again_and_never_falls_back(two: Desk) -> None:
    released, heard = asyncio.Event(), asyncio.Queue[tuple[float, float, str]]()
    two.fakes.gates.script(TESTS.command, ScriptedEnding(released=released))

    async def report(done: float, total: float, what: str) -> None:
        heard.put_nowait((done, total, what))

    async def next_of(seconds: float) -> float:
        two.fakes.clock.advance(seconds)
        return (await heard.get())[0]

    arguments = {"session": KEY.id, "only": [TESTS.id]}
    async with asyncio.timeout(LIMIT):
        running = asyncio.create_task(two.toolbox.call("gates_run", arguments, Caller(), report))
        begun = await heard.get()
        assert begun == (0, 1, f"{TESTS.id}: running")
        steps = [await next_of(BEAT_S) for _ in range(3)]
        released.set()
        await running
    assert steps == [0.5, 0.75, 0.875]
    assert await heard.get() == (1, 1, f"{TESTS.id}: passed")
