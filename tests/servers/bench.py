"""What a test of the servers speaks with: a peer in lines, and handlers that wait for the test."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Raw

from sidecar.kernel.errors import BadInputError
from sidecar.servers.control import Handler, Methods, Peer, SidecarControl

LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
SECRET: Final = "the user's words"


def CODE() -> str:  # noqa: N802 - a constant
    """Return the digest of what a bench runs."""
    return "c0de"


class Caller:
    """A peer of the sidecar."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, line: bytes) -> None:
        self.writer.write(line + b"\n")

    def call(self, method: str, params: object = None, ident: int = 1) -> None:
        told = {} if params is None else {"params": params}
        self.send(json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, **told}).encode())

    async def line(self) -> bytes:
        async with asyncio.timeout(LIMIT_S):
            return await self.reader.readline()

    async def is_hung_up_on(self) -> bool:
        try:
            return await self.line() == b""
        except ConnectionError:
            return True

    async def hear(self) -> Any:
        return json.loads(await self.line())

    async def ask(self, method: str, params: object = None) -> Any:
        self.call(method, params)
        return await self.hear()

    def leave(self) -> None:
        self.writer.close()


@dataclass
class Bench:
    """A running sidecar with handlers that wait for the test, and what became of them."""

    control: SidecarControl
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    heard: list[bytes] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    running: asyncio.Task[int] | None = None

    async def caller(self) -> Caller:
        self.callers.append(Caller(*await asyncio.open_unix_connection("sidecar.sock", limit=1 << 26)))
        return self.callers[-1]

    async def end(self) -> int:
        assert self.running is not None
        async with asyncio.timeout(LIMIT_S):
            return await self.running

    def methods(self, _control: SidecarControl) -> Methods:
        handlers: list[Handler] = [
            self.echo,
            self.hook,
            self.wait,
            self.refuse,
            self.break_down,
            self.ask_back,
        ]
        return {handler.__name__: handler for handler in handlers}

    async def echo(self, params: Raw, _peer: Peer) -> Raw:
        return params

    async def hook(self, _params: Raw, _peer: Peer) -> bytes:
        return b"{}"

    async def wait(self, _params: Raw, _peer: Peer) -> bytes:
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return b'"done"'

    async def refuse(self, _params: Raw, _peer: Peer) -> bytes:
        raise BadInputError("name a session: --session ID")

    async def break_down(self, _params: Raw, _peer: Peer) -> bytes:
        raise ValueError(SECRET)

    async def ask_back(self, params: Raw, peer: Peer) -> bytes:
        self.heard.append(bytes(await peer.ask("model", None)))
        return bytes(params)


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(LIMIT_S):
        await event.wait()
