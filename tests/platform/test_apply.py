"""Changes of a copy come into the project whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.kernel.evidence import FileChange
from sidecar.platform import apply
from sidecar.platform.apply import (
    STAGING_PREFIX,
    ApplyError,
    ChangeApplier,
    FileStep,
    Staging,
    file_version,
)
from sidecar.platform.paths import UNFINISHED_FOLDER

DEAD = 2**22 + 1
"""No process has this id: it is above the greatest that Linux gives."""


class Site:
    """A project and a copy of it, in which three files were changed."""

    def __init__(self, folder: Path) -> None:
        self.project, self.copy, self.state = folder / "project", folder / "copy", folder / "state"
        for top in (self.project, self.copy):
            top.mkdir()
            (top / "a.py").write_text("old\n")
            (top / "gone.py").write_text("gone\n")
        (self.project / "a.py").chmod(0o755)
        (self.copy / "a.py").write_text("new\n")
        (self.copy / "gone.py").unlink()
        (self.copy / "deep" / "er").mkdir(parents=True)
        (self.copy / "deep/er/b.py").write_text("b\n")
        self.changes: tuple[FileChange, ...] = (
            FileChange(path="a.py", before="old\n", after="new\n"),
            FileChange(path="deep/er/b.py", after="b\n"),
            FileChange(path="gone.py", before="gone\n"),
        )

    def apply(self, *more: FileChange) -> None:
        ChangeApplier(self.state).apply(self.project, self.copy, (*self.changes, *more))

    def files(self) -> dict[str, str]:
        found = (path for path in sorted(self.project.rglob("*")) if path.is_file())
        named = {str(path.relative_to(self.project)): path.read_text() for path in found}
        return {name: text for name, text in named.items() if not name.startswith(STAGING_PREFIX)}

    def notes(self) -> list[Path]:
        return sorted((self.state / UNFINISHED_FOLDER).glob("*.json"))


OLD = {"a.py": "old\n", "gone.py": "gone\n"}
NEW = {"a.py": "new\n", "deep/er/b.py": "b\n"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_written_removed_and_new_files_come_with_their_modes(site: Site) -> None:
    site.apply()

    assert site.files() == NEW
    assert (site.project / "a.py").stat().st_mode & 0o777 == 0o755
    assert site.notes() == []


def test_a_move_takes_the_file_along(site: Site) -> None:
    (site.copy / "moved.py").write_text("gone\n")
    site.changes = (FileChange(path="moved.py", old_path="gone.py", before="gone\n", after="gone\n"),)
    site.apply()

    assert site.files() == {"a.py": "old\n", "moved.py": "gone\n"}


def test_what_is_no_text_a_link_and_a_permission_to_run_come_too(site: Site) -> None:
    (site.project / "app.db").write_bytes(b"\0old")
    (site.copy / "app.db").write_bytes(b"\0" * (9 << 20))
    (site.copy / "link").symlink_to("deep/er/b.py")
    for top, mode in ((site.project, 0o600), (site.copy, 0o755)):
        (top / "run.sh").write_text("same\n")
        (top / "run.sh").chmod(mode)
    was = {name: file_version(site.project / name) for name in ("app.db", "run.sh")}
    now = {name: file_version(site.copy / name) for name in ("app.db", "run.sh", "link")}
    site.apply(
        FileChange(path="app.db", unread="it is no text", was=was["app.db"], now=now["app.db"]),
        FileChange(path="run.sh", before="same\n", after="same\n", was=was["run.sh"], now=now["run.sh"]),
        FileChange(path="link", after="deep/er/b.py", link=True, now=now["link"]),
    )

    assert {name: file_version(site.project / name) for name in now} == now


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            FileChange(path="theirs.db", unread="it is no text", was="100644 0", now="100644 1"),
            "changed meanwhile",
        ),
        (FileChange(path="mine.py", before="theirs\n", after="x\n"), "changed meanwhile"),
        (FileChange(path="link.py", after="/etc", link=True), "a link out of the project, to /etc"),
        (FileChange(path="up.py", after="../a", link=True), "a link out of the project, to ../a"),
        (FileChange(path="big.bin", unread="it is no text"), "no text"),
        (FileChange(path="out/x.py", after="x\n"), "leads out of the project"),
        (FileChange(path="../x.py", after="x\n"), "leads out of the project"),
        (FileChange(path="tests.py", after="as it was before the tests ran\n"), "while the tests ran"),
    ],
)
def test_what_cannot_be_applied_leaves_all_as_it_was(site: Site, more: FileChange, said: str) -> None:
    (site.project / "mine.py").write_text("mine\n")
    (site.project / "out").symlink_to(site.copy)
    (site.copy / "link.py").symlink_to("/etc")
    (site.copy / "up.py").symlink_to("../a")
    for name in ("mine.py", "tests.py"):
        (site.copy / name).write_text("x\n")
    before = site.files()

    with pytest.raises(ApplyError, match=said):
        site.apply(more)
    assert site.files() == before


def break_link(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException) -> None:
    """Let a file's new version fail to take its place."""
    link = os.link

    def broken(source: Path, place: Path, *, follow_symlinks: bool = True) -> None:
        if place.name == name:
            raise error
        link(source, place, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "link", broken)


