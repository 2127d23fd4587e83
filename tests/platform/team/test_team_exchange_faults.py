"""A machine exchanges with a real server that refuses, dies in the middle, and is back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import EventFilter, LoggedEvent
from sidecar.kernel.session import SessionKey
from sidecar.platform.team.database import Connection, Row
from sidecar.platform.team.exchange import queue_forgetting
from sidecar.platform.team.membership import Membership, load_membership
from sidecar.platform.team.ports import TeamAwayError, TeamOrder, TeamRefusedError
from sidecar.platform.team.postgres import PostgresDatabase
from sidecar.platform.team.store import TeamStore
from support.postgres import PostgresServer, as_login, postgres_cluster
from support.team import TeamDoor, TeamMachine, orders_in

pytestmark = pytest.mark.process
SESSION = SessionKey("claude-code", "s1")


def test_the_rights_of_an_agents_login_are_enough_for_all_of_it(team_url: str, tmp_path: Path) -> None:
    with closing(TeamDoor(as_login(team_url, "agent1"))) as agents, closing(TeamDoor(team_url)) as people:
        machine, person = TeamMachine(agents, tmp_path / "here", "laptop"), people.person()
        machine.do("a", session=SESSION)
        machine.do("b", "c")
        limit = ServiceLimit(account="claude", until=machine.fakes.clock.now() + 900.0, said="limit")
        machine.log.append(LoggedEvent(at=2.0, system="workers", data=limit))
        machine.exchanges()
        joined = load_membership(machine.state)
        assert joined
        person.order(TeamOrder(machine=joined.machine, session="s1", text="goal pause"))
        person.save("organisation/rubric.md", b"# Rubric", 0)
        queue_forgetting(machine.state, [EventFilter(session=SESSION)])
        people._place.change("UPDATE events SET received = 0")  # noqa: SLF001 - time passes
        found = machine.started().exchanges()
        assert [one.text for one in found.orders] == ["goal pause"]
        assert len(found.records or ()) == 1
        assert [one.account for one in person.limits()] == ["claude"]
        assert [one.event.kind for one in person.read(EventFilter())] == ["service-limit"]


def test_what_a_server_refuses_says_what_to_type(
    postgres: PostgresServer, team_url: str, tmp_path: Path
) -> None:
    empty = postgres.url(postgres.new_database("template1"))
    for url, why in (
        (empty, "supervisor team init"),
        (as_login(team_url, "nobody"), "refused"),
        (postgres.url("nowhere"), "refused"),
    ):
        with closing(TeamDoor(url)) as door:
            machine = TeamMachine(door, tmp_path / "here", "laptop")
            machine.do("a")
            with pytest.raises(TeamRefusedError, match=why):
                machine.exchange()


class DyingDatabase(PostgresDatabase):
    """Its server is killed once, between the events of a batch and their commit."""

    def __init__(self, url: str, server: PostgresServer) -> None:
        super().__init__(url)
        self._server: PostgresServer | None = server

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with super().transaction() as own:
            many = own.many

            def many_and_death(sql: str, values: Sequence[Row]) -> int:
                number = many(sql, values)
                if "INSERT INTO events" in sql and self._server is not None:
                    self._server.stop("immediate")
                    self._server = None
                return number

            own.many = many_and_death  # type: ignore[method-assign] # the server dies
            yield own


def test_a_server_that_is_killed_in_a_batch_and_started_again_has_each_event_once(tmp_path: Path) -> None:
    with postgres_cluster() as server:
        database = DyingDatabase(server.url(server.new_database()), server)
        with closing(database), closing(TeamDoor(tmp_path / "unused")) as door:
            machine = TeamMachine(door, tmp_path / "here", "laptop")
            store = TeamStore(database, Membership(machine="m1", person="ann").member)
            door.open = lambda _: store  # type: ignore[method-assign, assignment] # this one
            machine.started().do(*"abc")
            with pytest.raises(TeamAwayError):
                machine.exchange()
            machine.do("d")
            with pytest.raises(TeamAwayError):
                machine.exchange()
            server.start()
            machine.exchanges()
            assert orders_in(store) == [*"abcd"]
            server.stop()
            server.start()
            machine.do("e")
            machine.exchanges()
            assert orders_in(store) == [*"abcde"]
            assert not machine.told()
