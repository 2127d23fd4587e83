"""A PostgreSQL for a test: a cluster of its own below /tmp, on a socket alone, ended with the tests.

`team_url` is what most tests want: an initialised database that nobody else uses. A test that stops its
server starts one of its own with `postgres_cluster`.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Literal

import pytest

from sidecar.platform.team.postgres import PostgresDatabase

OWNER: Final = "supervisor"
"""The login that made the cluster and may do anything. Nobody is asked for a password."""
LOGINS: Final = {
    "agent1": "supervisor_agent",
    "agent2": "supervisor_agent",
    "person": "supervisor_person",
}
"""Logins that each cluster has, and their roles; see `as_login`."""
TEMPLATE: Final = "initialised"
READY: Final = "ready to accept connections"
SETTINGS: Final = {
    "fsync": "off",  # the machine does not fail, the server at most
    "listen_addresses": "",
    "max_connections": "200",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "shared_buffers": "16MB",
}
WAIT_S: Final = 60.0
"""Seconds within which a server must start or end."""
_numbers = itertools.count()


class PostgresServer:
    """A server and the folder of its cluster."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self.folder = binaries, folder
        self._as_owner: list[str] = []
        if os.geteuid() == 0:  # which PostgreSQL refuses
            shutil.chown(folder, "postgres", "postgres")
            self._as_owner = ["--reuid=postgres", "--regid=postgres", "--init-groups"]
        self._process: subprocess.Popen[str] | None = None
        make = ("-D", f"{folder}/data", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        subprocess.run(self._command("initdb", *make), check=True, capture_output=True, cwd=folder)

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self, **settings: str) -> None:
        """Start it with these settings besides ours; return when it takes connections."""
        options = (f"-c{name}={value}" for name, value in (SETTINGS | settings).items())
        command = self._command("postgres", "-D", f"{self.folder}/data", "-k", str(self.folder), *options)
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        assert self._process.stderr
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if READY in line:
                threading.Thread(target=_drain, args=(self._process.stderr,), daemon=True).start()
                return
        pytest.fail(f"PostgreSQL did not start: {''.join(lines)}")

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop it: `immediate` is as if it had been killed."""
        if self._process is None:
            return
        stop = ("stop", "-D", f"{self.folder}/data", "-m", mode, "-W")
        subprocess.run(self._command("pg_ctl", *stop), check=True, capture_output=True, cwd=self.folder)
        self._process.wait(WAIT_S)
        self._process = None

    def url(self, database: str, login: str = OWNER, host: str = "", **more: str) -> str:
        """The URL of a database; `more` are parameters such as `port`."""
        parameters = {"host": host or str(self.folder)} | more
        return f"postgresql://{login}@/{database}?" + "&".join(f"{k}={v}" for k, v in parameters.items())

    def new_database(self, template: str = TEMPLATE) -> str:
        """Make a database; return its name."""
        name = f"team{next(_numbers)}"
        run_sql(self.url("postgres"), f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def make_certificate(self) -> tuple[str, str]:
        """Make what the settings `ssl_key_file` and `ssl_cert_file` name: it is signed by itself."""
        key, certificate = f"{self.folder}/key", f"{self.folder}/certificate"
        make = f"req -x509 -nodes -days 2 -subj /CN=db -keyout {key} -out {certificate}".split()
        subprocess.run([*self._owned(), "openssl", *make], check=True, capture_output=True, cwd=self.folder)
        return key, certificate

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [*self._owned(), str(self._binaries / program), *arguments]

    def _owned(self) -> list[str]:
        """Return how a command line of the owner begins, which ends with the process of the tests."""
        setpriv = ["setpriv", *self._as_owner, "--pdeathsig=INT"]
        return [*setpriv, "env", "-i", "PATH=/usr/bin:/bin"]


def _drain(stream: IO[str]) -> None:
    with stream:
        for _ in stream:
            pass


def run_sql(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Carry out statements, each in a transaction of its own; return the rows of the last."""
    import psycopg  # noqa: PLC0415 - every other test does without

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements[:-1]:
            connection.execute(statement.encode())
        cursor = connection.execute(statements[-1].encode())
        return cursor.fetchall() if cursor.description else []


def as_login(url: str, login: str) -> str:
    """The same database for another login."""
    return url.replace(f"//{OWNER}@", f"//{login}@")


def unused_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def postgres_cluster() -> Iterator[PostgresServer]:
    """A server that runs, with an initialised database to copy. Where none is installed the test is skipped,
    and fails in CI."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path has 107 bytes at most
    try:
        server = PostgresServer(_find_binaries(), folder)
        server.start()
        try:
            run_sql(server.url("postgres"), f"CREATE DATABASE {TEMPLATE}")
            database = PostgresDatabase(server.url(TEMPLATE))
            database.init()
            database.close()
            for login, role in LOGINS.items():
                run_sql(server.url("postgres"), f"CREATE ROLE {login} LOGIN IN ROLE {role}")
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder)


def _find_binaries() -> Path:
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    newest = max(found, key=lambda path: int(path.parts[-3]), default=shutil.which("initdb"))
    missing = "" if newest else "there is no initdb: install PostgreSQL"
    if not missing and os.geteuid() == 0 and "postgres" not in {user.pw_name for user in pwd.getpwall()}:
        missing = "PostgreSQL does not run as root, and there is no user `postgres`"
    if missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return Path(str(newest)).parent


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server that all tests of this process share, each in a database of its own. It is never stopped."""
    with postgres_cluster() as server:
        yield server


@pytest.fixture
def team_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an initialised database of this test alone, as its owner."""
    name = postgres.new_database()
    yield postgres.url(name)
    run_sql(postgres.url("postgres"), f"DROP DATABASE {name} WITH (FORCE)")
