"""Files of kept stops: the owner's alone, bounded, and a bad one harms nothing but itself."""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sidecar.kernel.stop_history import RecordedStop
from sidecar.kernel.turn import PlannedTask, Turn
from sidecar.platform import stop_history as kept_stops
from sidecar.platform.stop_history import (
    FILE_LIMIT,
    STOPS_PER_PROJECT,
    StopHistoryFiles,
    UnreadableStopError,
    read_stop_file,
)
from support.cases import PROJECT, turn
from support.kept_stops import asked, unasked


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def files(state: Path) -> StopHistoryFiles:
    return StopHistoryFiles(state)


def only(files: StopHistoryFiles, project: str = PROJECT) -> Path:
    (path,) = files.paths(project)
    return path


def with_turn(stop: RecordedStop, seen: Turn) -> RecordedStop:
    first, *rest = stop.heard
    return replace(stop, heard=(replace(first, fact=replace(first.fact, turn=seen)), *rest))


def rewritten(path: Path, change: Any) -> None:
    document = msgspec.json.decode(zlib.decompress(path.read_bytes()))
    change(document)
    path.write_bytes(zlib.compress(msgspec.json.encode(document)))


def test_only_the_owner_can_read_them(files: StopHistoryFiles, state: Path) -> None:
    files.keep(asked())
    path = only(files)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, state)] == [0o700, 0o700]
    assert path.parent.parent == state / "stops"


def test_a_stop_that_is_too_big_is_not_kept_and_the_others_stay(files: StopHistoryFiles) -> None:
    files.keep(asked())
    noise = hashlib.shake_256(b"noise").hexdigest(FILE_LIMIT)
    files.keep(with_turn(asked(at=2000.0), turn(message=noise)))
    assert len(files.paths(PROJECT)) == 1
    assert only(files).stat().st_size < FILE_LIMIT


def test_what_could_not_be_read_again_is_not_kept(
    files: StopHistoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_stops, "TEXT_LIMIT", 100_000)
    files.keep(with_turn(asked(), turn(message="again and " * 20_000)))
    assert files.paths(PROJECT) == ()


def test_much_text_that_says_little_is_kept_small(files: StopHistoryFiles) -> None:
    files.keep(with_turn(asked(), turn(message="again and " * 200_000)))
    assert only(files).stat().st_size < 50_000
    assert len(files.last(PROJECT, 1).stops) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is cut off"),
        (b"no zlib", "it is damaged"),
        (zlib.compress(b""), "it is damaged"),
        (zlib.compress(b"{"), "it is damaged"),
        (zlib.compress(b'{"version": 1}'), "it is damaged"),
        (zlib.compress(b'{"version": 2}'), "version 2; this Supervisor knows 1"),
        (zlib.compress(b'{"version": 1, "inquiry": ' + b"[" * 100_000), "it is damaged"),
        (zlib.compress(b"\xff\xfe"), "it is damaged"),
        (zlib.compress(b" " * 17 * 1024 * 1024), "more than 16777216 bytes"),
        (zlib.compress(b'{"version": 1}')[:-3], "it is cut off"),
        (b"x" * (FILE_LIMIT + 1), "more than 524288"),
    ],
)
def test_a_damaged_file_is_named_and_the_others_are_read(
    files: StopHistoryFiles, content: bytes, said: str
) -> None:
    files.keep(asked(at=1.0))
    only(files).write_bytes(content)
    files.keep(asked(at=2.0))
    recalled = files.last(PROJECT, 20)
    assert [stop.at for stop in recalled.stops] == [2.0]
    assert len(recalled.problems) == 1
    assert said in recalled.problems[0]


def test_a_stop_that_was_kept_before_turns_knew_of_a_journal_is_read(files: StopHistoryFiles) -> None:
    def older(document: Any) -> None:
        for seen in (document["inquiry"]["turn"], document["heard"][0]["fact"]["turn"]):
            for field in ("planned", "stuck", "complete"):
                del seen[field]

    stop = asked()
    files.keep(stop)
    rewritten(only(files), older)
    assert files.last(PROJECT, 1).stops == (stop,)


