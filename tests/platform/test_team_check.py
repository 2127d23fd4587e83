"""What keeps a machine from joining a database, and what is found out of a real one."""

from __future__ import annotations

from contextlib import closing

import pytest
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.platform.team.database import team_statements
from sidecar.platform.team.postgres import AGENT_ROLE, PERSON_ROLE, PostgresDatabase, TeamCheck
from support.postgres import PostgresServer, run_sql

GOOD = TeamCheck(
    server=150018,
    schema=len(team_statements("postgresql").migrations),
    role="agent",
    encrypted=True,
    local=False,
    clock_offset=3600.0,
)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (GOOD, ""),
        (replace(GOOD, encrypted=False), ""),
        (replace(GOOD, server=140012), "its PostgreSQL is 14; 15 is needed"),
        (replace(GOOD, schema=0), "supervisor team init URL"),
        (replace(GOOD, schema=GOOD.schema - 1), "supervisor team init URL"),
        (replace(GOOD, schema=GOOD.schema + 1), "newer Supervisor"),
        (replace(GOOD, role=""), "supervisor team invite NAME"),
        (replace(GOOD, role="person"), "agents must not have"),
    ],
)
def test_a_database_that_agents_may_not_join_says_what_to_type(found: TeamCheck, why: str) -> None:
    assert why in found.objection()
    assert bool(found.objection()) == bool(why)


@pytest.mark.parametrize(
    ("offset", "note"),
    [
        (59.0, "as the database's"),
        (3600.0, "3600 s behind the database's, which counts"),
        (-3600.0, "3600 s ahead of the database's, which counts"),
    ],
)
def test_a_clock_that_is_off_is_told_and_hinders_nobody(offset: float, note: str) -> None:
    found = replace(GOOD, clock_offset=offset)
    assert (found.clock_note, found.objection()) == (note, "")


@pytest.mark.process
def test_a_login_is_of_the_role_that_it_was_made_for(postgres: PostgresServer, team_url: str) -> None:
    with closing(PostgresDatabase(team_url)) as owner:
        for role, name in ((AGENT_ROLE, "agent"), (PERSON_ROLE, "person")):
            owner.make_login(f"check-{name}", role, "secret")
            with closing(PostgresDatabase(team_url.replace("supervisor@", f"check-{name}@"))) as own:
                found = own.check()
            assert (found.role, found.schema) == (name, GOOD.schema)
            assert (found.local, found.encrypted) == (True, False)
            assert found.server >= 150000
            assert abs(found.clock_offset) < 60
        with pytest.raises(BadInputError, match="is there already"):
            owner.make_login("check-agent", AGENT_ROLE, "other")
    kept = run_sql(
        postgres.url("postgres"), "SELECT rolpassword FROM pg_authid WHERE rolname = 'check-agent'"
    )
    assert str(kept[0][0]).startswith("SCRAM-SHA-256$")
