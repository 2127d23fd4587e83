"""Calls tools: finds whose session it is, checks what was sent, and words what was refused.

The laws of this file:

- A session is the one that the connection belongs to, or the one that the host's plugin names in the call, in
  the argument `session`, which no tool lists. It is never guessed.
- A caller that is known to work in one project calls for no session of another.
- What is not in a tool's Struct is refused, and so is what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.model.session import Session, SessionKey
from sidecar.policy.journal import JournalError
from sidecar.ports import BadInputError
from sidecar.servers.tools.tool import (
    SHOWN,
    Answer,
    Call,
    Caller,
    RefusalError,
    Report,
    Tool,
    UnknownToolError,
    Words,
    quiet,
    shown,
)

SESSION: Final = "session"
"""The argument that hosts' plugins fill in."""

Find = Callable[[str, SessionKey | None], Session | None]
"""The session with this id, or of this key where one is given; None where it is not known."""


class Offer(Struct, frozen=True, kw_only=True):
    """A tool as clients see it; schemas are JSON Schema objects. The last three: see Tool."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    reads: bool
    repeats: bool
    asks: bool


class Toolbox:
    """All tools, by name; which of them are offered is the settings' matter."""

    def __init__(
        self, tools: Sequence[Tool], words: Words, find: Find, switched_on: Callable[[], Collection[str]]
    ) -> None:
        """`switched_on` gives the toolsets in force. Raises BadInputError where a tool is not described."""
        self._tools = {tool.name: tool for tool in tools}
        self._offers = {tool.name: _offer(tool, words) for tool in tools}
        self._find = find
        self._switched_on = switched_on
        self.words = words

    def offers(self) -> tuple[Offer, ...]:
        """What is switched on, in the order of the registry."""
        on = self._switched_on()
        return tuple(self._offers[tool.name] for tool in self._tools.values() if tool.toolset in on)

    async def call(
        self, name: str, arguments: Mapping[str, Any], caller: Caller, report: Report = quiet
    ) -> Answer:
        """Let a tool work; raises RefusalError and UnknownToolError."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(shown(name))
        if tool.toolset not in self._switched_on():
            raise RefusalError(self.words.say("switched-off", tool=name, toolset=tool.toolset))
        session = self._session(arguments.get(SESSION, ""), caller)
        given = self._given(tool, {key: value for key, value in arguments.items() if key != SESSION})
        try:
            return await tool.work(Call(session=session, author=caller.author, report=report), given)
        except JournalError as error:
            raise RefusalError(self.words.say(error.rule, **error.values)) from error
        except BadInputError as error:
            raise RefusalError(str(error)) from error

    def _session(self, named: object, caller: Caller) -> Session:
        if not isinstance(named, str):
            raise RefusalError(self.words.say("no-session"))
        bound = caller.bound
        if bound is None and not named:
            raise RefusalError(self.words.say("no-session"))
        if bound is not None and named not in ("", bound.id):
            raise RefusalError(self.words.say("other-session", session=shown(named)))
        session = self._find(named, bound)
        if session is None:
            raise RefusalError(self.words.say("unknown-session", session=shown(named)))
        if caller.project and not _related(caller.project, session.project):
            raise RefusalError(self.words.say("other-project", session=shown(session.key.id)))
        return session

    def _given(self, tool: Tool, arguments: Mapping[str, Any]) -> Struct:
        """Raises RefusalError."""
        fields = {field.encode_name for field in msgspec.structs.fields(tool.takes)}
        if unknown := [name for name in arguments if name not in fields]:
            why = f"there is no argument {shown(unknown[0])!r}"
        else:
            try:
                return msgspec.convert(arguments, tool.takes)
            except msgspec.ValidationError as error:
                why = shown(str(error), 3 * SHOWN)
        takes = ", ".join(sorted(fields)) or "nothing"
        raise RefusalError(self.words.say("bad-arguments", tool=tool.name, why=why, takes=takes))


def _related(one: str, other: str) -> bool:
    """Whether one folder is the other, or lies in it."""
    left, right = PurePath(one), PurePath(other)
    return left.is_relative_to(right) or right.is_relative_to(left)


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
        reads=tool.reads,
        repeats=tool.repeats,
        asks=tool.asks,
    )


def _schema(kind: type[Struct]) -> dict[str, Any]:
    """The schema of a Struct with an object at its root, as MCP wants it, and without our names."""
    (_,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for part in parts.values():
        for ours in ("title", "description"):
            part.pop(ours, None)
    root = parts.pop(kind.__name__)
    return {**root, "$defs": parts} if parts else root
