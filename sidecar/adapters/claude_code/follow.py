"""Follows one transcript: each advance costs what was added.

At first sight it looks back from the end, in growing steps, for the last prompt of a person and for the place
up to which tokens were counted; at most REACH bytes. A file that was replaced, shortened or rewritten is seen
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.adapters.claude_code.fold import Fold
from sidecar.adapters.claude_code.lines import opens_turn
from sidecar.adapters.claude_code.source import opened, split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sidecar.adapters.claude_code.source import Source
    from sidecar.model.events import Stopped

REACH: Final = 16 * 1024 * 1024
"""Bytes from the end that are looked at when a transcript is seen for the first time."""
STEPS: Final = (64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024, REACH)
BEFORE: Final = 32 * 1024
"""Bytes before a place of interest that are folded too: the queue, the host's own goal, a begun request."""
ANCHOR: Final = 64
"""Bytes before our place that must still be there."""


class Follower:
    """How far one transcript was read, and what it said. Raises OSError where the file cannot be read."""

    def __init__(self, source: Source, counted_to: int) -> None:
        """See `source` for the first time; tokens are wanted from byte `counted_to` on."""
        self.fold = Fold()
        self._told_of: Stopped | None = None
        self._told, self._told_before = -1, -1
        self._identity = source.identity
        self._anchor = b""
        self.offset, data = _look_back(source, counted_to)
        self._take([data])
        self.advance(source)

    def follows(self, source: Source) -> bool:
        """Whether `source` is the file that was followed, with nothing changed before our place."""
        if source.identity != self._identity or source.size < self.offset:
            return False
        return source.read(self.offset - len(self._anchor), self.offset) == self._anchor

    def advance(self, source: Source) -> None:
        """Take in the complete lines that were added."""
        self._take(source.chunks(self.offset, source.size))

    def since(self, stop: Stopped) -> int:
        """Return the byte that was reached when another stop than this was told of, -1 where none was."""
        return self._told_before if stop is self._told_of else self._told

    def tell(self, stop: Stopped) -> None:
        """The caller is told of this stop now."""
        self._told, self._told_before, self._told_of = self.offset, self.since(stop), stop

    def _take(self, chunks: Iterable[bytes]) -> None:
        for line in split(chunks, self.offset):
            self.fold.feed(line.start, line.data)
            self.offset = line.end
            self._anchor = line.data[1 - ANCHOR :] + b"\n" if line.data else b""


def advanced(path: str, follower: Follower | None, counted_to: int) -> Follower | None:
    """Bring `follower` up to the end of the file, or a new one where it does not fit; None without a file."""
    try:
        with opened(path) as source:
            if source is None:
                return None
            if follower is None or not follower.follows(source):
                return Follower(source, counted_to)
            follower.advance(source)
            return follower
    except OSError:
        return None


def waits(path: str, position: int) -> bool:
    """Whether a person's prompt was queued at or after byte `position` and still waits."""
    try:
        with opened(path) as source:
            if source is None:
                return False
            start = max(position, source.size - REACH, 0)
            fold = Fold()
            for line in split(source.chunks(start, source.size), start):
                if b'"queue' in line.data or b'"typed"' in line.data:
                    fold.feed(line.start, line.data)
            return fold.queue.waiting
    except OSError:
        return False


def _look_back(source: Source, counted_to: int) -> tuple[int, bytes]:
    """Return the byte to begin at, and all bytes from there on."""
    floor = max(source.size - REACH, 0)
    counted = counted_to if counted_to >= floor else source.size
    data, start, begin, searched, prompt = b"", source.size, source.size, source.size, -1
    for step in STEPS:
        lower = max(source.size - step, 0)
        data = source.read(lower, start) + data
        start = lower
        begin = start + data.find(b"\n") + 1 if start else 0
        if prompt < 0:
            prompt, searched = _last_prompt(data, start, begin, searched), begin
        if start == 0 or (prompt >= 0 and begin <= min(prompt, counted) - BEFORE):
            break
    return begin, data[begin - start :]


def _last_prompt(data: bytes, start: int, begin: int, end: int) -> int:
    """Return where the last prompt between the bytes `begin` and `end` of a file stands, -1 where none does.

    `data` are its bytes from `start` on.
    """
    low, high = begin - start, data.rfind(b"\n", begin - start, end - start)
    while high > low:
        feed = data.rfind(b"\n", low, high)
        first = feed + 1 if feed >= 0 else low
        if opens_turn(data[first:high]):
            return start + first
        high = feed
    return -1
