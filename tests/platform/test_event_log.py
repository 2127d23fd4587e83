"""The log as a file: its owner's alone, whole after anything, and what happened to it is told."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sidecar.cli.status import spending_line
from sidecar.kernel.goal import Spending
from sidecar.kernel.log import (
    AuditEntry,
    EventFilter,
    JudgingPaid,
    LoggedEvent,
    SessionNoted,
    UnreadableEvent,
    WorkerRan,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import LogSettings, Mode
from sidecar.platform import event_log as event_log_module
from sidecar.platform.event_log import DATA_LIMIT, LOG_FILE, EventLogFile, lost_logs
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.state import Incidents
from support.disks import files_of_at_most
from support.logs import event_log
from support.memory_stores import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = SessionKey("claude-code", "s1")
ALL = EventFilter()
DAY_S = 86_400.0


def event(at: float = 1.0, what: str = "x", key: SessionKey | None = KEY) -> LoggedEvent:
    return LoggedEvent(at=at, system="supervision", session=key, data=SessionNoted(what=what))


def times(log: EventLogFile) -> list[float]:
    return [one.at for one in log.read(ALL, limit=10**6)]


def changed(state: Path, statement: str) -> None:
    """Change the log as anybody may who has a program for it."""
    with contextlib.closing(sqlite3.connect(state / LOG_FILE)) as other, other:
        other.executescript(statement)


def test_all_of_its_files_are_their_owners_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    log = event_log(state)
    log.append(event())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()}
    assert modes == {LOG_FILE: 0o600, f"{LOG_FILE}-wal": 0o600, f"{LOG_FILE}-shm": 0o600}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_who_only_reads_makes_nothing(tmp_path: Path) -> None:
    assert event_log(tmp_path / "state").newest(ALL, 5) == ()
    assert not (tmp_path / "state").exists()


def test_who_only_looks_at_another_processs_log_leaves_a_damaged_one(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).write_bytes(b"no log" * 1000)
    with pytest.raises(OSError, match="the log cannot be used"):
        event_log(tmp_path).newest(ALL, 5)
    assert [path.name for path in tmp_path.iterdir()] == [LOG_FILE]


def test_a_reader_sees_what_is_whole_while_another_writes(tmp_path: Path) -> None:
    log = event_log(tmp_path)
    log.append(event(1.0))
    with contextlib.closing(sqlite3.connect(tmp_path / LOG_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM events")
        assert times(event_log(tmp_path)) == times(log) == [1.0]
        other.execute("ROLLBACK")


# --- damage -------------------------------------------------------------------------------------------------


def torn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x55" * (len(data) - 4096)
    path.write_bytes(data)


def link(path: Path) -> None:
    path.rename(path.with_name("theirs"))
    path.symlink_to(path.with_name("theirs"))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


TRIGGER = "CREATE TRIGGER t BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END"
FOREIGN = {
    "a trigger that swallows": TRIGGER,
    "a trigger that alters": "CREATE TRIGGER t AFTER INSERT ON events BEGIN UPDATE events SET at = 0; END",
    "an index that fails": "CREATE INDEX i ON events (json(origin || '{')) WHERE at > 29",
    "a view in its place": "ALTER TABLE events RENAME TO e; CREATE VIEW events AS SELECT * FROM e",
}
"""What somebody else may put into a log's schema."""


def planted(statement: str) -> Callable[[Path], object]:
    return lambda path: changed(path.parent, statement)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no log": (lambda path: path.write_bytes(b"no log" * 1000), "corrupt"),
    "empty": (lambda path: path.write_bytes(b""), "corrupt"),
    "torn": (torn, "corrupt"),
    "another table": (lambda path: changed(path.parent, "ALTER TABLE events RENAME TO others"), "edited"),
    "of a later version": (lambda path: changed(path.parent, "PRAGMA user_version = 9"), "future-version"),
    **{name: (planted(statement), "edited") for name, statement in FOREIGN.items()},
    "a link": (link, "unreadable"),
    "a folder": (folder, "unreadable"),
}


SEEN_AT_ONCE = ("another table", *FOREIGN, "a link", "a folder")
"""Damages that a process notices whose cache has all of the log."""


@pytest.mark.parametrize(
    ("name", "alive"), [*((name, False) for name in DAMAGES), *((name, True) for name in SEEN_AT_ONCE)]
)
def test_a_damaged_log_is_set_aside_with_its_reason_and_a_new_one_begins(
    tmp_path: Path, name: str, *, alive: bool
) -> None:
    harm, fault = DAMAGES[name]
    incidents = Incidents()
    log = event_log(tmp_path, incidents)
    last = [log.append(event(float(number))) for number in range(20)][-1]
    if not alive:
        del log
        gc.collect()  # which closes it, as the end of a process does
        log = event_log(tmp_path, incidents)
    harm(tmp_path / LOG_FILE)
    position = log.append(event(30.0))
    assert times(log) == [30.0]
    assert position == (last + 1 if alive else 1)
    (aside,) = tmp_path.glob(f"{LOG_FILE}.*-1.why")
    assert aside.name == f"{LOG_FILE}.{fault}-1.why"
    (told,) = incidents.take(KEY)
    assert told.startswith("Supervisor: its log could not be used (")
    assert f"It was set aside as {LOG_FILE}.{fault}-1: what it told of stops, tasks and cost is gone" in told
    assert len(lost_logs(tmp_path)) == 1
    assert incidents.take(KEY) == ()


