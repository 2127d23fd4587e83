"""What every Record does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import RecordEntry, SessionRecord
from sidecar.platform.session_store import RecordFiles
from support.memory_stores import MemoryRecord

if TYPE_CHECKING:
    from pathlib import Path

KEY = SessionKey("claude-code", "s1")
OTHER = SessionKey("opencode", "s1")


@pytest.fixture(params=("files", "memory"))
def record(request: pytest.FixtureRequest, tmp_path: Path) -> SessionRecord:
    return MemoryRecord() if request.param == "memory" else RecordFiles(tmp_path / "state")


def entry(number: int) -> RecordEntry:
    return RecordEntry(at=float(number), event="stop", decided="continue", detail=f"n° {number}\nline two")


def test_a_session_without_a_story_has_an_empty_one(record: SessionRecord) -> None:
    assert record.read(KEY) == ()
    assert record.set_aside(KEY) == ()


def test_an_entry_comes_back_whole(record: SessionRecord) -> None:
    full = RecordEntry(
        at=1.5,
        event="stop",
        decided="continue",
        detail="why, with \u2028 and 🌱",
        continuation="ab12cd",
        stage="gates",
        tree="t",
        gates=("tests", "lint"),
        judge_tokens=7,
        seconds=0.25,
    )
    record.append(KEY, full)
    assert record.read(KEY) == (full,)


def test_entries_come_oldest_first_and_the_last_ones_only(record: SessionRecord) -> None:
    for number in range(30):
        record.append(KEY, entry(number))
    assert record.read(KEY) == tuple(entry(number) for number in range(10, 30))
    assert record.read(KEY, last=3) == (entry(27), entry(28), entry(29))
    assert record.read(KEY, last=1000) == tuple(entry(number) for number in range(30))


@pytest.mark.parametrize("last", [0, -1])
def test_no_entries_are_read_where_none_are_wanted(record: SessionRecord, last: int) -> None:
    record.append(KEY, entry(1))
    assert record.read(KEY, last=last) == ()


def test_stories_do_not_mix(record: SessionRecord) -> None:
    record.append(KEY, entry(1))
    record.append(OTHER, entry(2))
    assert record.read(KEY) == (entry(1),)
    assert record.read(OTHER) == (entry(2),)


def test_a_hostile_name_is_refused(record: SessionRecord) -> None:
    hostile = SessionKey("opencode", "../../x")
    with pytest.raises(BadInputError):
        record.append(hostile, entry(1))
    with pytest.raises(BadInputError):
        record.read(hostile)
    with pytest.raises(BadInputError):
        record.set_aside(hostile)
