"""A team's database in a file: the twin of PostgreSQL in suites that play on both."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from sidecar.platform.team.database import Connection, Dialect, Row, migrate
from sidecar.platform.team.ports import TeamAwayError, TeamRefusedError

VALUE: Final = re.compile(r"%\((\w+)\)s")
BUSY_S: Final = 10.0
"""Seconds to wait for another process that writes."""
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
