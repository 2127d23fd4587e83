"""Switches in a file: what cannot be read counts as off, and says so."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import msgspec
import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.platform.switches import SwitchFile
from support.disks import exhausted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "switches.json"


@pytest.fixture
def switches(tmp_path: Path) -> SwitchFile:
    return SwitchFile(tmp_path)


def test_the_file_says_plainly_what_is_off(switches: SwitchFile, path: Path) -> None:
    switches.turn(on=False, project="/code/a")
    assert msgspec.json.decode(path.read_bytes()) == {
        "version": 1,
        "user_off": False,
        "projects_off": ["/code/a"],
        "projects_on": [],
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_project_is_the_folder_it_resolves_to(switches: SwitchFile, tmp_path: Path) -> None:
    (tmp_path / "real" / "part").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    switches.turn(on=False, project=f"{tmp_path}/link/part/..")
    assert switches.off(f"{tmp_path}/real") == "off for this project"
    assert switches.off(f"{tmp_path}/link/part") == "off for this project"


def test_it_outlives_the_process(switches: SwitchFile, tmp_path: Path) -> None:
    switches.turn(on=False, project=None)
    assert SwitchFile(tmp_path).off("/code/a") == "off for you"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "corrupt"),
        (b'{"user_off": fal', "corrupt"),
        (b'{"user_off": 1}', "corrupt"),
        (b"[" * 100_000, "corrupt"),
        (b'{"version": 2}', "future-version"),
        (b" " * 10_000_000, "unreadable"),
    ],
)
def test_a_broken_file_counts_as_off_until_the_user_switches(
    switches: SwitchFile, path: Path, content: bytes, fault: str
) -> None:
    path.write_bytes(content)
    assert switches.off("/code/a").startswith(f"off: {path} cannot be used (")
    assert path.read_bytes() == content
    switches.turn(on=True, project=None)
    assert switches.off("/code/a") == ""
    assert path.with_name(f"switches.json.{fault}-1").read_bytes() == content


def test_a_link_in_its_place_counts_as_off_and_is_set_aside(
    switches: SwitchFile, path: Path, tmp_path: Path
) -> None:
    (tmp_path / "theirs").write_bytes(b"{}")
    path.symlink_to(tmp_path / "theirs")
    assert "a symbolic link" in switches.off("/code/a")
    switches.turn(on=False, project=None)
    assert (tmp_path / "theirs").read_bytes() == b"{}"
    assert switches.off("/code/a") == "off for you"


@pytest.mark.parametrize("project", ["", "relative", "/a\x00b", "/\ud800"])
def test_what_is_no_path_cannot_be_switched_and_is_not_off(switches: SwitchFile, project: str) -> None:
    assert switches.off(project) == ""
    with pytest.raises(BadInputError, match="of a project"):
        switches.turn(on=False, project=project)


def test_a_machine_at_its_limits_counts_as_off_and_sets_nothing_aside(
    switches: SwitchFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches.turn(on=True, project="/code/a")
    with monkeypatch.context() as patches:
        patches.setattr(os, "open", exhausted)
        assert "too many open files" in switches.off("/code/a")
        with pytest.raises(OSError, match="too many open files"):
            switches.turn(on=True, project=None)
    assert [one.name for one in path.parent.iterdir()] == ["switches.json"]
