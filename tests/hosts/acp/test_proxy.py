"""The proxy between an editor and an agent: what passes, what is held, what is answered in its place."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.hosts.acp.codec import AcpAnswer, CommandSent, PromptSent, SessionOpened, TurnBroken, TurnEnded
from sidecar.kernel.errors import BadInputError
from support.acp_proxied import (
    FOLDER,
    OURS,
    SESSION,
    Message,
    Proxied,
    cancel,
    ended,
    prompt,
    quoted,
    request,
    result,
    says,
    update,
)

BACK = AcpAnswer(notice="Supervisor: sent back 1/16", say="[supervisor a1b2c3] repair", continuation="a1b2c3")
GONE = ConnectionRefusedError("no sidecar listens")
PASSED = [
    b'{"jsonrpc":"2.0", "id":1, "method":"initialize","params":{"protocolVersion":1,"_meta":{"x":[1.50]}}}',
    b'{"jsonrpc":"2.0","method":"_zed.dev/anything","params":null}',
    b'{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}',
    b'{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}',
    b'{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no such file"}}',
    b'{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"new"}}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7}}',
    b"A banner that is no JSON",
    b"[]",
    b"",
]


async def test_every_line_that_is_not_ours_passes_unchanged() -> None:
    async with Proxied() as room:
        await room.editor(*PASSED)
        assert room.agents.sent == PASSED
        await room.agent(*(line for line in PASSED if b"session/new" not in line))
        assert room.editors.sent == [line for line in PASSED if b"session/new" not in line]


async def test_the_response_that_ends_a_turn_is_held_until_it_was_judged() -> None:
    async with Proxied() as room:
        await room.open()
        line = json.dumps(ended(7, usage={"inputTokens": 3}, _meta={"x": 1})).encode()
        await room.editor(prompt(7, "Repair it."))
        assert room.to_agent() == [prompt(7, "Repair it.")]
        await room.agent(says("Done."), line)
        assert room.to_editor() == [says("Done.")]
        await room.judged(AcpAnswer(notice="Supervisor: goal achieved"))
        assert room.to_editor() == [quoted("Supervisor: goal achieved"), json.loads(line)]
        opened, asked, stop = room.sidecar.told
        assert opened == SessionOpened(session=SESSION, directory=FOLDER)
        assert isinstance(asked, PromptSent)
        assert isinstance(stop, TurnEnded)
        assert (stop.record.turn.prompts, stop.record.turn.last_message) == (("Repair it.",), "Done.")


async def test_an_agent_that_is_sent_back_is_prompted_by_us_within_the_same_turn() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        room.to_agent()
        await room.agent(says("Done."), ended(7, usage={"inputTokens": 3, "outputTokens": 1, "cost": None}))
        await room.judged(BACK)
        assert room.to_editor() == [says("Done."), quoted("Supervisor: sent back 1/16")]
        (again,) = room.to_agent()
        assert again == prompt(again["id"], BACK.say)
        assert str(again["id"]).startswith("supervisor-")
        await room.agent(says("Repaired."), ended(again["id"], usage={"inputTokens": 4, "outputTokens": 2}))
        await room.judged(AcpAnswer())
        assert room.to_editor() == [
            says("Repaired."),
            ended(7, usage={"inputTokens": 7, "outputTokens": 3}),
        ]
        first, second = (one.record for one in room.sidecar.told if isinstance(one, TurnEnded))
        assert (first.turn.arrived, second.turn.arrived) == ((), ("a1b2c3",))
        assert second.turn.last_message == "Repaired."
        assert [tokens for _, tokens in second.spent] == [4, 6]


async def test_an_agent_that_tells_totals_is_not_summed() -> None:
    async with Proxied() as room:
        await room.editor(request(1, "initialize", protocolVersion=1))
        await room.agent(result(1, agentInfo={"name": "Copilot"}))
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        await room.agent(ended(7, usage={"inputTokens": 3}))
        await room.judged(BACK)
        again = room.to_agent()[-1]
        await room.agent(ended(again["id"], usage={"inputTokens": 8}))
        await room.judged(AcpAnswer())
        assert room.to_editor()[-1] == ended(7, usage={"inputTokens": 8})
        stop = room.sidecar.told[-1]
        assert isinstance(stop, TurnEnded)
        assert [tokens for _, tokens in stop.record.spent] == [3, 5]


async def test_tokens_are_counted_where_gemini_tells_them() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        counted = {"quota": {"token_count": {"input_tokens": 40, "output_tokens": 2}}}
        await room.agent(ended(7, _meta=counted))
        stop = room.sidecar.told[-1]
        assert isinstance(stop, TurnEnded)
        assert [tokens for _, tokens in stop.record.spent] == [42]


FAULT: Message = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "overloaded", "data": 1}}


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (ended(7, "cancelled"), "stopped by the user"),
        (ended(7, "refusal"), "refusal"),
        (ended(7, "max_tokens"), "max_tokens"),
        (FAULT, "overloaded"),
        ({"jsonrpc": "2.0", "id": 7, "result": {}}, "an error"),
    ],
)
async def test_any_other_end_passes_at_once(end: Message, told: str) -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        line = json.dumps(end).encode()
        await room.agent(line)
        assert room.editors.sent == [line]
        assert room.sidecar.told[-1] == TurnBroken(session=SESSION, directory=FOLDER, error=told)


@pytest.mark.parametrize("end", [ended(7, "cancelled"), FAULT])
async def test_another_end_of_what_we_prompted_answers_the_editors_prompt(end: Message) -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        await room.agent(ended(7))
        await room.judged(BACK)
        ours = room.to_agent()[-1]["id"]
        room.to_editor()
        await room.editor(cancel())
        assert room.to_agent() == [cancel()]
        await room.agent({**end, "id": ours})
        assert room.to_editor() == [end]


async def test_the_end_of_a_turn_that_a_newer_prompt_followed_is_not_told() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        await room.editor(cancel(), prompt(8, "Something else."))
        await room.agent(ended(7, "cancelled"))
        assert room.to_editor() == [ended(7, "cancelled")]
        assert not any(isinstance(one, TurnBroken) for one in room.sidecar.told)


async def test_a_prompt_that_is_cancelled_at_once_never_reaches_the_agent() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."), cancel())
        assert room.to_editor() == [ended(7, "cancelled")]
        assert room.to_agent() == []


async def test_a_cancelled_judging_ends_at_once() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        await room.agent(ended(7))
        room.to_agent()
        await room.editor(cancel())
        assert room.to_editor() == [ended(7, "cancelled")]
        assert (room.to_agent(), len(room.sidecar.let_go)) == ([], 1)
        await room.editor(cancel())
        assert room.to_agent() == [cancel()]


async def test_a_newer_prompt_ends_a_judging_as_the_agent_ended_the_turn() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        await room.agent(ended(7, usage={"inputTokens": 3}))
        await room.editor(prompt(8, "Something else."))
        assert room.to_editor() == [ended(7, usage={"inputTokens": 3})]
        await room.agent(ended(8))
        await room.judged(AcpAnswer())
        assert room.to_editor() == [ended(8)]


async def test_of_prompts_that_the_agent_queues_the_last_is_judged() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."), prompt(8, "And that."))
        await room.agent(ended(7))
        assert room.to_editor() == [ended(7)]
        await room.agent(ended(8))
        assert room.to_editor() == []
        await room.judged(AcpAnswer())
        assert room.to_editor() == [ended(8)]


async def test_two_sessions_are_judged_side_by_side() -> None:
    async with Proxied() as room:
        for at, session in enumerate(("ses_1", "ses_2")):
            await room.open(session)
            await room.editor(prompt(at, "Go.", session))
            await room.agent(ended(at))
        await room.editor(cancel("ses_2"))
        assert room.to_editor() == [ended(1, "cancelled")]
        await room.judged(AcpAnswer())
        assert room.to_editor() == [ended(0)]


async def test_a_command_is_answered_without_the_agent_also_while_it_works() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Repair it."))
        room.to_agent()
        await room.editor(prompt(8, " /supervisor:goal  pause\n"))
        sent = room.sidecar.told[-1]
        assert isinstance(sent, CommandSent)
        assert (sent.name, sent.arguments) == ("goal", "pause")
        await room.judged(AcpAnswer(notice="Supervisor: goal paused\nType resume"))
        assert room.to_editor() == [quoted("Supervisor: goal paused\n> Type resume"), ended(8)]
        assert room.to_agent() == []
        await room.agent(ended(7))
        await room.judged(AcpAnswer())
        assert room.to_editor() == [ended(7)]


async def test_a_command_in_another_proxy_is_another_command() -> None:
    ids = set()
    for _ in range(2):
        async with Proxied() as room:
            await room.editor(prompt(7, "/supervisor:goal"))
            (sent,) = room.sidecar.told
            assert isinstance(sent, CommandSent)
            ids.add(sent.id)
    assert len(ids) == 2


async def test_a_goal_sets_the_agent_to_work_with_our_words() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "/supervisor:goal all tests pass"))
        await room.judged(AcpAnswer(notice="Supervisor: goal set", work=True, context="The user set a goal"))
        assert room.to_editor() == [quoted("Supervisor: goal set")]
        assert room.to_agent() == [prompt(7, "The user set a goal")]
        await room.agent(ended(7))
        stop = room.sidecar.told[-1]
        assert isinstance(stop, TurnEnded)
        assert stop.record.turn.prompts == ("/supervisor:goal all tests pass",)
        await room.judged(AcpAnswer())
        assert room.to_editor() == [ended(7)]


NO_ANSWER = "Supervisor did not answer (no sidecar listens): {}. Type in a shell: supervisor doctor"
NO_COMMAND = "Supervisor: there is no command 'x'"


@pytest.mark.parametrize(
    ("error", "stopped", "refused"),
    [
        (
            GONE,
            NO_ANSWER.format("this stop was not judged"),
            NO_ANSWER.format("nothing would enforce this command"),
        ),
        (BadInputError("there is no command 'x'"), NO_COMMAND, NO_COMMAND),
    ],
)
async def test_a_sidecar_that_does_not_answer_holds_no_prompt_and_no_command(
    error: Exception, stopped: str, refused: str
) -> None:
    async with Proxied() as room:
        room.sidecar.at_once = error
        await room.open()
        await room.editor(prompt(7, "/supervisor:x"))
        assert room.to_editor() == [quoted(refused), ended(7)]
        assert room.to_agent() == []
        await room.editor(prompt(8, "Repair it."))
        assert room.to_agent() == [prompt(8, "Repair it.")]
        room.to_editor()
        await room.agent(ended(8))
        assert room.to_editor() == [quoted(stopped), ended(8)]


async def test_what_a_person_is_to_know_is_shown_as_the_turn_begins() -> None:
    async with Proxied() as room:
        room.sidecar.at_once = AcpAnswer(notice="Supervisor: on")
        await room.open()
        room.sidecar.at_once = AcpAnswer(notice="Supervisor: an edit waits")
        await room.editor(prompt(7, "Go."))
        assert room.to_editor() == [quoted("Supervisor: on\n> Supervisor: an edit waits")]


async def test_what_runs_while_a_stop_is_judged_is_a_thought_each_once() -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Go."))
        await room.agent(ended(7))
        ((_, working),) = room.sidecar.waiting
        for doing in ("running pytest -q, 2 s", "running pytest -q, 4 s", "asking the judge, 2 s"):
            working({SESSION: doing, "another": "reading, 1 s"})
        await room.settle()
        texts = [one["params"]["update"] for one in room.to_editor()]
        assert {one["sessionUpdate"] for one in texts} == {"agent_thought_chunk"}
        assert [one["content"]["text"] for one in texts] == [
            "Supervisor: running pytest -q\n",
            "Supervisor: asking the judge\n",
        ]


PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"


def options(value: str) -> list[Message]:
    model = {"id": "model", "category": "model", "currentValue": 1}
    return [model, {"category": "mode", "currentValue": value}]


SET = request(5, "session/set_config_option", sessionId=SESSION, configId="mode", value="plan")


@pytest.mark.parametrize(
    ("opened", "then", "read_only"),
    [
        ({}, [], False),
        ({"modes": {"currentModeId": "plan", "availableModes": []}}, [], True),
        ({"configOptions": options("build")}, [], False),
        ({"configOptions": options(PLAN)}, [], True),
        ({}, [update("current_mode_update", currentModeId=PLAN)], True),
        ({}, [update("config_option_update", configOptions=options("plan"))], True),
        ({"modes": {"currentModeId": "plan"}}, [update("current_mode_update", currentModeId="code")], False),
        ({}, [request(5, "session/set_mode", sessionId=SESSION, modeId="plan"), result(5)], True),
        ({}, [SET, result(5, configOptions=options("plan"))], True),
    ],
)
async def test_the_mode_of_a_session_is_told(
    opened: dict[str, Any], then: list[Message], *, read_only: bool
) -> None:
    async with Proxied() as room:
        await room.open(**opened)
        for message in then:
            await (room.editor if message.get("method", "").startswith("session/set") else room.agent)(
                message
            )
        await room.editor(prompt(7, "Go."))
        await room.agent(ended(7))
        asked, stop = room.sidecar.told[-2:]
        assert isinstance(asked, PromptSent)
        assert isinstance(stop, TurnEnded)
        assert (asked.read_only, stop.read_only) == (read_only, read_only)


async def test_the_history_of_a_loaded_session_is_no_turn() -> None:
    async with Proxied() as room:
        await room.editor(request(1, "session/load", sessionId=SESSION, cwd="/home/user/other"))
        history = [says("An old answer."), update("tool_call", toolCallId="c", kind="execute")]
        await room.agent(*history, {"jsonrpc": "2.0", "id": 1, "result": None})
        assert room.sidecar.told == [
            SessionOpened(session=SESSION, directory="/home/user/other", fresh=False)
        ]
        await room.editor(prompt(7, "Go."))
        await room.agent(ended(7))
        stop = room.sidecar.told[-1]
        assert isinstance(stop, TurnEnded)
        assert (stop.record.turn.last_message, stop.record.turn.calls) == ("", ())


async def test_a_session_whose_id_is_no_file_name_has_a_name_of_ours() -> None:
    async with Proxied() as room:
        await room.open("../x y")
        (opened,) = room.sidecar.told
        assert opened.session.isalnum()
        await room.editor(prompt(7, "Go.", "../x y"))
        await room.agent(ended(7))
        await room.judged(AcpAnswer(notice="Supervisor: done"))
        assert room.to_editor() == [quoted("Supervisor: done", "../x y"), ended(7)]


async def test_our_commands_are_added_to_those_of_every_agent() -> None:
    ours = [*OURS]
    theirs = {"name": "init", "description": "Set up"}
    async with Proxied() as room:
        await room.editor(request(1, "session/new", cwd=FOLDER, mcpServers=[]))
        await room.agent(result(1, sessionId=SESSION))
        own = update("available_commands_update", availableCommands=ours)
        assert room.to_editor() == [result(1, sessionId=SESSION), own]
        mixed = update(
            "available_commands_update", availableCommands=[{**ours[0], "description": ""}, theirs]
        )
        await room.agent(mixed)
        both = update("available_commands_update", availableCommands=[theirs, *ours])
        assert room.to_editor() == [both]
        await room.editor(request(2, "session/new", cwd=FOLDER, mcpServers=[]))
        early = update("available_commands_update", "ses_2", availableCommands=[theirs])
        await room.agent(early, result(2, sessionId="ses_2"))
        assert [one.get("method") for one in room.to_editor()] == ["session/update", None]


@pytest.mark.parametrize("ends", ["editors", "agents"])
async def test_it_ends_with_the_editor_or_the_agent(ends: str) -> None:
    async with Proxied() as room:
        await room.open()
        await room.editor(prompt(7, "Go."))
        await room.agent(ended(7))
        getattr(room, ends).lines.put_nowait(None)
        await room.running
        assert len(room.sidecar.let_go) == 1


CALL: Final = ("toolCallId", "title", "kind", "status", "rawInput", "rawOutput", "content", "locations")
TOLD: Final = {
    "agent_message_chunk": ("content", "messageId"),
    "tool_call": CALL,
    "tool_call_update": CALL,
    "plan": ("entries",),
    "available_commands_update": ("availableCommands",),
    "current_mode_update": ("currentModeId",),
    "config_option_update": ("configOptions",),
}
"""The fields of each kind of update."""
NAMES: Final = ("name", "type", "text", "path", "content", "status", "command", "exit", "category", "id")
JSON: Final = st.recursive(
    st.none() | st.integers(-9, 9) | st.text("ab\ud800", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
"""Whatever may stand in a field."""
IDS: Final = st.sampled_from([7, "open", "supervisor-1"])
ASKED: Final = ("session/prompt", "session/cancel", "session/new", "session/set_mode", "initialize", "x")


def fields(*names: str) -> st.SearchStrategy[Message]:
    return st.fixed_dictionaries(dict.fromkeys(names[:1], JSON), optional=dict.fromkeys(names[1:], JSON))


UPDATES: Final = st.sampled_from(sorted(TOLD)).flatmap(
    lambda kind: fields(*TOLD[kind]).map(lambda told: update(kind, **told))
)
RESPONSES: Final = st.builds(
    lambda ident, told: result(ident, **{"stopReason": "end_turn", **told}),
    IDS,
    fields("usage", "modes", "configOptions", "agentInfo", "sessionId", "stopReason"),
)
ERRORS: Final = st.builds(lambda ident, why: {"jsonrpc": "2.0", "id": ident, "error": why}, IDS, JSON)
REQUESTS: Final = st.builds(
    lambda ident, method, given: request(ident, method, **{"sessionId": SESSION, **given}),
    IDS,
    st.sampled_from(ASKED),
    fields("prompt", "cwd", "modeId", "sessionId"),
)


SAID: Final = st.tuples(st.just(value=True), UPDATES) | st.tuples(
    st.booleans(), RESPONSES | ERRORS | REQUESTS
)


@given(st.lists(SAID, min_size=8, max_size=16))
def test_whatever_is_said_the_proxy_passes_on_what_comes_next(said: list[tuple[bool, Message]]) -> None:
    async def play() -> None:
        async with Proxied() as room:
            room.sidecar.patient = False
            await room.open()
            await room.editor(prompt(7, "Go."))
            for by_agent, message in said:
                await (room.agent if by_agent else room.editor)(message)
            await room.editor(b"the end")
            await room.agent(b"the end")
            assert (room.editors.sent[-1], room.agents.sent[-1]) == (b"the end", b"the end")

    asyncio.run(play())
