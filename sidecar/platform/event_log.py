"""The one log: `events.sqlite3` in the state folder, append-only, in WAL mode. Several processes may write.

Each thread has a connection of its own, so a reader never blocks a writer. A connection is opened anew when
another file is in the log's place. A file that cannot be used is set aside and a new one begun, and an
incident says so; nothing is checked before that shows. All errors are OSErrors.

Times in the log follow the order of positions, as far as nobody sets the clock back.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import stat
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, get_args
from urllib.parse import quote

import msgspec

from sidecar.kernel.log import (
    AUDIT_KIND,
    EventData,
    EventFilter,
    LoggedEvent,
    UnreadableEvent,
    encode_event_data,
    event_kind,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import LogSettings
from sidecar.kernel.text import escape_unencodable
from sidecar.platform.data import decode_json
from sidecar.platform.files import FileFault, ensure_folder, exclusively, list_set_aside, set_aside
from sidecar.platform.ports import Clock, remember_newest
from sidecar.platform.state import LOOK, BrokenStateError, Incidents

T = TypeVar("T")

_KINDS: Final[dict[str, type[EventData]]] = {event_kind(kind): kind for kind in get_args(EventData)}

LOG_FILE: Final = "events.sqlite3"
SCHEMA_VERSION: Final = 1
SCHEMA: Final = f"""
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    host TEXT NOT NULL,
    session TEXT NOT NULL,
    project TEXT NOT NULL,
    system TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX of_session ON events (session, host);
CREATE INDEX of_kind ON events (kind, at);
CREATE INDEX of_project ON events (project, kind);
PRAGMA user_version = {SCHEMA_VERSION};
"""
PRAGMAS: Final = """
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
PRAGMA cache_size = -1024;
PRAGMA journal_size_limit = 1048576;
"""
INSERT: Final = (
    "INSERT INTO events (at, host, session, project, system, kind, origin, data) VALUES (?,?,?,?,?,?,?,?)"
)
BESIDE: Final = ("-wal", "-shm")
"""What SQLite writes beside a log."""
SCHEMA_COOKIE: Final = "PRAGMA schema_version"
"""Gives a number that is another one after each change of the schema."""
OBJECTS: Final = "SELECT sql FROM sqlite_master WHERE sql != 'CREATE TABLE sqlite_sequence(name,seq)'"
OWN_OBJECTS: Final = {(one.strip(),) for one in SCHEMA.split(";") if "CREATE" in one}
"""What makes the tables and indexes of a log, as SQLite keeps it."""
OTHERS_WROTE: Final = "PRAGMA data_version"
"""Gives a number that is another one after another connection wrote."""
WRITTEN: Final = "SELECT at, data FROM events WHERE position = ?"
COLUMNS: Final = "position, at, host, session, project, system, kind, origin, data"
NO_AUDIT: Final = f"kind != '{AUDIT_KIND}'"
"""The audit has its own order of removal, and its own chain that shows losses."""
TOO_OLD: Final = f"position < ? AND {NO_AUDIT}"
AUDIT_BYTES: Final = f"SELECT TOTAL(LENGTH(data)) FROM events WHERE kind = '{AUDIT_KIND}'"  # noqa: S608 - no text of others
USED_BYTES: Final = (
    "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
ENDS: Final = "SELECT (SELECT MIN(position) FROM events), (SELECT MAX(position) FROM events)"
LOST_WITH_LOG: Final = "what it told of stops, tasks and cost is gone; goals and approvals are kept"
LOOK_HERE: Final = "Type in a shell: supervisor doctor"
BUSY_S: Final = 5.0
"""Seconds to wait for another process that writes."""
COMPRESSED_FROM: Final = 2048
"""Bytes from which data is compressed; compressed data begins with another byte than JSON."""
DATA_LIMIT: Final = 512 * 1024
"""Maximum bytes of an event's data, compressed."""
TEXT_LIMIT: Final = 16 * 1024 * 1024
"""Maximum bytes of an event's data, as JSON."""
TRIM_EVERY: Final = 1000
"""Appends after which the log's limits are applied."""
TRIMMED_PART: Final = 20
"""A log that is too big loses this part of its positions at a time, the oldest."""
SESSIONS_WATCHED: Final = 200
"""Sessions of which it is known how many events there must be."""
log = logging.getLogger(__name__)

