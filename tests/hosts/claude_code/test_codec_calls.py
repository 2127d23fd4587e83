"""Calls of our own tools: what Claude Code tells before it makes one, and what it reads."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_code.payloads import decode, payload
from sidecar.hosts.claude_code.codec import ClaudeCodeCodec
from sidecar.kernel.effects import ToolCallReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import ToolCalled

PLUGIN = "mcp__plugin_supervisor_supervisor__"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    st.lists,
    max_leaves=5,
)


def called(tool: str, given: object = None, **fields: Any) -> bytes:
    return payload("PreToolUse", tool_name=tool, tool_input=given or {}, tool_use_id="toolu_1", **fields)


def answered(raw: bytes, *, spared: bool = True) -> Any:
    answer = ToolCallReply(session="s-1", spared=spared)
    return json.loads(ClaudeCodeCodec().encode(raw, answer, ""))["hookSpecificOutput"]


@pytest.mark.parametrize(("server", "certain"), [(PLUGIN, True), ("mcp__supervisor__", False)])
def test_a_call_is_known_by_our_own_name_and_by_whether_the_server_is_surely_ours(
    server: str,
    certain: bool,  # noqa: FBT001 - a table
) -> None:
    told = decode(called(f"{server}task_add", {"content": "x"}))
    assert isinstance(told, ToolCalled)
    assert (told.tool, told.certain, told.key.id, told.subagent) == ("task_add", certain, "s-1", False)


def test_a_call_of_a_helper_belongs_to_the_session_that_it_helps() -> None:
    told = decode(called(f"{PLUGIN}status", agent_id="a-1"))
    assert isinstance(told, ToolCalled)
    assert (told.key.id, told.subagent) == ("s-1", True)


@pytest.mark.parametrize("tool", ["Bash", "mcp__other__status", "mcp__supervisor_status", "x" * 5000])
def test_a_call_that_is_not_ours_is_refused_as_no_hook_of_ours_asks_for_it(tool: str) -> None:
    with pytest.raises(BadInputError, match="is no tool of ours") as refused:
        decode(called(tool))
    assert len(str(refused.value)) < 200


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_the_call_keeps_its_arguments_and_is_told_whose_it_is(arguments: dict[str, Any]) -> None:
    got = answered(called(f"{PLUGIN}task_add", arguments))["updatedInput"]
    assert got == {**json.loads(json.dumps(arguments)), "session": "s-1"}


@pytest.mark.parametrize("said", ["another", 7, None, {"deep": []}, ""])
def test_what_the_model_says_about_the_session_is_overwritten(said: object) -> None:
    assert answered(called(f"{PLUGIN}status", {"session": said}))["updatedInput"] == {"session": "s-1"}


def test_a_session_that_the_model_names_twice_is_overwritten_twice() -> None:
    raw = called(f"{PLUGIN}status").replace(
        b'"tool_input": {}', b'"tool_input": {"session": "a", "session": "b"}'
    )
    assert b'"b"' in raw
    assert answered(raw)["updatedInput"] == {"session": "s-1"}


def test_leave_is_given_by_allow_and_never_taken() -> None:
    assert answered(called(f"{PLUGIN}status"))["permissionDecision"] == "allow"
    asked = answered(called(f"{PLUGIN}gates_run"), spared=False)
    assert asked == {"hookEventName": "PreToolUse", "updatedInput": {"session": "s-1"}}


@pytest.mark.parametrize("bad", [b"[]", b'"x"', b"7"])
def test_arguments_that_are_no_object_get_no_answer(bad: bytes) -> None:
    raw = called(f"{PLUGIN}status").replace(b'"tool_input": {}', b'"tool_input": ' + bad)
    assert bad in raw
    with pytest.raises(BadInputError):
        answered(raw)


def test_arguments_of_any_depth_and_half_characters_do_no_harm() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    for strange in (deep, b'"\\ud800"'):
        raw = called(f"{PLUGIN}status").replace(
            b'"tool_input": {}', b'"tool_input": {"content": %b}' % strange
        )
        assert strange in raw
        try:
            written = ClaudeCodeCodec().encode(raw, ToolCallReply(session="s-1", spared=True), "")
        except BadInputError:
            continue
        assert msgspec.json.decode(written, type=dict[str, msgspec.Raw])
