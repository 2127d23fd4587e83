"""`supervisor toolset`: which tools agents are offered, in the user's config.toml."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.paths import user_paths
from support.typed import typed


@pytest.fixture
def place() -> Path:
    return Path(os.environ["HOME"]) / ".config" / "supervisor" / "config.toml"


@pytest.fixture(autouse=True)
def a_folder_without_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def on() -> tuple[str, ...]:
    settings, problems = ConfigurationFile(os.environ).load()
    assert problems == ()
    return settings.toolsets


def test_what_is_on_is_listed_and_nothing_is_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("list",)):
        assert typed("toolset", *words) == 0
        assert "core: on\njournal: on\n" in capsys.readouterr().out
    assert not place.exists()


def test_the_list_is_there_for_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("toolset", "list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "core": True,
        "journal": True,
        "tdd": False,
        "loop": False,
        "governance": False,
    }


def test_one_is_switched_off_and_on_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("toolset", "disable", "journal") == 0
    assert str(place) in capsys.readouterr().out
    assert on() == ("core",)
    assert typed("toolset", "list") == 0
    assert "journal: off" in capsys.readouterr().out
    assert typed("toolset", "enable", "journal") == 0
    assert on() == ("core", "journal")


def test_all_else_in_the_file_stays_byte_for_byte(place: Path) -> None:
    place.parent.mkdir(parents=True)
    top = "# mine é\nmode = 'shadow' # for now\n"
    before = f'{top}toolsets = ["core"] # always\n\n[judge]\nseconds=9\n'.encode()
    place.write_bytes(before)
    assert typed("toolset", "enable", "journal") == 0
    assert place.read_bytes() == before.replace(b'"core"', b'"core", "journal"')
    assert typed("toolset", "enable", "journal") == 0
    assert typed("toolset", "disable", "journal") == 0
    assert place.read_bytes() == before


def test_a_name_in_the_file_that_nobody_knows_goes_with_the_next_change(place: Path) -> None:
    place.parent.mkdir(parents=True)
    place.write_text("toolsets = ['core', 'no-such']\n")
    assert typed("toolset", "disable", "journal") == 0
    assert on() == ("core",)


def test_an_unknown_name_is_refused_with_the_known_ones(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("enable", "disable"):
        assert typed("toolset", verb, "jurnal") == 2
        said = capsys.readouterr().err
        assert "core" in said
        assert "journal" in said
    assert not place.exists()


@pytest.mark.parametrize("broken", [b"toolsets = [", b"\xff\xfe", b"x" * 70_000])
def test_a_file_that_is_no_toml_is_left_as_it_is(
    place: Path, broken: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(broken)
    assert typed("toolset", "disable", "core") == 1
    assert str(place) in capsys.readouterr().err
    assert place.read_bytes() == broken


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE"])
def test_an_agent_may_look_and_not_choose(
    place: Path, marker: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(marker, "1")
    assert typed("toolset", "list") == 0
    for verb in ("enable", "disable"):
        assert typed("toolset", verb, "journal") == 1
    assert "only the user" in capsys.readouterr().err
    assert not place.exists()


def test_no_sidecar_is_started_for_it() -> None:
    assert typed("toolset", "disable", "journal") == 0
    assert not (user_paths().run / "sidecar.lock").exists()
