"""The JSON schema of a verdict, in the subset that structured outputs take.

What the subset cannot say (bounds, patterns) goes into the descriptions; msgspec enforces it on the answer.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from sidecar.model.verdict import Answer

Schema = dict[str, Any]
KEPT: Final = ("type", "enum", "const")
BOUNDS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")


def answer_schema() -> Schema:
    """The schema of Answer with its root in place, every object closed and every property required."""
    schema = msgspec.json.schema(Answer)
    defined: Schema = schema["$defs"]
    return _loose(defined["Answer"], defined)


@cache
def schema_text() -> str:
    """The same as one line of JSON."""
    return msgspec.json.encode(answer_schema()).decode()


def _loose(schema: Schema, defined: Schema) -> Schema:
    if "$ref" in schema:
        return _loose(defined[schema["$ref"].rpartition("/")[2]], defined)
    out: Schema = {key: schema[key] for key in KEPT if key in schema}
    if "enum" in schema:
        out["type"] = "string"
    if "anyOf" in schema:
        out["anyOf"] = [_loose(one, defined) for one in schema["anyOf"]]
    if "properties" in schema:
        out["properties"] = {name: _loose(one, defined) for name, one in schema["properties"].items()}
        out |= {"required": list(out["properties"]), "additionalProperties": False}
    if "items" in schema:
        out["items"] = _loose(schema["items"], defined)
    told = [" ".join(schema.get("description", "").split())]
    told += [f"{key} {schema[key]}" for key in BOUNDS if key in schema]
    said = "; ".join(filter(None, told))
    return out | ({"description": said} if said else {})
