"""The life of our file, and of the stand-in for npm's packages, in folders of OpenCode's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sidecar.hosts.opencode import plugin_file
from sidecar.hosts.opencode.plugin_file import (
    STAND_IN,
    InstallationInfo,
    bake_status_file,
    remove_plugin_file,
    write_plugin_file,
)
from sidecar.platform.installation import plugin_root


def text_of(version: str) -> str:
    """A file of ours."""
    return bake_status_file(plugin_root(), InstallationInfo("/r", version))


TEXT = text_of("1.2.3")


# --- putting and taking -------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "opencode" / "plugin" / "supervisor.js"


def test_putting_it_twice_changes_nothing_the_second_time(place: Path) -> None:
    assert write_plugin_file(place, TEXT) == "written"
    before = place.stat()
    assert write_plugin_file(place, TEXT) == "unchanged"
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(place.parent.iterdir()) == [place]


def test_an_older_one_of_ours_is_renewed_without_a_copy(place: Path) -> None:
    write_plugin_file(place, text_of("0.9"))
    assert write_plugin_file(place, TEXT) == "renewed: it was of version 0.9"
    assert list(place.parent.iterdir()) == [place]
    assert place.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("theirs", ["file", "link", "folder", "changed"])
def test_what_is_not_ours_or_was_changed_is_kept_beside(place: Path, theirs: str) -> None:
    place.parent.mkdir(parents=True)
    for number in range(3):
        place.unlink(missing_ok=True)
        match theirs:
            case "file":
                place.write_text(f"theirs {number}", encoding="utf-8")
            case "link":
                place.symlink_to(f"/nowhere/{number}")
            case "folder":
                place.mkdir()
            case _:
                place.write_text(f"{TEXT}// {number}", encoding="utf-8")
        name = f"supervisor.js.bak{f'.{number}' if number else ''}"
        assert write_plugin_file(place, TEXT) == f"written: what was there is kept in {place.with_name(name)}"
        assert os.path.lexists(place.with_name(name))
    assert len(list(place.parent.iterdir())) == 4
    assert place.read_text(encoding="utf-8") == TEXT
    if theirs == "link":
        assert place.with_name("supervisor.js.bak.2").readlink() == Path("/nowhere/2")


def test_a_write_that_fails_leaves_what_was_there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.parent.mkdir(parents=True)
    place.write_text("theirs", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plugin_file, "write_whole", full)
    with pytest.raises(OSError, match="No space"):
        write_plugin_file(place, TEXT)
    assert {path.name: path.read_text(encoding="utf-8") for path in place.parent.iterdir()} == {
        "supervisor.js": "theirs"
    }


def test_taking_removes_ours_keeps_a_changed_one_and_leaves_anothers(place: Path) -> None:
    write_plugin_file(place, TEXT)
    assert remove_plugin_file(place) == "removed"
    assert remove_plugin_file(place) == "there is none of ours"
    place.write_text(TEXT + "// mine\n", encoding="utf-8")
    assert remove_plugin_file(place) == f"it was changed, so it is kept in {place}.bak"
    place.write_text("theirs", encoding="utf-8")
    assert remove_plugin_file(place) == "there is none of ours"
    assert sorted(path.name for path in place.parent.iterdir()) == ["supervisor.js", "supervisor.js.bak"]


def test_both_names_of_the_folder_are_known_and_the_one_that_is_there_is_used(tmp_path: Path) -> None:
    assert plugin_file.plugin_file_path(tmp_path) == tmp_path / "plugin" / "supervisor.js"
    (tmp_path / "plugins").mkdir()
    assert plugin_file.plugin_file_path(tmp_path) == tmp_path / "plugins" / "supervisor.js"
    (tmp_path / "plugin").mkdir()
    assert plugin_file.plugin_file_path(tmp_path) == tmp_path / "plugin" / "supervisor.js"
    write_plugin_file(tmp_path / "plugins" / "supervisor.js", TEXT)
    assert plugin_file.plugin_file_path(tmp_path) == tmp_path / "plugins" / "supervisor.js"
    write_plugin_file(tmp_path / "plugin" / "supervisor.js", TEXT)
    assert len(plugin_file.own_plugin_files(tmp_path)) == 2


# --- the folders --------------------------------------------------------------------------------------------


def test_the_folders_are_those_that_the_host_reads(tmp_path: Path) -> None:
    top, home = tmp_path / "repo", tmp_path / "home"
    (top / ".git").mkdir(parents=True)
    environment = {"HOME": str(home)}
    user = home / ".config" / "opencode"
    assert list(plugin_file.opencode_config_folders(environment, top / "a")) == [
        user,
        top / "a" / ".opencode",
        top / ".opencode",
        home / ".opencode",
    ]
    more = {
        "XDG_CONFIG_HOME": "/xdg",
        "OPENCODE_CONFIG_DIR": "/extra",
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    }
    assert list(plugin_file.opencode_config_folders(environment | more, top)) == [
        Path("/xdg/opencode"),
        home / ".opencode",
        Path("/extra"),
    ]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ('{"plugin": ["file:///h/.config/opencode/plugin/supervisor.js"]}', True),
        ('{ // mine\n "plugin": [["./plugin/supervisor.js", {"a": 1}],],\n}', True),
        ('{ // "plugin": ["./plugin/supervisor.js"]\n "plugin": ["other"] }', False),
        ('{"command": {"x": {"template": "/supervisor.js"}}}', False),
        ("{", False),
        ("[" * 10_000, False),
    ],
    ids=["url", "tuple", "comment", "elsewhere", "broken", "deep"],
)
def test_a_configuration_that_names_our_file_is_found(tmp_path: Path, config: str, names: bool) -> None:  # noqa: FBT001 - a row
    file = tmp_path / "opencode.jsonc"
    file.write_text(config, encoding="utf-8")
    assert plugin_file.configs_naming_plugin(tmp_path, tmp_path / "project") == ((file,) if names else ())


# --- the stand-in -------------------------------------------------------------------------------------------


def test_the_stand_in_is_what_the_host_looks_for() -> None:
    lock = json.loads(STAND_IN)
    assert "@opencode-ai/plugin" in lock["packages"][""]["dependencies"]
    assert lock["lockfileVersion"] == 3


def test_a_stand_in_goes_where_nobody_has_packages_and_away_without_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "opencode"
    assert plugin_file.needs_stand_in(folder)
    plugin_file.write_stand_in(folder)
    assert not plugin_file.needs_stand_in(folder)
    assert plugin_file.has_stand_in(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["node_modules", "package-lock.json"]
    plugin_file.remove_stand_in(folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    "theirs",
    [
        "node_modules/",
        "package.json",
        "package-lock.json",
        "bun.lock",
        "plugin/a.ts",
        "plugins/b.js",
        "tool/c.ts",
    ],
)
def test_no_stand_in_where_somebody_has_packages_or_may_want_some(tmp_path: Path, theirs: str) -> None:
    if theirs.endswith("/"):
        (tmp_path / theirs).mkdir()
    else:
        (tmp_path / theirs).parent.mkdir(exist_ok=True)
        (tmp_path / theirs).touch()
    assert not plugin_file.needs_stand_in(tmp_path)


@pytest.mark.parametrize("change", ["a package", "the lock", "a link"])
def test_a_stand_in_of_which_somebody_made_something_stays(tmp_path: Path, change: str) -> None:
    plugin_file.write_stand_in(tmp_path)
    packages = tmp_path / "node_modules"
    if change == "a package":
        (packages / "ms").mkdir()
    elif change == "the lock":
        (tmp_path / "package-lock.json").write_bytes(STAND_IN + b"\n")
    else:
        packages.symlink_to(packages.rename(tmp_path / "theirs"))
    before = sorted(tmp_path.rglob("*"))
    plugin_file.remove_stand_in(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
