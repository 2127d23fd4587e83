"""The JSON Schemas of a tool's Structs.

What a tool takes is in every request to a model: its schema has no names of ours, no references, no default
that says nothing and no bound that nobody reaches, and leaves room for what hosts' plugins add. What a tool
gives is read by clients alone.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

DEFS: Final = "#/$defs/"
OURS: Final = ("title", "description", "additionalProperties")
"""What msgspec says for readers of Python, and what the toolbox itself sees to."""
FAR: Final = ("minLength", "maxLength", "minItems", "maxItems")
"""Bounds of texts and lists. The toolbox checks them, and says so to whoever passes them."""
PLAIN: Final[tuple[object, ...]] = ("", (), [], {}, None)
"""Defaults that say no more than that an argument may be left out."""

Schema = dict[str, Any]


def of_given(kind: type[Struct]) -> Schema:
    """Write the schema of what a tool gives; an object at its root, as MCP wants it."""
    root, parts = _parts(kind)
    return {**root, "$defs": parts} if parts else root


def of_taken(kind: type[Struct]) -> Schema:
    """Write the schema of what a tool takes, as short as it can be. No Struct of it may hold itself."""
    root, parts = _parts(kind)
    return {"type": "object", "properties": {}} | _short(root, parts)


def _parts(kind: type[Struct]) -> tuple[Schema, dict[str, Schema]]:
    """The schema at the root, and those that it refers to."""
    (_,), parts = msgspec.json.schema_components([kind], ref_template=DEFS + "{name}")
    for part in parts.values():
        for ours in OURS:
            part.pop(ours, None)
    return parts.pop(kind.__name__), parts


def _short(schema: Schema, parts: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        schema = parts[schema["$ref"].removeprefix(DEFS)] | schema
    found = {name: value for name, value in schema.items() if name not in ("$ref", *FAR)}
    if "default" in found and found["default"] in PLAIN:
        del found["default"]
    if not found.get("required", True):
        del found["required"]
    if "enum" in found and all(isinstance(one, str) for one in found["enum"]):
        found = {"type": "string", **found}
    if "properties" in found:
        found["properties"] = {name: _short(one, parts) for name, one in found["properties"].items()}
    if "items" in found:
        found["items"] = _short(found["items"], parts)
    if "anyOf" in found:
        return _one_of(found, parts)
    return found


def _one_of(schema: Schema, parts: dict[str, Schema]) -> Schema:
    """Several kinds. One that may also be null is one that may be left out, as far as a model must know."""
    kinds = [_short(one, parts) for one in schema.pop("anyOf") if one != {"type": "null"}]
    return {**kinds[0], **schema} if len(kinds) == 1 else {"anyOf": kinds, **schema}