def test_an_event_is_there_after_it_was_written_whatever_the_schema_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    incidents = Incidents()
    log = event_log(tmp_path, incidents)
    log.append(event(1.0))
    changed(tmp_path, "UPDATE sqlite_sequence SET seq = 9223372036854775807")
    with pytest.raises(OSError, match="full"):
        log.append(event(1.5))
    assert "nothing can be written to its log" in incidents.take(KEY)[0]
    changed(tmp_path, "UPDATE sqlite_sequence SET seq = 1")
    monkeypatch.setattr(event_log_module, "SCHEMA_COOKIE", "SELECT 4")  # as if it had not changed
    log.append(event(2.0))
    changed(tmp_path, TRIGGER)
    log.append(event(2.5))
    assert times(log) == [2.5]
    assert "It was set aside as" in incidents.take(KEY)[0]


def test_an_event_that_cannot_be_decoded_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    log = event_log(tmp_path)
    for number in range(3):
        log.append(event(float(number)))
    changed(tmp_path, """UPDATE events SET kind = 'moon', data = '{"type":"moon"}' WHERE position = 2""")
    first, second, third = log.read(ALL)
    assert [first.at, third.at] == [0.0, 2.0]
    assert isinstance(second.data, UnreadableEvent)
    assert second.kind == "moon"


def test_an_event_that_is_too_big_is_refused(tmp_path: Path) -> None:
    log = event_log(tmp_path)
    noise = "".join(map(chr, range(0x4E00, 0x9000))) * (DATA_LIMIT // 10_000)
    log.append(event(what="x" * 1_000_000))
    with pytest.raises(OSError, match="which are too many"):
        log.append(event(what="".join(chr(0x4E00 + (ord(c) * n) % 20_000) for n, c in enumerate(noise))))
    assert (tmp_path / LOG_FILE).with_name(f"{LOG_FILE}-wal").stat().st_size < 100_000


# --- disks --------------------------------------------------------------------------------------------------


def test_a_full_disk_is_an_error_and_the_log_stays_whole(tmp_path: Path) -> None:
    log = event_log(tmp_path)
    log.append(event(1.0))
    with (
        files_of_at_most((tmp_path / f"{LOG_FILE}-wal").stat().st_size + 5),
        pytest.raises(OSError, match="log"),
    ):
        log.append(event(2.0))
    log.append(event(3.0))
    assert times(log) == times(event_log(tmp_path)) == [1.0, 3.0]


def test_a_log_that_another_process_holds_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.platform.event_log.BUSY_S", 0.0)
    log = event_log(tmp_path)
    log.append(event(1.0))
    with contextlib.closing(sqlite3.connect(tmp_path / LOG_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match="database is locked"):
            log.append(event(2.0))
    assert times(log) == [1.0]


# --- what is gone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda state: (state / LOG_FILE).unlink(), "was removed"),
        (lambda state: changed(state, "DELETE FROM events WHERE position = 1"), "was cut"),
        (lambda state: changed(state, "DELETE FROM events"), "was removed"),
    ],
)
def test_events_that_somebody_took_out_are_told_once(
    tmp_path: Path, harm: Callable[[Path], object], said: str
) -> None:
    incidents = Incidents()
    log = event_log(tmp_path, incidents)
    for number in range(3):
        last = log.append(event(float(number)))
    log.tell_losses(KEY)
    assert incidents.take(KEY) == ()
    harm(tmp_path)
    log.tell_losses(KEY)
    log.tell_losses(KEY)
    (line,) = incidents.take(KEY)
    assert line.startswith(f"Supervisor: the record of this session {said}, and not by Supervisor. Type in")
    assert log.append(event()) == last + 1
    log.tell_losses(KEY)
    assert incidents.take(KEY) == ()


@pytest.mark.parametrize("whole", [True, False], ids=["the log", "one payment"])
def test_what_was_seen_to_be_spent_stays_spent_and_a_log_that_says_less_is_told(
    tmp_path: Path, *, whole: bool
) -> None:
    incidents, clock = Incidents(), ManualClock(0.0)
    log = EventLogFile(tmp_path, clock)
    spending = DailySpending(log, clock, incidents)
    spending.add(900, 1.5, 1)
    spending.add(100, 0.5, 1)
    if whole:
        (tmp_path / LOG_FILE).unlink()
    else:
        changed(tmp_path, "DELETE FROM events WHERE position = 1")
    assert spending.today().tokens == 1000
    spending.add(500, 1.0, 1)
    assert spending.today().tokens == 1500
    assert DailySpending(EventLogFile(tmp_path, clock), clock).today().tokens == 1500
    (told,) = incidents.take(KEY)
    assert "says less than was spent" in told
    spending.add_worker(WorkerRan(backend="command", model="", tokens=7, cents=None, calls=1, seconds=1.0))
    spent = spending.today()
    assert (spent.tokens, spent.worker_tokens) == (1507, 7)
    assert spending_line(spent).endswith("headless agents alone: 1 call, 7 tokens, 0.0 cents")
    alone = Spending(calls=10, unpriced=10, worker_calls=10)
    assert spending_line(alone).startswith("Headless agents today (UTC): 10 calls, 0 tokens")


