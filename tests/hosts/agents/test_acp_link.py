"""Whatever an agent sends, it is an answer, it is passed over, or it is the agent's trouble: nothing else."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sidecar.hosts.acp.link import (
    CANCELLED,
    AcpConnection,
    AgentError,
    NewSessionResponse,
    PermissionRequest,
    SessionNotification,
)
from sidecar.platform.dialogue import LineTooLongError, ProcessDialogue


class Lines:
    """A program that says these lines, whatever it is told, and ends."""

    def __init__(self, lines: list[bytes | None]) -> None:
        self._lines = lines
        self.told: list[dict[str, Any]] = []

    async def say(self, line: bytes) -> None:
        self.told.append(json.loads(line))

    async def hear(self) -> bytes | None:
        if not self._lines:
            return None
        line = self._lines.pop(0)
        if line is None:
            raise LineTooLongError
        return line

    async def exit_code(self) -> int | None:
        return 0

    def errors(self) -> bytes:
        return b"\xff\x1b[31m"


def told(_method: str, parameters: Raw) -> None:
    msgspec.json.decode(parameters, type=SessionNotification)


def asked(method: str, parameters: Raw) -> dict[str, Any] | None:
    if method != "session/request_permission":
        return None
    msgspec.json.decode(parameters, type=PermissionRequest)
    return CANCELLED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
METHODS = st.sampled_from(("session/update", "session/request_permission", "fs/read_text_file", ""))
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": st.sampled_from((1, 2, "1", None)) | JSON,
        "method": METHODS | JSON,
        "params": JSON,
        "result": st.just({"sessionId": "s"}) | JSON,
        "error": st.just({"code": -1, "message": "no"}) | JSON,
    },
)
LINES = st.one_of(
    st.none(), st.binary(max_size=20), MESSAGES.map(lambda message: json.dumps(message).encode())
)


@given(st.lists(LINES, max_size=20))
async def test_no_line_breaks_more_than_the_agent(lines: list[bytes | None]) -> None:
    agent = Lines(lines)
    link = AcpConnection(cast("ProcessDialogue", agent), told, asked)
    trouble = ""
    try:
        await link.ask("session/new", {}, NewSessionResponse)
    except AgentError as error:
        trouble = str(error)
    assert not {"\n", "\x1b"} & set(trouble)
    assert all(message["jsonrpc"] == "2.0" for message in agent.told)


@given(st.lists(METHODS.filter(bool), max_size=5))
async def test_every_question_is_answered_once_and_under_its_number(methods: list[str]) -> None:
    questions: list[bytes | None] = [
        json.dumps({"jsonrpc": "2.0", "id": f"q{number}", "method": method}).encode()
        for number, method in enumerate(methods)
    ]
    agent = Lines([*questions, b'{"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}'])
    await AcpConnection(cast("ProcessDialogue", agent), told, asked).ask(
        "session/new", {}, NewSessionResponse
    )
    assert [message["id"] for message in agent.told] == [1, *(f"q{number}" for number in range(len(methods)))]
    assert all("result" in message or "error" in message for message in agent.told[1:])
