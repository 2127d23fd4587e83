"""Folders of ours, and files that are moved out of the way with a reason."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sidecar.platform import files
from sidecar.platform.files import (
    FileFault,
    ensure_folder,
    list_set_aside,
    remove_stale_temporaries,
    set_aside,
    write_readme,
    write_whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 2**22 + 1
"""A process id that Linux never gives."""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def make_link(path: Path) -> None:
    (path.parent / "target").write_bytes(b"theirs\n")
    path.symlink_to(path.parent / "target")


@pytest.fixture
def an_open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


# --- setting aside ---


def test_what_is_set_aside_keeps_its_content_and_its_reason(place: Path) -> None:
    for content in (b"first", b"second"):
        place.write_bytes(content)
        set_aside(place, FileFault.CORRUPT, f"it says\n{content.decode()}")
    assert not place.exists()
    assert (place.parent / "state.json.corrupt-1").read_bytes() == b"first"
    assert (place.parent / "state.json.corrupt-2").read_bytes() == b"second"
    assert (place.parent / "state.json.corrupt-2.why").read_bytes() == b"it says second\n"


def test_what_was_set_aside_is_listed_by_family_and_oldest_first(tmp_path: Path) -> None:
    for number in range(11):
        name, fault = (("a.json", FileFault.EDITED), ("a.chain", FileFault.UNREADABLE))[number % 2]
        (tmp_path / name).write_bytes(b"")
        set_aside(tmp_path / name, fault, f"reason {number}")
    (tmp_path / "a-b.json").write_bytes(b"")
    set_aside(tmp_path / "a-b.json", FileFault.FUTURE, "another family")
    assert [line.rsplit(": ", 1)[1] for line in list_set_aside(tmp_path, "a")] == [
        f"reason {n}" for n in range(11)
    ]
    assert list_set_aside(tmp_path, "a")[-1] == "a.json.edited-11: reason 10"
    assert list_set_aside(tmp_path, "a-b") == ("a-b.json.future-version-1: another family",)
    assert list_set_aside(tmp_path / "no folder", "a") == ()


def test_a_link_is_set_aside_and_not_what_it_points_to(place: Path) -> None:
    make_link(place)
    set_aside(place, FileFault.UNREADABLE, "a link")
    assert (place.parent / "state.json.unreadable-1").is_symlink()
    assert (place.parent / "target").read_bytes() == b"theirs\n"


# --- folders ---


@pytest.mark.usefixtures("an_open_umask")
def test_a_folder_is_made_with_all_above_it_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    ensure_folder(folder)
    ensure_folder(folder)
    assert [mode(place) for place in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


@pytest.mark.parametrize(
    ("was", "is_"), [(0o755, 0o700), (0o1777, 0o1777)], ids=["open", "shared on purpose"]
)
def test_a_folder_open_to_others_is_closed(tmp_path: Path, was: int, is_: int) -> None:
    tmp_path.chmod(was)
    ensure_folder(tmp_path)
    assert mode(tmp_path) == is_


def test_a_file_in_the_place_of_a_folder_is_an_error_and_stays(place: Path) -> None:
    place.write_bytes(b"x")
    for folder in (place, place / "below"):
        with pytest.raises(NotADirectoryError):
            ensure_folder(folder)
    assert place.read_bytes() == b"x"


def test_a_folder_explains_itself_and_is_written_to_once(tmp_path: Path) -> None:
    write_readme(tmp_path, "ours\n")
    before = (tmp_path / "README").stat().st_ino
    write_readme(tmp_path, "ours\n")
    assert (tmp_path / "README").stat().st_ino == before
    write_readme(tmp_path, "still ours\n")
    assert (tmp_path / "README").read_text() == "still ours\n"


def test_what_a_dead_process_left_half_written_is_swept_away(tmp_path: Path) -> None:
    alive = f".state.json.{os.getppid()}-0123abcd.tmp"
    for name in (f".state.json.{NOBODY}-0123abcd.tmp", f".state.json.{os.getpid()}-0123abcd.tmp"):
        (tmp_path / name).write_bytes(b"half")
    for name in (alive, "state.json", f".notes.{NOBODY}.tmp", f".x.{10**40}-0123abcd.tmp"):
        (tmp_path / name).write_bytes(b"whole")
    remove_stale_temporaries(tmp_path)
    assert names_in(tmp_path) == sorted([alive, "state.json", f".notes.{NOBODY}.tmp"])
    remove_stale_temporaries(tmp_path / "no folder")


def test_what_changes_a_file_changes_its_stamp(place: Path) -> None:
    place.write_bytes(b"one")
    before = files.file_stamp(place)
    assert files.file_stamp(place) == before
    write_whole(place, b"two")
    at = before[0] / 1e9
    os.utime(place, (at, at))
    assert files.file_stamp(place) != before
