"""Every wait here is for a wake-up, bounded; what must not wake is told from what wakes after it."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from watchdog.events import FileSystemEvent
from watchdog.observers.api import BaseObserver

from sidecar.platform import watching
from sidecar.platform.watching import FoldersWatch

WAIT_S = 60.0
NEVER_S = 3600.0
"""Between two looks: only events wake."""
SOON_S = 0.01


class Bell:
    """Counts wake-ups."""

    def __init__(self) -> None:
        self.rung = threading.Semaphore(0)

    def __call__(self) -> None:
        self.rung.release()

    def heard(self) -> bool:
        """Whether it rings, or has rung; what rang more than once meanwhile is forgotten."""
        rang = self.rung.acquire(timeout=WAIT_S)
        while self.rung.acquire(blocking=False):
            pass
        return rang


Watch = Callable[..., Bell]


def watch_folder(folder: Path, wake: Callable[[], None], look_s: float = NEVER_S) -> FoldersWatch:
    watch = FoldersWatch(wake, look_s=look_s)
    watch.look_at([folder])
    return watch


@pytest.fixture
def watch() -> Iterator[Watch]:
    with ExitStack() as stack:

        def begin(folder: Path, look_s: float = NEVER_S) -> Bell:
            bell = Bell()
            stack.callback(watch_folder(folder, bell, look_s=look_s).close)
            return bell

        yield begin


def write(path: Path) -> None:
    path.write_text("new", encoding="utf-8")


def truncate_and_write(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("new")


def replace(path: Path) -> None:
    draft = path.with_name("draft")
    draft.write_text("new", encoding="utf-8")
    draft.replace(path)


def replace_from_elsewhere(path: Path) -> None:
    draft = path.parent.parent / "draft"
    draft.write_text("new", encoding="utf-8")
    draft.replace(path)


def swap(path: Path) -> None:
    backup = path.with_name("rubric.md~")
    path.rename(backup)
    path.write_text("new", encoding="utf-8")
    backup.unlink()


@pytest.mark.parametrize(
    "save", [write, truncate_and_write, replace, replace_from_elsewhere, swap, Path.unlink, Path.touch]
)
def test_every_way_to_save_a_file_wakes(watch: Watch, tmp_path: Path, save: Callable[[Path], object]) -> None:
    file = tmp_path / "folder" / "rubric.md"
    file.parent.mkdir()
    file.write_text("old", encoding="utf-8")
    bell = watch(file.parent)
    save(file)
    assert bell.heard()


def test_a_file_in_a_folder_that_appears_later_wakes(watch: Watch, tmp_path: Path) -> None:
    folder = tmp_path / "one" / "two"
    bell = watch(folder)
    folder.mkdir(parents=True)
    assert bell.heard()
    write(folder / "file")
    assert bell.heard()


@pytest.mark.parametrize("times", [2])
def test_a_folder_that_goes_and_comes_back_is_found_again(watch: Watch, tmp_path: Path, times: int) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    bell = watch(folder)
    for _ in range(times):
        folder.rmdir()
        assert bell.heard()
        folder.mkdir()
        assert bell.heard()
        write(folder / "file")
        assert bell.heard()
        (folder / "file").unlink()
        assert bell.heard()


def test_a_linked_folder_is_watched_where_it_leads(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    bell = watch(tmp_path / "link")
    write(tmp_path / "real" / "file")
    assert bell.heard()


def test_what_changes_beside_a_missing_folder_wakes_nobody(tmp_path: Path) -> None:
    folder, there, wakes = tmp_path / "folder", threading.Event(), []

    def wake() -> None:
        wakes.append(folder.exists())
        there.set()

    watch = watch_folder(folder, wake, look_s=SOON_S)
    for number in range(50):
        write(tmp_path / f"{number}")
    folder.mkdir()
    assert there.wait(WAIT_S)
    watch.close()
    assert all(wakes)


def test_reading_a_file_is_no_event(watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is woken reads: if that woke, it would never end."""
    heard: list[str] = []
    hear = watching.ChangeListener.hear

    def noted(ear: watching.ChangeListener, place: watching.WatchedFolder, event: FileSystemEvent) -> None:
        heard.append(event.event_type)
        hear(ear, place, event)

    monkeypatch.setattr(watching.ChangeListener, "hear", noted)
    file = tmp_path / "file"
    bell = watch(tmp_path)
    write(file)
    assert bell.heard()
    for _ in range(5):
        file.read_text(encoding="utf-8")
    file.rename(tmp_path / "other")
    assert bell.heard()
    assert "opened" not in heard
    assert "closed_no_write" not in heard


@pytest.mark.parametrize(
    "trouble", [OSError(errno.ENOSPC, "no watches left"), OSError(errno.EMFILE, "no instances left")]
)
def test_where_the_system_has_no_watches_left_files_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    trouble: OSError,
) -> None:  # fmt: skip
    def refuse(*_: object, **__: object) -> None:
        raise trouble

    monkeypatch.setattr(BaseObserver, "schedule", refuse)
    folders, bell = [tmp_path / "one", tmp_path / "two"], Bell()
    for folder in folders:
        folder.mkdir()
    watch = FoldersWatch(bell, look_s=SOON_S)
    watch.look_at(folders)
    for folder in folders * 2:
        write(folder / "file")
        assert bell.heard()
        (folder / "file").unlink()
        assert bell.heard()
    watch.close()
    assert sum("changes are not heard of" in line for line in caplog.messages) == 1


def test_lost_events_are_made_up_for_by_looking(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching.ChangeListener, "hear", lambda *_: None)
    bell = watch(tmp_path, SOON_S)
    write(tmp_path / "file")
    assert bell.heard()


def test_a_waker_that_fails_is_woken_again(tmp_path: Path) -> None:
    bell = Bell()

    def wake() -> None:
        bell()
        raise RuntimeError("a fault of the waker")

    watch = watch_folder(tmp_path, wake, look_s=NEVER_S)
    for number in range(2):
        write(tmp_path / f"{number}")
        assert bell.heard()
    watch.close()


def test_a_folder_that_cannot_be_is_no_trouble(tmp_path: Path) -> None:
    for odd in (Path("/proc/self/fdinfo/none"), tmp_path / "a\0b", tmp_path / ("x" * 300)):
        watch_folder(odd, lambda: None).close()
