"""Files are written whole or not at all, and nothing is lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sidecar.platform import files
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from support.disks import files_of_at_most, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 1024


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def an_open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


# --- writing ---


@pytest.mark.usefixtures("an_open_umask")
def test_a_written_file_is_whole_and_its_owners_alone(place: Path) -> None:
    write_whole(place, b"one")
    write_whole(place, b"x" * 1_000_000)
    assert place.read_bytes() == b"x" * 1_000_000
    assert mode(place) == 0o600
    assert names_in(place.parent) == ["state.json"]


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    place: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    write_whole(place, b"old")
    monkeypatch.setattr(os, broken, refuse)
    with pytest.raises(OSError, match="read-only"):
        write_whole(place, b"new", durable=True)
    monkeypatch.undo()
    assert place.read_bytes() == b"old"
    assert names_in(place.parent) == ["state.json"]


def test_a_disk_that_fills_up_in_the_middle_leaves_the_old_file(place: Path) -> None:
    write_whole(place, b"old")
    with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
        write_whole(place, b"x" * 200)
    assert place.read_bytes() == b"old"
    assert names_in(place.parent) == ["state.json"]


def test_an_interrupt_leaves_the_old_file_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    write_whole(place, b"old")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(place, b"new")
    monkeypatch.undo()
    assert place.read_bytes() == b"old"
    assert names_in(place.parent) == ["state.json"]


def test_a_durable_write_reaches_the_disk_before_it_takes_the_old_ones_place(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(place, b"old")
    seen: list[tuple[bool, bytes]] = []
    monkeypatch.setattr(
        os, "fsync", lambda fd: seen.append((stat.S_ISDIR(os.fstat(fd).st_mode), place.read_bytes()))
    )
    write_whole(place, b"new", durable=True)
    assert seen == [(False, b"old"), (True, b"new")]


def test_a_link_is_replaced_and_what_it_points_to_is_untouched(tmp_path: Path, place: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    place.symlink_to(tmp_path / "target")
    write_whole(place, b"ours")
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert not place.is_symlink()
    assert place.read_bytes() == b"ours"


# --- what is no plain file ---


def make_link(path: Path) -> None:
    (path.parent / "target").write_bytes(b"theirs\n")
    path.symlink_to(path.parent / "target")


@pytest.mark.parametrize(
    ("make", "what"),
    [(make_link, "a symbolic link"), (Path.mkdir, "a folder"), (os.mkfifo, "no plain file")],
)
def test_what_is_no_plain_file_is_neither_read_nor_written(place: Path, make: object, what: str) -> None:
    assert callable(make)
    make(place)
    with pytest.raises(UnusableFileError, match=what):
        read_whole(place, LIMIT)
    assert not (place.parent / "target").exists() or (place.parent / "target").read_bytes() == b"theirs\n"


def test_a_link_is_followed_where_that_is_wanted(place: Path) -> None:
    make_link(place)
    assert read_whole(place, LIMIT, follow=True) == b"theirs\n"


def test_a_file_over_the_limit_is_refused_with_its_size(place: Path) -> None:
    place.write_bytes(b"x" * LIMIT)
    assert read_whole(place, LIMIT) == b"x" * LIMIT
    place.write_bytes(b"x" * (LIMIT + 1))
    with pytest.raises(UnusableFileError, match="1025 bytes, more than 1024"):
        read_whole(place, LIMIT)


def test_a_file_that_may_not_be_read_is_blamed_itself(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> int:
        raise PermissionError(errno.EACCES, "permission denied")

    place.write_bytes(b"x")
    place.chmod(0)
    monkeypatch.setattr(os, "open", forbid)  # root may read everything
    with pytest.raises(UnusableFileError, match=r"not open to its owner \(mode 0000\)"):
        read_whole(place, LIMIT)


def test_a_folder_that_may_not_be_searched_is_not_blamed_on_the_file(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "permission denied")

    monkeypatch.setattr(os, "open", forbid)
    monkeypatch.setattr(os, "stat", forbid)
    monkeypatch.setattr(os, "lstat", forbid)
    with pytest.raises(PermissionError):
        read_whole(place, LIMIT)


def test_a_file_that_is_not_there_is_no_fault_of_the_file(place: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_whole(place, LIMIT)


def test_a_path_with_a_null_byte_is_unfit() -> None:
    with pytest.raises(UnusableFileError, match="no possible path"):
        read_whole(Path("/a\x00b"), LIMIT)


def tick(folder: Path) -> None:
    """Wait until the file system tells a later time."""
    before = folder.stat().st_ctime_ns
    while (probe := folder / "probe").write_text("") or probe.stat().st_ctime_ns == before:
        continue
    probe.unlink()


def test_each_change_that_bears_on_a_file_is_seen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FRESH_NS", 0)
    calls: list[Path] = []

    def stamp(path: Path, stamp: Callable[[Path], tuple[int, ...]] = files.file_stamp) -> tuple[int, ...]:
        calls.append(path)
        return stamp(path)

    monkeypatch.setattr(files, "file_stamp", stamp)
    folder, beside = tmp_path / "watched" / "a" / "b", tmp_path / "beside"
    file, sibling, seen = folder / "file", folder / "sibling", files.SeenFiles()
    folder.parents[1].mkdir()
    beside.mkdir()

    def looks() -> list[bool]:
        tick(beside)
        same = seen.same((file, sibling))
        news = [seen.is_new(path) for path in (file, sibling)]
        assert same is not any(news)
        return news

    def replaced() -> None:
        folder.parent.rename(tmp_path / "moved")
        (tmp_path / "other" / "b").mkdir(parents=True)
        (tmp_path / "other" / "b" / "file").write_text("1")
        (tmp_path / "other").rename(folder.parent)

    changes: tuple[Callable[[], object], ...] = (
        folder.parent.mkdir,
        folder.mkdir,
        lambda: file.write_text("1"),
        lambda: file.write_text("2"),
        lambda: sibling.write_text("2"),
        replaced,
        file.unlink,
        folder.rmdir,
    )
    assert looks() == [True, True]
    for change in changes:
        assert looks() == [False, False]
        change()
        assert looks()[change is changes[4]]
    calls.clear()
    assert (looks(), len(calls)) == ([False, False], 3), "of what is not there one folder tells"
    (folder.parent / "b").symlink_to(tmp_path / "later")
    assert [looks(), looks()] == [[True, True]] * 2, "what a link leads to may be made elsewhere"
