"""What the database lets an agent's login do in plain SQL, whatever the program in front of it intends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import EventFilter, LoggedEvent, StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.platform.team.ports import (
    Account,
    Machine,
    Member,
    TeamOrder,
    TeamRefusedError,
    TeamTask,
    TeamTaskState,
)
from sidecar.platform.team.postgres import AGENT_ROLE, PostgresDatabase
from sidecar.platform.team.store import TeamStore
from support.postgres import PostgresServer, as_login, run_sql

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'supervisor' ORDER BY tablename"
UNGUARDED = """
SELECT relname FROM pg_class WHERE relnamespace = 'supervisor'::regnamespace AND relkind = 'r'
    AND (has_any_column_privilege('supervisor_agent', oid, 'INSERT, UPDATE')
        OR has_table_privilege('supervisor_agent', oid, 'DELETE, TRUNCATE'))
    AND NOT relrowsecurity AND NOT relhastriggers
"""
COLUMNS = "machine, sequence, person, at, host, session, project, system, kind, origin, data"

REFUSED = """
UPDATE records SET value = 'x' WHERE key = 'organisation/trust.json'
UPDATE records SET value = 'x' WHERE key = 'organisation/rubric.md'
UPDATE records SET value = 'x' WHERE key = 'machine/m1'
UPDATE records SET key = 'organisation/config.toml' WHERE key = 'machine/m2'
DELETE FROM records WHERE key <> 'machine/m2'
INSERT INTO records VALUES ('organisation/config.toml', 'x', 1, 'ann', 0)
INSERT INTO records VALUES ('machine/m3', 'x', 1, 'ann', 0, 'agent1')
INSERT INTO records VALUES ('organisation/rubric.md', '', 1, '', 0) ON CONFLICT (key) DO UPDATE SET value = ''
UPDATE accounts SET most = 1000000
UPDATE accounts SET daily = true
UPDATE accounts SET used = used - 1
UPDATE accounts SET used = 0, day = '2001-01-01'
UPDATE accounts SET day = '2001-01-01'
INSERT INTO accounts (name, most, daily) VALUES ('mine', 1000000, false)
DELETE FROM accounts
UPDATE charges SET reserved = 0 WHERE key = 'of agent1'
UPDATE charges SET spent = NULL, reserved = 0 WHERE key = 'spent by agent2'
UPDATE charges SET member = 'agent2' WHERE key = 'of agent1'
INSERT INTO charges VALUES ('cents', 'x', -5, NULL, 9e9, 'm2')
INSERT INTO charges VALUES ('cents', 'x', 5, NULL, 9e9, 'm1', 'agent1')
DELETE FROM charges WHERE true
UPDATE limits SET until = 0
DELETE FROM limits
UPDATE slots SET until = 0 WHERE token = 'of agent1'
UPDATE slots SET member = 'agent1' WHERE token = 'of agent2'
UPDATE slots SET member = 'agent2' WHERE token = 'of agent1'
DELETE FROM slots WHERE token = 'of agent1'
INSERT INTO events {as_m1}
INSERT INTO events {as_agent1}
UPDATE events SET machine = 'm2'
UPDATE events SET data = 'x' WHERE machine = 'm2'
DELETE FROM events WHERE machine = 'm1'
INSERT INTO sessions VALUES ('m1', 'h', 's', 'ann', '/p', 0, 0, '', '', 0, 0, 0)
INSERT INTO figures VALUES ('2026-01-01', 'm1', 'ann', '/q', 'h', 0, 0, 0, 0, 0, 0, 0, 0)
UPDATE figures SET cents = 0 WHERE machine = 'm1'
UPDATE figures SET machine = 'm1', project = '/q' WHERE machine = 'm2'
DELETE FROM figures
UPDATE sessions SET cents = 0 WHERE machine = 'm1'
UPDATE sessions SET machine = 'm1' WHERE machine = 'm2'
DELETE FROM sessions WHERE machine = 'm1'
UPDATE machines SET fingerprint = 'x' WHERE id = 'm1'
UPDATE machines SET member = 'agent2' WHERE id = 'm1'
UPDATE machines SET member = 'agent1' WHERE id = 'm2'
DELETE FROM machines WHERE id = 'm1'
UPDATE tasks SET state = 'merged', member = 'agent2' WHERE id = 'open'
UPDATE tasks SET state = 'merged' WHERE id = 'open'
UPDATE tasks SET state = 'open', member = 'agent2' WHERE id = 'held'
UPDATE tasks SET state = 'claimed', member = 'agent2' WHERE id = 'of agent1'
UPDATE tasks SET token = 'mine', until = 0 WHERE id = 'of agent1'
UPDATE tasks SET state = 'merged', member = 'agent2' WHERE id = 'ran out'
UPDATE tasks SET state = 'claimed', member = 'agent1' WHERE id = 'open'
UPDATE tasks SET content = 'x'
UPDATE tasks SET checks = '[]' WHERE id = 'of agent2'
UPDATE tasks SET needs = '[]'
DELETE FROM tasks
DELETE FROM needs
INSERT INTO tasks (list, id, content, checks, needs, state) VALUES ('L', 'x', 'x', '[]', '[]', 'open')
INSERT INTO needs VALUES ('L', 'open', 'x')
INSERT INTO paused VALUES ('L', 'x', 0)
DELETE FROM paused
INSERT INTO orders (machine, session, text, person, at) VALUES ('m1', 's', 'goal clear', 'ann', 0)
UPDATE orders SET text = 'goal clear'
UPDATE orders SET taken = 1 WHERE machine = 'm1'
DELETE FROM orders
UPDATE version SET number = 1
TRUNCATE events
DROP POLICY own ON events
ALTER TABLE events DISABLE ROW LEVEL SECURITY
ALTER TABLE tasks DISABLE TRIGGER hold_a_task_first
DROP TRIGGER never_less ON accounts
CREATE OR REPLACE FUNCTION people_only() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$
CREATE FUNCTION pg_has_role(name, text, text) RETURNS BOOLEAN LANGUAGE SQL RETURN true
CREATE TABLE mine (x INT)
SET session_replication_role = replica
SET SESSION AUTHORIZATION person
SET ROLE supervisor_person
GRANT supervisor_person TO agent2
ALTER ROLE agent2 SUPERUSER
CREATE ROLE mine
SELECT rolpassword FROM pg_authid
SELECT passwd FROM pg_shadow
COPY events TO PROGRAM 'true'
SELECT pg_read_file('/etc/passwd')
"""
REST = "99, 'ann', 0, 'h', 's', '/p', 's', 'k', '', 'x'"
AS_M1 = f"({COLUMNS}) VALUES ('m1', {REST})"
AS_AGENT1 = f"({COLUMNS}, member) VALUES ('m2', {REST}, 'agent1')"

OPEN, MERGED, HELD = TeamTaskState.OPEN, TeamTaskState.MERGED, TeamTaskState.HELD
KEY = SessionKey("claude-code", "s1")
LOST = -1.0
"""A lease that has run out."""


class Members:
    """Two machines with an agent's login each, and a person."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._stores: list[TeamStore] = []
        self.one, self.two = self.member("agent1", "m1", "ann"), self.member("agent2", "m2", "bob")
        self.person = self.member("person", "desk", "carol")

    def member(self, login: str, machine: str, person: str) -> TeamStore:
        database = PostgresDatabase(as_login(self.url, login))
        self._stores.append(TeamStore(database, Member(machine=machine, person=person)))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()

    def all_rows(self) -> list[list[tuple[object, ...]]]:
        """Everything that is stored, as the owner sees it."""
        return [run_sql(self.url, f"TABLE supervisor.{table}") for (table,) in run_sql(self.url, TABLES)]


