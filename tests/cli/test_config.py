"""`supervisor config`: what is in force, as TOML; the schema; editing."""

from __future__ import annotations

import json
import os
import time
import tomllib
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.platform.session_store import SessionFiles
from sidecar.platform.state import Incidents
from sidecar.wiring.platform import build_steering
from support.typed import typed


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for marker in ("CLAUDECODE", "OPENCODE"):
        monkeypatch.delenv(marker, raising=False)
    return Path(os.environ["HOME"]) / ".config" / "supervisor" / "config.toml"


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True)
    place.write_text(text)


MINE = """mode = "shadow"
[price."a b/c"]
input = 1.5
output = 2
[rules]
narration = "off"
"""


def test_what_is_shown_is_toml_and_gives_the_settings_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(place, MINE)
    assert typed("config", "show") == 0
    shown = capsys.readouterr().out
    assert msgspec.convert(tomllib.loads(shown), Settings) == msgspec.convert(tomllib.loads(MINE), Settings)
    marked = [
        line.partition(" = ")[0] for line in shown.splitlines() if line.endswith("# set in config.toml")
    ]
    assert marked == ["mode", "rules.narration", 'price."a b/c".input', 'price."a b/c".output']
    assert typed("config", "show", "--json") == 0
    assert json.loads(capsys.readouterr().out)["mode"] == "shadow"


def test_an_error_of_the_file_is_told_and_the_default_is_shown(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(place, 'mode = "loud"\n')
    assert typed("config", "show") == 0
    shown = capsys.readouterr()
    assert shown.err.startswith(f"supervisor: {place}:1: ")
    assert 'mode = "on"\n' in shown.out


def test_what_the_ancestor_left_counts_below_ours_and_is_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(place, "max_attempts = 3\n")
    ancestor = place.parent.parent / "opencode" / "reflection.yaml"
    ancestor.parent.mkdir()
    ancestor.write_text("maxAttempts: 7\ngoalMaxDurationMs: 900000\ngoalMaxTokens: lots\n")
    assert typed("config", "show") == 0
    shown = capsys.readouterr()
    assert "max_attempts = 3  # set in config.toml\n" in shown.out
    assert "goal_max_seconds = 900  # set in reflection.yaml\n" in shown.out
    assert "goal_max_tokens = 400000\n" in shown.out
    assert shown.err.startswith(f"supervisor: {ancestor}: goalMaxTokens: Expected `int`")
    assert len(shown.err.splitlines()) == 1


def test_the_schema_takes_the_settings_and_refuses_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("config", "schema") == 0
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    check = Draft202012Validator(schema)
    assert check.is_valid(tomllib.loads(MINE))
    assert not check.is_valid({"mode": "loud"})
    assert not check.is_valid({"mod": "on"})


def test_the_path_is_told_though_there_is_no_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("config", "path") == 0
    assert capsys.readouterr().out == f"{place}\n"


@pytest.mark.process
def test_edit_makes_the_file_and_says_what_is_wrong_with_it(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho 'max_attempts = 4' >> \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert typed("config", "edit") == 0
    assert place.read_text().startswith("#:schema ./config.schema.json\n")
    assert json.loads(place.with_name("config.schema.json").read_bytes())["$ref"] == "#/$defs/Settings"
    assert typed("config", "edit") == 1  # the same key twice
    shown = capsys.readouterr()
    assert shown.out == f"{place}: no errors. It counts from the next stop.\n"
    assert shown.err.startswith(f"supervisor: {place}: ")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert typed("config", "edit") == 1
    assert "only the user may do this" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("at_work", [False, True])
def test_an_edit_counts_at_once_and_one_made_while_an_agent_worked_is_told(
    place: Path, capsys: pytest.CaptureFixture[str], *, at_work: bool
) -> None:
    write(place, "max_attempts = 5\n")
    state = user_paths().state
    build_steering(state).decide(lambda: True)  # as a sidecar does when it begins
    if at_work:
        session = Session(key=SessionKey("claude-code", "s1"), project="/p", active_since=time.time())
        SessionFiles(state, Incidents()).save(session)
    place.write_text("max_attempts = 100\n")
    try:
        assert typed("config", "show") == 0
    finally:
        SidecarClient(user_paths()).stop()
    shown = capsys.readouterr()
    assert f"max_attempts = {5 if at_work else 100}\n" in shown.out.replace("  # set in config.toml", "")
    held = (
        f"supervisor: {place} was changed while an agent worked (max_attempts: 5 -> 100). "
        "It does not count until you type: supervisor accept\n"
    )
    assert shown.err == (held if at_work else "")
