"""Reads turns from a record of a session that is a file of JSON lines, to which the host only appends.

What the lines mean is the host's own: its RecordFormat says how they are folded into a state.

A host may write the last lines some 70 ms after it reported the stop (1.5 s on a busy machine), so a read
waits until the reported message is there, at most PAUSE times PAUSES. What is read without it is not the end
of the turn, and says so. A session may have no record at all; that is waited for only once.

Only one reader works on a file at a time: it takes the remembered state out, and puts it back when it is
done. A reader that is cancelled in between leaves nothing behind, and the next one starts anew.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import stat
from collections import OrderedDict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.shared import clip_message
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, ToolCall, Turn
from sidecar.platform.ports import remember_newest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from datetime import datetime

    from sidecar.kernel.events import AgentStopped, CommandTyped


# --- What a host says of its record -------------------------------------------------------------------------


class RecordState(Protocol):
    """What the lines of a record gave so far. Offsets are bytes from the beginning of the file.

    `last_text` is the agent's newest message, and `last_at` where its line begins, -1 without one.
    `ended_at`: when the turn's last answer was given, in seconds since the epoch; 0.0 while the turn goes on.
    One that is always 0.0 costs that nobody is told of a stop which the host did not report.
    """

    last_text: str
    last_at: int
    ended_at: float

    def feed(self, at: int, raw: bytes) -> None:
        """Process the line that begins at byte `at`. Never raises: what it does not know changes nothing."""

    def turn(self, counted_to: int, position: int) -> Turn:
        """Return the turn up to byte `position`, with the tokens of requests from byte `counted_to` on.

        A negative `counted_to` means the beginning of the turn. Its `last_message_id` is not empty and has no
        other message's value, for example where its line begins: a message is judged once.
        """

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The turn's tool calls, in order."""

    @property
    def waiting(self) -> bool:
        """Whether a person's prompt is queued; False where the record does not show it."""


def shows_message(state: RecordState, said: str, since: int) -> bool:
    """Return whether `said` is the newest message and was written at or after byte `since`; true if empty."""
    return not said or (state.last_text == said and state.last_at >= since)


class RecordFormat(msgspec.Struct, frozen=True):
    """How one host's record is read.

    `state` builds the state before any line; `opens_turn` says of a line whether it is a person's prompt.
    Only lines with one of `queue_marks` show whether a prompt is queued; without any, none ever is.
    `complete` takes a state, the message that the stop reported ("" for none), and the byte that was reached
    at the stop before, and says whether the end of the turn is written. `joined`: a stop reports all messages
    of its turn, so the record's last one counts where it is there.
    """

    state: Callable[[], RecordState]
    opens_turn: Callable[[bytes], bool]
    queue_marks: tuple[bytes, ...] = ()
    complete: Callable[[RecordState, str, int], bool] = shows_message
    joined: bool = False


# --- Reading a file to which another process appends lines --------------------------------------------------
# Reads at offsets, and only from regular files.


CHUNK: Final = 1024 * 1024
"""Bytes of one read."""
LINE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the longest line that is decoded; a longer one is skipped."""
FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class RecordFile(msgspec.Struct, frozen=True):
    """An open file with the size and identity it had when it was opened."""

    fd: int
    size: int
    identity: tuple[int, int]

    def read(self, start: int, end: int) -> bytes:
        """Read the bytes from `start` up to `end`; fewer where the file has become shorter."""
        return b"".join(self.chunks(start, end))

    def chunks(self, start: int, end: int) -> Iterator[bytes]:
        """Read the same bytes piece by piece."""
        while start < end and (part := os.pread(self.fd, min(end - start, CHUNK), start)):
            yield part
            start += len(part)


class RawLine(msgspec.Struct, frozen=True):
    """A complete line: its start, the start of the next one, and its bytes without the line feed."""

    start: int
    end: int
    data: bytes


@contextmanager
def open_record(path: str) -> Iterator[RecordFile | None]:
    """Open `path`; None if it is not absolute, missing, not readable or not a regular file."""
    try:
        fd = os.open(path, FLAGS) if path.startswith("/") else -1
    except (OSError, ValueError):
        fd = -1
    try:
        yield _file_from_descriptor(fd)
    finally:
        if fd >= 0:
            os.close(fd)


def regular_file_size(path: str) -> int:
    """Return the present size of a regular file in bytes, 0 for anything else."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def split_complete_lines(chunks: Iterable[bytes], start: int) -> Iterator[RawLine]:
    """Split into complete lines; what follows the last line feed is ignored.

    `start` is the offset at which the first line begins.
    """
    parts: list[bytes] = []
    end = start
    for chunk in chunks:
        begin = 0
        while (feed := chunk.find(b"\n", begin)) >= 0:
            end += feed + 1 - begin
            parts.append(chunk[begin:feed])
            yield RawLine(start, end, b"".join(parts) if end - start <= LINE_LIMIT else b"")
            parts, start, begin = [], end, feed + 1
        end += len(chunk) - begin
        if end - start <= LINE_LIMIT:
            parts.append(chunk[begin:])
        else:
            parts.clear()


