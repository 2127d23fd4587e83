"""One value of a TOML file is changed, and no other byte."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sidecar.platform.toml import UnusableError, edit_toml_value, write_toml_value
from support.table import over_table

KEY = "toolsets"


@over_table(
    ("before", "wanted", "after"),
    [
        ("", ["core"], 'toolsets = ["core"]\n'),
        ("# mine\nmode = 'on'", ["core"], "toolsets = [\"core\"]\n# mine\nmode = 'on'"),
        ("[judge]\r\nseconds = 9\r\n", ["core"], 'toolsets = ["core"]\r\n[judge]\r\nseconds = 9\r\n'),
        ("toolsets = ['a', 'b'] # mine\n", ["b", "c"], 'toolsets = ["b", "c"] # mine\n'),
        ("mode = 'on'\ntoolsets = [\n  'a',\n]\n", [], "mode = 'on'\ntoolsets = []\n"),
        ("toolsets = [']', \"]#\"]\n", ["b"], 'toolsets = ["b"]\n'),
        ("'toolsets' = ['a']\n[x]\ntoolsets = ['z']\n", ["b"], "toolsets = [\"b\"]\n[x]\ntoolsets = ['z']\n"),
        (
            'x = """\ntoolsets = [ ]\n"""\ntoolsets = []\n',
            ["b"],
            'x = """\ntoolsets = [ ]\n"""\ntoolsets = ["b"]\n',
        ),
        ("toolsets=['a'] # as it is\n", ["a"], "toolsets=['a'] # as it is\n"),
    ],
)
def test_the_list_is_changed_and_what_is_around_it_stays(before: str, wanted: list[str], after: str) -> None:
    made = edit_toml_value(before, KEY, wanted)
    assert tomllib.loads(made)[KEY] == wanted
    assert made == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# mine\nmode = 'shadow' # for now\n[judge]\n", '# mine\nmode = "on" # for now\n[judge]\n'),
        ('[judge]\nmode = "shadow"\n', 'mode = "on"\n[judge]\nmode = "shadow"\n'),
    ],
)
def test_a_string_is_changed_as_a_list_is(before: str, after: str) -> None:
    assert edit_toml_value(before, "mode", "on") == after


@pytest.mark.parametrize("before", ["toolsets = [\n 'a', # why\n]\n", "toolsets = 3\n", "toolsets.a = 1\n"])
def test_what_would_lose_a_comment_or_is_neither_string_nor_list_is_left_to_the_user(before: str) -> None:
    with pytest.raises(UnusableError, match=re.escape('Write this into it: toolsets = ["b"]')):
        edit_toml_value(before, KEY, ["b"])


@pytest.mark.parametrize("before", ["toolsets = [", "\x00", "a" + ".b" * 1_000 + " = 1"])
def test_what_is_no_toml_is_left_alone(tmp_path: Path, before: str) -> None:
    place = tmp_path / "config.toml"
    place.write_text(before)
    with pytest.raises(UnusableError):
        write_toml_value(place, KEY, ["core"])
    assert place.read_text() == before


def test_a_file_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "new" / "config.toml"
    write_toml_value(place, KEY, ["core"])
    assert place.read_text() == 'toolsets = ["core"]\n'
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link_and_a_mode_stays_as_it_was(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(b"\xef\xbb\xbfmode = 'on'\n")
    real.chmod(0o644)
    place = tmp_path / "config.toml"
    place.symlink_to(real)
    write_toml_value(place, KEY, [])
    assert place.is_symlink()
    assert real.read_bytes() == b"\xef\xbb\xbftoolsets = []\nmode = 'on'\n"
    assert real.stat().st_mode & 0o777 == 0o644
