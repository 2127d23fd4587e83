"""Who makes one request, however it came: what http.py and lines.py tell session.py. It knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any, Final

from sidecar.servers.tools.tool import Caller

KEY: Final = "supervisor.visit"
"""Where a request over HTTP carries its visit: in its ASGI scope."""
CALLS: Final = 32
"""Calls that one client may have under way. Beyond that it is told to wait for one."""


class Visit:
    """One request: for whom, of which client, and how many calls that may have under way."""

    def __init__(self, caller: Caller, client: Hashable, limit: int = CALLS) -> None:
        """`client` is the same for all requests of one connection or one MCP session."""
        self.caller = caller
        self.client = client
        self.limit = limit
        self._work: asyncio.Task[Any] | None = None
        self._over = False

    @staticmethod
    def of(request: Any) -> Visit:  # noqa: ANN401 - what the package hands through: ours, or an HTTP request
        """Find the visit of a request."""
        found: Visit = request if isinstance(request, Visit) else request.scope[KEY]
        return found

    def begin(self, work: asyncio.Task[Any]) -> None:
        """This is what the request lets us do."""
        self._work = work
        if self._over:
            work.cancel()

    def end(self) -> None:
        """Nobody waits for the answer any more: what is still done for it is cancelled."""
        self._over = True
        if self._work is not None:
            self._work.cancel()
