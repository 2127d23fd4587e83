"""What people wait for in a team with many sessions and events: history, watch and the page, and figures.

    python benchmarks/team_scale.py postgresql://LOGIN@/NAME?host=FOLDER [--events N ...] [--plans]

The database was made by `supervisor team init`, and is filled here: it must be an empty one for trying. Each
figure is the median of RUNS calls of the product's own readings, at each number of events in turn, so that
growth shows. --plans prints how PostgreSQL carries the statements out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Final

import psycopg

from sidecar.kernel.log import DECISION_KINDS, JudgingPaid, OrderGiven, StopJudged, WorkerRan, event_kind
from sidecar.platform.event_log import pack_event_data
from sidecar.platform.team.ports import Member
from sidecar.platform.team.postgres import PostgresDatabase
from sidecar.platform.team.store import TeamStore
from sidecar.servers.page.readings import TEAM_SESSIONS_SHOWN
from sidecar.servers.page.team_views import team_parts
from sidecar.systems.supervision.team import read_team, read_team_decisions

RUNS: Final = 7
MACHINES, PROJECTS, DAYS = 50, 40, 30
DATA: Final = (
    StopJudged(
        decided="continue",
        detail="`pytest -q` fails: test_total: assert 3 == 4; the discount is applied twice",
        stage="gates",
        tree="a" * 40,
        gates=("tests: failed",),
        gate_seconds=(3.1,),
        seconds=4.0,
        judge="claude-cli",
        judge_tokens=2500,
        judge_cents=1.2,
    ),
    StopJudged(decided="achieved", detail="all checks pass", stage="gates", tree="b" * 40, seconds=4.0),
    StopJudged(decided="nothing-suspicious", stage="rules", seconds=0.1),
    JudgingPaid(tokens=2500, cents=1.2, calls=1),
    WorkerRan(backend="run", model="sonnet", tokens=40_000, cents=30.0, calls=1, seconds=300.0),
    OrderGiven(name="goal", decided="done", detail="all tests pass"),
)
"""What events say, in turn."""
FILL: Final = """
INSERT INTO supervisor.events
    (machine, sequence, person, received, at, host, session, project, system, kind, origin, data)
SELECT 'm' || mod(n, {machines}), n, 'p' || mod(n, {machines}), s, s, 'claude-code',
    md5((1 + mod(n, {sessions}))::text), '/srv/p' || mod(n, {projects}), 'supervision',
    (%(kinds)s::text[])[1 + mod(n, {kinds})], '', (%(data)s::bytea[])[1 + mod(n, {kinds})]
FROM generate_series({first}, {last}) AS n,
    LATERAL (SELECT 1760000000 + n * ({days} * 86400.0 / {last}) AS s) AS at
"""
SESSIONS: Final = """
INSERT INTO supervisor.sessions
    (machine, host, session, person, project, began, changed, decided, detail, stops, sent_back, cents)
SELECT 'm' || mod(n, {machines}), 'claude-code', md5(n::text), 'p' || mod(n, {machines}),
    '/srv/p' || mod(n, {projects}), 1760000000 + n, 1760000000 + n * 100, 'achieved', 'all pass', 20, 5, 30
FROM generate_series(1, {sessions}) AS n ON CONFLICT DO NOTHING
"""
FIGURES: Final = """
INSERT INTO supervisor.figures (day, machine, person, project, host, stops, sent_back, achieved, judged,
    seconds, tokens, cents, unpriced)
SELECT to_char(to_timestamp(1760000000) + d * interval '1 day', 'YYYY-MM-DD'), 'm' || m, 'p' || m,
    '/srv/p' || p, 'claude-code', 100, 30, 20, 5, 400, 250000, 120, 0
FROM generate_series(0, {days} - 1) AS d, generate_series(0, {machines} - 1) AS m,
    generate_series(0, {projects} - 1) AS p
ON CONFLICT DO NOTHING
"""
SINCE: Final = "2025-10-01"


def main() -> None:
    """Fill the database up to each number of events, and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--plans", action="store_true")
    asked = parser.parse_args()
    team = TeamStore(PostgresDatabase(asked.url), Member(machine="m1", person="p1"))
    reached, figures = 0, dict[str, list[float]]()
    for number in sorted(asked.events):
        fill(asked.url, reached + 1, number, asked.sessions)
        reached = number
        for name, read in readings(team).items():
            figures.setdefault(name, []).append(median_ms(read))
    print(f"| figure, ms | {' | '.join(f'{number:,} events' for number in sorted(asked.events))} |")
    for name, found in figures.items():
        print(f"| {name} | {' | '.join(f'{one:.1f}' for one in found)} |")
    if asked.plans:
        plans(asked.url)
    team.close()


def fill(url: str, first: int, last: int, sessions: int) -> None:
    """Add the events from `first` to `last`, and what is known of sessions and days."""
    known = {
        "machines": MACHINES,
        "projects": PROJECTS,
        "sessions": sessions,
        "kinds": len(DATA),
        "days": DAYS,
        "first": first,
        "last": last,
    }
    values = {
        "kinds": [event_kind(type(one)) for one in DATA],
        "data": [pack_event_data(one) for one in DATA],
    }
    began = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (FILL, SESSIONS, FIGURES):
            filled = statement
            for name, value in known.items():
                filled = filled.replace(f"{{{name}}}", str(value))
            connection.execute(filled.encode(), values if statement is FILL else None)
        connection.execute("ANALYZE")
        size = connection.execute("SELECT pg_size_pretty(pg_database_size(current_database()))").fetchone()
    took = time.perf_counter() - began
    print(f"{last:,} events, {sessions:,} sessions: {size and size[0]}, filled in {took:.0f} s")


def readings(team: TeamStore) -> dict[str, Callable[[], object]]:
    """What people wait for, by its name."""
    session, number = team.sessions(1)[0].session, TEAM_SESSIONS_SHOWN + 1

    def page(first: int, search: str) -> object:
        return team_parts(read_team(team, number, first, search), first, search)

    return {
        "history, the newest 20": lambda: read_team_decisions(team, "", 20),
        "history of one session": lambda: read_team_decisions(team, session[:8], 20),
        "watch": lambda: read_team(team, 50),
        "page": lambda: page(0, ""),
        "page, sessions of a person": lambda: page(0, "p17"),
        "page, the last sessions": lambda: page(9_900, ""),
        "figures of 30 days by person": lambda: team.figures(SINCE, "person"),
    }


def median_ms(read: Callable[[], object]) -> float:
    """Return the median of RUNS calls that find something, in milliseconds; the first one does not count."""
    if not read():
        raise SystemExit("nothing was read, so nothing was measured")
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        read()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def plans(url: str) -> None:
    """Print the plans of the two statements that read events."""
    kinds = ", ".join(f"'{kind}'" for kind in DECISION_KINDS)
    newest = f"SELECT * FROM supervisor.events WHERE kind IN ({kinds}) ORDER BY position DESC LIMIT 40"  # noqa: S608 - names of ours
    session = newest.replace("ORDER BY", "AND session = md5('17') AND host = 'claude-code' ORDER BY")
    with psycopg.connect(url) as connection:
        for statement in (newest, session):
            print(f"\n{statement}")
            for row in connection.execute(f"EXPLAIN (ANALYZE, BUFFERS) {statement}".encode()):
                print(f"    {row[0]}")


if __name__ == "__main__":
    main()
