"""The statements of data/team.sql, and what carries them out: SQLite here, PostgreSQL in postgres.py."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

from sidecar.platform.data import read_data_text
from sidecar.platform.team.ports import TeamAwayError, TeamRefusedError

Row = Mapping[str, Any]
SECTION: Final = re.compile(r"^-- (migration|statement) (\S+)(?: (postgresql))?\n", re.MULTILINE)
VALUE: Final = re.compile(r"%\((\w+)\)s")
BUSY_S: Final = 10.0
"""Seconds to wait for another process that writes."""


class Dialect(Struct, frozen=True, kw_only=True):
    """How a database says what the file leaves open; see there."""

    name: str
    parts: dict[str, str]


class TeamStatements(Struct, frozen=True, kw_only=True):
    """`migrations` by their number, from 1; a number that is for another database is empty."""

    migrations: tuple[str, ...]
    named: dict[str, str]


class Connection(Protocol):
    """Carries out statements of one transaction."""

    def rows(self, sql: str, values: Row) -> list[Row]:
        """Carry out a statement; return its rows."""

    def many(self, sql: str, values: Sequence[Row]) -> int:
        """Carry out a statement for each of these values; return how many rows it changed."""

    def script(self, sql: str) -> None:
        """Carry out several statements."""


class TeamDatabase(Protocol):
    """A database. What it raises is TeamAwayError or TeamRefusedError."""

    dialect: Dialect

    def transaction(self) -> AbstractContextManager[Connection]:
        """Open a transaction, one at a time; it is rolled back where the block raises."""

    def version(self) -> int:
        """Return the number of the last migration, 0 for an empty database."""

    def close(self) -> None:
        """Close the connection."""


@cache
def team_statements(dialect_name: str) -> TeamStatements:
    """Return what data/team.sql has for a dialect; {name} is still to be filled in."""
    migrations: list[str] = []
    named: dict[str, str] = {}
    _, *parts = SECTION.split(read_data_text("team.sql"))
    for what, name, only, text in zip(*[iter(parts)] * 4, strict=True):
        if what == "statement":
            named[name] = text.strip()
        else:
            migrations.append(text.strip() if only in (None, dialect_name) else "")
    return TeamStatements(migrations=tuple(migrations), named=named)


def migrate(database: TeamDatabase, connection: Connection, version: int) -> int:
    """Carry out the migrations after this version; return the last number."""
    migrations = team_statements(database.dialect.name).migrations
    for number in range(version, len(migrations)):
        connection.script(fill(migrations[number], database.dialect.parts))
    return len(migrations)


def fill(sql: str, parts: Mapping[str, str]) -> str:
    """Fill in {name}."""
    for name, text in parts.items():
        sql = sql.replace(f"{{{name}}}", text)
    return sql


# --- SQLite -------------------------------------------------------------------------------------------------

SQLITE: Final = Dialect(
    name="sqlite",
    parts={
        "now": "((julianday('now') - 2440587.5) * 86400.0)",
        "today": "date('now')",
        "member": "''",
        "identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "bytes": "BLOB",
        "skip_locked": "",
        "for_update": "",
        "lock_events": "1",
        "lock_slots": "1",
    },
)


class SqliteDatabase:
    """Implements `TeamDatabase` in a file of this machine; its transactions are one after the other."""

    dialect = SQLITE

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        with _sqlite_errors():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode = WAL")
        with self.transaction() as own:
            number = migrate(self, own, self.version())
            own.rows(f"PRAGMA user_version = {number}", {})

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with self._lock, _sqlite_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield _SqliteConnection(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class _SqliteConnection:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Row) -> list[Row]:
        return [dict(row) for row in self._connection.execute(_named_values(sql), dict(values)).fetchall()]

    def many(self, sql: str, values: Sequence[Row]) -> int:
        return self._connection.executemany(_named_values(sql), [dict(one) for one in values]).rowcount

    def script(self, sql: str) -> None:
        for statement in filter(str.strip, sql.split(";")):
            self._connection.execute(statement)


@cache
def _named_values(sql: str) -> str:
    return VALUE.sub(r":\1", sql)


@contextmanager
def _sqlite_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise TeamAwayError(f"the team's file cannot be used: {error}") from error
    except sqlite3.Error as error:
        raise TeamRefusedError(f"the team's file refused: {error}") from error
