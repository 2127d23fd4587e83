"""Calls, whatever the tool: whose session it is, what fits, and what a fault becomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from servers.tools.desk import real_words
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Author
from sidecar.kernel.session import Session
from sidecar.kernel.text import clean_line
from sidecar.servers.tools.tool import (
    AgentTool,
    Caller,
    RefusalError,
    ToolAnswer,
    ToolInvocation,
    clip_printable,
)
from sidecar.servers.tools.toolbox import Toolbox
from sidecar.systems.iteration.policy.journal import JournalError
from support.cases import KEY, session
from support.clients import AnyClient


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    name: str = ""


class Takes(Struct, frozen=True, kw_only=True):
    part: Part = Part()
    parts: tuple[Part, ...] = ()
    text: str = ""


class Gives(Struct, frozen=True):
    said: str


def box(work: Callable[[ToolInvocation, Takes], ToolAnswer], find: Session | None = None) -> Toolbox:
    """One tool, `echo`, and one session."""

    async def working(call: ToolInvocation, taken: Takes) -> ToolAnswer:
        return work(call, taken)

    tool = AgentTool(name="echo", toolset="core", takes=Takes, gives=Gives, work=working)
    words = real_words(echo="Say what was given.")
    found = find or session()
    return Toolbox((tool,), words, AnyClient(lambda _ident, _key: found), lambda: ("core",))


def seen(call: ToolInvocation, taken: Takes) -> ToolAnswer:
    return ToolAnswer(Gives(f"{call.author} {call.session.key.id} {taken.part.name}"), repr(taken.parts))


CALLER = Caller(bound=KEY)


async def test_the_session_of_the_connection_needs_no_argument_and_may_be_named() -> None:
    for arguments in ({}, {"session": KEY.id}, {"session": ""}):
        answer = await box(seen).call("echo", arguments, Caller(bound=KEY, author=Author.USER))
        assert answer.data == Gives("user s1 ")


async def test_a_list_or_an_object_may_come_as_a_text_of_json_and_a_text_stays_a_text() -> None:
    given = {"part": '{"name": "x"}', "parts": '[{"name": "y"}]', "text": '{"name": "z"}'}
    taken: list[Takes] = []

    def work(_call: ToolInvocation, found: Takes) -> ToolAnswer:
        taken.append(found)
        return ToolAnswer(Gives(""), "")

    await box(work).call("echo", given, CALLER)
    assert taken == [Takes(part=Part("x"), parts=(Part("y"),), text='{"name": "z"}')]


async def test_a_field_of_a_part_that_nobody_knows_is_refused_and_half_a_character_too() -> None:
    for part, why in (({"nme": "x"}, "unknown field `nme`"), ({"\ud800": 1}, "half of a character")):
        with pytest.raises(RefusalError, match=why):
            await box(seen).call("echo", {"part": part}, CALLER)


async def test_what_nests_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for name in ("part", "parts", "text"):
        with pytest.raises(RefusalError, match="do not fit"):
            await box(seen).call("echo", {name: deep}, CALLER)
    while deep:  # taken apart by hand: freeing it as a whole nests as deep
        deep = deep.pop()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (JournalError("journal-cycle", path="T1 -> T1"), "cycle: T1 -> T1"),
        (BadInputError("the file is broken"), "the file is broken"),
        (PermissionError(13, "Permission denied", "/home/user/x"), "Permission denied"),
        (RefusalError("no"), "^no$"),
    ],
)
async def test_what_a_tool_raises_is_a_refusal_in_words(error: Exception, said: str) -> None:
    def work(_call: ToolInvocation, _taken: Takes) -> ToolAnswer:
        raise error

    with pytest.raises(RefusalError, match=said) as caught:
        await box(work).call("echo", {}, CALLER)
    assert "/home" not in str(caught.value)


@pytest.mark.parametrize("error", [ValueError("ours"), asyncio.CancelledError()])
async def test_a_fault_of_ours_and_a_cancelling_are_no_refusals(error: BaseException) -> None:
    def work(_call: ToolInvocation, _taken: Takes) -> ToolAnswer:
        raise error

    with pytest.raises(type(error)):
        await box(work).call("echo", {}, CALLER)


def test_every_rule_of_the_journal_has_its_words() -> None:
    words = real_words()
    for rule in RULES:
        assert words.say(rule)


RULES = (
    "journal-no-tasks", "journal-too-many", "journal-waits", "journal-claimed", "journal-cycle",
    "journal-unknown-task",
    "journal-open-tasks", "journal-empty-text", "journal-long-text", "journal-full",
)  # fmt: skip


@given(st.text(max_size=200))
def test_what_is_shown_of_a_text_is_short_and_printable(text: str) -> None:
    assert clip_printable(text) == clean_line(clip_printable(text))
    assert len(clip_printable(text)) <= 80


@given(
    st.dictionaries(
        st.sampled_from(["session", "Session", "part", "parts", "x", ""]),
        st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5),
    )
)
async def test_whatever_the_arguments_are_a_tool_answers_or_refuses(arguments: dict[str, Any]) -> None:
    try:
        answer = await box(seen).call("echo", arguments, CALLER)
    except RefusalError:
        assert arguments
    else:
        assert set(arguments) <= {"session", "part", "parts"}
        assert answer.text
