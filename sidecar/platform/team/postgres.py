"""The team's PostgreSQL, by psycopg, which is imported here alone, and only where a team was joined.

A connection is opened at its first use and again after it broke. To another machine it is encrypted, unless
the URL says otherwise. Every wait has a bound: a network that swallows packets is found out after ANSWER_S.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.installation import add_package_command
from sidecar.platform.team.database import Connection, Dialect, Row, migrate, team_statements
from sidecar.platform.team.ports import TeamAwayError, TeamRefusedError

if TYPE_CHECKING:
    import psycopg

CONNECT_S: Final = 5
"""Seconds within which a connection must be made."""
ANSWER_S: Final = 10
"""Seconds within which the database must answer a statement, or acknowledge what was sent."""
OPTIONS: Final = (
    f"-c search_path=supervisor -c statement_timeout={ANSWER_S}s"
    # A machine that sleeps in the middle of a transaction would hold up all others.
    f" -c idle_in_transaction_session_timeout={ANSWER_S}s"
)
OLDEST: Final = 150000
"""The oldest version of PostgreSQL that is supported, as it numbers them."""
SCHEMA: Final = "supervisor"
ROLES: Final = ("supervisor_agent", "supervisor_person")
POSTGRESQL: Final = Dialect(
    name="postgresql",
    parts={
        "now": "EXTRACT(EPOCH FROM statement_timestamp())::float8",
        "today": "to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
        "member": "session_user",
        "identity": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "bytes": "BYTEA",
        "skip_locked": "FOR UPDATE OF one SKIP LOCKED",
        "for_update": "FOR UPDATE",
        "lock_events": "pg_advisory_xact_lock(hashtext('supervisor events'))",
        "lock_slots": "pg_advisory_xact_lock(hashtext('supervisor slots ' || %(key)s))",
    },
)
AGENT_ROLE, PERSON_ROLE = ROLES
MAY_BE_PLAIN: Final = "\n  - in a network that is encrypted already, add to the URL: ?sslmode=disable"
PERSON_LOGIN: Final = """this is a person's login, which agents must not have
  - join with the line that this prints: supervisor team invite NAME"""
CLOCK_S: Final = 60.0
"""Seconds by which the clock of a machine may differ from the database's before that is told."""
FIND_ROLES: Final = """SELECT rolname AS role FROM pg_roles
WHERE rolname = ANY(%(roles)s) AND pg_has_role(session_user, oid, 'MEMBER')"""
KNOWN_VERSION: Final = "SELECT to_regclass('supervisor.version') IS NOT NULL AS there"


class TeamCheck(Struct, frozen=True, kw_only=True):
    """What was found of a database. `server` is its version as it numbers them, `schema` the last migration.

    `role` is that of the login: agent, person, or "". `local`: reached without leaving this machine.
    `clock_offset`: seconds by which the database's clock is ahead of this machine's.
    """

    server: int
    schema: int
    role: str
    encrypted: bool
    local: bool
    clock_offset: float

    @property
    def clock_note(self) -> str:
        """Say how this machine's clock stands to the database's, which counts in a team."""
        seconds = f"{abs(self.clock_offset):.0f} s"
        if abs(self.clock_offset) <= CLOCK_S:
            return "as the database's"
        return f"{seconds} {'behind' if self.clock_offset > 0 else 'ahead of'} the database's, which counts"

    def objection(self) -> str:
        """Return why agents may not join it, and what to type; "" where they may."""
        rows = (
            (self.server < OLDEST, f"its PostgreSQL is {self.server // 10000}; {OLDEST // 10000} is needed"),
            (bool(why := _schema_objection(self.schema)), why),
            (
                not self.role,
                "this login has no part in it\n  - an administrator types: supervisor team invite NAME",
            ),
            (self.role == "person", PERSON_LOGIN),
        )
        return next((why for holds, why in rows if holds), "")


def _schema_objection(schema: int) -> str:
    newest = len(team_statements(POSTGRESQL.name).migrations)
    if schema > newest:
        return "a newer Supervisor made its tables\n  - install that one here"
    older = "its tables are older" if schema else "it has no team yet"
    return "" if schema == newest else f"{older}\n  - an administrator types: supervisor team init URL"


