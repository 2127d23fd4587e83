"""The statements of data/team.sql, and what a database must offer to carry them out; see postgres.py."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Final, Protocol

from msgspec import Struct

from sidecar.platform.data import read_data_text

Row = Mapping[str, Any]
SECTION: Final = re.compile(r"^-- (migration|statement) (\S+)(?: (postgresql))?\n", re.MULTILINE)


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
