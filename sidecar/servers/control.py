"""What methods may know of the sidecar process in which they run, and request from it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Raw, Struct

from sidecar.kernel.session import MemoryGap

DRAIN_S: Final = 30.0
"""Seconds that requests in progress have to finish when a sidecar makes room for a newer one."""


SendLine = Callable[[bytes], Awaitable[None]]
"""Sends one line and waits until there is room for the next; lost where the peer has left."""
LineProtocol = Callable[[AsyncIterator[bytes], SendLine], Awaitable[None]]
"""Another protocol, which takes over the peer's lines.

It takes them until the peer leaves, or until the sidecar ends and nothing is in progress. It is cancelled
when `patience_s` is over.
"""


class Peer(Protocol):
    """The caller of a method. When it leaves, what it asked for is cancelled."""

    @property
    def pid(self) -> int:
        """Its process id as the system says, 0 where unknown."""

    def notify(self, method: str, params: Struct | None = None) -> None:
        """Send it a notification; lost where it has just left."""

    async def push(self, method: str, params: Struct) -> None:
        """Send it a notification and wait until there is room for the next; lost where it has just left."""

    async def ask(self, method: str, params: Struct | None = None) -> Raw:
        """Ask it; return the result's JSON. Raises PeerError where it refuses or leaves. No deadline."""

    def hand_over(self, speak: LineProtocol) -> None:
        """Let `speak` take the lines after the current request, for whose answer the peer waits."""


Handler = Callable[[Raw, Peer], Awaitable[Raw | bytes]]
"""Takes the parameters (use rpc.read_params), returns JSON. The peer is sent a BadInputError."""

Methods = Mapping[str, Handler]

BackgroundWork = Callable[[], Coroutine[Any, Any, None]]
"""Work without a request. It is cancelled when the sidecar ends, and may end before."""


class SidecarControl:
    """State of one sidecar process.

    `log` is the file to which internal errors are written. `idle_s`: seconds without a connection after which
    the sidecar ends by itself. `beside` is background work, started when the methods are built. Wiring may
    set these two while it builds the methods; everything else belongs to the event loop. `visitors` counts
    clients served without a connection to our socket; `stirred` is called when one comes or leaves.
    `tool_calls` counts the calls in progress of those that speak MCP.
    `gap`: what cannot be known of the time before this process. `is_watched`: whether an agent is at work, so
    that the socket is looked after; `reopened` is called when it had to be made again. `refuses_order`
    says why a process may not order something, "" where it may. `working`: what waiting peers are told.
    Wiring sets these four, too.
    """

    def __init__(self, version: str, log: Path, *, idle_s: float = 3600.0) -> None:
        """Describe this process."""
        self.version = version
        self.pid = os.getpid()
        self.log = log
        self.idle_s = idle_s
        self.beside: list[BackgroundWork] = []
        self.connections = 0
        self.visitors = 0
        self.tool_calls: Callable[[], int] = lambda: 0
        self.gap = MemoryGap.NONE
        self.is_watched: Callable[[], bool] = lambda: False
        self.reopened: Callable[[], None] = lambda: None
        self.by_signal = False
        self.is_agent: Callable[[int], bool] = lambda _pid: False
        self.refuses_order: Callable[[str, int], str] = lambda _name, _pid: ""
        self.working: Callable[[], Struct | None] = lambda: None
        self.stirred: Callable[[], None] = lambda: None
        self.exit_code = 0
        self.patience_s = 0.0
        self.ending = asyncio.Event()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Serve a visitor; the sidecar is not idle meanwhile."""
        self.visitors += 1
        self.stirred()
        try:
            yield
        finally:
            self.visitors -= 1
            self.stirred()

    def drain(self, patience_s: float = DRAIN_S) -> None:
        """Accept no more connections, finish what is in progress, at most `patience_s`, and end."""
        self.patience_s = max(self.patience_s, patience_s)
        self.ending.set()

    def stop_by_signal(self) -> None:
        """End now, and leave a sign that nobody ordered it."""
        self.by_signal = True
        self.stop()

    def stop(self) -> None:
        """End now: what is in progress is cancelled."""
        self.patience_s = 0.0
        self.ending.set()