def test_what_was_forgotten_is_nowhere_in_the_files(tmp_path: Path) -> None:
    log = event_log(tmp_path)
    for number in range(50):
        log.append(event(float(number), what=f"unforgettable {number}"))
        log.append(event(key=None))  # so that pages stay of which only a part is deleted
    del log
    gc.collect()  # which closes it, so that all is in the main file
    assert b"unforgettable" in (tmp_path / LOG_FILE).read_bytes()
    log = event_log(tmp_path)
    log.forget(EventFilter(session=KEY))
    assert len(times(log)) == 50
    for path in tmp_path.iterdir():
        assert b"unforgettable" not in path.read_bytes(), path


# --- limits -------------------------------------------------------------------------------------------------


def test_events_that_are_too_old_go(tmp_path: Path) -> None:
    clock = ManualClock(100 * DAY_S)
    log = EventLogFile(tmp_path, clock, lambda: LogSettings(keep_days=10))
    for day in (1, 89, 90, 95, 100):
        log.append(event(day * DAY_S))
    log.trim()
    assert times(log) == [90 * DAY_S, 95 * DAY_S, 100 * DAY_S]
    clock.advance(50 * DAY_S)
    log.trim()
    assert times(log) == []


def test_of_a_log_that_is_too_big_the_oldest_go_and_the_disk_gets_its_pages_back(tmp_path: Path) -> None:
    log = EventLogFile(tmp_path, ManualClock(0.0), lambda: LogSettings(max_megabytes=1))
    long = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(10_000))
    for number in range(100):
        log.append(event(float(number), what=f"{number}{long}"))
    before = (tmp_path / LOG_FILE).stat().st_size
    log.trim()
    kept = times(log)
    assert kept == [float(number) for number in range(100 - len(kept), 100)]
    assert 10 < len(kept) < 60
    assert (tmp_path / LOG_FILE).stat().st_size <= 1024 * 1024 + 65_536 < before


def test_no_limit_takes_of_the_audit_nor_does_the_audit_take_room(tmp_path: Path) -> None:
    clock = ManualClock(0.0)
    log = EventLogFile(tmp_path, clock, lambda: LogSettings(keep_days=10, max_megabytes=1))
    long = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(10_000))
    entry = AuditEntry(tool="lock", lock="gov-1", mode=Mode.FULL, error=long)
    for number in range(100):
        log.append(LoggedEvent(at=float(number), system="governance", session=KEY, data=entry))
    log.append(event(100.0))
    log.trim()
    assert times(log) == [float(number) for number in range(101)]
    clock.advance(11 * DAY_S)
    log.trim()
    assert times(log) == [float(number) for number in range(100)]


# --- processes ----------------------------------------------------------------------------------------------


WRITER = """
import sys
from pathlib import Path
from sidecar.kernel.log import JudgingPaid, LoggedEvent
from sidecar.platform.ports import SystemClock
from sidecar.platform.event_log import EventLogFile

log = EventLogFile(Path(sys.argv[1]), SystemClock())
for number in range(int(sys.argv[2])):
    log.append(LoggedEvent(at=1.0, system=sys.argv[3], data=JudgingPaid(tokens=number, cents=None, calls=1)))
    print(number, flush=True)
"""


def writer(state: Path, times: int, name: str) -> subprocess.Popen[str]:
    command = (sys.executable, "-I", "-c", WRITER, str(state), str(times), name)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.process
def test_processes_that_begin_and_append_at_once_lose_nothing(tmp_path: Path) -> None:
    running = [writer(tmp_path, 200, name) for name in ("one", "two", "three")]
    for process in running:
        process.communicate(timeout=60)
        assert process.returncode == 0
    for name in ("one", "two", "three"):
        found = (one for one in event_log(tmp_path).read(EventFilter(), limit=1000) if one.system == name)
        assert [one.data.tokens for one in found if isinstance(one.data, JudgingPaid)] == list(range(200))


@pytest.mark.process
def test_a_writer_that_is_killed_leaves_what_it_had_told_of(tmp_path: Path) -> None:
    for number in (1, 7, 30):
        before = len(times(event_log(tmp_path)))
        process = writer(tmp_path, 10**6, "killed")
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(number)]
        process.kill()
        rest, _ = process.communicate(timeout=60)
        assert len(times(event_log(tmp_path))) >= before + len(told) + rest.count("\n")
    with contextlib.closing(sqlite3.connect(tmp_path / LOG_FILE)) as log:
        assert log.execute("PRAGMA integrity_check").fetchone() == ("ok",)
