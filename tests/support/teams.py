"""A team's database with any number of members, for suites that play on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sidecar.platform.team.database import TeamDatabase
from sidecar.platform.team.ports import Machine, Member
from sidecar.platform.team.postgres import PostgresDatabase
from sidecar.platform.team.store import TeamStore
from support.team_sqlite import SqliteDatabase

T = TypeVar("T")


class TeamPlace:
    """Each member has a connection of its own, as on a machine of its own."""

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self._databases: list[TeamDatabase] = []

    def member(self, machine: str = "m1", person: str = "ann") -> TeamStore:
        return TeamStore(self.database(), Member(machine=machine, person=person))

    def database(self) -> TeamDatabase:
        url = self._place
        new = PostgresDatabase(url) if isinstance(url, str) else SqliteDatabase(url)
        self._databases.append(new)
        return new

    def change(self, sql: str) -> None:
        """Change what is stored as no member can, such as the day of an account."""
        with self.database().transaction() as connection:
            connection.script(sql)

    def close(self) -> None:
        for database in self._databases:
            database.close()


@contextmanager
def team_place(place: Path | str) -> Iterator[TeamPlace]:
    team = TeamPlace(place)
    try:
        yield team
    finally:
        team.close()


@contextmanager
def team_of_two(place: Path, *people: str) -> Iterator[TeamPlace]:
    """The machines m1 and m2, called build-m1 and build-m2, of these people."""
    with team_place(place) as team:
        for ident, person in zip(("m1", "m2"), people, strict=True):
            about = Machine(id=ident, name=f"build-{ident}", person=person, fingerprint=ident, version="1")
            team.member(ident, person).join(about)
        yield team


def at_once(number: int, work: Callable[[int], T]) -> list[T]:
    """What the work gives in so many threads that run at the same time, by their number."""
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, range(number)))
