"""What verifying finds: every line that was changed, dropped, added or moved, and it names the entry."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from sidecar.kernel.log import AuditEntry, LoggedEvent
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.systems.governance.audit import audit_line, chain_entry, seal_lines
from sidecar.systems.governance.policy.chain import (
    Head,
    Verification,
    verify_export,
    verify_lines,
)

pytestmark = pytest.mark.proves("governed phases")

ENTRIES = 10_000
SEED = 21


def entry(number: int, lock: str = "gov-1") -> AuditEntry:
    said = msgspec.json.encode({"problem_statement": f"problem {number}", "text": "ä\u2028🌱" * (number % 5)})
    return AuditEntry(tool="phase_plan", lock=lock, mode=Mode.FULL, input=Raw(said), result="OK", iteration=1)


def chained(entries: list[AuditEntry]) -> tuple[list[bytes], Head]:
    """The lines of entries, and the head after them."""
    head, lines = Head(), []
    for at, one in enumerate(entries):
        event = LoggedEvent(
            at=float(at), system="governance", session=SessionKey("a", "b"), project="/p", data=one
        )
        made = chain_entry(one, event, head)
        head = Head(number=made.number, digest=made.digest)
        lines.append(audit_line(replace(event, data=made)))
    return lines, head


@cache
def long_audit() -> tuple[list[bytes], Head]:
    return chained([entry(number) for number in range(1, ENTRIES + 1)])


def found(lines: list[bytes], head: Head) -> list[tuple[int, int, str]]:
    return [
        (fault.line, fault.number, fault.what.split(":")[0]) for fault in verify_lines(lines, head).faults
    ]


# --- random tamperings --------------------------------------------------------------------------------------


def change_a_byte(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    at = luck.randrange(len(lines))
    place = luck.randrange(len(lines[at]))
    line = bytearray(lines[at])
    line[place] ^= luck.randrange(1, 256)
    lines[at] = bytes(line)
    return at + 1, "changed"


def drop(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    at = luck.randrange(len(lines) - 1)
    del lines[at]
    return at + 1, "missing"


def repeat(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    at = luck.randrange(len(lines))
    lines.insert(luck.randrange(at + 1, len(lines) + 1), lines[at])
    return at + 1, "added"


def forged(made: AuditEntry, before: Head) -> bytes:
    event = LoggedEvent(at=0.0, system="governance", data=made)
    return audit_line(replace(event, data=chain_entry(made, event, before)))


def add(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    """A forged entry whose digest is right, with its number."""
    at = luck.randrange(1, len(lines))
    before = msgspec.json.decode(lines[at - 1], type=Head)
    lines.insert(at, forged(entry(luck.randrange(ENTRIES)), before))
    return at + 1, "added"


def replace_one(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    """A forged entry in the place of another. The one behind it tells."""
    at = luck.randrange(len(lines) - 1)
    before = msgspec.json.decode(lines[at - 1], type=Head) if at else Head()
    lines[at] = forged(replace(entry(at), result="REJECTED"), before)
    return at + 2, "changed"


def swap(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    one, two = sorted(luck.sample(range(len(lines)), 2))
    lines[one], lines[two] = lines[two], lines[one]
    return one + 1, "out of order"


def cut(lines: list[bytes], luck: random.Random) -> tuple[int, str]:
    last = luck.randrange(len(lines))
    del lines[last:]
    return last + 1, "cut off at the end"


TAMPERINGS: tuple[Callable[[list[bytes], random.Random], tuple[int, str]], ...] = (
    change_a_byte,
    drop,
    repeat,
    add,
    replace_one,
    swap,
    cut,
)


@pytest.mark.parametrize("times", [35, pytest.param(1000, marks=pytest.mark.long)])
def test_every_tampering_of_a_long_audit_is_found_and_names_the_entry(times: int) -> None:
    lines, head = long_audit()
    assert verify_lines(lines, head) == Verification(entries=ENTRIES, first=1)
    missed = []
    for number in range(times):
        tampering, luck = TAMPERINGS[number % len(TAMPERINGS)], random.Random(f"{SEED} {number}")  # noqa: S311 - repeatable
        tampered = list(lines)
        entry_number, what = tampering(tampered, luck)
        faults = {(fault[1], fault[2]) for fault in found(tampered, head)}
        if (entry_number, what) not in faults:
            missed.append((tampering.__name__, number, entry_number, faults))
    assert missed == []


# --- what is no fault, and what is --------------------------------------------------------------------------


def test_the_head_may_be_one_behind_and_no_more() -> None:
    lines, head = chained([entry(number) for number in range(1, 6)])
    assert found(lines[:4] + lines[4:], msgspec.json.decode(lines[3], type=Head)) == []
    assert found(lines, msgspec.json.decode(lines[2], type=Head)) == [(5, 5, "added")]
    assert found(lines, replace(head, digest="0" * 64)) == [(5, 5, "changed")]
    assert found([], head) == [(1, 1, "cut off at the end")]


def test_an_export_is_whole_with_its_seal() -> None:
    lines, _ = chained([entry(number) for number in range(1, 6)])
    data = seal_lines(tuple(lines), 0.0)
    assert verify_export(data) == Verification(entries=5, first=1)
    whole = data.splitlines(keepends=True)
    for harmed in (whole[:-1], [*whole[:4], whole[5]], [whole[-1]], [], [*whole, b"{}\n"]):
        faults = verify_export(b"".join(harmed)).faults
        assert [fault.what.split(":")[0] for fault in faults] == ["cut off at the end"], harmed
    assert verify_export(seal_lines((), 0.0)) == Verification(entries=0)


def test_of_a_locks_part_every_line_and_the_order_and_the_number_are_verified() -> None:
    entries = [entry(number, f"gov-{number % 2}") for number in range(1, 10)]
    lines, _ = chained(entries)
    part = tuple(lines[::2])
    data = seal_lines(part, 0.0, "gov-1")
    assert verify_export(data) == Verification(entries=5, first=1)
    whole = data.splitlines()
    harms = {
        "missing": [whole[0], *whole[2:]],
        "out of order": [whole[1], whole[0], *whole[2:]],
        "changed": [whole[0].replace(b"OK", b"KO"), *whole[1:]],
        "cut off at the end": [*whole[:4], whole[5]],
    }
    for what, harmed in harms.items():
        assert what in [fault.what.split(":")[0] for fault in verify_export(b"\n".join(harmed)).faults]
