"""What a tool is, whatever protocol carries it.

The laws of this file:

- One Struct says what a tool takes: the schema that clients see and the check of what they send are the same.
- What a model reads stands in rubric/tools.md: `## NAME` describes the tool, `## NAME.FIELD` one of its
  fields, or `## FIELD` for every tool with such a field.
- A refusal says what to do instead. What a client sent is never repeated whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from string import Template
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.ports import BadInputError

SHOWN: Final = 80
"""Characters of what a client sent that a refusal may repeat."""
TEXTS: Final = "tools.md"


class RefusalError(Exception):
    """A tool does not do what was asked. The message is for the model that asked."""


class UnknownToolError(Exception):
    """There is no tool of this name."""


class Answer(Struct, frozen=True):
    """What a tool found: the data, an instance of what the tool gives, and the same in readable words."""

    data: Struct
    text: str


class Tool(Struct, frozen=True, kw_only=True):
    """One tool. `work` gets an instance of `takes` and raises RefusalError."""

    name: str
    takes: type[Struct]
    gives: type[Struct]
    work: Callable[[Any], Awaitable[Answer]]


class Offer(Struct, frozen=True, kw_only=True):
    """A tool as clients see it; schemas are JSON Schema objects."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


class Words:
    """The sections of rubric/tools.md."""

    def __init__(self, sections: Mapping[str, str]) -> None:
        """`sections`: text by heading."""
        self._sections = sections

    def say(self, name: str, **values: str) -> str:
        """Give the section with its values filled in; raises BadInputError where it is missing or empty."""
        text = self._sections.get(name, "")
        if not text:
            raise BadInputError(
                f"rubric/{TEXTS}: the section `## {name}` is missing; install Supervisor again"
            )
        return Template(text).safe_substitute(values)

    def about(self, *names: str) -> str:
        """Give the first of these sections that is there, on one line; "" where none is."""
        found = (self._sections[name] for name in names if self._sections.get(name))
        return " ".join(next(found, "").split())


class Toolbox:
    """Some tools, by name."""

    def __init__(self, tools: Sequence[Tool], words: Words) -> None:
        """Offer these tools; raises BadInputError where one is not described."""
        self._tools = {tool.name: tool for tool in tools}
        self.words = words
        self.offers = tuple(_offer(tool, words) for tool in tools)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Let a tool work; raises RefusalError and UnknownToolError."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(shown(name))
        try:
            given = msgspec.convert(arguments, tool.takes)
        except msgspec.ValidationError as error:
            raise RefusalError(self.words.say("bad-arguments", why=shown(str(error), 3 * SHOWN))) from error
        return await tool.work(given)


def shown(text: str, limit: int = SHOWN) -> str:
    """Cut a client's text and take its control characters out."""
    cut = text[:limit]
    return "".join(char if char.isprintable() else " " for char in cut) + ("..." if text[limit:] else "")


def _offer(tool: Tool, words: Words) -> Offer:
    taken = _schema(tool.takes)
    for field, schema in taken["properties"].items():
        if about := words.about(f"{tool.name}.{field}", field):
            schema["description"] = about
    return Offer(
        name=tool.name,
        description=" ".join(words.say(tool.name).split()),
        input_schema=taken,
        output_schema=_schema(tool.gives),
    )


def _schema(kind: type[Struct]) -> dict[str, Any]:
    """The schema of a Struct with an object at its root, as MCP wants it, and without our names."""
    (_,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for part in parts.values():
        for ours in ("title", "description"):
            part.pop(ours, None)
    root = parts.pop(kind.__name__)
    return {**root, "$defs": parts} if parts else root
