"""The user's config.toml: every error at once, with its field, and the default where a value is wrong."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sidecar.adapters.configuration import ConfigurationFile, user_folder
from sidecar.model.settings import Gates, Judge, Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "supervisor").mkdir()
    return tmp_path / "supervisor" / "config.toml"


def load(path: Path) -> tuple[Settings, tuple[str, ...]]:
    """The settings, and the errors without the path that each begins with."""
    settings, errors = ConfigurationFile({"XDG_CONFIG_HOME": str(path.parent.parent)}).load()
    assert all(error.startswith(f"{path}: ") for error in errors)
    return settings, tuple(error.removeprefix(f"{path}: ") for error in errors)


def test_no_file_means_the_defaults(path: Path) -> None:
    assert load(path) == (Settings(), ())
    assert ConfigurationFile({}).load() == (Settings(), ())
    path.parent.rmdir()
    path.parent.write_bytes(b"a file in the place of the folder")
    assert load(path) == (Settings(), ())


def test_every_error_is_reported_with_its_field_and_what_is_right_is_in_force(path: Path) -> None:
    path.write_text(
        """
        mode = "shadow"
        max_atempts = 3
        max_attempts = 101
        goal_max_tokens = "many"
        resume_paused = true
        idle_minutes = true
        gates = 5

        [judge]
        backend = "gpt"
        modell = "opus"
        seconds = 30
        """
    )
    settings, errors = load(path)
    assert settings == Settings(mode="shadow", resume_paused=True, judge=Judge(seconds=30))
    assert errors == (
        "max_atempts: there is no such setting; did you mean max_attempts?",
        "max_attempts: Expected `int` <= 100 (got 101); the default 16 is in force",
        "goal_max_tokens: Expected `int`, got `str` (got 'many'); the default 400000 is in force",
        "idle_minutes: Expected `int`, got `bool` (got True); the default 60 is in force",
        "judge.modell: there is no such setting; did you mean judge.model?",
        "judge.backend: Invalid enum value 'gpt' (got 'gpt'); the default 'auto' is in force",
        "gates: Expected `object`, got `int` (got 5); its defaults are in force",
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"max_attempts = ", "no TOML: Invalid value (at end of document)"),
        (b"max_attempts = 1\nmax_attempts = 2", "no TOML: Cannot overwrite a value"),
        (b'mode = "\xff"', "not UTF-8 at byte 8"),
        (b"a = " + b"[" * 50_000, "nested too deep"),
        (b"a = 1" + b"0" * 20_000, "no TOML: Exceeds the limit"),
        (b"#" * 10_000_000, "10000000 bytes, more than 65536"),
    ],
)
def test_a_file_that_is_no_toml_is_one_error_and_the_defaults_hold(
    path: Path, content: bytes, why: str
) -> None:
    path.write_bytes(content)
    settings, (error,) = load(path)
    assert settings == Settings()
    assert error.startswith(why)
    assert error.endswith("; the defaults are in force")


@pytest.mark.parametrize(("make", "why"), [(os.mkdir, "a folder"), (os.mkfifo, "no plain file")])
def test_what_is_no_file_is_one_error(path: Path, make: object, why: str) -> None:
    assert callable(make)
    make(path)
    assert load(path) == (Settings(), (f"{why}; the defaults are in force",))


@pytest.mark.parametrize("value", ["9" * 4000, "-1", "0", "1e3", "inf", "[1]", "{a = 1}", "2020-01-01", "''"])
def test_whatever_stands_in_the_place_of_a_number_is_an_error_of_one_short_line(
    path: Path, value: str
) -> None:
    path.write_text(f"max_attempts = {value}\n")
    settings, (error,) = load(path)
    assert settings == Settings()
    assert error.startswith("max_attempts: Expected `int`") or "out of range" in error
    assert len(error) < 200
    assert "\n" not in error


def test_an_unknown_name_is_shown_short_and_on_one_line(path: Path) -> None:
    path.write_text(f'"{"x" * 1000}" = 1\n"\\n" = 2\n')
    errors = load(path)[1]
    assert [len(error) < 100 and "\n" not in error for error in errors] == [True, True]


def test_the_judging_of_a_stop_is_longer_than_what_it_holds(path: Path) -> None:
    path.write_text("stop_seconds = 300\n")
    settings, errors = load(path)
    assert settings.stop_seconds == 840
    assert errors == ("stop_seconds: must be greater than gates.seconds, 600; the default 840 is in force",)
    path.write_text("stop_seconds = 100\n[gates]\nseconds = 60\n")
    assert "judge.seconds, 120" in load(path)[1][0]
    path.write_text("stop_seconds = 130\n[gates]\nseconds = 60\n")
    assert load(path) == (Settings(stop_seconds=130, gates=Gates(seconds=60)), ())


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfmax_attempts = 3\r\nmode = 'shadow'\r\n")
    assert load(path) == (Settings(max_attempts=3, mode="shadow"), ())


def test_a_link_to_where_the_user_keeps_it_is_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("max_attempts = 3\n")
    path.symlink_to(tmp_path / "dotfiles.toml")
    assert load(path) == (Settings(max_attempts=3), ())


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/home/me"}, "/x/supervisor"),
        ({"HOME": "/home/me"}, "/home/me/.config/supervisor"),
        ({"XDG_CONFIG_HOME": "", "HOME": "/home/me"}, "/home/me/.config/supervisor"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/home/me"}, "/home/me/.config/supervisor"),
        ({"HOME": "relative"}, "None"),
        ({}, "None"),
    ],
)
def test_the_users_folder_follows_the_environment(environment: dict[str, str], folder: str) -> None:
    assert str(user_folder(environment)) == folder
