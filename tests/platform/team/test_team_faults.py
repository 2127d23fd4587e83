"""A team's database that is away, ends in the middle, refuses or is full: what its callers are told."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.platform.team import postgres
from sidecar.platform.team.ports import Member, TeamAwayError, TeamRefusedError
from sidecar.platform.team.postgres import PostgresDatabase
from sidecar.platform.team.store import TeamStore
from support.disks import files_of_at_most
from support.postgres import PostgresServer, as_login, postgres_cluster, run_sql, unused_port
from support.team_sqlite import SqliteDatabase

MEMBER = Member(machine="m1", person="ann")


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    with postgres_cluster() as server:
        yield server


@pytest.fixture
def server(cluster: PostgresServer) -> PostgresServer:
    """A server of these tests alone, which runs when one begins."""
    if not cluster.runs:
        cluster.start()
    return cluster


@pytest.fixture
def store(server: PostgresServer) -> Iterator[TeamStore]:
    with closing(TeamStore(PostgresDatabase(server.url(server.new_database())), MEMBER)) as store:
        yield store


@pytest.mark.process
def test_a_server_that_is_away_at_first_is_used_once_it_is_there(
    server: PostgresServer, store: TeamStore
) -> None:
    server.stop()
    for _ in range(2):
        with pytest.raises(TeamAwayError, match="not available: connection"):
            store.find("")
    server.start()
    assert store.find("") == ()


@pytest.mark.process
def test_a_server_that_was_restarted_between_two_calls_is_not_noticed(
    server: PostgresServer, store: TeamStore
) -> None:
    assert store.save("a", b"1", 0) == 1
    server.stop()
    server.start()
    assert store.save("a", b"2", 1) == 2


@pytest.mark.process
def test_of_a_transaction_in_which_the_server_died_nothing_is_there(
    server: PostgresServer, store: TeamStore
) -> None:
    def die() -> None:
        with store.transaction():
            store.save("a", b"1", 0)
            server.stop("immediate")
            store.save("b", b"1", 0)

    with pytest.raises(TeamAwayError):
        die()
    with pytest.raises(TeamAwayError):
        store.find("")
    server.start()
    assert store.find("") == ()
    assert store.save("a", b"1", 0) == 1


@pytest.mark.process
def test_a_server_that_died_before_a_transaction_was_committed_is_told(
    server: PostgresServer, store: TeamStore
) -> None:
    def die() -> None:
        with store.transaction():
            store.save("a", b"1", 0)
            server.stop("immediate")

    with pytest.raises(TeamAwayError):
        die()
    server.start()
    assert store.find("") == ()


@pytest.mark.process
def test_a_login_that_the_server_refuses_is_told_from_a_server_that_is_away(server: PostgresServer) -> None:
    locked = server.new_database()
    rules = server.folder / "data/pg_hba.conf"
    rules.write_text(f"local {locked} all scram-sha-256\n{rules.read_text()}")
    run_sql(server.url("postgres"), "ALTER ROLE agent1 PASSWORD 'secret'")
    server.stop()
    server.start()
    for url, password, why in (
        (server.url(locked, "agent1"), "wrong", "password authentication failed"),
        (server.url(locked, "agent1"), "", "no password supplied"),
        (server.url(locked, "nobody"), "", 'role "nobody" does not exist|no password supplied'),
        (server.url("nothing"), "", 'database "nothing" does not exist'),
        ("postgresql://x/y?unknown=1", "", "unknown"),
    ):
        database = PostgresDatabase(url, password)
        with pytest.raises(TeamRefusedError, match=why):
            database.version()
    with closing(PostgresDatabase(server.url(locked, "agent1"), "secret")) as database:
        assert database.version() > 0


def test_a_network_that_swallows_packets_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(TeamAwayError, match="timeout"):
            PostgresDatabase(f"postgresql://ann@127.0.0.1:{port}/team").version()
        silent.accept()[0].close()
        silent.settimeout(0)
        with pytest.raises(BlockingIOError):
            silent.accept()


@pytest.mark.process
def test_to_another_machine_nothing_is_sent_in_the_clear_unless_the_url_says_so(
    server: PostgresServer,
) -> None:
    """The host `0` is reached within this machine, and is no address of it: to the product another one."""
    port = unused_port()
    far, near = (f"postgresql://supervisor@{host}:{port}/initialised" for host in ("0", "127.0.0.1"))
    key, certificate = server.make_certificate()
    found = {}
    for name, url, settings in (
        ("near", near, {}),
        ("asked for", f"{far}?sslmode=disable", {}),
        ("far", far, {"ssl": "on", "ssl_key_file": key, "ssl_cert_file": certificate}),
    ):
        server.stop()
        server.start(listen_addresses="127.0.0.1", port=str(port), **settings)
        with closing(PostgresDatabase(url)) as database:
            check = database.check()
        found[name] = (check.local, check.encrypted)
        if not settings:
            with pytest.raises(TeamRefusedError, match=r"SSL was required\n.*sslmode=disable"):
                PostgresDatabase(far).version()
    server.stop()
    assert found == {"near": (True, False), "asked for": (False, False), "far": (False, True)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE supervisor.version SET number = 0", "has no team yet"),
        ("UPDATE supervisor.version SET number = 1", "older.*\n.*supervisor team init"),
        ("UPDATE supervisor.version SET number = number + 1", "a newer Supervisor"),
    ],
)
def test_tables_of_another_version_are_not_used_and_what_to_type_is_said(
    team_url: str, change: str, why: str
) -> None:
    with closing(TeamStore(PostgresDatabase(as_login(team_url, "agent1")), MEMBER)) as store:
        assert store.find("") == ()
        run_sql(team_url, change)
        store.close()
        with pytest.raises(TeamRefusedError, match=why):
            store.find("")


def test_tables_that_are_changed_under_a_connection_are_looked_at_again(team_url: str) -> None:
    with closing(TeamStore(PostgresDatabase(team_url), MEMBER)) as store:
        assert store.find("") == ()
        run_sql(
            team_url,
            "ALTER TABLE supervisor.records RENAME COLUMN value TO content",
            "UPDATE supervisor.version SET number = number + 1",
        )
        with pytest.raises(TeamRefusedError, match='"value" does not exist'):
            store.find("")
        with pytest.raises(TeamRefusedError, match="a newer Supervisor"):
            store.find("")


def test_a_machine_that_hangs_in_a_transaction_holds_the_others_up_for_seconds(team_url: str) -> None:
    with closing(PostgresDatabase(team_url)) as database, database.transaction() as own:
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert own.rows(f"SHOW {name}", {}) == [{name: "10s"}]


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("disk_full", TeamAwayError),
        ("out_of_memory", TeamAwayError),
        ("query_canceled", TeamAwayError),
        ("lock_not_available", TeamAwayError),
        ("deadlock_detected", TeamAwayError),
        ("admin_shutdown", TeamAwayError),
        ("read_only_sql_transaction", TeamAwayError),
        ("insufficient_privilege", TeamRefusedError),
        ("check_violation", TeamRefusedError),
        ("numeric_value_out_of_range", TeamRefusedError),
        ("internal_error", TeamRefusedError),
    ],
)
def test_an_error_of_the_server_says_whether_the_call_may_be_repeated(
    team_url: str, condition: str, kind: type[OSError]
) -> None:
    run_sql(
        team_url,
        f"CREATE FUNCTION fail() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE {condition} USING"
        " MESSAGE = E'could not extend file\\nand more'; END $$",
        "CREATE TRIGGER fail BEFORE INSERT ON supervisor.records FOR EACH ROW EXECUTE FUNCTION fail()",
    )
    with closing(TeamStore(PostgresDatabase(team_url), MEMBER)) as store:
        for _ in range(2):
            with pytest.raises(kind, match=r"the team's database .*: could not extend file$"):
                store.save("a", b"1", 0)
        assert store.find("") == ()


def test_a_file_that_cannot_grow_keeps_what_it_had_and_is_used_again(tmp_path: Path) -> None:
    with closing(TeamStore(SqliteDatabase(tmp_path / "team.sqlite3"), MEMBER)) as store:
        store.save("a", b"1", 0)
        with files_of_at_most(100_000), pytest.raises(TeamAwayError):
            store.save("b", bytes(200_000), 0)
        assert [one.key for one in store.find("")] == ["a"]
        assert store.save("b", bytes(200_000), 0) == 1
