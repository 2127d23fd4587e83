"""What a tool is, whatever protocol carries it.

The laws of this file:

- One Struct says what a tool takes: the schema that clients see and the check of what they send are the same.
- What a model reads stands in rubric/tools.md: `## NAME` describes the tool, `## NAME.FIELD` one of its
  fields, or `## .FIELD` for every tool with such a field.
- A refusal says what to do instead. What a client sent is never repeated whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from string import Template
from typing import Any, Final

from msgspec import Struct

from sidecar.model.journal import Author
from sidecar.model.session import Session, SessionKey
from sidecar.model.settings import TOOLSET
from sidecar.ports import BadInputError

SHOWN: Final = 80
"""Characters of what a client sent that a refusal may repeat."""
TEXTS: Final = "tools.md"

Report = Callable[[float, float, str], Awaitable[None]]
"""Tells whoever waits how far a call is: done, of how much in all, and what it is at."""


async def quiet(_done: float, _total: float, _what: str) -> None:
    """Tell nobody."""


class RefusalError(Exception):
    """A tool does not do what was asked. The message is for the model that asked."""


class UnknownToolError(Exception):
    """There is no tool of this name."""


class Nothing(Struct, frozen=True):
    """What a tool takes that takes nothing."""


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls, as far as the door knows.

    `bound` is the session that the connection belongs to, None where the host's plugin names one in each
    call. `project` is the folder that the caller works in, "" where the door cannot know it.
    """

    bound: SessionKey | None = None
    project: str = ""
    author: Author = Author.AGENT


class Call(Struct, frozen=True, kw_only=True):
    """One call: for which session, by whom, and where to tell of progress."""

    session: Session
    author: Author
    report: Report = quiet


class Answer(Struct, frozen=True):
    """What a tool found: the data, an instance of what the tool gives, and the same in readable words."""

    data: Struct
    text: str


class Tool(Struct, frozen=True, kw_only=True):
    """One tool.

    `work` gets the call and an instance of `takes`; it raises RefusalError, JournalError, BadInputError.
    `reads`: it changes nothing. `repeats`: calling it once more with the same arguments changes nothing more.
    `asks`: it makes something run, so nobody is spared what the host asks before a call.
    """

    name: str
    toolset: TOOLSET
    takes: type[Struct]
    gives: type[Struct]
    work: Callable[[Call, Any], Awaitable[Answer]]
    reads: bool = False
    repeats: bool = False
    asks: bool = False


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


def shown(text: str, limit: int = SHOWN) -> str:
    """Cut a client's text and take its control characters out."""
    cut = text[:limit]
    return "".join(char if char.isprintable() else " " for char in cut) + ("..." if text[limit:] else "")