class PostgresDatabase:
    """Implements `TeamDatabase` for a URL without password. Raises BadInputError where psycopg is missing."""

    dialect = POSTGRESQL

    def __init__(self, url: str, password: str = "") -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise BadInputError(f"a team needs psycopg: {add_package_command('psycopg[binary]')}")
        self._url = url
        self._password = password or None
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._fits = False
        """Whether the tables that this connection found are of this version."""

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with self._of_any_version() as own:
            if not self._fits and (why := _schema_objection(self.version())):
                raise TeamRefusedError(f"the team's database cannot be used: {why}")
            self._fits = True
            yield own

    @contextmanager
    def _of_any_version(self) -> Iterator[Connection]:
        """Open a transaction, on a new connection where the server left the last one meanwhile."""
        import psycopg  # noqa: PLC0415 - as in _connected

        with self._lock, self._errors(), ExitStack() as stack:
            is_new = self._connection is None
            try:
                stack.enter_context(self._connected().transaction())
            except psycopg.OperationalError:
                if is_new:
                    raise
                self.close()
                stack.enter_context(self._connected().transaction())
            yield _PostgresConnection(self._connected())

    def version(self) -> int:
        with self._of_any_version() as own:
            if not own.rows(KNOWN_VERSION, {})[0]["there"]:
                return 0
            return int(own.rows("SELECT MAX(number) AS number FROM version", {})[0]["number"])

    def check(self) -> TeamCheck:
        """Find out what it is, and who this login is there."""
        with self._of_any_version() as own:
            began = time.time()
            now = own.rows(f"SELECT {POSTGRESQL.parts['now']} AS now", {})[0]["now"]
            offset = now - (began + time.time()) / 2
            roles = {row["role"] for row in own.rows(FIND_ROLES, {"roles": list(ROLES)})}
            connection = self._connected()
            role = "person" if PERSON_ROLE in roles else "agent" if roles else ""
            return TeamCheck(
                server=connection.info.server_version,
                schema=self.version(),
                role=role,
                encrypted=bool(connection.pgconn.ssl_in_use),
                local=_is_local(connection.info.host, connection.info.hostaddr),
                clock_offset=offset,
            )

    def make_login(self, login: str, role: str, password: str) -> None:
        """Make a login of a role. The server gets no password that its log could repeat."""
        from psycopg import sql  # noqa: PLC0415 - as in _connected

        with self.transaction():
            connection = self._connected()
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (login,)).fetchone():
                raise BadInputError(
                    f"the login {login} is there already, and serves all machines of its owner. Where its "
                    f'URL is lost, type in psql: DROP ROLE "{login}"; then invite again'
                )
            sealed = connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256")
            make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}")
            connection.execute(make.format(sql.Identifier(login), sealed.decode(), sql.Identifier(role)))

    def init(self) -> None:
        """Make schema, roles and tables, or bring them to this version. The login must be allowed to."""
        version = self.version()
        with self._of_any_version() as own:
            for role in ROLES:
                if not own.rows("SELECT 1 AS there FROM pg_roles WHERE rolname = %(role)s", {"role": role}):
                    own.script(f"CREATE ROLE {role} NOLOGIN")
            own.script(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            if not version:
                own.script("CREATE TABLE version (number BIGINT NOT NULL)")
            own.rows("DELETE FROM version", {})
            own.rows("INSERT INTO version VALUES (%(number)s)", {"number": migrate(self, own, version)})
            own.script(f"GRANT SELECT ON version TO {', '.join(ROLES)}")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection, self._fits = None, False

    def _connected(self) -> psycopg.Connection[dict[str, Any]]:
        if self._connection is None or self._connection.closed:
            self._connection = _connect(self._url, self._password)
        return self._connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import psycopg  # noqa: PLC0415 - as above

        try:
            yield
        except (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            psycopg.errors.ReadOnlySqlTransaction,  # another server took its place
        ) as error:
            with suppress(psycopg.Error):
                self.close()
            raise TeamAwayError(f"the team's database is not available: {_first_line(error)}") from error
        except psycopg.Error as error:
            self._fits = False  # its tables may have been changed
            raise TeamRefusedError(f"the team's database refused: {_first_line(error)}") from error


class _PostgresConnection:
    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Row) -> list[Row]:
        cursor = self._connection.execute(sql.encode(), dict(values))
        return list(cursor.fetchall()) if cursor.description else []

    def many(self, sql: str, values: Sequence[Row]) -> int:
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.encode(), [dict(one) for one in values])
            return cursor.rowcount

    def script(self, sql: str) -> None:
        self._connection.execute(sql.replace("%%", "%").encode())


def _connect(url: str, password: str | None) -> psycopg.Connection[dict[str, Any]]:
    """Open a connection. Raises TeamRefusedError where a server answers and does not take the login."""
    import psycopg  # noqa: PLC0415 - a sidecar without a team does without
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415 - the same
    from psycopg.pq import PGconn, Ping  # noqa: PLC0415 - the same
    from psycopg.rows import dict_row  # noqa: PLC0415 - the same

    given = conninfo_to_dict(url)
    is_near = _is_local(str(given.get("host") or "/"), str(given.get("hostaddr") or ""))
    tls = {} if "sslmode" in given or is_near else {"sslmode": "require"}
    try:
        return psycopg.connect(
            make_conninfo(url, **tls),
            password=password,
            autocommit=True,
            row_factory=dict_row,
            application_name=SCHEMA,
            connect_timeout=CONNECT_S,
            tcp_user_timeout=ANSWER_S * 1000,
            keepalives_idle=ANSWER_S,
            keepalives_interval=ANSWER_S,
            options=OPTIONS,
        )
    except psycopg.errors.ConnectionTimeout:
        raise  # a probe would wait as long
    except psycopg.OperationalError as error:
        # libpq gives no code for what was refused: a server that answers others is not away.
        for mode, advice in ((tls, ""), ({"sslmode": "disable"}, MAY_BE_PLAIN if tls else "")):
            probe = make_conninfo(url, connect_timeout=CONNECT_S, **mode)
            if PGconn.ping(probe.encode()) == Ping.OK:
                raise TeamRefusedError(
                    f"the team's database refused: {_first_line(error)}{advice}"
                ) from error
        raise


def _is_local(host: str, address: str) -> bool:
    """Whether a server is reached by a socket of this machine, or within it. `address`: "" where unknown."""
    if host.startswith("/") or (host == "localhost" and not address):
        return True
    try:
        return ipaddress.ip_address(address or host).is_loopback
    except ValueError:
        return False


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
