"""What lies in the inbox is looked at with care: what is not the user's own plain file is never opened."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sidecar.hosts.marker_inbox import KEPT_S, MARKER_LIMIT, MarkerFolder
from sidecar.hosts.unrecorded import MarkerDecision
from sidecar.platform.files import UnusableFileError

GO_ON = MarkerDecision(
    decision="continue", reason="incomplete", say="[supervisor abc123] go on", continuation="abc123"
)
REST = MarkerDecision(decision="rest", reason="achieved")


@pytest.fixture
def folder(tmp_path: Path) -> MarkerFolder:
    folder = MarkerFolder(tmp_path / "inbox")
    folder.prepare()
    return folder


def drop(folder: MarkerFolder, name: str = "a.stop.json", raw: bytes = b"{}") -> str:
    (folder.path / name).write_bytes(raw)
    return name


def names(folder: MarkerFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir())


# --- the folder itself ---


def test_the_folder_is_made_for_its_owner_alone_and_closed_where_it_was_open(folder: MarkerFolder) -> None:
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    folder.path.chmod(0o777)
    folder.prepare()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_a_link_in_the_folders_place_is_refused_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "inbox").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnusableFileError, match="a symbolic link"):
        MarkerFolder(tmp_path / "inbox").prepare()
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755


def test_a_file_in_the_folders_place_and_another_users_folder_are_refused(
    tmp_path: Path, folder: MarkerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnusableFileError, match="no folder"):
        MarkerFolder(tmp_path / "file").prepare()
    monkeypatch.setattr(os, "geteuid", lambda: folder.path.stat().st_uid + 1)
    with pytest.raises(UnusableFileError, match="another user"):
        folder.prepare()


def test_only_stops_are_looked_for(folder: MarkerFolder) -> None:
    for name in ("b.stop.json", "a.stop.json", "a.stop.json.new", "a.decision.json", "README"):
        drop(folder, name)
    assert folder.stops() == ["a.stop.json", "b.stop.json"]


# --- reading ---


def test_a_plain_file_is_read_and_named_by_what_changes_with_it(folder: MarkerFolder) -> None:
    name = drop(folder, raw=b"one")
    first = folder.read(name)
    assert (first.raw, first.at) == (b"one", (folder.path / name).stat().st_mtime)
    assert folder.read(name) == first
    os.utime(folder.path / name, (1, 1))
    assert folder.read(name).id != first.id


def link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(b"{}")
    path.symlink_to(target)


def hard_link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(b"{}")
    path.hardlink_to(target)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


def too_big(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MARKER_LIMIT + 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (link, "a symbolic link"),
        (hard_link, "one name"),
        (Path.mkdir, "a folder"),
        (os.mkfifo, "no plain file"),
        (listening, "no plain file"),
        (too_big, "more than 4194304"),
    ],
)
def test_what_is_no_plain_file_of_one_name_is_refused_and_lies_aside_whole(
    folder: MarkerFolder, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object], why: str
) -> None:
    monkeypatch.chdir(folder.path)
    path = folder.path / "a.stop.json"
    make(path)
    before = path.lstat()
    with pytest.raises(UnusableFileError, match=why) as refused:
        folder.read(path.name)
    folder.refuse(path.name, str(refused.value))
    aside = (folder.path / "a.refused.json").lstat()
    assert (aside.st_ino, aside.st_mode, aside.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert why in (folder.path / "a.refused.txt").read_text(encoding="utf-8")
    assert folder.stops() == []


def test_another_users_file_is_refused(folder: MarkerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    name, own = drop(folder), os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(UnusableFileError, match=f"must be yours .id {own + 1}, not {own}."):
        folder.read(name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_its_owner_may_not_read_is_refused(folder: MarkerFolder) -> None:
    name = drop(folder)
    (folder.path / name).chmod(0)
    with pytest.raises(UnusableFileError, match="not open to its owner"):
        folder.read(name)


# --- deciding ---


def test_a_decision_lies_beside_a_stop_that_is_gone(folder: MarkerFolder) -> None:
    name = drop(folder)
    folder.decide(name, folder.read(name).id, GO_ON)
    assert names(folder) == ["a.continue.txt", "a.decision.json"]
    assert (folder.path / "a.continue.txt").read_text(encoding="utf-8") == GO_ON.say
    said = (folder.path / "a.decision.json").read_bytes()
    assert msgspec.json.decode(said, type=MarkerDecision) == GO_ON
    assert stat.S_IMODE((folder.path / "a.decision.json").stat().st_mode) == 0o600


def test_a_stop_that_came_meanwhile_under_the_same_name_stays(folder: MarkerFolder) -> None:
    name = drop(folder)
    ident = folder.read(name).id
    drop(folder, "new", b'{"newer":1}')
    (folder.path / "new").rename(folder.path / name)
    folder.decide(name, ident, REST)
    assert names(folder) == ["a.decision.json", "a.stop.json"]


def test_what_dead_writers_left_and_decisions_of_last_week_go_and_what_was_refused_stays(
    folder: MarkerFolder,
) -> None:
    for name in ("a.decision.json", "a.continue.txt", "b.decision.json", "c.refused.json", "c.refused.txt"):
        drop(folder, name)
        os.utime(folder.path / name, (1000, 1000))
    os.utime(folder.path / "b.decision.json", (1001, 1001))
    drop(folder, f".a.decision.json.{os.getpid()}-0123abcd.tmp")
    folder.tidy(1000.5 + KEPT_S)
    assert names(folder) == ["b.decision.json", "c.refused.json", "c.refused.txt"]
