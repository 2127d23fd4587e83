"""Instructions for agents: a Markdown file with a head of YAML, and the instructions as its text.

    ---
    name: review
    about: Reviews a change and says what must be mended.
    ---
    Review this change ...

Skills and agents are such files. Each is named in its head as its file is, so a folder holds a name once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from sidecar.kernel.errors import BadInputError

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
        told = (f"{source}{_say_line(parts['head'], name)}: {name}: {fault}" for name, fault in faults)
        raise BadInputError("\n".join(told))
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
        return str(error).replace("`$", f"`{field.name}")
    return ""


def _say_line(head: str, name: str) -> str:
    lines = [line.partition(":")[0].strip("\"' ") for line in head.splitlines()]
    return f":{lines.index(name) + HEAD_LINE}" if name in lines else ""