def event(position: int) -> LoggedEvent:
    stop = StopJudged(decided="continue")
    return LoggedEvent(at=1.0, system="s", position=position, session=KEY, project="/p", data=stop)


@pytest.fixture
def members(team_url: str) -> Iterator[Members]:
    members = Members(team_url)
    one, two, person = members.one, members.two, members.person
    for name in ("rubric.md", "trust.json"):
        person.save(f"organisation/{name}", b"theirs", 0)
    person.set_limit(Account(name="cents", most=10, daily=True))
    person.set_limit(Account(name="tokens", most=10))
    for ident in ("of agent1", "ran out", "of agent2", "held", "open"):
        person.add(TeamTask(list="L", id=ident, content="x", needs=("held",) if ident == "open" else ()))
    for number, store in enumerate((one, two), start=1):
        assert store.join(Machine(id=f"m{number}", name="x", person="x", fingerprint="f", version="1"))
        assert store.append([event(1)]) == 1
        store.save(f"machine/m{number}", b"mine", 0)
        assert store.claim("L", 90.0 if number == 1 else LOST)
        assert store.reserve("cents", 2, f"of agent{number}")
        store.settle("cents", 1, f"spent by agent{number}")
        store.settle("tokens", 1, f"spent by agent{number}")
        assert store.take_slot("model", 2, f"of agent{number}")
        person.order(TeamOrder(machine=f"m{number}", session="s", text="goal pause"))
    taken = two.claim("L")
    assert taken is not None
    assert taken.task.id == "ran out"
    assert two.extend(taken, LOST)
    run_sql(team_url, "UPDATE supervisor.tasks SET until = 0, member = 'agent1' WHERE id = 'ran out'")
    person.put("L", "held", HELD)
    one.note_limit(ServiceLimit(account="claude", until=one.now() + 60, said="x"))
    person.pause("K")
    yield members
    members.close()


