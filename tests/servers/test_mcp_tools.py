"""What agents are offered, and what they are told: by schema, in words, and when they ask wrongly."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from servers.mcp_clients import CONDITION, real_words
from sidecar.app.people import People
from sidecar.ports import BadInputError
from sidecar.servers.mcp.core import Core
from sidecar.servers.mcp.tool import Answer, RefusalError, Toolbox, UnknownToolError, Words, shown
from support.cases import KEY, RUBRIC, goal, session
from support.fakes import Fakes

LIST_LIMIT = 1_500
"""Tokens of the list of tools; three bytes to a token is more than any tokenizer makes of English JSON."""
NAMES = ("status", "rubric")


@pytest.fixture
def fakes() -> Fakes:
    fakes = Fakes()
    fakes.store.save(session(goal=goal(CONDITION)))
    return fakes


@pytest.fixture
def toolbox(fakes: Fakes) -> Toolbox:
    words = real_words()
    core = Core(People(fakes.house, fakes.supervisor), fakes.house.rubrics, words)
    return Toolbox(core.tools(), words)


def json(found: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(found))


def data(answer: Answer) -> Any:
    return json(answer.data)


def test_the_list_is_short_and_every_tool_and_field_is_described(toolbox: Toolbox) -> None:
    assert tuple(offer.name for offer in toolbox.offers) == NAMES
    assert len(msgspec.json.encode(toolbox.offers)) / 3 < LIST_LIMIT
    for offer in toolbox.offers:
        assert 20 < len(offer.description) < 200
        assert all(schema["description"] for schema in offer.input_schema["properties"].values())


def test_schemas_are_objects_at_their_root_and_say_nothing_of_our_names(toolbox: Toolbox) -> None:
    for offer in toolbox.offers:
        for schema in (offer.input_schema, offer.output_schema):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "title" not in schema
        assert offer.input_schema["required"] == []
        assert offer.input_schema["additionalProperties"] is False


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_tool_gives_fits_the_schema_that_was_offered(toolbox: Toolbox, name: str) -> None:
    (offer,) = (offer for offer in toolbox.offers if offer.name == name)
    answer = await toolbox.call(name, {"session": KEY.id})
    Draft202012Validator(offer.output_schema).validate(data(answer))


async def test_the_status_tells_goal_budget_and_exit_code(toolbox: Toolbox) -> None:
    answer = await toolbox.call("status", {"session": KEY.id})
    found = data(answer)
    assert (found["session"], found["host"]) == (KEY.id, KEY.host)
    assert (found["status"], found["exit_code"]) == ("active", 1)
    assert CONDITION in answer.text
    assert "continuations 0/16" in answer.text


async def test_a_session_without_a_goal_is_told_so_and_that_is_no_error(
    fakes: Fakes, toolbox: Toolbox
) -> None:
    fakes.store.save(session())
    answer = await toolbox.call("status", {"session": KEY.id})
    assert (data(answer)["status"], data(answer)["exit_code"]) == ("none", 3)
    assert "no goal is set" in answer.text


async def test_the_rubric_tells_its_file_and_every_criterion_in_words_and_as_data(toolbox: Toolbox) -> None:
    answer = await toolbox.call("rubric", {"session": KEY.id})
    found = data(answer)
    assert found["file"] == RUBRIC.origin
    assert found["patterns"] == json(RUBRIC.patterns)
    assert found["antipatterns"] == json(RUBRIC.antipatterns)
    for criterion in (*RUBRIC.criteria, *RUBRIC.legitimate):
        assert criterion.name in answer.text
    assert "$" not in answer.text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments", [{}, {"session": ""}])
async def test_a_call_that_names_no_session_is_told_how_it_gets_one(
    toolbox: Toolbox, name: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(RefusalError, match=r"(?s)plugin.*do not guess.*supervisor install"):
        await toolbox.call(name, arguments)


@pytest.mark.parametrize("name", NAMES)
async def test_an_unknown_session_is_an_error_and_shown_cut_and_without_control_characters(
    toolbox: Toolbox, name: str
) -> None:
    with pytest.raises(RefusalError, match=r'knows no session "a b c+\.\.\."') as caught:
        await toolbox.call(name, {"session": "a\x1bb\n" + "c" * 1_000_000})
    assert len(str(caught.value)) < 1_000
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"session": 3}, "Expected `str`, got `int` - at `$.session`"),
        ({"session": None}, "got `null`"),
        ({"session": ["s1"]}, "got `array`"),
        ({"session": "s1", "sesion": "s1"}, "unknown field `sesion`"),
        ({"x" * 1_000_000: 1}, "unknown field `xxx"),
    ],
)
async def test_wrong_arguments_are_named_and_what_to_do_is_said(
    toolbox: Toolbox, arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(RefusalError) as caught:
        await toolbox.call("status", arguments)
    assert why in str(caught.value)
    assert "Call again without arguments" in str(caught.value)
    assert len(str(caught.value)) < 1_000


async def test_an_unknown_tool_is_no_refusal_but_a_fault_of_the_client(toolbox: Toolbox) -> None:
    with pytest.raises(UnknownToolError, match=r"^stat us"):
        await toolbox.call("stat\nus" + "x" * 1_000_000, {})


def test_a_tool_without_a_description_is_not_offered(fakes: Fakes) -> None:
    words = Words({"status": "Where it stands."})
    core = Core(People(fakes.house, fakes.supervisor), fakes.house.rubrics, words)
    with pytest.raises(BadInputError, match=r"## rubric.*install"):
        Toolbox(core.tools(), words)


@given(st.text(max_size=200))
def test_what_is_shown_of_a_text_is_short_and_printable(text: str) -> None:
    assert shown(text).isprintable()
    assert len(shown(text)) <= 83


@given(
    st.dictionaries(
        st.sampled_from(["session", "Session", "x", ""]),
        st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5),
    )
)
async def test_whatever_the_arguments_are_a_tool_answers_or_refuses(arguments: dict[str, Any]) -> None:
    fakes = Fakes()
    words = real_words()
    core = Core(People(fakes.house, fakes.supervisor), fakes.house.rubrics, words)
    with pytest.raises(RefusalError):
        await Toolbox(core.tools(), words).call("status", arguments)