Identity = tuple[int, int]
"""Device and number of a file."""


def lost_logs(state: Path) -> tuple[str, ...]:
    """Return a line for each log that was set aside and is still there. Raises OSError."""
    return tuple(f"{one}: set aside, {LOST_WITH_LOG}" for one in list_set_aside(state, Path(LOG_FILE).stem))


class LogFileError(OSError):
    """The log is damaged or of another version, and this process must not set it aside."""

    moves = ("let the sidecar set it aside and begin a new one: supervisor status",)
    """What to type; see cli."""


class _Connection(sqlite3.Connection):
    """A connection of one thread. `file` identifies the file that it opened, `schema` what is in it."""

    file: Identity
    schema: int | None = None

    def __del__(self) -> None:
        self.close()  # Python 3.13 warns of a connection that a thread left open


class _Watched:
    """How many events of a session there must be from a position on.

    `seen`: a connection on which they were counted, and what others had written by then.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.count = 0
        self.seen: tuple[_Connection, int] | None = None


class EventLogFile:
    """Implements `EventLog` in a state folder."""

    def __init__(
        self,
        state: Path,
        clock: Clock,
        limits: Callable[[], LogSettings] = LogSettings,
        incidents: Incidents | None = None,
    ) -> None:
        """Without `incidents` another process's log is looked at: damage raises OSError and stays."""
        self._path = state / LOG_FILE
        self._clock = clock
        self._limits = limits
        self._incidents = incidents
        self._here = threading.local()
        self._lock = threading.RLock()
        self._watched: OrderedDict[SessionKey, _Watched] = OrderedDict()
        self._listeners: list[Callable[[], object]] = []
        self._appended = 0
        self._last = 0

    def append(self, event: LoggedEvent) -> int:
        host, session = (event.session.host, event.session.id) if event.session else ("", "")
        words = (host, session, event.project, event.system, event.kind, event.origin)
        row = (event.at, *map(escape_unencodable, words), pack_event_data(event.data))
        position = self._carry_out(lambda connection: _insert(connection, row), create=True)
        if not position:
            raise OSError(errno.EIO, "the log gave no position", str(self._path))
        with self._lock:
            self._appended += 1
            self._last = max(self._last, position)
            if event.session is not None and event.kind != AUDIT_KIND:
                self._watch(event.session, position)
        if self._appended % TRIM_EVERY == 0:
            self.trim()
        for listener in tuple(self._listeners):
            listener()
        return position

    def read(self, wanted: EventFilter, *, after: int = 0, limit: int = 1000) -> tuple[LoggedEvent, ...]:
        where, values = _condition(wanted)
        query = f"SELECT {COLUMNS} FROM events WHERE {where} AND position > ? ORDER BY position LIMIT ?"  # noqa: S608 - no text of others
        return self._select(query, (*values, after, max(limit, 0)))

    def newest(self, wanted: EventFilter, number: int, *, after: int = 0) -> tuple[LoggedEvent, ...]:
        where, values = _condition(wanted, after)
        query = f"SELECT {COLUMNS} FROM events WHERE {where} ORDER BY position DESC LIMIT ?"  # noqa: S608 - the same
        return self._select(query, (*values, max(number, 0)))[::-1]

    def count(self, wanted: EventFilter, *, after: int = 0) -> int:
        where, values = _condition(wanted, after)
        query = f"SELECT COUNT(*) FROM events WHERE {where}"  # noqa: S608 - the same
        found = self._carry_out(lambda connection: connection.execute(query, values).fetchone())
        return int(found[0]) if found else 0

    def last(self) -> int:
        found = self._carry_out(lambda connection: connection.execute(ENDS).fetchone())
        return int(found[1] or 0) if found else 0

    def forget(self, wanted: EventFilter, *, keep: int = 0) -> int:
        where, values = _condition(wanted)
        if AUDIT_KIND not in wanted.kinds:
            where = f"{where} AND {NO_AUDIT}"
        if keep:
            newest = f"SELECT position FROM events WHERE {where} ORDER BY position DESC LIMIT ?"  # noqa: S608 - the same
            where = f"{where} AND position NOT IN ({newest})"
            values = (*values, *values, keep)
        return self._carry_out(lambda connection: self._delete(connection, where, values, tidy=not keep)) or 0

    def trim(self) -> None:
        try:
            self._carry_out(self._trim)
        except OSError as error:
            log.warning("the log could not be trimmed: %s", error)

    def listen(self, notify: Callable[[], object]) -> Callable[[], None]:
        self._listeners.append(notify)
        return lambda: self._listeners.remove(notify)

    def tell_losses(self, key: SessionKey) -> None:
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or self._incidents is None:
                return
            try:
                there = self._carry_out(lambda connection: _count_again(connection, key, watched)) or 0
            except OSError as error:
                log.warning("%s: the log could not be read: %s", key.id, error)
                return
            if key in self._watched and there < watched.count:
                what = "was cut" if there else "was removed"
                line = f"Supervisor: the record of this session {what}, and not by Supervisor. {LOOK}"
                self._incidents.report(line, key)
                watched.count = there

    # --- carrying out -----------------------------------------------------------------------------------

    def _select(self, query: str, values: tuple[object, ...]) -> tuple[LoggedEvent, ...]:
        rows = self._carry_out(lambda connection: connection.execute(query, values).fetchall())
        return tuple(map(_event, rows or ()))

    def _carry_out(self, work: Callable[[_Connection], T], *, create: bool = False) -> T | None:
        """Do something with the log; None where there is none. Raises OSError."""
        for attempt in range(2):
            try:
                connection = self._connection(create=create)
                return None if connection is None else work(connection)
            except BrokenStateError as error:
                unusable = error
            except sqlite3.Error as error:
                if not _is_damage(error):
                    if create and self._incidents is not None:
                        said = f"nothing can be written to its log ({error})"
                        self._incidents.report(f"Supervisor: {said}. {LOOK_HERE}")
                    said = f"the log could not be used ({error})"
                    raise OSError(errno.EIO, said, str(self._path)) from error
                unusable = BrokenStateError(FileFault.CORRUPT, str(error))
            if attempt or not (create or self._incidents):
                break
            self._set_aside(unusable)
        if create or self._incidents is None:
            raise LogFileError(errno.EIO, f"the log cannot be used ({unusable})", str(self._path))
        log.warning("%s cannot be used: %s", self._path, unusable)
        return None

    def _connection(self, *, create: bool) -> _Connection | None:
        """This thread's connection to the file that is there now."""
        held: _Connection | None = getattr(self._here, "connection", None)
        there = _identity(self._path)
        if held is not None:
            if held.file == there:
                _check_schema(held)
                return held
            self._drop_connection()
        if there is None:
            if not create:
                return None
            there = self._create()
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode=rw",
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        connection.file = there
        self._here.connection = connection
        connection.executescript(PRAGMAS)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            fault = FileFault.FUTURE if version > SCHEMA_VERSION else FileFault.CORRUPT
            raise BrokenStateError(fault, f"version {version}; this Supervisor knows {SCHEMA_VERSION}")
        _check_schema(connection)
        return connection

    def _drop_connection(self) -> None:
        connection: _Connection | None = getattr(self._here, "connection", None)
        if connection is not None:
            self._here.connection = None
            connection.close()

    def _create(self) -> Identity:
        """Put an empty log in the place, whole, unless another process did meanwhile."""
        ensure_folder(self._path.parent)
        new = self._path.with_name(f".{LOG_FILE}.{os.getpid()}-{threading.get_ident() & 0xFFFFFFFF:08x}.tmp")
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        try:
            with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
                connection.executescript(SCHEMA)
                # positions go on where this process saw them end
                connection.execute("INSERT INTO sqlite_sequence VALUES ('events', ?)", (self._last,))
            with exclusively(self._path.parent):
                if _identity(self._path) is None:
                    for suffix in BESIDE:  # of a removed log; SQLite would take them for the new one's
                        Path(f"{self._path}{suffix}").unlink(missing_ok=True)
                    new.rename(self._path)
        finally:
            for suffix in ("", "-journal", *BESIDE):
                Path(f"{new}{suffix}").unlink(missing_ok=True)
        found = _identity(self._path)
        if found is None:
            raise OSError(errno.ENOENT, "the log is removed as soon as it is made", str(self._path))
        return found

    def _set_aside(self, unusable: BrokenStateError) -> None:
        """Set the file aside that this thread found unusable; another thread may have done it already."""
        with self._lock:
            held: _Connection | None = getattr(self._here, "connection", None)
            self._drop_connection()
            with exclusively(self._path.parent):
                with contextlib.suppress(BrokenStateError):
                    if held is not None and _identity(self._path) != held.file:
                        return
                aside = set_aside(self._path, unusable.fault, str(unusable))
                for suffix in BESIDE:
                    with contextlib.suppress(FileNotFoundError):
                        Path(f"{self._path}{suffix}").rename(f"{aside}{suffix}")
            self._watched.clear()
            if self._incidents is not None:
                said = f"its log could not be used ({unusable}). It was set aside as {aside.name}"
                self._incidents.report(f"Supervisor: {said}: {LOST_WITH_LOG}. {LOOK_HERE}")

    # --- deleting ---------------------------------------------------------------------------------------

    def _delete(
        self, connection: _Connection, where: str, values: tuple[object, ...], *, tidy: bool = True
    ) -> int:
        with self._lock:
            mine = [
                (watched, _count(connection, key, watched.first, where, values))
                for key, watched in self._watched.items()
            ]
            gone = connection.execute(f"DELETE FROM events WHERE {where}", values).rowcount  # noqa: S608 - no text of others
            for watched, less in mine:
                watched.count -= less
        if gone and tidy:
            connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")
        return int(gone)

    def _trim(self, connection: _Connection) -> None:
        limits = self._limits()
        oldest = self._clock.now() - limits.keep_days * 86_400.0
        first, last = connection.execute(ENDS).fetchone()
        if first is None:
            return
        young = connection.execute(
            "SELECT position FROM events WHERE at >= ? ORDER BY position LIMIT 1", (oldest,)
        ).fetchone()
        start = young[0] if young else last + 1
        if start > first:
            self._delete(connection, TOO_OLD, (start,))
        room = limits.max_megabytes * 1024 * 1024 + connection.execute(AUDIT_BYTES).fetchone()[0]
        while start <= last and connection.execute(USED_BYTES).fetchone()[0] > room:
            start += (last - start) // TRIMMED_PART + 1
            self._delete(connection, TOO_OLD, (start,))

    def _watch(self, key: SessionKey, position: int) -> None:
        watched = self._watched.get(key) or _Watched(position)
        watched.first = min(watched.first, position)  # another thread may have been told of a later one first
        watched.count += 1
        remember_newest(self._watched, key, watched, SESSIONS_WATCHED)


