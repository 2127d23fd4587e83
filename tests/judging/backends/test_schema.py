"""The schema of a verdict: what the subset of structured outputs can say, and what is said in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from sidecar.judging.backends.answer import answer_schema
from sidecar.kernel.evidence import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from parts(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from parts(inner)


def test_the_schema_keeps_to_what_structured_outputs_take() -> None:
    allowed = {
        "type",
        "enum",
        "const",
        "description",
        "anyOf",
        "items",
        "properties",
        "required",
        "additionalProperties",
    }
    schema = answer_schema()
    assert schema["type"] == "object"
    for part in parts(schema):
        if "type" in part and isinstance(part["type"], str):
            assert part.keys() <= allowed
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


def test_what_the_schema_cannot_say_is_said_in_words() -> None:
    text = json.dumps(answer_schema())
    for words in ("minItems 1", "maxItems 50", "maxLength 1000", "pattern ^E[0-9]{1,4}$", "maximum 1"):
        assert words in text


def test_every_verdict_that_fits_the_struct_has_a_place_in_the_schema() -> None:
    verdicts = {
        choice["properties"]["verdict"]["enum"][0]
        for choice in answer_schema()["properties"]["answer"]["anyOf"]
    }
    whole = msgspec.json.schema(Answer)["$defs"]["Answer"]["properties"]["answer"]["discriminator"]["mapping"]
    assert verdicts == set(whole)