def _file_from_descriptor(fd: int) -> RecordFile | None:
    if fd < 0:
        return None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return None
    return RecordFile(fd, status.st_size, (status.st_dev, status.st_ino))


# --- Following one record -----------------------------------------------------------------------------------
# Each advance reads only what was added. The first time, the file is read from the end backwards, in growing
# steps, to the last prompt of a person and to the place up to which tokens were counted; at most
# LOOK_BACK_LIMIT bytes. A file that was replaced, shortened or rewritten is treated as new.


LOOK_BACK_LIMIT: Final = 16 * 1024 * 1024
"""Bytes from the end that are read when a record is seen for the first time."""
LOOK_BACK_STEPS: Final = (64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024, LOOK_BACK_LIMIT)
LEAD_BYTES: Final = 32 * 1024
"""Bytes before a place of interest that are processed too.

They may hold the queue, the host's own goal, or the beginning of a request.
"""
ANCHOR_BYTES: Final = 64
"""Bytes before our offset that must be unchanged."""


class RecordFollower:
    """How far one record was read, and the state it gave.

    Raises OSError if the file cannot be read.
    """

    def __init__(self, form: RecordFormat, source: RecordFile, counted_to: int) -> None:
        """Read `source` for the first time; tokens are wanted from byte `counted_to` on."""
        self.fold = form.state()
        self._told_of: AgentStopped | None = None
        self._told, self._told_before = -1, -1
        self._identity = source.identity
        self._anchor = b""
        self.offset, data = _read_back_to_prompt(form, source, counted_to)
        self._take([data])
        self.advance(source)

    def follows(self, source: RecordFile) -> bool:
        """Return whether `source` is the followed file, with nothing changed before our offset."""
        if source.identity != self._identity or source.size < self.offset:
            return False
        return source.read(self.offset - len(self._anchor), self.offset) == self._anchor

    def advance(self, source: RecordFile) -> None:
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
    form: RecordFormat, path: str, follower: RecordFollower | None, counted_to: int
) -> RecordFollower | None:
    """Advance `follower`, or a new one if it does not fit, to the end of the file.

    Returns None if there is no file.
    """
    try:
        with open_record(path) as source:
            if source is None:
                return None
            if follower is None or not follower.follows(source):
                return RecordFollower(form, source, counted_to)
            follower.advance(source)
            return follower
    except OSError:
        return None


def _read_end(form: RecordFormat, path: str, position: int, length: int, *marks: bytes) -> RecordState:
    """Return what the lines from byte `position` on, at most the last `length` bytes, show.

    With `marks` only lines that hold one of them count. Without a file it is the state before any line.
    """
    fold = form.state()
    with suppress(OSError), open_record(path) as source:
        if source is not None:
            start = max(position, source.size - length, 0)
            for line in split_complete_lines(source.chunks(start, source.size), start):
                if not marks or any(mark in line.data for mark in marks):
                    fold.feed(line.start, line.data)
    return fold


def _read_back_to_prompt(form: RecordFormat, source: RecordFile, counted_to: int) -> tuple[int, bytes]:
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
            prompt, searched = _find_last_prompt(form, data, start, begin, searched), begin
        if start == 0 or (prompt >= 0 and begin <= min(prompt, counted) - LEAD_BYTES):
            break
    return begin, data[begin - start :]


def _find_last_prompt(form: RecordFormat, data: bytes, start: int, begin: int, end: int) -> int:
    """Return the offset of the last prompt between bytes `begin` and `end` of a file, -1 if there is none.

    `data` is the file's content from byte `start` on.
    """
    low, high = begin - start, data.rfind(b"\n", begin - start, end - start)
    while high > low:
        feed = data.rfind(b"\n", low, high)
        first = feed + 1 if feed >= 0 else low
        if form.opens_turn(data[first:high]):
            return start + first
        high = feed
    return -1


# --- Reading a session's turn at a stop ---------------------------------------------------------------------


PAUSE: Final = 0.02
"""Seconds between two reads of a record that lags behind."""
PAUSES: Final = 150
SESSIONS: Final = 32
"""Records that are remembered: those read last."""
SMALL: Final = 256 * 1024
"""Bytes that are read on the event loop; more are read in a thread."""


