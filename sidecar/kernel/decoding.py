"""Decoding what others wrote: JSON of models and hosts, and Markdown files with a head of YAML.

The JSON schema that asks a model for a Struct uses the subset that structured outputs support. What it cannot
express (bounds, patterns) goes into the descriptions; msgspec enforces it on the answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import FieldInfo

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import one_printable_line, repair_json

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
UNLISTED_KEY: Final = "unlisted"
UNLISTED: Final = Meta(extra_json_schema={UNLISTED_KEY: True})
"""Marks an argument of a tool that is taken and documented, but that no list shows to a model."""
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
    described = [" ".join(schema.get("description", "").split())]
    described += [f"{key} {schema[key]}" for key in SCHEMA_BOUND_KEYS if key in schema]
    said = "; ".join(filter(None, described))
    return out | ({"description": said} if said else {})


ENUMERATION_ERROR: Final = re.compile(r"Invalid enum value .*?(?: - at `\$\.?([^`]*)`)?$", re.DOTALL)
"""How msgspec words that a value is not one of an enumeration, with the place of it."""


def allowed_values(why: str, schema: SchemaObject) -> str:
    """Return the values that are allowed where an enumeration was not met; "" for any other refusal."""
    found, defined = ENUMERATION_ERROR.match(why), schema.get("$defs", {})
    for name in (found[1] or "").split(".") if found else ():
        field, _, item = name.partition("[")
        schema = schema.get("properties", {}).get(field, {}) if field else schema
        schema = schema.get("items", {}) if item else schema
    either = [defined.get(one.get("$ref", "")[8:], one) for one in (schema, *schema.get("anyOf", ()))]
    values = ", ".join(str(value) for one in either for value in one.get("enum", ())) if found else ""
    return f"; allowed: {values}" if values else ""


# --- Reads JSON that others wrote ---------------------------------------------------------------------------


UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)
"""What a decoder raises for JSON that cannot be read."""

K = TypeVar("K")


def decode_repaired(raw: bytes | Raw, decoder: msgspec.json.Decoder[K]) -> K:
    """Decode JSON that others wrote, repaired where that is needed (`repair_json`). Raises UNREADABLE."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise
    except UNREADABLE:
        return decoder.decode(repair_json(bytes(raw)))


def read_json(text: bytes | str | Raw, kind: type[K]) -> K | None:
    """Return JSON as a Struct or another type; None for what is no JSON, or none of this type."""
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE:
        return None


# --- Instructions for agents: a Markdown file with a head of YAML and a text below it -----------------------
# Skills and agents are such files. Each is named in its head as its file is, so a folder holds a name once.


HEAD: Final = re.compile(r"---\r?\n(?P<head>.*?\n)---\r?\n(?P<body>.*)", re.DOTALL)
HEAD_LINE: Final = 2
"""The line of a file on which its head begins, counted from 1."""
YAML_ERRORS: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What the YAML reader raises beside its own errors, for a date or a tag with a wrong value."""

Head = TypeVar("Head", bound=Struct)


class InstructionKind(StrEnum):
    """What the instructions of a file are for. The value begins the ID under which one is approved."""

    SKILL = "skill"
    AGENT = "agent"

    @property
    def folder(self) -> str:
        """The folder's name: in rubric/, beside the user's configuration and in a project's .supervisor/."""
        return f"{self}s"


class PromptHead(Struct, frozen=True, kw_only=True):
    """The head of a worker's prompt that ships: the tools and the model that it asks for."""

    name: str
    about: str
    tools: tuple[str, ...]
    model: str = ""


def parse_instructions(content: str, source: str, head: type[Head], named_by: str) -> tuple[Head, str]:
    """Return a file's head and text; the field `named_by` must hold the file's name.

    Raises BadInputError, with a line for each fault: the file, the line in it, the field, what is wrong.
    """
    parts = HEAD.fullmatch(content)
    if parts is None:
        raise BadInputError(f"{source}: it begins with a head between two lines `---`, the text is below")
    try:
        values = msgspec.yaml.decode(parts["head"], type=dict[str, object])
    except (msgspec.DecodeError, *YAML_ERRORS) as error:
        said = " ".join(str(error).replace('in "<unicode string>", ', "in the head, ").split())
        raise BadInputError(f"{source}: the head is not `field: value` in YAML: {said}") from None
    faults = list(_find_faults(values, head))
    if not faults and source.rpartition("/")[2] != f"{values[named_by]}.md":
        faults = [(named_by, f"it must be the name of the file; so name the file {values[named_by]}.md")]
    if faults:
        lines = (f"{source}{_say_line(parts['head'], name)}: {name}: {fault}" for name, fault in faults)
        raise BadInputError("\n".join(lines))
    if not parts["body"].strip():
        raise BadInputError(f"{source}: there is no text below the head")
    return msgspec.convert(values, head), parts["body"]


def _find_faults(values: dict[str, object], head: type[Struct]) -> Iterator[tuple[str, str]]:
    """Yield the name of each faulty field and what is wrong, in the order of the fields."""
    fields = {field.name: field for field in msgspec.structs.fields(head)}
    for name, field in fields.items():
        if fault := _field_fault(values, field):
            yield name, fault
    for name in values.keys() - fields.keys():
        yield name, f"there is no such field; there are {', '.join(fields)}"


def _field_fault(values: dict[str, object], field: FieldInfo) -> str:
    if field.name not in values:
        return "is missing" if field.required else ""
    try:
        msgspec.convert(values[field.name], field.type)
    except msgspec.ValidationError as error:
        allowed = allowed_values(str(error), msgspec.json.schema(field.type))
        return str(error).replace("`$", f"`{field.name}") + allowed
    return ""


def _say_line(head: str, name: str) -> str:
    lines = [line.partition(":")[0].strip("\"' ") for line in head.splitlines()]
    return f":{lines.index(name) + HEAD_LINE}" if name in lines else ""
