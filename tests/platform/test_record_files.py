"""Records in files: appended, bounded, and readable after a crash."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.session import SessionKey
from sidecar.platform import session_store as record_files
from sidecar.platform.ports import RecordEntry
from sidecar.platform.session_store import RecordFiles
from support.disks import files_of_at_most

if TYPE_CHECKING:
    from pathlib import Path

KEY = SessionKey("claude-code", "s1")


@pytest.fixture
def record(tmp_path: Path) -> RecordFiles:
    return RecordFiles(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "claude-code-s1.record.jsonl"


def entry(number: int, detail: str = "") -> RecordEntry:
    return RecordEntry(at=float(number), event="stop", decided="continue", detail=detail)


def test_an_entry_is_one_line_for_the_owner_alone(record: RecordFiles, path: Path) -> None:
    record.append(KEY, entry(1, "two\nlines"))
    assert path.read_bytes() == b'{"at":1.0,"event":"stop","decided":"continue","detail":"two\\nlines"}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_last_line_is_left_out_and_healed_by_the_next_entry(record: RecordFiles, path: Path) -> None:
    record.append(KEY, entry(1))
    record.append(KEY, entry(2))
    path.write_bytes(path.read_bytes()[:-9])
    assert record.read(KEY) == (entry(1),)
    record.append(KEY, entry(3))
    assert record.read(KEY) == (entry(1), entry(3))


@pytest.mark.parametrize("line", [b"", b"null", b"[" * 100_000, b"\xff", b"\x00" * 99, b'{"at": 1}'])
def test_a_line_that_is_no_entry_is_left_out(record: RecordFiles, path: Path, line: bytes) -> None:
    record.append(KEY, entry(1))
    with path.open("ab") as file:
        file.write(line + b"\n")
    record.append(KEY, entry(2))
    assert record.read(KEY) == (entry(1), entry(2))


def test_a_full_disk_is_an_error_and_leaves_whole_entries(record: RecordFiles, path: Path) -> None:
    record.append(KEY, entry(1))
    before = path.read_bytes()
    with files_of_at_most(len(before) + 5), pytest.raises(OSError, match="File too large"):
        record.append(KEY, entry(2))
    assert path.read_bytes() == before
    record.append(KEY, entry(3))
    assert record.read(KEY) == (entry(1), entry(3))


def test_a_record_is_bounded_and_read_across_its_two_files(
    record: RecordFiles, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_files, "ROTATE_AT", 1000)
    for number in range(205):
        record.append(KEY, entry(number))
        assert path.stat().st_size <= 1000
    assert sorted(one.name for one in path.parent.iterdir()) == [path.name, f"{path.name}.1"]
    kept = [int(one.at) for one in record.read(KEY, last=1000)]
    assert kept == list(range(kept[0], 205))
    assert len(path.read_bytes().splitlines()) < 15 < len(kept)
    assert record.read(KEY, last=15) == tuple(entry(number) for number in range(190, 205))


def test_only_the_end_of_a_record_is_read(
    record: RecordFiles, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    pread = os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        read.append(size)
        return pread(descriptor, size, offset)

    record.append(KEY, entry(1))
    path.write_bytes(path.read_bytes() * 40_000)
    monkeypatch.setattr(os, "pread", counted)
    assert record.read(KEY, last=3) == (entry(1),) * 3
    assert sum(read) <= 64 * 1024


def test_a_giant_detail_is_cut(record: RecordFiles) -> None:
    record.append(KEY, entry(1, "x" * 10_000_000))
    assert len(record.read(KEY)[0].detail) == 16_000
    assert record.read(KEY)[0].detail.endswith("x…")


def test_a_record_that_is_a_link_is_set_aside_and_its_target_untouched(
    record: RecordFiles, path: Path, tmp_path: Path
) -> None:
    path.parent.mkdir()
    (tmp_path / "target").write_bytes(b"theirs")
    path.symlink_to(tmp_path / "target")
    assert record.read(KEY) == ()
    record.append(KEY, entry(1))
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert record.read(KEY) == (entry(1),)
    assert record.set_aside(KEY) == ("claude-code-s1.record.jsonl.unreadable-1: a symbolic link",)


def test_a_folder_in_the_place_of_a_record_is_set_aside(record: RecordFiles, path: Path) -> None:
    path.mkdir(parents=True)
    (path / "inside").write_bytes(b"x")
    record.append(KEY, entry(1))
    assert record.read(KEY) == (entry(1),)
    assert (path.with_name(f"{path.name}.unreadable-1") / "inside").read_bytes() == b"x"


def test_a_state_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        RecordFiles(tmp_path / "state").append(KEY, entry(1))