class RecordFiles:
    """Implements hosts.ports.Transcripts for one host. `pause` waits for seconds."""

    def __init__(self, form: RecordFormat, pause: Callable[[float], Awaitable[object]]) -> None:
        """Start with no file remembered."""
        self._form = form
        self._pause = pause
        self._known: OrderedDict[str, RecordFollower | None] = OrderedDict()
        self._paths: OrderedDict[SessionKey, str] = OrderedDict()

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see hosts.ports.Transcripts."""
        said = clip_message(stop.last_message)
        follower, current = await self._caught_up(stop, counted_to)
        if follower is None:
            return Turn(last_message=said, position=counted_to, readable=False)
        turn = follower.fold.turn(counted_to, follower.offset)
        follower.tell(stop)
        return msgspec.structs.replace(
            turn,
            prompt_id=turn.prompt_id or stop.prompt_id,
            last_message=turn.last_message if not said or (current and self._form.joined) else said,
            # A message that is not written yet must not get the id of the one before it.
            last_message_id=turn.last_message_id if current else "",
            current=current,
        )

    def position(self, event: CommandTyped) -> int:
        """Return the file's present size in bytes, 0 if there is none."""
        return regular_file_size(event.transcript)

    def queued(self, stop: AgentStopped, position: int) -> bool:
        """Return whether a human prompt was queued at or after byte `position` and still waits."""
        marks = self._form.queue_marks
        return (
            bool(marks) and _read_end(self._form, stop.transcript, position, LOOK_BACK_LIMIT, *marks).waiting
        )

    def unanswered(self, key: SessionKey, transcript: str = "", *, but: str = "") -> bool:
        """Return whether a tool call of the agent runs; see hosts.ports.Transcripts."""
        path = transcript or self._paths.get(key, "")
        remember_newest(self._paths, key, path, SESSIONS)
        calls = self._newest(path, LOOK_BACK_STEPS[0]).calls
        others = [call for call in calls if not call.tool.endswith(but)] if but else calls[-1:]
        return any(call.outcome is CallOutcome.PENDING for call in others)

    def ended(self, key: SessionKey, transcript: str) -> float:  # noqa: ARG002 - the file says it
        """Return when the turn ended, in seconds since the epoch; 0.0 if it goes on or nothing shows it."""
        return self._newest(transcript, LOOK_BACK_STEPS[1]).ended_at

    def _newest(self, path: str, length: int) -> RecordState:
        """Return what a followed file shows, or the last `length` bytes of another one."""
        follower = self._known.get(path)
        if follower is not None and regular_file_size(path) - follower.offset <= SMALL:
            with suppress(OSError), open_record(path) as source:
                if source is not None and follower.follows(source):
                    follower.advance(source)
                    return follower.fold
        return _read_end(self._form, path, 0, length)

    async def _caught_up(self, stop: AgentStopped, counted_to: int) -> tuple[RecordFollower | None, bool]:
        """Read until the end of the turn is there, and return whether it is."""
        known_absent = stop.transcript in self._known and self._known[stop.transcript] is None
        pauses = 0 if known_absent else PAUSES
        while True:
            follower = await self._advanced(stop.transcript, counted_to)
            current = follower is not None and self._form.complete(
                follower.fold, stop.last_message.strip(), follower.since(stop)
            )
            if current or pauses == 0:
                return follower, current
            pauses -= 1
            await self._pause(PAUSE)

    async def _advanced(self, path: str, counted_to: int) -> RecordFollower | None:
        follower = self._known.pop(path, None)
        added = regular_file_size(path) - (follower.offset if follower is not None else 0)
        if added > SMALL:
            follower = await asyncio.to_thread(advance_follower, self._form, path, follower, counted_to)
        else:
            follower = advance_follower(self._form, path, follower, counted_to)
        remember_newest(self._known, path, follower, SESSIONS)
        return follower


# --- Files of sessions, for people who have not put Supervisor into the host --------------------------------


NEWEST_FILES: Final = 500
"""Files that are looked at, those that changed last."""


def newest_recorded(
    files: Iterable[Path], read: Callable[[Path], RecordedSession], project: str, session: str
) -> RecordedSession | None:
    """Return the session whose file changed last, of those of a folder whose ids begin with `session`.

    A file that `read` does not take (BadInputError, OSError) is passed over.
    """
    for path in heapq.nlargest(NEWEST_FILES, files, key=lambda path: path.stat().st_mtime):
        with suppress(BadInputError, OSError):
            found = read(path)
            if found.project == project and found.key.id.startswith(session):
                return found
    return None


def recorded_file(path: Path, key: SessionKey, project: str, began: datetime | None) -> RecordedSession:
    """Return the session whose record is this file. Raises OSError."""
    started, changed = began.timestamp() if began else 0.0, path.stat().st_mtime
    return RecordedSession(key=key, project=project, began=started, changed=changed, transcript=str(path))
