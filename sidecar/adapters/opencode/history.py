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
FEWER: Final = (16, 4, 1)
"""The same where already the first step is too long for one answer, as pictures in a prompt may make it."""
TOO_LONG: Final = "the answer is too long"
"""What the plugin says of an answer that does not fit into a line."""
SECONDS: Final = 30.0
"""Longest wait for one step."""


class OpenCodeHistory:
    """The part of ports.Transcripts that concerns OpenCode."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: seconds since the epoch."""
        self._now = now

    async def read(self, stop: Stopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see ports.Transcripts. Unread, `unfinished` says why."""
        try:
            return await self._read(stop.key.id, counted_to)
        except link.HostError as error:
            return Turn(position=max(counted_to, 0), readable=False, unfinished=str(error))

    def position(self) -> int:
        """Where the messages end now, in milliseconds since the epoch."""
        return int(self._now() * 1000)

    async def _read(self, session: str, counted_to: int) -> Turn:
        raw = await _few(session)
        for limit, more in zip(STEPS, (*STEPS[1:], 0), strict=True):
            if not more or await asyncio.to_thread(covers, raw, limit):
                break
            try:
                raw = await _newest(session, more)
            except link.HostError:  # so many are too long for one answer: the fewer ones before have to do
                break
        return await asyncio.to_thread(read, raw, counted_to)  # of hundreds of calls, tenths of a second


async def _few(session: str) -> bytes:
    """The first step, or as many messages as one answer holds. Raises HostError."""
    for limit in (STEPS[0], *FEWER[:-1]):
        try:
            return await _newest(session, limit)
        except link.HostError as error:
            if TOO_LONG not in str(error):
                raise
    return await _newest(session, FEWER[-1])


async def _newest(session: str, limit: int) -> bytes:
    given = {"path": {"id": session}, "query": {"limit": limit}}
    return bytes(await link.ask("session.messages", given, SECONDS))