def test_what_only_people_or_another_machine_may_do_is_refused(members: Members) -> None:
    """It is an error of rights, or the row is not there for who asks; nothing that is stored changes."""
    import psycopg  # noqa: PLC0415 - the tests without a team do without

    refused, before, wrong = REFUSED.format(as_m1=AS_M1, as_agent1=AS_AGENT1), members.all_rows(), []
    assert all(before), "each table has a row that a statement could change"
    url, schema = as_login(members.url, "agent2"), "-c search_path=supervisor"
    with psycopg.connect(url, autocommit=True, options=schema) as connection:
        for statement in refused.strip().splitlines():
            try:
                if connection.execute(statement.encode()).rowcount:
                    wrong.append(f"done: {statement}")
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.CheckViolation):
                pass
            except psycopg.Error as error:
                wrong.append(f"not tried: {statement}: {error}")
            if (after := members.all_rows()) != before:
                wrong.append(f"something changed: {statement}")
                before = after
    assert wrong == []


def test_every_table_that_an_agent_may_write_says_which_rows(team_url: str) -> None:
    assert run_sql(team_url, UNGUARDED) == []


def test_what_an_agent_is_there_for_works_with_its_rights(members: Members) -> None:
    two = members.two
    assert two.append([event(1), event(2)]) == 1
    assert len(two.read(EventFilter(), machine="m1")) == 1
    assert len(two.sessions(9)) == 2
    assert two.forget(EventFilter(session=KEY)) == 2
    assert two.save("machine/m2", b"new", 1) == 2
    two.remove("machine/m2")
    assert [one.key for one in two.find("organisation/")] == [
        "organisation/rubric.md",
        "organisation/trust.json",
    ]

    again, mine = two.claim("L"), two.claim("L")
    assert again is not None
    assert mine is not None
    assert (again.task.id, mine.task.id) == ("ran out", "of agent2")
    assert two.extend(again)
    assert two.settle_task(again, MERGED)
    assert two.settle_task(mine, OPEN, branch="b")
    assert two.is_paused("K")

    assert two.reserve("cents", 4, "k")
    assert not two.reserve("cents", 1, "l")
    two.settle("cents", 6, "k")
    run_sql(members.url, "UPDATE supervisor.accounts SET day = '2001-01-01'")
    assert two.reserve("cents", 6, "m")
    two.settle("cents", 2, "m")
    assert {one.name: one.used for one in two.accounts()} == {"cents": 2, "tokens": 2}
    two.free_slot("model", "of agent2")
    assert two.take_slot("model", 2, "x")
    assert two.take_slot("model", 2, "x")
    run_sql(members.url, "UPDATE supervisor.slots SET until = 0")
    assert two.take_slot("model", 1, "y"), "what ran out is cleared away, also of others"
    two.note_limit(ServiceLimit(account="claude", until=two.now() + 90, said="longer"))
    assert [one.said for one in two.limits()] == ["longer"]
    assert [one.text for one in two.take_orders()] == ["goal pause"]
    two.leave()
    assert [one.id for one in two.machines()] == ["m1"]


def test_a_person_may_do_what_an_agent_may_not(members: Members) -> None:
    person = members.person
    assert person.save("organisation/rubric.md", b"new", 1) == 2
    person.remove("organisation/trust.json")
    person.set_limit(Account(name="tokens", most=99))
    assert person.put("L", "of agent1", MERGED)
    assert person.put("L", "held", OPEN)
    person.pause("K", paused=False)
    assert not person.is_paused("K")
    assert person.add(TeamTask(list="L", id="new", content="x", needs=("open",)))
    assert len(person.machines()) == 2
    run_sql(as_login(members.url, "person"), "DELETE FROM supervisor.limits")
    assert person.limits() == ()


REFUSED_CALLS: dict[str, Callable[[Members], object]] = {
    "set a limit": lambda team: team.two.set_limit(Account(name="cents", most=1e9)),
    "save the rubric": lambda team: team.two.save("organisation/new.md", b"x", 0),
    "put a task": lambda team: team.two.put("L", "of agent1", MERGED),
    "give an order": lambda team: team.two.order(TeamOrder(machine="m1", session="s", text="goal clear")),
    "pause a list": lambda team: team.two.pause("L"),
    "append before it joined": lambda team: team.member("agent2", "m9", "bob").append([event(9)]),
}


@pytest.mark.parametrize("ask", REFUSED_CALLS, ids=str)
def test_a_call_that_the_rights_refuse_says_so(members: Members, ask: str) -> None:
    with pytest.raises(TeamRefusedError, match=r"the team's database refused: .*"):
        REFUSED_CALLS[ask](members)


def test_an_administrator_who_is_no_superuser_makes_tables_and_logins(postgres: PostgresServer) -> None:
    name = postgres.new_database("template0")
    admin, agent, url = f"admin_{name}", f"agent_{name}", postgres.url(name)
    run_sql(url, f"CREATE ROLE {admin} LOGIN CREATEROLE", f"ALTER DATABASE {name} OWNER TO {admin}")
    with closing(PostgresDatabase(as_login(url, admin))) as database:
        for _ in range(2):
            database.init()
        database.make_login(agent, AGENT_ROLE, "secret")
    member = Member(machine="m1", person="ann")
    with closing(TeamStore(PostgresDatabase(as_login(url, agent)), member)) as store:
        assert store.join(Machine(id="m1", name="x", person="x", fingerprint="f", version="1"))
        assert store.append([event(1)]) == 1
        with pytest.raises(TeamRefusedError):
            store.pause("L")