# --- what is in it ------------------------------------------------------------------------------------------


def _check_schema(connection: _Connection) -> None:
    """Raise BrokenStateError where the schema changed since it was looked at, and is not ours any more."""
    found = connection.execute(SCHEMA_COOKIE).fetchone()[0]
    if found != connection.schema and set(connection.execute(OBJECTS)) != OWN_OBJECTS:
        raise BrokenStateError(FileFault.EDITED, "its tables, indexes and triggers are not as they were made")
    connection.schema = found


def _insert(connection: _Connection, row: tuple[object, ...]) -> int | None:
    """Insert an event, look whether it is there, and return its position. Raises BrokenStateError."""
    position = connection.execute(INSERT, row).lastrowid
    if connection.execute(WRITTEN, (position,)).fetchone() != (row[0], row[-1]):
        connection.schema = None
        _check_schema(connection)  # where all is ours, another process deleted it
    return position


# --- rows ---------------------------------------------------------------------------------------------------


def _condition(wanted: EventFilter, after: int = 0) -> tuple[str, tuple[object, ...]]:
    """The condition of a query, and its values.

    A `+` keeps SQLite from an index whose order is not that of positions, where that would mean to sort what
    a whole log has of a kind or a project for every page.
    """
    by_project = wanted.project and wanted.kinds
    by_kind = by_project or wanted.since is not None
    parts: list[tuple[str, tuple[object, ...]]] = [("TRUE", ())]
    if wanted.session is not None:
        session = (wanted.session.id, wanted.session.host)
        parts.append(("session = ? AND host = ?", tuple(map(escape_unencodable, session))))
    if wanted.project:
        parts.append((f"{'' if by_project else '+'}project = ?", (escape_unencodable(wanted.project),)))
    if wanted.kinds:
        among = f"{'' if by_kind else '+'}kind IN ({', '.join('?' * len(wanted.kinds))})"
        parts.append((among, tuple(map(escape_unencodable, wanted.kinds))))
    if wanted.since is not None:
        parts.append(("at >= ?", (wanted.since,)))
    if wanted.before is not None:
        parts.append(("at < ?", (wanted.before,)))
    if after > 0:  # else SQLite may prefer the order of positions to a better index
        parts.append(("position > ?", (after,)))
    return " AND ".join(part for part, _ in parts), tuple(value for _, values in parts for value in values)


