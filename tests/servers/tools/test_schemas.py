"""What a tool takes, in the fewest words of JSON Schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec import Meta, Struct

from sidecar.kernel.decoding import UNLISTED
from sidecar.servers.tools.tool import list_schema, make_input_schema, make_output_schema


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(Struct, frozen=True, forbid_unknown_fields=True):
    """Ours to know."""

    x: Annotated[int, Meta(ge=0, le=9)]
    colour: Colour = Colour.RED


class Line(Struct, frozen=True, kw_only=True):
    points: Annotated[tuple[Point, ...], Meta(max_length=7)]
    name: Annotated[str, Meta(min_length=1, max_length=10)] = ""
    colour: Colour | None = None
    end: Point | None = None
    either: int | str = "none"


class Nothing(Struct, frozen=True):
    pass


class Belief(Struct, frozen=True, kw_only=True):
    end: Annotated[Point | None, UNLISTED] = None
    count: Annotated[int, Meta(ge=0, le=10**9)] = 1


class Beliefs(Struct, frozen=True, kw_only=True):
    name: str
    belief: Belief = Belief()
    other: Annotated[tuple[Colour, ...], UNLISTED] = ()


POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "minimum": 0, "maximum": 9},
        "colour": {"type": "string", "enum": ["blue", "red"], "default": "red"},
    },
    "required": ["x"],
}


def test_what_is_taken_stands_in_place_and_without_what_a_model_needs_not() -> None:
    assert make_input_schema(Line) == {
        "type": "object",
        "properties": {
            "points": {"type": "array", "items": POINT},
            "name": {"type": "string"},
            "colour": {"type": "string", "enum": ["blue", "red"]},
            "end": POINT,
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": "none"},
        },
        "required": ["points"],
    }


def test_a_list_shows_neither_what_is_unlisted_nor_what_an_earlier_tool_said() -> None:
    taken = make_input_schema(Beliefs)
    assert taken["properties"]["belief"]["properties"]["end"] == POINT | {"unlisted": True}
    name = taken["properties"]["name"] = {"type": "string", "description": "whose"}
    told: set[str] = set()
    count = {"type": "integer", "default": 1}
    assert list_schema(taken, told)["properties"] == {
        "name": name,
        "belief": {"type": "object", "properties": {"count": count}},
    }
    assert list_schema(taken, told)["properties"]["name"] == {"type": "string"}


def test_nothing_is_an_object_without_properties() -> None:
    assert make_input_schema(Nothing) == {"type": "object", "properties": {}}


def test_what_is_given_keeps_its_parts_and_leaves_out_our_names() -> None:
    found = make_output_schema(Line)
    Draft202012Validator.check_schema(found)
    assert set(found["$defs"]) == {"Point", "Colour"}
    assert "Ours to know" not in str(found)
    validator = Draft202012Validator(found)
    assert validator.is_valid({"points": [{"x": 1, "colour": "blue"}], "end": None})
    assert not validator.is_valid({"points": [{"x": 1, "colour": "green"}]})
