"""What the statements of a task cost: by bare pgbench, and by the product's store, on one database.

    python benchmarks/team/statements.py [--tasks 600] [--seconds 10]

A task's life is a claim, an extension, an event that is shipped, and its end, which here opens it again, so
that the list stays as long as it is. pgbench has the statements of data/team.sql, prepared, by an agent's
login.
"""

# ruff: noqa: E402 - imports of this folder come after the path

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `team.NAME`

from team.nodes import LIST, SUPERVISOR, run
from team.world import World

from sidecar.kernel.log import LoggedEvent, WorkerRan
from sidecar.kernel.session import SessionKey
from sidecar.platform.event_log import pack_event_data
from sidecar.platform.team.database import fill, team_statements
from sidecar.platform.team.ports import Machine, Member, TeamTaskState
from sidecar.platform.team.postgres import POSTGRESQL, PostgresDatabase
from sidecar.platform.team.store import TeamStore

MACHINE: Final = "bench"
COST: Final = WorkerRan(backend="run", model="", tokens=128, cents=1.25, calls=1, seconds=1.0)
STEPS: Final = {
    "claim": ("claim_task",),
    "extend": ("extend_task",),
    "append": ("lock_events", "known_events", "append_event", "tell_session", "spend", "spend"),
    "settle": ("settle_task",),
}
"""What the store carries out for each call, by the call; more than one is one transaction."""
LATENCY: Final = re.compile(r"^ +([\d.]+) +\d+ +(?!\\set)\S", re.MULTILINE)
RATE: Final = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)


def main() -> None:
    """Measure the store and pgbench in turn, and print milliseconds of each step and lives a second."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--clients", type=int, default=15, help="connections of the second pgbench")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sv-team-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with World(folder, namespaces=False) as world:
            world.add_tasks(asked.tasks)
            run(SUPERVISOR, "team", "invite", MACHINE, world.url, HOME=str(folder))
            url = world.url.replace("//supervisor@", f"//{MACHINE}-agents@")
            with closing(PostgresDatabase(url)) as database:
                store = TeamStore(database, Member(machine=MACHINE, person=MACHINE))
                store.join(Machine(id=MACHINE, name=MACHINE, person=MACHINE, fingerprint="", version=""))
                _print("store", *_by_store(store, asked.seconds))
                script = folder / "life.sql"
                script.write_text(_script())
                for clients in (1, asked.clients):
                    _print(
                        f"pgbench, {clients} at once",
                        *_by_pgbench(world, url, script, clients, asked.seconds),
                    )
                _print("store", *_by_store(store, asked.seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _print(what: str, rate: float, steps: dict[str, float]) -> None:
    told = ", ".join(f"{name} {seconds:.2f} ms" for name, seconds in steps.items())
    number = sum(len(statements) for statements in STEPS.values())
    print(f"{what}: {rate:.0f} lives and {rate * number:.0f} statements a second; {told}", flush=True)


def _by_store(store: TeamStore, seconds: float) -> tuple[float, dict[str, float]]:
    """Let tasks live for so long; return how many did a second, and the median milliseconds of each step."""
    took: dict[str, list[float]] = {name: [] for name in STEPS}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        took[name].append(1000 * (time.perf_counter() - began))

    began = time.perf_counter()
    sequence = time.time_ns()
    while time.perf_counter() < began + seconds:
        with timed("claim"):
            claim = store.claim(LIST)
        if claim is None:
            sys.exit("nothing could be claimed")
        with timed("extend"):
            store.extend(claim)
        sequence += 1
        session = SessionKey("run", claim.task.id)
        event = LoggedEvent(
            position=sequence, at=1.0, session=session, project="/p", system="loop", data=COST
        )
        with timed("append"):
            store.append([event])
        with timed("settle"):
            store.settle_task(claim, TeamTaskState.OPEN)
    rate = len(took["settle"]) / (time.perf_counter() - began)
    return rate, {name: statistics.median(values) for name, values in took.items()}


def _by_pgbench(
    world: World, url: str, script: Path, clients: int, seconds: int
) -> tuple[float, dict[str, float]]:
    """Do the same with pgbench; the milliseconds are means."""
    options = (
        "-n",
        "-r",
        "-M",
        "prepared",
        "-c",
        str(clients),
        "-j",
        "2",
        "-T",
        str(seconds),
        "-f",
        str(script),
    )
    environment = {**os.environ, "PGOPTIONS": "-c search_path=supervisor"}
    command = (world.binaries / "pgbench", *options, url)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or "ERROR" in done.stderr:
        sys.exit(done.stdout + done.stderr)
    latencies = iter(map(float, LATENCY.findall(done.stdout.partition("latencies")[2])))
    steps = {
        name: sum(next(latencies) for _ in range(len(sql) + 2 * (len(sql) > 1)))
        for name, sql in STEPS.items()
    }
    return float(RATE.findall(done.stdout)[0]), steps


def _script() -> str:
    """Return a task's life for pgbench, with the values that are the same each time as literals."""
    given = {
        "list": LIST, "machine": MACHINE, "person": MACHINE, "host": "run", "project": "/p", "system": "loop",
        "kind": "worker-ran", "origin": "", "state": "open", "note": "", "branch": "", "decided": "",
        "detail": "", "account": "team/cents",
    }  # fmt: skip
    values = {name: f"'{text}'" for name, text in given.items()} | {
        "lease": "90", "at": "1", "began": "1", "stops": "0", "sent_back": "0", "cents": "1.25",
        "amount": "1.25", "data": f"'\\x{pack_event_data(COST).hex()}'::bytea", "session": ":id",
        "first": ":sequence", "last": ":sequence",
    }  # fmt: skip
    named = team_statements(POSTGRESQL.name).named
    lines = ["\\set token random(1, 1000000000000)", "\\set sequence random(1, 1000000000000)"]
    for name, statements in STEPS.items():
        sql = [
            re.sub(
                r"%\((\w+)\)s",
                lambda found: values.get(found[1], f":{found[1]}"),
                fill(named[one], POSTGRESQL.parts),
            )
            for one in statements
        ]
        framed = ["BEGIN", *sql, "COMMIT"] if len(sql) > 1 else sql
        end = " \\gset" if name == "claim" else ";"
        lines += [one + end for one in framed]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
