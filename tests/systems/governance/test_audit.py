"""The audit in the log: chained by whoever appends, whole after a kill, and removed only on order."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec import Raw

from sidecar.kernel.log import AuditEntry
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.event_log import LOG_FILE, EventLogFile
from sidecar.systems.governance.audit import Audit, audit_line
from sidecar.systems.governance.policy.chain import verify_export
from support.memory_stores import ManualClock

pytestmark = pytest.mark.proves("governed phases")

KEY = SessionKey("claude-code", "s1")


def entry(lock: str = "gov-1", result: str = "OK", said: bytes = b"null") -> AuditEntry:
    return AuditEntry(tool="phase_plan", lock=lock, mode=Mode.FULL, result=result, input=Raw(said))


class Desk:
    """An audit as a process finds it that begins now."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.clock = ManualClock()
        self.log = EventLogFile(state, self.clock)
        self.audit = Audit(self.log, self.clock, state)

    def write(self, *locks: str) -> None:
        for lock in locks:
            self.audit.append(entry(lock), session=KEY, project="/p")

    @property
    def numbers(self) -> list[int]:
        return [json.loads(line)["number"] for line in map(audit_line, self.audit.events())]

    @property
    def faults(self) -> list[str]:
        return [f"{fault.number} {fault.what.split(':')[0]}" for fault in self.audit.verify().faults]

    def change(self, statement: str) -> None:
        """Change the log as anybody may who has a program for it."""
        with contextlib.closing(sqlite3.connect(self.state / LOG_FILE)) as other, other:
            other.execute(statement)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_nothing_is_an_audit_without_faults_and_who_only_reads_makes_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "state")
    assert (desk.numbers, desk.faults, desk.audit.of("gov-1")) == ([], [], ())
    assert verify_export(desk.audit.export()).faults == ()
    assert not (tmp_path / "state").exists()


def test_an_entry_is_a_line_that_a_stranger_can_verify(desk: Desk) -> None:
    pretty = '{\n  "a": [1, 2.50],\n  "b": "ä\u2028🌱\u009b"\n}'.encode()
    first = desk.audit.append(entry(said=pretty), session=KEY, project="/p\udcff", origin="zsh")
    second = desk.audit.append(entry(result="a\udcffb"))
    one, two = map(audit_line, desk.audit.events())
    assert one.isascii()
    assert (one + two).decode().isprintable()
    shown = json.loads(one)
    assert list(shown)[:2] == ["number", "previous"]
    assert list(shown)[-1] == "digest"
    assert (shown["session"], shown["project"], shown["origin"]) == ("claude-code:s1", "/p\\udcff", "zsh")
    assert (shown["timestamp"][-6:], shown["input"]) == ("+00:00", json.loads(pretty))
    body = one.decode().rpartition(',"digest":')[0] + "}"
    assert sha256(body.encode()).hexdigest() == shown["digest"] == first.digest == second.previous
    assert (desk.faults, desk.audit.of("gov-1")) == ([], (first, second))


def test_processes_and_threads_append_to_one_chain(tmp_path: Path) -> None:
    desks = [Desk(tmp_path), Desk(tmp_path)]
    writers = [
        threading.Thread(target=desk.write, args=[f"gov-{number}"] * 40)
        for number, desk in enumerate((*desks, *desks))
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert desks[0].numbers == list(range(1, 161))
    assert desks[1].faults == []
    assert len(desks[0].audit.of("gov-1", "/p")) == 40
    assert desks[0].audit.of("gov-1", "/q") == ()


def test_after_a_kill_between_an_entry_and_the_head_the_chain_goes_on(desk: Desk) -> None:
    desk.write("gov-1", "gov-1")
    head = desk.state / "governance" / "head.json"
    before = head.read_bytes()
    desk.write("gov-1")
    head.write_bytes(before)
    assert desk.faults == []
    Desk(desk.state).write("gov-1")
    assert (desk.numbers, desk.faults) == ([1, 2, 3, 4], [])


HARMS = {
    "DELETE FROM events WHERE position = 3": ["3 cut off at the end"],
    "DELETE FROM events": ["1 cut off at the end"],
    "DELETE FROM events WHERE position = 2": ["2 missing"],
    "UPDATE events SET origin = 'me' WHERE position = 2": ["2 changed"],
    "UPDATE events SET data = 'x' WHERE position = 2": ["2 changed"],
    "UPDATE events SET position = 9 WHERE position = 2": ["2 out of order"],
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_somebody_did_to_the_log_is_found(harm: str, desk: Desk) -> None:
    desk.write("gov-1", "gov-1", "gov-1")
    desk.change(harm)
    assert desk.faults == HARMS[harm]


@pytest.mark.parametrize("damage", [b"", b"no JSON", b'{"version":9}', None])
def test_without_its_head_nobody_can_tell_what_was_cut_off_until_the_next_entry(
    damage: bytes | None, desk: Desk
) -> None:
    desk.write("gov-1", "gov-1")
    head = desk.state / "governance" / "head.json"
    head.unlink() if damage is None else head.write_bytes(damage)
    assert desk.faults == ["2 missing"]
    desk.write("gov-1")
    assert (desk.numbers, desk.faults) == ([1, 2, 3], [])
    assert len(list(head.parent.glob("*.why"))) == (damage is not None)
