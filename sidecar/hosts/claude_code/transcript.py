"""Reads turns from the transcript that Claude Code writes for a session.

The host may write the last lines some 70 ms after it reported the stop (1.5 s on a busy machine), so a read
waits until the reported message is there, at most PAUSE times PAUSES. What is read without it is not the end
of the turn, and says so. A session may have no transcript at all; that is waited for only once.

Only one reader works on a transcript at a time: it takes the remembered state out, and puts it back when it
is done. A reader that is cancelled in between leaves nothing behind, and the next one starts anew.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.claude_code.transcript_lines import (
    open_transcript,
    opens_turn,
    regular_file_size,
    split_complete_lines,
)
from sidecar.hosts.claude_code.transcript_state import MESSAGE_LIMIT, TranscriptState
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import strip_control_codes, truncate_middle
from sidecar.kernel.turn import CallOutcome, Turn
from sidecar.platform.ports import remember_newest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from sidecar.hosts.claude_code.transcript_lines import TranscriptFile
    from sidecar.kernel.events import AgentStopped


# --- Following one transcript -------------------------------------------------------------------------------
# Each advance reads only what was added. The first time, the file is read from the end backwards, in growing
# steps, to the last prompt of a person and to the place up to which tokens were counted; at most
# LOOK_BACK_LIMIT bytes. A file that was replaced, shortened or rewritten is treated as new.


LOOK_BACK_LIMIT: Final = 16 * 1024 * 1024
"""Bytes from the end that are read when a transcript is seen for the first time."""
LOOK_BACK_STEPS: Final = (64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024, LOOK_BACK_LIMIT)
LEAD_BYTES: Final = 32 * 1024
"""Bytes before a place of interest that are processed too.