def _count(
    connection: _Connection, key: SessionKey, first: int, where: str = "TRUE", values: tuple[object, ...] = ()
) -> int:
    query = f"SELECT COUNT(*) FROM events WHERE session = ? AND host = ? AND position >= ? AND {NO_AUDIT} AND {where}"  # noqa: E501, S608 - no text of others
    asked = (escape_unencodable(key.id), escape_unencodable(key.host), first, *values)
    return int(connection.execute(query, asked).fetchone()[0])


def _count_again(connection: _Connection, key: SessionKey, watched: _Watched) -> int:
    """Count the events of a session, unless nobody else wrote since."""
    before, watched.seen = watched.seen, (connection, connection.execute(OTHERS_WROTE).fetchone()[0])
    return watched.count if watched.seen == before else _count(connection, key, watched.first)


def _event(row: tuple[Any, ...]) -> LoggedEvent:
    position, at, host, session, project, system, kind, origin, data = row
    return LoggedEvent(
        position=position,
        at=at,
        session=SessionKey(host, session) if session else None,
        project=project,
        system=system,
        data=unpack_event_data(kind, data),
        origin=origin,
    )


def pack_event_data(data: EventData) -> bytes:
    """Encode it, compressed where it is long. Raises OSError if it is too big."""
    text = encode_event_data(data)
    packed = text if len(text) < COMPRESSED_FROM else zlib.compress(text)
    if len(packed) > DATA_LIMIT or len(text) > TEXT_LIMIT:
        raise OSError(errno.EFBIG, f"an event of {len(text)} bytes, which are too many")
    return packed