def test_what_a_journal_told_is_kept_with_the_stop(files: StopHistoryFiles) -> None:
    task = PlannedTask(id="T1", status="in progress", text="parse comments", now=True)
    stop = with_turn(asked(), turn(planned=(task,), stuck=("no network",), complete=True))
    files.keep(stop)
    assert files.last(PROJECT, 1).stops == (stop,)


def test_a_fact_that_nobody_knows_is_damage(files: StopHistoryFiles) -> None:
    files.keep(asked())
    rewritten(only(files), lambda document: document["heard"][0].update(kind="oracle"))
    with pytest.raises(UnreadableStopError, match="there is no fact 'oracle'"):
        read_stop_file(only(files))


def test_a_link_and_a_folder_in_the_place_of_a_stop_are_not_followed(
    files: StopHistoryFiles, tmp_path: Path
) -> None:
    files.keep(asked(at=1.0))
    path = only(files)
    whole = path.rename(tmp_path / "elsewhere.stop")
    path.symlink_to(whole)
    path.with_name("9.stop").mkdir()
    recalled = files.last(PROJECT, 20)
    assert recalled.stops == ()
    assert sorted(problem.partition(": ")[2] for problem in recalled.problems) == [
        "a folder",
        "a symbolic link",
    ]


@pytest.mark.parametrize("project", ["", "relative", "/\x00", "/\udcff"])
def test_what_is_no_folder_has_no_stops(files: StopHistoryFiles, state: Path, project: str) -> None:
    files.keep(replace(asked(), project=project))
    assert files.last(project, 20).stops == ()
    assert not state.exists()


def test_a_text_that_cannot_be_written_keeps_nothing(files: StopHistoryFiles) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        files.keep(replace(asked(), detail="\udcff"))
    assert files.paths(PROJECT) == ()


def test_a_project_by_another_name_is_the_same(files: StopHistoryFiles, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "name").symlink_to(tmp_path / "real")
    files.keep(replace(asked(), project=str(tmp_path / "name")))
    assert len(files.last(str(tmp_path / "real"), 1).stops) == 1


def test_of_too_many_projects_those_that_rested_longest_go(
    files: StopHistoryFiles, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_stops, "PROJECTS", 3)
    for number in range(5):
        files.keep(unasked(project=f"/p{number}"))
        os.utime(files.paths(f"/p{number}")[0].parent, (number, number))
    assert [len(files.paths(f"/p{number}")) for number in range(5)] == [0, 0, 1, 1, 1]
    assert len(list((state / "stops").iterdir())) == 3


def test_no_more_files_stay_than_are_kept(files: StopHistoryFiles) -> None:
    for number in range(STOPS_PER_PROJECT + 3):
        files.keep(unasked(at=float(number)))
    assert len(list(files.paths(PROJECT)[0].parent.iterdir())) == STOPS_PER_PROJECT


def test_what_a_dead_writer_left_is_swept(files: StopHistoryFiles) -> None:
    files.keep(asked())
    torn = only(files).with_name(".000.stop.999999999-0123abcd.tmp")
    torn.write_bytes(b"half")
    files.keep(asked())
    assert not torn.exists()
    assert len(files.paths(PROJECT)) == 2


def test_stops_that_are_kept_at_once_do_not_sweep_each_other_away(files: StopHistoryFiles) -> None:
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda number: files.keep(unasked(at=float(number))), range(STOPS_PER_PROJECT * 5)))
    assert [stop.at for stop in files.last(PROJECT, STOPS_PER_PROJECT).stops] == list(
        range(STOPS_PER_PROJECT * 4, STOPS_PER_PROJECT * 5)
    )


def test_a_disk_that_cannot_be_written_says_so(files: StopHistoryFiles, state: Path) -> None:
    state.parent.mkdir(exist_ok=True)
    state.write_text("a file where the folder should be")
    with pytest.raises(OSError, match="Not a directory"):
        files.keep(asked())
    assert files.last(PROJECT, STOPS_PER_PROJECT).stops == ()