They may hold the queue, the host's own goal, or the beginning of a request.
"""
ANCHOR_BYTES: Final = 64
"""Bytes before our offset that must be unchanged."""


class TranscriptFollower:
    """How far one transcript was read, and the state it gave.

    Raises OSError if the file cannot be read.
    """

    def __init__(self, source: TranscriptFile, counted_to: int) -> None:
        """Read `source` for the first time; tokens are wanted from byte `counted_to` on."""
        self.fold = TranscriptState()
        self._told_of: AgentStopped | None = None
        self._told, self._told_before = -1, -1
        self._identity = source.identity
        self._anchor = b""
        self.offset, data = _read_back_to_prompt(source, counted_to)
        self._take([data])
        self.advance(source)

    def follows(self, source: TranscriptFile) -> bool:
        """Return whether `source` is the followed file, with nothing changed before our offset."""
        if source.identity != self._identity or source.size < self.offset:
            return False
        return source.read(self.offset - len(self._anchor), self.offset) == self._anchor

    def advance(self, source: TranscriptFile) -> None:
        """Process the complete lines that were added."""
        self._take(source.chunks(self.offset, source.size))

    def since(self, stop: AgentStopped) -> int:
        """Return the byte reached when a stop other than this was last reported, -1 if none was."""
        return self._told_before if stop is self._told_of else self._told

    def tell(self, stop: AgentStopped) -> None:
        """Remember that this stop is now being reported to the caller."""
        self._told, self._told_before, self._told_of = self.offset, self.since(stop), stop

    def _take(self, chunks: Iterable[bytes]) -> None:
        for line in split_complete_lines(chunks, self.offset):
            self.fold.feed(line.start, line.data)
            self.offset = line.end
            self._anchor = line.data[1 - ANCHOR_BYTES :] + b"\n" if line.data else b""


def advance_follower(
    path: str, follower: TranscriptFollower | None, counted_to: int
) -> TranscriptFollower | None:
    """Advance `follower`, or a new one if it does not fit, to the end of the file.

    Returns None if there is no file.
    """
    try:
        with open_transcript(path) as source:
            if source is None:
                return None
            if follower is None or not follower.follows(source):
                return TranscriptFollower(source, counted_to)
            follower.advance(source)
            return follower
    except OSError:
        return None


def _read_end(path: str, position: int, length: int, *marks: bytes) -> TranscriptState:
    """Return what the lines from byte `position` on, at most the last `length` bytes, show.

    With `marks` only lines that hold one of them count. Without a file it is the state before any line.
    """
    fold = TranscriptState()
    with suppress(OSError), open_transcript(path) as source:
        if source is not None:
            start = max(position, source.size - length, 0)
            for line in split_complete_lines(source.chunks(start, source.size), start):
                if not marks or any(mark in line.data for mark in marks):
                    fold.feed(line.start, line.data)
    return fold


def _read_back_to_prompt(source: TranscriptFile, counted_to: int) -> tuple[int, bytes]:
    """Return the byte to begin at, and all bytes from there on."""
    floor = max(source.size - LOOK_BACK_LIMIT, 0)
    counted = counted_to if counted_to >= floor else source.size
    data, start, begin, searched, prompt = b"", source.size, source.size, source.size, -1
    for step in LOOK_BACK_STEPS:
        lower = max(source.size - step, 0)
        data = source.read(lower, start) + data
        start = lower
        begin = start + data.find(b"\n") + 1 if start else 0
        if prompt < 0:
            prompt, searched = _find_last_prompt(data, start, begin, searched), begin
        if start == 0 or (prompt >= 0 and begin <= min(prompt, counted) - LEAD_BYTES):
            break
    return begin, data[begin - start :]


def _find_last_prompt(data: bytes, start: int, begin: int, end: int) -> int:
    """Return the offset of the last prompt between bytes `begin` and `end` of a file, -1 if there is none.

    `data` is the file's content from byte `start` on.
    """
    low, high = begin - start, data.rfind(b"\n", begin - start, end - start)
    while high > low:
        feed = data.rfind(b"\n", low, high)
        first = feed + 1 if feed >= 0 else low
        if opens_turn(data[first:high]):
            return start + first
        high = feed
    return -1


# --- Reading a session's turn at a stop ---------------------------------------------------------------------


PAUSE: Final = 0.02
"""Seconds between two reads of a transcript that lags behind."""
PAUSES: Final = 150
SESSIONS: Final = 32
"""Transcripts that are remembered: those read last."""
SMALL: Final = 256 * 1024
"""Bytes that are read on the event loop; more are read in a thread."""


class ClaudeTranscripts:
    """The part of hosts.ports.Transcripts that concerns Claude Code. `pause` waits for seconds."""

    def __init__(self, pause: Callable[[float], Awaitable[object]]) -> None:
        """Start with no transcript remembered."""
        self._pause = pause
        self._known: OrderedDict[str, TranscriptFollower | None] = OrderedDict()
        self._paths: OrderedDict[SessionKey, str] = OrderedDict()

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see hosts.ports.Transcripts."""
        said = truncate_middle(strip_control_codes(stop.last_message), MESSAGE_LIMIT)
        follower, current = await self._caught_up(stop, counted_to)
        if follower is None:
            return Turn(last_message=said, position=counted_to, readable=False)
        turn = follower.fold.turn(counted_to, follower.offset)
        follower.tell(stop)
        return msgspec.structs.replace(
            turn,
            prompt_id=turn.prompt_id or stop.prompt_id,
            last_message=said or turn.last_message,
            # A message that is not written yet must not get the id of the one before it.
            last_message_id=turn.last_message_id if current else "",
            current=current,
        )

    def size(self, path: str) -> int:
        """Return the transcript's present size in bytes, 0 if there is none."""
        return regular_file_size(path)

    def queued(self, path: str, position: int) -> bool:
        """Return whether a human prompt was queued at or after byte `position` and still waits."""
        return _read_end(path, position, LOOK_BACK_LIMIT, b'"queue', b'"typed"').queue.waiting

    def unanswered(self, key: SessionKey, path: str, but: str = "") -> bool:
        """Return whether a tool call of the agent runs; see hosts.ports.Transcripts."""
        path = path or self._paths.get(key, "")
        remember_newest(self._paths, key, path, SESSIONS)
        calls = self._newest(path, LOOK_BACK_STEPS[0]).calls
        others = [call for call in calls if not call.tool.endswith(but)] if but else calls[-1:]
        return any(call.outcome is CallOutcome.PENDING for call in others)

    def ended(self, path: str) -> float:
        """Return when the turn ended, in seconds since the epoch; 0.0 if it goes on or nothing shows it."""
        return self._newest(path, LOOK_BACK_STEPS[1]).ended_at

    def _newest(self, path: str, length: int) -> TranscriptState:
        """Return what a followed transcript shows, or the last `length` bytes of another one."""
        follower = self._known.get(path)
        if follower is not None and regular_file_size(path) - follower.offset <= SMALL:
            with suppress(OSError), open_transcript(path) as source:
                if source is not None and follower.follows(source):
                    follower.advance(source)
                    return follower.fold
        return _read_end(path, 0, length)

    async def _caught_up(self, stop: AgentStopped, counted_to: int) -> tuple[TranscriptFollower | None, bool]:
        """Read until the reported message is there, and return whether it is."""
        known_absent = stop.transcript in self._known and self._known[stop.transcript] is None
        pauses = 0 if known_absent else PAUSES
        while True:
            follower = await self._advanced(stop.transcript, counted_to)
            current = follower is not None and _shows_stop_message(follower, stop)
            if current or pauses == 0:
                return follower, current
            pauses -= 1
            await self._pause(PAUSE)

    async def _advanced(self, path: str, counted_to: int) -> TranscriptFollower | None:
        follower = self._known.pop(path, None)
        added = regular_file_size(path) - (follower.offset if follower is not None else 0)
        if added > SMALL:
            follower = await asyncio.to_thread(advance_follower, path, follower, counted_to)
        else:
            follower = advance_follower(path, follower, counted_to)
        remember_newest(self._known, path, follower, SESSIONS)
        return follower


def _shows_stop_message(follower: TranscriptFollower, stop: AgentStopped) -> bool:
    """Return whether the reported message is the newest one and is new.

    New means that it came after what was read for the previous stop.
    """
    said = stop.last_message.strip()
    return not said or (follower.fold.last_text == said and follower.fold.last_at >= follower.since(stop))
