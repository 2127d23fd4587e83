"""The one log: appending, reading in a big one, following it, and what it holds in memory.

Every peer does the same with the bare `sqlite3` module, on a file of the same schema and pragmas, or with a
bare socket. The log of 1,000,000 events has 1,000 sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from measure import Figure, Report, Series, in_turn, rounds
from stage import Unfit

from sidecar.kernel.log import EventFilter, LoggedEvent, StopJudged, encode_event_data
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import LogSettings
from sidecar.platform.event_log import COLUMNS, INSERT, LOG_FILE, PRAGMAS, SCHEMA, EventLogFile
from sidecar.platform.ports import SystemClock
from sidecar.platform.rpc import RpcMessage
from sidecar.servers.connection import Connection, struct_handler
from sidecar.servers.control import SidecarControl
from sidecar.servers.methods import EventsHandler, EventsRequest

ROUNDS: Final = 100
LATE: Final = 0.99
BATCH: Final = 500
"""Appends of one measurement: enough for some checkpoints, which a few of them pay for all."""
LIMITS: Final = LogSettings(keep_days=3650, max_megabytes=65_536)
"""Nothing is trimmed, but every thousandth append looks whether something must be."""
EVENTS: Final = 1_000_000
SESSIONS: Final = 1000
KEY: Final = SessionKey("claude-code", "session-500")
JUDGED: Final = StopJudged(
    decided="continue",
    detail="2 tests fail: test_totals.py::test_empty, test_totals.py::test_negative",
    stage="gates",
    tree="1" * 40,
    gates=("tests: failed", "lint: passed"),
    claims=("all tests pass: contradicted",),
    rule="false-complete",
    seconds=12.345,
)
EVENT: Final = LoggedEvent(
    at=1.8e9, system="supervision", session=KEY, project="/home/user/project", data=JUDGED
)
ROW: Final = (
    EVENT.at,
    KEY.host,
    KEY.id,
    EVENT.project,
    EVENT.system,
    EVENT.kind,
    "",
    encode_event_data(JUDGED),
)
NEWEST: Final = f"SELECT {COLUMNS} FROM events WHERE session = ? AND host = ? ORDER BY position DESC LIMIT 20"  # noqa: S608 - a constant
MEMORY: Final = """
import sys
from pathlib import Path
{load}
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")))
"""
OURS: Final = """
from sidecar.kernel.log import EventFilter
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import SystemClock
from sidecar.platform.event_log import EventLogFile
log = EventLogFile(Path(sys.argv[1]), SystemClock())
for number in range(1000):
    log.newest(EventFilter(session=SessionKey("claude-code", f"session-{number}")), 20)
