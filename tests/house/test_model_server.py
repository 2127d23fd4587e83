"""The scripted model, seen as a host sees it: over HTTP."""

from __future__ import annotations

import http.client
import json
import threading
from typing import Any, Final

import pytest

from support.model_script import (
    ReplyRule,
    RequestMatch,
    reply_with_calls,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.table import over_table

LIMIT_S: Final = 10.0
"""Bound of every wait here, in seconds."""


class Answer:
    """What came back for one request."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def events(self) -> list[tuple[str, Any]]:
        lines = [block.split("\n") for block in self.text.strip().split("\n\n")]
        return [
            (name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in lines
        ]


def send(model: ScriptedModel, method: str, path: str, body: object = None) -> Answer:
    connection = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=LIMIT_S)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def ask(
    model: ScriptedModel, text: str = "hello", *, tools: tuple[str, ...] = ("Bash",), **more: object
) -> Answer:
    body = {
        "model": "claude-test",
        "system": [{"type": "text", "text": "You are an agent."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in tools],
    }
    return send(model, "POST", "/v1/messages?beta=true", body | more)


def texts(answer: Answer) -> list[str]:
    return [block["text"] for block in answer.json["content"]]


def test_a_reply_of_text_ends_the_turn() -> None:
    with ScriptedModel([ReplyRule(reply_with_text("one", "two"))]) as model:
        answer = ask(model)
    assert texts(answer) == ["one", "two"]
    assert answer.json["stop_reason"] == "end_turn"
    assert answer.json["model"] == "claude-test"


def test_calls_in_one_message_have_fresh_ids_and_stop_for_the_tools() -> None:
    bash = ReplyToolCall("Bash", {"command": "ls"})
    with ScriptedModel([ReplyRule(reply_with_calls(bash, bash, before="Looking."), times=2)]) as model:
        first, second = ask(model).json, ask(model).json
    words, *calls = first["content"]
    assert (words["text"], first["stop_reason"]) == ("Looking.", "tool_use")
    assert [(block["name"], block["input"]) for block in calls] == [("Bash", {"command": "ls"})] * 2
    ids = {block["id"] for reply in (first, second) for block in reply["content"][1:]}
    assert len(ids) == 4


def test_rules_answer_in_order_and_each_only_so_often() -> None:
    with ScriptedModel([ReplyRule(reply_with_text("first"), times=2)]) as model:
        model.add(ReplyRule(reply_with_text("then"), times=None))
        said = [texts(ask(model))[0] for _ in range(5)]
    assert said == ["first", "first", "then", "then", "then"]


@pytest.mark.parametrize(
    "match",
    [
        RequestMatch(tools="some"),
        RequestMatch(has_tool="Bash"),
        RequestMatch(last=r"ping\s+pong$"),
        RequestMatch(any="an agent"),
        RequestMatch(model="^claude-"),
        RequestMatch(n=1),
    ],
)
def test_a_rule_answers_what_it_matches(match: RequestMatch) -> None:
    with ScriptedModel([ReplyRule(reply_with_text("matched"), match)]) as model:
        assert texts(ask(model, "ping\npong")) == ["matched"]
        assert model.requests[0].rule == 0


@over_table(
    "match",
    [
        RequestMatch(tools="none"),
        RequestMatch(has_tool="StructuredOutput"),
        RequestMatch(last="an agent"),
        RequestMatch(any="ping.+ping"),
        RequestMatch(model="haiku"),
        RequestMatch(n=2),
        RequestMatch(tools="some", last="nothing of the kind"),
    ],
)
def test_a_rule_leaves_alone_what_it_does_not_match(match: RequestMatch) -> None:
    with ScriptedModel([ReplyRule(reply_with_text("matched"), match)]) as model:
        assert texts(ask(model, "ping\npong")) == ["OK."]
        assert model.requests[0].rule is None


def test_the_news_is_everything_after_the_last_word_of_the_model() -> None:
    messages = [
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "output"}]}
            ],
        },
        {"role": "user", "content": "reminder"},
    ]
    with ScriptedModel() as model:
        ask(model, messages=messages)
        request = model.requests[0]
    assert request.last == "output\nreminder"
    assert request.text.startswith("You are an agent.\nquestion\n")


def test_an_unforeseen_request_is_answered_and_flagged() -> None:
    with ScriptedModel() as model:
        assert texts(ask(model)) == ["OK."]
        ask(model, tools=())
        assert [request.n for request in model.unmatched] == [1]
        assert [request.n for request in model.asides] == [2]


def test_a_held_answer_comes_when_its_gate_opens() -> None:
    gate = threading.Event()
    answers: list[list[str]] = []
    with ScriptedModel([ReplyRule(reply_with_text("held"), gate=gate)]) as model:
        asking = threading.Thread(target=lambda: answers.append(texts(ask(model))))
        asking.start()
        model.wait_for(lambda request: request.last == "hello", timeout=LIMIT_S)
        assert answers == []
        assert texts(ask(model, "meanwhile")) == ["OK."]
        gate.set()
        asking.join(LIMIT_S)
    assert answers == [["held"]]


def test_closing_answers_what_is_held_and_leaves_no_thread() -> None:
    before = threading.active_count()
    answers: list[list[str]] = []
    model = ScriptedModel([ReplyRule(reply_with_text("held"), gate=threading.Event())])
    model.start()
    asking = threading.Thread(target=lambda: answers.append(texts(ask(model))))
    asking.start()
    model.wait_for(lambda _: True, timeout=LIMIT_S)
    model.close()
    asking.join(LIMIT_S)
    assert answers == [["held"]]
    assert threading.active_count() == before
    model.close()


def test_closing_does_not_wait_for_a_connection_without_a_request() -> None:
    model = ScriptedModel()
    model.start()
    connection = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=LIMIT_S)
    connection.connect()
    assert texts(ask(model)) == ["OK."]
    closing = threading.Thread(target=model.close)
    closing.start()
    closing.join(LIMIT_S)
    assert not closing.is_alive()
    connection.close()


def test_a_stream_spells_every_block_and_then_the_reason_to_stop() -> None:
    call = ReplyToolCall("Bash", {"command": "ls"}, id="toolu_1")
    with ScriptedModel([ReplyRule(reply_with_calls(call, before="Hello"))]) as model:
        answer = ask(model, stream=True)
    assert answer.headers["content-type"] == "text/event-stream"
    assert all(data["type"] == name for name, data in answer.events)
    deltas = [data["delta"] for name, data in answer.events if name == "content_block_delta"]
    assert deltas == [
        {"type": "text_delta", "text": "Hello"},
        {"type": "input_json_delta", "partial_json": '{"command":"ls"}'},
    ]
    assert answer.events[-2][1]["delta"]["stop_reason"] == "tool_use"
    assert answer.events[-1][0] == "message_stop"
