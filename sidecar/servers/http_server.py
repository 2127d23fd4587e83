"""HTTP/1.1 on a socket that already listens, for MCP and the page. Only this file uses uvicorn.

Only the head of a request is read here, limited in size (16 KiB, by h11) and time. The connections that have
sent no whole head yet are limited among themselves: the newest takes the place of the oldest, so that they
keep nobody out. All peers are this machine, so their addresses tell nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sidecar.servers.loopback import HTTP_BACKLOG

if TYPE_CHECKING:
    from starlette.types import ASGIApp

CONNECTION_LIMIT: Final = 600
"""Maximum number of connections that have sent a request. A process may open some thousand files, and hooks
need some of them too."""
HEAD_S: Final = 10
"""Seconds within which a new connection must send the head of a request."""
HEADLESS_LIMIT: Final = 2 * HTTP_BACKLOG
"""Connections that may wait at once for the head of their first request. What is accepted in two turns of the
event loop has room, so that a head that comes with its connection is read before newer ones crowd it out."""
KEEP_ALIVE_S: Final = 60
"""Seconds that an idle connection stays open for the next request."""


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the sidecar."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """HTTP connections, limited in number and in the time until their first request."""

    headless: dict[_Protocol, None]
    """The connections of a server that have sent no whole head, the oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.headless[self] = None
        if len(self.headless) > HEADLESS_LIMIT:
            next(iter(self.headless)).drop()
        if len(self.connections) - len(self.headless) >= CONNECTION_LIMIT:
            self.drop()
        self.loop.call_later(HEAD_S, self._hurry)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self.headless.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.headless.pop(self, None)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection, which counts no more from now on."""
        self.headless.pop(self, None)
        self.connections.discard(self)
        self.transport.abort()

    def _hurry(self) -> None:
        """Close the connection if it has sent no request yet."""
        if self.cycle is None:
            self.drop()


async def serve_http(
    app: ASGIApp,
    listener: socket.socket,
    drain_s: float,
    ending: asyncio.Event,
    end_streams: Callable[[], None],
) -> None:
    """Serve until `ending`; then `end_streams` is called, and requests get `drain_s` to finish."""
    server = _Server(
        uvicorn.Config(
            app,
            http=type("_OwnProtocol", (_Protocol,), {"headless": {}}),
            backlog=HTTP_BACKLOG,
            lifespan="off",
            ws="none",
            loop="none",
            log_config=None,
            log_level="critical",  # the applications log errors themselves
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=int(drain_s),
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    ended = asyncio.create_task(ending.wait())
    try:
        await asyncio.wait({serving, ended}, return_when=asyncio.FIRST_COMPLETED)
        end_streams()
        server.should_exit = True
        await serving
    finally:
        ended.cancel()
        serving.cancel()
