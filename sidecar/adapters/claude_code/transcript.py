"""The transcript that Claude Code keeps of a session, as turns.

What this file knows of the host: its last lines may come some 70 ms after the stop was told, so a read waits
until the told message is there, at most PAUSE times PAUSES. A session may have no transcript at all; that is
waited for once.

A transcript is worked on by one reader at a time: a reader takes what is remembered of it out, and puts it
back when it is done. Whoever is cancelled in between leaves nothing behind, and the next one looks anew.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.adapters.claude_code.fold import MESSAGE_LIMIT
from sidecar.adapters.claude_code.follow import Follower, advanced, waits
from sidecar.adapters.claude_code.source import size
from sidecar.adapters.text import middle_out, plain
from sidecar.model.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sidecar.model.events import Stopped

PAUSE: Final = 0.02
"""Seconds between two looks at a transcript that lags behind."""
PAUSES: Final = 50
SESSIONS: Final = 32
"""Transcripts that are remembered, those read last."""
SMALL: Final = 256 * 1024
"""Bytes that are read on the event loop; more go to a thread."""


class ClaudeTranscripts:
    """Implements ports.Transcripts. `pause` waits for seconds."""

    def __init__(self, pause: Callable[[float], Awaitable[object]]) -> None:
        """Remember nothing yet."""
        self._pause = pause
        self._known: OrderedDict[str, Follower | None] = OrderedDict()

    async def read(self, stop: Stopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see ports.Transcripts."""
        said = middle_out(plain(stop.last_message), MESSAGE_LIMIT)
        follower, current = await self._caught_up(stop, counted_to)
        if follower is None:
            return Turn(last_message=said, position=counted_to, readable=False)
        turn = follower.fold.turn(counted_to, follower.offset)
        follower.tell(stop)
        return msgspec.structs.replace(
            turn,
            prompt_id=turn.prompt_id or stop.prompt_id,
            last_message=said or turn.last_message,
            # A message that is not there yet must not pass for the one before it.
            last_message_id=turn.last_message_id if current else "",
        )

    def size(self, path: str) -> int:
        """Bytes of the transcript now, 0 where there is none."""
        return size(path)

    def queued(self, path: str, position: int) -> bool:
        """Whether a human prompt was queued at or after byte `position` and still waits."""
        return waits(path, position)

    async def _caught_up(self, stop: Stopped, counted_to: int) -> tuple[Follower | None, bool]:
        """Read until the told message is there, and say whether it is."""
        known_absent = stop.transcript in self._known and self._known[stop.transcript] is None
        pauses = 0 if known_absent else PAUSES
        while True:
            follower = await self._advanced(stop.transcript, counted_to)
            current = follower is not None and _shows(follower, stop)
            if current or pauses == 0:
                return follower, current
            pauses -= 1
            await self._pause(PAUSE)

    async def _advanced(self, path: str, counted_to: int) -> Follower | None:
        follower = self._known.pop(path, None)
        added = size(path) - (follower.offset if follower is not None else 0)
        if added > SMALL:
            follower = await asyncio.to_thread(advanced, path, follower, counted_to)
        else:
            follower = advanced(path, follower, counted_to)
        self._known[path] = follower
        if len(self._known) > SESSIONS:
            self._known.popitem(last=False)
        return follower


def _shows(follower: Follower, stop: Stopped) -> bool:
    """Whether the told message is the newest, and came after what was read for the stop before."""
    said = stop.last_message.strip()
    return not said or (follower.fold.last_text == said and follower.fold.last_at >= follower.since(stop))
