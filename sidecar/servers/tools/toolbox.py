"""Calls tools: finds whose session it is, checks what was sent, and words what was refused.

The laws of this file:

- A session is the one that the connection belongs to, or the one that the host's plugin names in the call, in
  the argument `session`, which no tool lists. It is never guessed.
- A caller that is known to work in one project calls for no session of another.
- What is not in a tool's Struct is refused, and so is what does not fit. A list or an object may also be
  given as a text of JSON, since models often write it so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.model.session import Session, SessionKey
from sidecar.model.settings import TOOLSET
from sidecar.policy.journal import JournalError
from sidecar.ports import BadInputError
from sidecar.servers.tools.schemas import Schema, of_given, of_taken
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
    """A tool as clients see it; schemas are JSON Schema objects. `toolset` and the last three: see Tool."""

    name: str
    toolset: TOOLSET
    description: str
    input_schema: Schema
    output_schema: Schema
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

    def all_offers(self) -> tuple[Offer, ...]:
        """Every tool, switched on or off, in the order of the registry."""
        return tuple(self._offers.values())

    def offers(self) -> tuple[Offer, ...]:
        """What is switched on, in the order of the registry."""
        on = self._switched_on()
        return tuple(offer for offer in self._offers.values() if offer.toolset in on)

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
        except OSError as error:
            raise RefusalError(self.words.say("unkept", why=error.strerror or str(error))) from error

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
        known = self._offers[tool.name].input_schema["properties"]
        if unknown := [name for name in arguments if name not in known]:
            why = f"there is no argument {shown(unknown[0])!r}"
        else:
            given = {name: _unpacked(value, known[name]) for name, value in arguments.items()}
            try:
                return msgspec.convert(given, tool.takes)
            except (msgspec.ValidationError, RecursionError) as error:
                why = shown(str(error), 3 * SHOWN)
            except UnicodeError:
                why = "a text holds half of a character"
        takes = ", ".join(sorted(known)) or "nothing"
        raise RefusalError(self.words.say("bad-arguments", tool=tool.name, why=why, takes=takes))


def _unpacked(value: object, schema: Schema) -> object:
    """The list or object that is wanted, where it was given as a text of JSON; else the value as it is."""
    if not isinstance(value, str) or schema.get("type") not in ("array", "object"):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return value


def _related(one: str, other: str) -> bool:
    """Whether one folder is the other, or lies in it."""
    left, right = PurePath(one), PurePath(other)
    return left.is_relative_to(right) or right.is_relative_to(left)


def _offer(tool: Tool, words: Words) -> Offer:
    taken = of_taken(tool.takes)
    for field, schema in taken["properties"].items():
        if about := words.about(f"{tool.name}.{field}", f".{field}"):
            schema["description"] = about
    return Offer(
        name=tool.name,
        toolset=tool.toolset,
        description=" ".join(words.say(tool.name).split()),
        input_schema=taken,
        output_schema=of_given(tool.gives),
        reads=tool.reads,
        repeats=tool.repeats,
        asks=tool.asks,
    )
