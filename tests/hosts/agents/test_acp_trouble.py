"""A run over the Agent Client Protocol always ends, leaves nobody, and tells its trouble in one line.

No test waits for time: a deadline passes because the loop's clock jumps, and the end of everything that an
agent started shows as the end of a named pipe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.hosts.acp.agent import START_S, AcpAgent
from sidecar.hosts.ports import AgentResult, AgentTask
from support.acp_agent import DONE, GREETING, SESSION, asks, fail, reply, says
from support.acp_runs import ACCESS, LIMIT_S, ONCE, Driven, Held, jump, prompted
from support.table import often

pytestmark = pytest.mark.process


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    held = Held(tmp_path / "held")
    yield held
    held.close()


# --- how a turn ends ---


@pytest.mark.parametrize(
    ("reason", "trouble"),
    often(
        [
            ("max_tokens", "it stopped at its limit of tokens"),
            ("max_turn_requests", "it stopped at its limit of requests to the model"),
            ("refusal", "it refused to go on"),
            ("cancelled", "its turn was cancelled"),
            ("bored", "it stopped for a reason that is not known here: bored"),
        ],
        2,
    ),
)
async def test_a_turn_that_did_not_end_by_itself_says_why(tmp_path: Path, reason: str, trouble: str) -> None:
    driven = Driven(tmp_path, prompted(says("Half."), reply(stopReason=reason)))
    assert await driven.run() == AgentResult(said="Half.", trouble=trouble)


async def test_at_the_deadline_the_turn_is_cancelled_and_what_was_said_is_kept(tmp_path: Path) -> None:
    script = {
        **prompted(says("Working.")),
        "session/cancel": [
            asks("session/request_permission", toolCall={"kind": "read"}, options=[ONCE]),
            says(" Saved."),
            ("reply to", "session/prompt", {"stopReason": "cancelled"}),
        ],
    }
    driven = Driven(tmp_path, script)

    def hear(text: str) -> None:
        driven.heard.append(text)
        if text == "Working.":
            jump(100)

    rest = await driven.run(seconds=100, hear=hear)
    assert rest == AgentResult(said="Working. Saved.", trouble="it did not rest within 100 s")
    assert driven.agent.told("session/cancel") == {"sessionId": SESSION}
    (answer,) = (message for message in driven.agent.received if message.get("id") == "its own")
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_one_that_ignores_the_cancelling_is_killed_with_all_that_it_started(
    tmp_path: Path, held: Held
) -> None:
    driven = Driven(tmp_path, prompted(("leave a child", str(held.path)), says("Working.")))
    rest = await driven.run(seconds=100, hear=lambda _: jump(100))
    assert rest.trouble == "it did not rest within 100 s"
    await held.let_go()


async def test_one_that_stops_reading_cannot_hold_the_run_up(tmp_path: Path, held: Held) -> None:
    deaf = [*GREETING["session/new"], ("leave a child", str(held.path)), ("hang",)]
    driven = Driven(tmp_path, {**GREETING, "session/new": deaf})
    running = asyncio.create_task(driven.run(prompt="x" * 3_000_000, seconds=100))
    await held.taken()
    jump(100)
    assert (await running).trouble == "it did not rest within 100 s"
    await held.let_go()


async def test_cancelling_the_run_cancels_the_turn_and_leaves_nobody(tmp_path: Path, held: Held) -> None:
    script = {
        **prompted(("leave a child", str(held.path)), says("Working.")),
        "session/cancel": [("reply to", "session/prompt", {"stopReason": "cancelled"})],
    }
    driven = Driven(tmp_path, script)
    working = asyncio.Event()
    running = asyncio.create_task(driven.run(hear=lambda _: working.set()))
    await working.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert driven.agent.told("session/cancel") == {"sessionId": SESSION}
    await held.let_go()


# --- agents in trouble ---


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    errand = AgentTask(
        prompt="Work.", project=str(tmp_path), environment={"PATH": "/nowhere"}, seconds=LIMIT_S
    )
    rest = await AcpAgent(["no-such-agent"]).run(errand, print)
    assert rest.trouble == "it could not be started: no-such-agent: No such file or directory"


async def test_one_that_dies_is_told_with_its_exit_code_and_its_last_words(tmp_path: Path) -> None:
    steps = [says("I begin. "), ("complain", "first\nout of \x1b[31mcredit\n"), ("exit", 3)]
    rest = await Driven(tmp_path, prompted(*steps)).run()
    trouble = "it ended with exit code 3 before it answered session/prompt; it said: first out of credit"
    assert rest == AgentResult(said="I begin. ", exit_code=3, trouble=trouble)


async def test_the_end_is_noticed_though_a_child_of_its_holds_the_output(tmp_path: Path, held: Held) -> None:
    rest = await Driven(tmp_path, prompted(("leave a child", str(held.path)), ("exit", 1))).run()
    assert rest.trouble.startswith("it ended with exit code 1 before it answered session/prompt")
    await held.let_go()


async def test_a_line_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    rest = await Driven(tmp_path, prompted(("print", "x" * 1000, 40_000), DONE)).run()
    assert rest.trouble == "it sent a line of more than 16777216 bytes"


@pytest.mark.parametrize("silent", ["initialize", "session/new"])
async def test_one_that_opens_no_session_is_given_up_long_before_the_deadline(
    tmp_path: Path, held: Held, silent: str
) -> None:
    driven = Driven(tmp_path, {**GREETING, silent: [("leave a child", str(held.path))]})
    running = asyncio.create_task(driven.run(seconds=280))
    await held.taken()
    jump(START_S)
    assert (await running).trouble == "it opened no session within 120 s"
    await held.let_go()


async def test_one_of_another_protocol_version_is_told_apart(tmp_path: Path) -> None:
    rest = await Driven(tmp_path, {"initialize": [reply(protocolVersion=2)]}).run()
    assert rest.trouble == "it speaks version 2 of the Agent Client Protocol, and this client speaks 1"


async def test_one_that_nobody_signed_in_to_says_how_to(tmp_path: Path) -> None:
    ways = [{"id": "a", "name": "Log in", "description": "Run `agent login`"}, {"id": "b", "name": "API key"}]
    script = {
        "initialize": [reply(protocolVersion=1, authMethods=ways)],
        "session/new": [fail(-32_000, "Authentication required")],
    }
    rest = await Driven(tmp_path, script).run()
    how = "Log in: Run `agent login`; API key"
    assert rest.trouble == f"it wants to be signed in to first, outside of Supervisor: {how}"


async def test_an_error_is_told_with_its_details_and_without_our_token(tmp_path: Path) -> None:
    details = {"details": "no route with Bearer svs.token"}
    script = {**GREETING, "session/new": [fail(-32_603, "Internal error", details)]}
    rest = await Driven(tmp_path, script).run(access=ACCESS)
    said = 'Internal error: {"details": "no route with Bearer ***"}'
    assert rest.trouble == f"it refused session/new: {said} (-32603)"


@pytest.mark.parametrize("answer", [{}, {"stopReason": 5}, {"stopReason": None}])
async def test_an_answer_of_the_wrong_form_is_told(tmp_path: Path, answer: dict[str, object]) -> None:
    rest = await Driven(tmp_path, prompted(reply(**answer))).run()
    assert rest.trouble.startswith("its answer to session/prompt cannot be read: ")
