"""A session's messages, asked of the OpenCode that it lives in, as turns.

The host gives the newest ones, as many as are asked for: so many that the turn's own prompt is among them,
found in few steps.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from sidecar.adapters.opencode import link
from sidecar.adapters.opencode.messages import covers, read
from sidecar.model.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar.model.events import Stopped

STEPS: Final = (64, 512, 4096)
"""Messages that are asked for, one step after the other; a turn of more is read without its beginning."""
SECONDS: Final = 30.0
"""Longest wait for one step."""


class OpenCodeHistory:
    """The part of ports.Transcripts that concerns OpenCode."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: seconds since the epoch."""
        self._now = now

    async def read(self, stop: Stopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see ports.Transcripts. Without messages it is unfinished."""
        try:
            return await self._read(stop.key.id, counted_to)
        except link.HostError as error:
            return Turn(position=max(counted_to, 0), readable=False, unfinished=str(error))

    def position(self) -> int:
        """Where the messages end now, in milliseconds since the epoch."""
        return int(self._now() * 1000)

    async def _read(self, session: str, counted_to: int) -> Turn:
        raw = b""
        for limit in STEPS:
            given = {"path": {"id": session}, "query": {"limit": limit}}
            try:
                raw = bytes(await link.ask("session.messages", given, SECONDS))
            except link.HostError:
                if not raw:
                    raise
                break  # so many are too long for one answer: the fewer ones before have to do
            if await asyncio.to_thread(covers, raw, limit):
                break
        return await asyncio.to_thread(read, raw, counted_to)  # of hundreds of calls, tenths of a second
