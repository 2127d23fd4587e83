"""The address of the page: a port is opened when a person asks for it, and closed when the sidecar ends.

Until then nothing is imported. Each answer has a token of its own; see access.py.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.rpc import read_params
from sidecar.servers.control import Peer
from sidecar.servers.loopback import LOOPBACK, bind_port, listener_port, serve_until_cancelled
from sidecar.servers.page.access import PageAccess

log = logging.getLogger(__name__)

ServePage = Callable[[PageAccess, socket.socket], Coroutine[Any, Any, None]]
"""Serves the page at a socket until the sidecar ends."""


class PageRequest(Struct, frozen=True):
    """Asks for the page's address. `port`: 0 for any, or for the one where it is open."""

    port: Annotated[int, Meta(ge=0, le=65535)] = 0


class PageAddress(Struct, frozen=True):
    """An address that can be opened once."""

    url: str


class PageEndpoint:
    """The listening socket, and the page behind it."""

    def __init__(self, access: PageAccess, serve: ServePage) -> None:
        """`serve` imports what it needs when it is called."""
        self._access = access
        self._serve = serve
        self._listener: socket.socket | None = None
        self._opened = asyncio.Event()

    async def address(self, params: Raw, _peer: Peer) -> bytes:
        """Return an address with a token; opens the port if it is closed. Raises BadInputError."""
        port = self._open(read_params(params, PageRequest).port)
        return msgspec.json.encode(PageAddress(f"http://{LOOPBACK}:{port}/?token={self._access.new_token()}"))

    async def run(self) -> None:
        """Serve from the first request until the sidecar ends, in parallel to its Unix socket."""
        while True:
            await self._opened.wait()
            try:
                if self._listener is not None:
                    await serve_until_cancelled(self._serve(self._access, self._listener))
            except Exception:
                log.exception("the page is closed until somebody asks for its address")
            finally:
                self._close()

    def _open(self, wanted: int) -> int:
        """Listen unless already listening, and return the port. Raises BadInputError."""
        if self._listener is None:
            try:
                self._listener = bind_port(wanted)
            except OSError as error:
                raise BadInputError(
                    f"port {wanted} of {LOOPBACK} cannot be used ({error.strerror}). "
                    "Name another one, or none for any that is free"
                ) from error
            self._opened.set()
            log.info("the page is served at port %d", listener_port(self._listener))
        port = listener_port(self._listener)
        if wanted not in (0, port):
            raise BadInputError(
                f"the page is open at port {port} already. To move it: supervisor stop, then the same again"
            )
        return port

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._listener = None
        self._opened.clear()
