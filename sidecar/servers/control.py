"""What the methods may know of the process they run in, and ask of it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Raw, Struct

DRAIN_S: Final = 30.0
"""Seconds that requests under way get to finish when a sidecar makes room for a newer one."""


Say = Callable[[bytes], Awaitable[None]]
"""Sends one line and waits until there is room for the next; lost where the peer has left."""
Speak = Callable[[AsyncIterator[bytes], Say], Awaitable[None]]
"""Another protocol: takes the peer's lines until it leaves, or until the sidecar ends and nothing is under
way. Cancelled when patience is out."""


class Peer(Protocol):
    """Whoever called a method. When it leaves, what it asked for is cancelled."""

    def notify(self, method: str, params: Struct | None = None) -> None:
        """Tell it something; lost where it has just left."""

    async def ask(self, method: str, params: Struct | None = None) -> Raw:
        """Ask it something; the result's JSON. Raises PeerError where it refuses or leaves. No deadline."""

    def hand_over(self, speak: Speak) -> None:
        """Let `speak` have what comes after the request that is being answered: its peer waits for that."""


class PeerError(Exception):
    """A peer refused what it was asked, or left before it answered."""


Handler = Callable[[Raw, Peer], Awaitable[Raw | bytes]]
"""Takes the parameters (use wire.read) and returns the result's JSON. BadInputError is told to the peer."""

Methods = Mapping[str, Handler]

Beside = Callable[[], Coroutine[Any, Any, None]]
"""Work that nobody asked for. It is cancelled when the sidecar ends, and may end before."""


class Control:
    """One sidecar's process.

    `log` is the file that internal errors are written to. `idle_s`: seconds without a connection after which
    it ends by itself; `beside` is what runs beside the serving, from when the methods are built. Wiring may
    set these two while it builds the methods. All else belongs to the event loop. `visitors` counts who is
    served without a connection to our socket; `stirred` is called when one comes or leaves.
    """

    def __init__(self, version: str, log: Path, *, idle_s: float = 3600.0) -> None:
        """Speak for this process."""
        self.version = version
        self.pid = os.getpid()
        self.log = log
        self.idle_s = idle_s
        self.beside: list[Beside] = []
        self.connections = 0
        self.visitors = 0
        self.stirred: Callable[[], None] = _nobody
        self.exit_code = 0
        self.patience_s = 0.0
        self.ending = asyncio.Event()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Serve a visitor: the sidecar is not idle meanwhile."""
        self.visitors += 1
        self.stirred()
        try:
            yield
        finally:
            self.visitors -= 1
            self.stirred()

    def drain(self, patience_s: float = DRAIN_S) -> None:
        """Take nobody in any more, finish what is under way, at most `patience_s`, and end."""
        self.patience_s = max(self.patience_s, patience_s)
        self.ending.set()

    def stop(self) -> None:
        """End now: what is under way is cancelled."""
        self.patience_s = 0.0
        self.ending.set()


def _nobody() -> None:
    """Nobody waits for visitors."""


def newer(one: str, other: str) -> bool:
    """Whether version `one` is newer than `other`: by the numbers they begin with."""
    return _numbers(one) > _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    return tuple(int(number) for number in found[0].split(".")) if found else ()