def test_a_failure_in_the_middle_leaves_all_as_it_was(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.project / "out").symlink_to("nowhere")
    times = [(site.project / name).stat().st_mtime_ns for name in OLD]
    break_link(monkeypatch, "b.py", PermissionError(13, "Permission denied"))
    monkeypatch.setattr(Path, "rename", rename_unless(Path.rename, "b.py"))  # it is tried without hard links
    with pytest.raises(OSError, match="Permission denied"):
        site.apply()
    assert site.files() == OLD
    assert [(site.project / name).stat().st_mtime_ns for name in OLD] == times
    assert site.notes() == []


def rename_unless(rename: Callable[[Path, Path], Path], name: str) -> Callable[[Path, Path], Path]:
    def renamed(source: Path, place: Path) -> Path:
        if Path(place).name == name:
            raise PermissionError(13, "Permission denied")
        return rename(source, place)

    return renamed


def test_a_disk_that_is_full_is_found_before_anything_is_replaced(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes, *, durable: bool = False) -> None:  # noqa: ARG001 - what it stands for
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(apply, "write_whole", full)
    before = sorted(site.project.rglob("*"))
    with pytest.raises(OSError, match="No space"):
        site.apply()
    assert site.files() == OLD
    assert sorted(site.project.rglob("*")) == before


def act_before(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Do something just before the new version of a file takes its place."""
    replace = Staging._replace

    def replaced(staging: Staging, number: int, step: FileStep) -> None:
        if step.path == name:
            act()
        replace(staging, number, step)

    monkeypatch.setattr(Staging, "_replace", replaced)


@pytest.mark.parametrize(
    ("name", "said"), [("a.py", "changed meanwhile"), ("deep/er/b.py", "came meanwhile")]
)
def test_what_somebody_writes_meanwhile_is_not_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    def write() -> None:
        (site.project / name).parent.mkdir(parents=True, exist_ok=True)
        (site.project / name).write_text("mine\n")

    act_before(monkeypatch, name, write)
    with pytest.raises(ApplyError, match=said):
        site.apply()
    assert site.files() == {**OLD, name: "mine\n"}
    assert site.notes() == []


def test_folders_that_were_made_go_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.copy / "x").mkdir()
    (site.copy / "x/c.py").write_text("c\n")
    act_before(monkeypatch, "x/c.py", lambda: (site.project / "x").write_text("mine\n"))
    with pytest.raises(OSError, match="x"):
        site.apply(FileChange(path="x/c.py", after="c\n"))
    assert site.files() == {**OLD, "x": "mine\n"}
    assert not (site.project / "deep").exists()


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    act_before(
        monkeypatch, "deep/er/b.py", lambda: (site.project / "deep").symlink_to(tmp_path / "elsewhere")
    )
    with pytest.raises(ApplyError, match="leads out"):
        site.apply()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert site.files() == OLD


class Killed(BaseException):
    """Stands for a kill: nothing that the code wants to do afterwards is done."""


def killed_in_the_middle(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what a process that was killed in the middle leaves behind, under the id of a dead one."""
    with monkeypatch.context() as patches:
        break_link(patches, "b.py", Killed())
        patches.setattr(Staging, "close", lambda _: None)
        with pytest.raises(Killed):
            site.apply()
    (note,) = site.notes()
    note.rename(note.with_name(note.name.replace(str(os.getpid()), str(DEAD), 1)))


def test_what_a_killed_process_left_in_part_is_undone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_in_the_middle(site, monkeypatch)
    assert site.files() != OLD

    (said,) = ChangeApplier(site.state).roll_back()
    assert str(site.project) in said
    assert site.files() == OLD
    assert ChangeApplier(site.state).roll_back() == ()


def test_what_somebody_wrote_since_is_left_and_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_in_the_middle(site, monkeypatch)
    (site.project / "a.py").write_text("mine\n")

    (said,) = ChangeApplier(site.state).roll_back()
    assert "not put back: a.py, changed since" in said
    assert site.files() == {**OLD, "a.py": "mine\n"}


def test_a_living_process_finishes_its_own_work(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_in_the_middle(site, monkeypatch)
    (note,) = site.notes()
    note.rename(note.with_name(note.name.replace(str(DEAD), str(os.getpid()), 1)))

    assert ChangeApplier(site.state).roll_back() == ()
    assert site.notes() != []
