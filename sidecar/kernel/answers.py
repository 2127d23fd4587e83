"""Answers of models: the JSON schema that asks for a Struct, and the JSON objects in a text.

The JSON schema uses the subset that structured outputs support. What the subset cannot express (bounds,
patterns) goes into the descriptions; msgspec enforces it on the answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Struct

from sidecar.kernel.text import one_printable_line

ANSWER_LIMIT: Final = 131_072
"""Maximum characters of an answer; a sensible one has a few thousand."""
OBJECT_STARTS_LIMIT: Final = 100
"""Opening braces of a text that are tried as the start of a JSON object."""
READ_LIMIT: Final = 4 * ANSWER_LIMIT
"""Maximum characters parsed from those braces on, summed over all of them."""


class InvalidAnswerError(Exception):
    """The model answered, but not in the requested form. The text says what is wrong."""


def last_json_object(text: str) -> str:
    """Return the source text of the last outermost object, "" if there is none. Raises InvalidAnswerError."""
    sources = [source for _, source in find_json_objects(text[-ANSWER_LIMIT:])]
    return sources[-1] if sources else ""


def find_json_objects(text: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the outermost JSON objects in a text, each with its source text."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_reject_duplicate_keys,
        parse_constant=_reject_number_constant,
        parse_int=str,
        parse_float=str,
    )
    start, room = text.find("{"), READ_LIMIT
    for _ in range(OBJECT_STARTS_LIMIT):
        if start < 0 or room < 0:
            return
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            room -= getattr(error, "pos", len(text)) - start
            start = text.find("{", start + 1)
        else:
            yield found, text[start:end]
            start = text.find("{", end)


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidAnswerError(f"the key {one_printable_line(name)} is there twice")
    return found


def _reject_number_constant(name: str) -> NoReturn:
    raise InvalidAnswerError(f"{name} is no number")


# --- The JSON schema of an answer ---------------------------------------------------------------------------


SchemaObject = dict[str, Any]
SCHEMA_KEYS: Final = ("type", "enum", "const")
SCHEMA_BOUND_KEYS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")


def strict_schema(kind: type[Struct]) -> SchemaObject:
    """Return the schema of a Struct, with references resolved, objects closed and properties required."""
    schema = msgspec.json.schema(kind)
    return _simplify_schema(schema, schema["$defs"])


def _simplify_schema(schema: SchemaObject, defined: SchemaObject) -> SchemaObject:
    if "$ref" in schema:
        return _simplify_schema(defined[schema["$ref"].rpartition("/")[2]], defined)
    out: SchemaObject = {key: schema[key] for key in SCHEMA_KEYS if key in schema}
    if "enum" in schema:
        out["type"] = "string"
    if "anyOf" in schema:
        out["anyOf"] = [_simplify_schema(one, defined) for one in schema["anyOf"]]
    if "properties" in schema:
        out["properties"] = {
            name: _simplify_schema(one, defined) for name, one in schema["properties"].items()
        }
        out |= {"required": list(out["properties"]), "additionalProperties": False}
    if "items" in schema:
        out["items"] = _simplify_schema(schema["items"], defined)
    told = [" ".join(schema.get("description", "").split())]
    told += [f"{key} {schema[key]}" for key in SCHEMA_BOUND_KEYS if key in schema]
    said = "; ".join(filter(None, told))
    return out | ({"description": said} if said else {})
