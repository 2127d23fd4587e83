"""One holder at a time: who gets a lock, what ends it, and what is noted of it."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sidecar
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.governance import ContextLock
from sidecar.kernel.log import AuditEntry, EventFilter
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.ports import Clock, SystemClock
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.locks import BROKEN, RELEASED, LockHeldError, LockLostError, Locks
from sidecar.systems.governance.policy.chain import Verification
from sidecar.wiring.headless import build_locks
from support.memory_stores import ManualClock
from support.table import over_table

pytestmark = pytest.mark.proves("governed phases")

PROJECT = "/p"
HOLDER = "claude-code:s1"


class Notes(Audit):
    """An audit that only remembers what is appended, or fails."""

    def __init__(self, *, full: bool = False) -> None:
        self.noted: list[tuple[str, str]] = []
        self.full = full

    def append(self, entry: AuditEntry, **_: Any) -> AuditEntry:
        if self.full:
            raise OSError(errno.ENOSPC, "no room")
        self.noted.append((entry.lock, entry.result))
        return entry


def locks_in(state: Path, clock: Clock, audit: Audit) -> Locks:
    return Locks(state, clock, audit, agent="person", origin="")


class Desk:
    """Locks in a folder, with what is noted of them."""

    def __init__(self, state: Path, clock: ManualClock | None = None) -> None:
        audit = Notes()
        self.noted = audit.noted
        self.clock = clock or ManualClock()
        self.locks = locks_in(state, self.clock, audit)

    def acquire(self, holder: str = HOLDER, project: str = PROJECT, process: int = 0) -> ContextLock:
        return self.locks.acquire(project, holder, Mode.LIGHT, 60.0, process)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_lock_is_held_by_one_until_it_is_released(desk: Desk, tmp_path: Path) -> None:
    lock = desk.acquire()
    assert re.fullmatch("gov-[0-9a-f]{8}", lock.id)
    assert Desk(tmp_path).locks.find(lock.id) == lock
    with pytest.raises(LockHeldError) as refused:
        Desk(tmp_path).acquire("shell")
    assert (refused.value.rule, refused.value.values["lock"]) == ("governance-held", lock.id)
    assert refused.value.values["holder"] == HOLDER
    other = desk.acquire("shell", "/q")
    assert desk.locks.held() == (lock, other)
    assert desk.locks.end(lock.id, RELEASED) == lock
    assert desk.locks.find(lock.id) is None
    assert desk.acquire("shell").holder == "shell"
    assert desk.noted[:3] == [(lock.id, "acquired"), (other.id, "acquired"), (lock.id, "released")]


def test_the_user_breaks_it_and_its_holder_is_refused(desk: Desk) -> None:
    lock = desk.acquire()
    assert desk.locks.end(lock.id, BROKEN) == lock
    assert desk.noted[-1] == (lock.id, "broken")
    with pytest.raises(LockLostError) as lost:
        desk.locks.renew(lock.id, 60.0)
    assert (lost.value.rule, lost.value.values) == ("governance-no-lock", {"lock": lock.id})


@over_table("meet", ["acquire", "find", "renew", "release", "held"])
def test_whoever_meets_it_when_its_time_is_over_removes_it_and_it_is_noted_once(
    meet: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    desk = Desk(tmp_path_factory.mktemp("state"))
    lock = desk.acquire()
    desk.clock.advance(59.0)
    desk.locks.renew(lock.id, 60.0)
    desk.clock.advance(59.0)
    assert desk.locks.held() != ()
    desk.clock.advance(1.0)
    if meet == "acquire":
        assert desk.acquire("shell").id != lock.id
    elif meet in {"find", "held"}:
        assert not (desk.locks.find(lock.id) if meet == "find" else desk.locks.held())
    else:
        with pytest.raises(LockLostError):
            desk.locks.renew(lock.id, 60.0) if meet == "renew" else desk.locks.end(lock.id, RELEASED)
    desk.locks.held()
    assert [result for ident, result in desk.noted if ident == lock.id] == ["acquired", "expired"]


@pytest.mark.process
def test_it_ends_with_the_process_that_holds_it(desk: Desk) -> None:
    holder = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        lock = desk.acquire("shell", process=holder.pid)
        with pytest.raises(LockHeldError):
            desk.acquire()
    finally:
        holder.kill()
        holder.wait(timeout=60)
        if holder.stdin:
            holder.stdin.close()
    assert desk.acquire().holder == HOLDER
    assert desk.noted[1] == (lock.id, "expired")


def test_what_cannot_be_noted_does_not_happen(tmp_path: Path) -> None:
    deaf = locks_in(tmp_path, ManualClock(), Notes(full=True))
    with pytest.raises(OSError, match="no room"):
        deaf.acquire(PROJECT, HOLDER, Mode.FULL, 60.0)
    lock = Desk(tmp_path).acquire()
    with pytest.raises(OSError, match="no room"):
        deaf.end(lock.id, RELEASED)
    assert deaf.find(lock.id) == lock


@pytest.mark.parametrize("damage", [b"", b"{", b'{"id": "gov-1"}', b"\xff" * 100, b"x" * (2 << 20)])
def test_a_damaged_lock_is_set_aside_and_holds_nobody(damage: bytes, desk: Desk, tmp_path: Path) -> None:
    lock = desk.acquire()
    (file,) = (tmp_path / "governance" / "locks").glob("*.json")
    file.write_bytes(damage)
    assert desk.locks.find(lock.id) is None
    assert desk.acquire("shell").holder == "shell"
    assert [path.name for path in file.parent.iterdir() if path.suffix == ".why"] == [
        f"{file.name}.{'unreadable' if len(damage) > 99_999 else 'corrupt'}-1.why"
    ]


def test_what_is_no_path_of_a_project_has_no_lock_and_who_only_looks_makes_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "state")
    assert (desk.locks.held(), desk.locks.find("gov-1")) == ((), None)
    for project in ("p", "", "/\udcff"):
        with pytest.raises(BadInputError, match="no absolute path"):
            desk.acquire(project=project)
    assert not (tmp_path / "state").exists()


def test_two_paths_of_one_project_share_its_lock(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    desk.acquire(project=str(tmp_path / "real"))
    with pytest.raises(LockHeldError):
        desk.acquire(project=str(tmp_path / "link"))


def test_what_happens_to_a_lock_is_an_entry_of_the_session_that_holds_it(tmp_path: Path) -> None:
    clock = ManualClock()
    log = EventLogFile(tmp_path, clock)
    locks = build_locks(tmp_path, log, clock, agent="person")
    for result in (BROKEN, "expired"):
        lock = locks.acquire(PROJECT, HOLDER, Mode.SAFE, 60.0)
        if result == BROKEN:
            locks.end(lock.id, BROKEN)
        clock.advance(60.0)
        assert locks.held() == ()
        noted = locks.audit.of(lock.id)
        assert [(one.tool, one.mode, one.result, one.agent) for one in noted] == [
            ("lock", Mode.SAFE, "acquired", "person"),
            ("lock", Mode.SAFE, result, "person" if result == BROKEN else "supervisor"),
        ]
    assert len(log.read(EventFilter(session=SessionKey("claude-code", "s1"), project=PROJECT))) == 4


# --- races --------------------------------------------------------------------------------------------------


RACER = """
import os, pathlib, sys
from sidecar.kernel.settings import Mode
from sidecar.platform.ports import SystemClock
from sidecar.platform.event_log import EventLogFile
from sidecar.systems.governance.locks import LockHeldError
from sidecar.wiring.headless import build_locks
state, clock = pathlib.Path(sys.argv[1]), SystemClock()
locks = build_locks(state, EventLogFile(state, clock), clock)
print("ready", flush=True)
for line in sys.stdin:
    try:
        lock = locks.acquire("/p", str(os.getpid()), Mode.FULL, 600.0, os.getpid())
        print(lock.id, flush=True)
    except LockHeldError:
        print("held", flush=True)
"""


@pytest.mark.process
def test_of_processes_that_race_one_wins_and_when_it_is_killed_the_next_one(tmp_path: Path) -> None:
    home = str(Path(sidecar.__file__).parents[1])
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": home},
        )
        for _ in range(4)
    ]
    locks = build_locks(tmp_path, EventLogFile(tmp_path, SystemClock()), SystemClock())
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        while racers:
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write("go\n")
                racer.stdin.flush()
            said = [racer.stdout.readline().strip() for racer in racers if racer.stdout]
            (held,) = locks.held()
            assert sorted(said) == sorted([held.id, *["held"] * (len(racers) - 1)])
            winner = racers.pop(said.index(held.id))
            assert held.process == winner.pid
            end(winner)
            assert locks.held() == ()
        assert locks.audit.verify() == Verification(entries=8, first=1)
    finally:
        for racer in racers:
            end(racer)


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=60)
