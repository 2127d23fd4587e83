"""Which processes gave an order, as the system says (law 9)."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Process(Struct, frozen=True, kw_only=True):
    """A running process.

    `leader` is the process id of its session's leader; `started` is in seconds since the epoch; `terminal`:
    it has a controlling terminal.
    """

    pid: int
    parent: int = 0
    name: str = ""
    started: float = 0.0
    leader: int = 0
    terminal: bool = False


Ancestry = tuple[Process, ...]
"""A process, its parent, and so on up to the first one that can be seen. Empty: nothing is known."""


class Giver(StrEnum):
    """Who gave an order. UNSURE: nothing shows whether a person did."""

    USER = "user"
    AGENT = "agent"
    UNSURE = "unsure"


class Origin(Struct, frozen=True):
    """Who gave an order, and in a few words by which processes."""

    giver: Giver
    seen: str
