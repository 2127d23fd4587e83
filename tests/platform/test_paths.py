"""Where things are kept: the rules of XDG, for the owner alone, and the record of the runtime."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest

from sidecar.platform.paths import unblocking_command, user_paths


def test_the_folders_are_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert user_paths().state == tmp_path / "state" / "supervisor"
    assert user_paths().config == tmp_path / "config" / "supervisor"


@pytest.mark.parametrize("value", [None, "", "relative/path"])
def test_without_an_absolute_path_in_xdg_they_are_in_the_home(
    monkeypatch: pytest.MonkeyPatch, home_is_a_fresh_folder: Path, value: str | None
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    assert user_paths().state == home_is_a_fresh_folder / ".local" / "state" / "supervisor"
    assert user_paths().config == home_is_a_fresh_folder / ".config" / "supervisor"


def test_what_to_type_where_the_state_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").touch()
    denied, full = PermissionError(errno.EACCES, "denied"), OSError(errno.ENOSPC, "full")
    aside = f"mv '{tmp_path}/a file' '{tmp_path}/a file.aside'"
    assert unblocking_command(tmp_path / "a file" / "x", denied) == aside
    assert unblocking_command(tmp_path / "x" / "y", denied) == f"chmod u+rwx {tmp_path}"
    assert unblocking_command(tmp_path / "x" / "y", full).startswith(f"df -h {tmp_path} ")
    monkeypatch.setattr("os.getuid", lambda: -1)  # somebody else's
    assert unblocking_command(tmp_path / "x", denied).startswith('export XDG_STATE_HOME="$(mktemp -d)"')


def test_nothing_is_made_before_it_is_needed() -> None:
    assert not user_paths().state.exists()


def test_what_is_made_is_for_the_owner_alone_and_says_what_it_is() -> None:
    paths = user_paths()
    paths.prepare()
    paths.prepare()
    assert [stat.S_IMODE(one.stat().st_mode) for one in (paths.state, paths.run, paths.log.parent)] == [
        0o700
    ] * 3
    assert "belongs to Supervisor" in (paths.state / "README").read_text(encoding="utf-8")


def test_a_folder_that_was_open_to_others_is_closed() -> None:
    paths = user_paths()
    paths.run.mkdir(parents=True, mode=0o755)
    paths.prepare()
    assert stat.S_IMODE(paths.run.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match="file"):
        user_paths().prepare()


def test_the_runtime_is_remembered_until_it_is_forgotten() -> None:
    paths, command = user_paths(), Path("/opt/sidecar ü/bin/supervisor")
    assert paths.recorded_runtime() is None
    paths.record_runtime(command)
    assert paths.recorded_runtime() == command
    assert stat.S_IMODE(paths.runtime.stat().st_mode) == 0o600
    paths.forget_runtime()
    paths.forget_runtime()
    assert paths.recorded_runtime() is None


@pytest.mark.parametrize("text", ["", "relative/supervisor\n", "x" * 5000])
def test_a_record_that_names_no_absolute_path_is_none(text: str) -> None:
    paths = user_paths()
    paths.prepare()
    paths.runtime.write_text(text, encoding="utf-8")
    assert paths.recorded_runtime() is None