"""
BARE: Final = """
import sidecar.kernel.log, sidecar.platform.ports, sidecar.platform.event_log, sqlite3
log = sqlite3.connect(Path(sys.argv[1]) / "events.sqlite3", isolation_level=None)
"""


def measured(*, quick: bool) -> Report:
    """An empty log, a big one, a follower, and memory."""
    many = rounds(EVENTS, quick=quick)
    with tempfile.TemporaryDirectory() as folder:
        empty, big = Path(folder) / "empty", Path(folder) / "big"
        figures = [*_appended(empty, "an append", quick=quick)]
        _fill(big, many)
        shutil.copytree(big, big.with_name("big-bare"))
        figures += _appended(big, f"an append, {many:,} events there", quick=quick)
        figures.append(_read(big, f"the newest 20 of a session, {many:,} events there", quick=quick))
        figures += asyncio.run(_followed(big, quick=quick))
        figures.append(_memory(big, f"{many:,} events, 1,000 sessions read", quick=quick))
    return Report(tuple(figures))


@contextlib.contextmanager
def bare(folder: Path) -> Iterator[sqlite3.Connection]:
    """A bare connection to a file that is like the log."""
    folder.mkdir(exist_ok=True)
    with contextlib.closing(sqlite3.connect(folder / LOG_FILE, isolation_level=None)) as connection:
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            connection.executescript(SCHEMA)
        connection.executescript(PRAGMAS)
        yield connection


def _log(folder: Path) -> EventLogFile:
    return EventLogFile(folder, SystemClock(), lambda: LIMITS)


def _fill(folder: Path, number: int) -> None:
    with bare(folder) as connection:
        connection.execute("BEGIN")
        rows = ((*ROW[:2], f"session-{one % SESSIONS}", *ROW[3:]) for one in range(number))
        connection.executemany(INSERT, rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _appended(folder: Path, name: str, *, quick: bool) -> list[Figure]:
    log = _log(folder)
    with bare(folder.with_name(f"{folder.name}-bare")) as connection:
        ours, peer = in_turn(
            rounds(ROUNDS, quick=quick),
            _batch(lambda: log.append(EVENT)),
            _batch(lambda: connection.execute(INSERT, ROW)),
        )
    against = "sqlite3: the bare insert"
    return [Figure(name=name, ours=ours, against=against, peer=peer, unit="us")]


def _read(folder: Path, name: str, *, quick: bool) -> Figure:
    log, wanted = _log(folder), EventFilter(session=KEY)
    with bare(folder) as connection:
        ours, peer = in_turn(
            rounds(ROUNDS, quick=quick),
            _batch(lambda: log.newest(wanted, 20)),
            _batch(lambda: connection.execute(NEWEST, (KEY.id, KEY.host)).fetchall()),
        )
    return Figure(name=name, ours=ours, against="sqlite3: the bare query", peer=peer, unit="us")


def _batch(work: Callable[[], object]) -> Callable[[], float]:
    """The microseconds of one, from many in a row."""

    def job() -> float:
        begun = time.perf_counter()
        for _ in range(BATCH):
            work()
        return (time.perf_counter() - begun) / BATCH * 1e6

    return job


async def _followed(folder: Path, *, quick: bool) -> list[Figure]:
    """From an append until a follower on a socket has the event; beside a line on a bare socket."""
    log, control = _log(folder), SidecarControl("0", folder / "log")
    answer_events = struct_handler(EventsRequest, EventsHandler(log, lambda _: None, control).open)
    line = b"x" * 600 + b"\n"
    written: list[asyncio.StreamWriter] = []

    async def answer(message: RpcMessage, peer: Connection) -> bytes:
        return bytes(await answer_events(message.params, peer))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await Connection(reader, writer, answer, 3600.0).run()

    async def echo(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        written.append(writer)

    async with (
        await asyncio.start_unix_server(serve, folder / "ours.sock") as _,
        await asyncio.start_unix_server(echo, folder / "bare.sock") as _,
    ):
        reader, writer = await asyncio.open_unix_connection(folder / "ours.sock")
        bare, bare_writer = await asyncio.open_unix_connection(folder / "bare.sock")
        after = log.append(EVENT)
        asked = b'{"jsonrpc":"2.0","id":1,"method":"events","params":{"after":%d,"follow":true}}\n' % (
            after - 1
        )
        writer.write(asked)
        await reader.readline()
        ours, peer = [], []
        for _ in range(rounds(ROUNDS * 20, quick=quick)):
            begun = time.perf_counter()
            log.append(EVENT)
            await reader.readline()
            ours.append((time.perf_counter() - begun) * 1e6)
            begun = time.perf_counter()
            written[0].write(line)
            await bare.readline()
            peer.append((time.perf_counter() - begun) * 1e6)
        for each in (writer, bare_writer, *written):
            each.close()
    name, against = "an append until a follower has it", "a line on a bare socket"
    series = Series(tuple(ours)), Series(tuple(peer))
    return [
        Figure(name=name, ours=series[0], against=against, peer=series[1], unit="us"),
        Figure(
            name=f"{name}, 99th percentile",
            ours=series[0],
            against=against,
            peer=series[1],
            unit="us",
            part=LATE,
        ),
    ]


def _memory(folder: Path, name: str, *, quick: bool) -> Figure:
    if sys.platform != "linux":
        raise Unfit("there is no /proc on this system")

    def resident(load: str) -> Callable[[], float]:
        command = (sys.executable, "-c", MEMORY.format(load=load), str(folder))

        def job() -> float:
            done = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603 - our own line
            return int(done.stdout) / 1024

        return job

    ours, peer = in_turn(rounds(20, quick=quick), resident(OURS), resident(BARE))
    return Figure(name=name, ours=ours, against="the same modules, a bare connection", peer=peer, unit="MiB")