def unpack_event_data(kind: str, data: bytes) -> EventData:
    """Decode what `pack_event_data` returned; what cannot be decoded becomes an UnreadableEvent."""
    if data[:1] == b"{":
        return decode_event_data(kind, data)
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(data, TEXT_LIMIT)
    except (zlib.error, TypeError) as error:
        return UnreadableEvent(kind=kind, why=f"it is damaged: {error}")
    if not stream.eof:
        return UnreadableEvent(kind=kind, why=f"it is cut off, or more than {TEXT_LIMIT} bytes")
    return decode_event_data(kind, text)


def decode_event_data(kind: str, text: bytes) -> EventData:
    """Decode it; what cannot be decoded becomes an UnreadableEvent."""
    if kind not in _KINDS:
        return UnreadableEvent(kind=kind, why="this version has no events of that kind")
    try:
        return decode_json(text, _KINDS[kind])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return UnreadableEvent(kind=kind, why=str(error)[:200])


# --- the file -----------------------------------------------------------------------------------------------


def _identity(path: Path) -> Identity | None:
    """Which file is at the path, None for none. Raises BrokenStateError, OSError."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no plain file"
        raise BrokenStateError(FileFault.UNREADABLE, what)
    return found.st_dev, found.st_ino


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is at fault: it is no database, or it is torn."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
