"""One list of a TOML file is changed, and no other byte."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.platform.toml import UnusableError
from sidecar.platform.toml_edit import edit_toml_list, write_toml_list
from support.table import over_table

KEY = "toolsets"
COMMENT = re.compile("#.*")


@over_table(
    ("before", "wanted", "after"),
    [
        ("", ["core"], 'toolsets = ["core"]\n'),
        ("# mine\n", ["core"], 'toolsets = ["core"]\n# mine\n'),
        (
            "mode = 'on' # why\n\n# judge\n[judge]\n",
            [],
            "mode = 'on' # why\ntoolsets = []\n\n# judge\n[judge]\n",
        ),
        ("mode = 'on'", ["core"], "mode = 'on'\ntoolsets = [\"core\"]\n"),
        ("a.b = [\n 1,\n]\n[[x]]\n", ["core"], 'a.b = [\n 1,\n]\ntoolsets = ["core"]\n[[x]]\n'),
        ("[judge]\r\nseconds = 9\r\n", ["core"], 'toolsets = ["core"]\r\n[judge]\r\nseconds = 9\r\n'),
        ("mode = 'on'\r\n\r\n", ["core"], "mode = 'on'\r\ntoolsets = [\"core\"]\r\n\r\n"),
        ("toolsets = ['a', 'b'] # mine\n", ["a", "b", "c"], "toolsets = ['a', 'b', \"c\"] # mine\n"),
        ("toolsets = ['a', 'b'] # mine\n", ["b"], "toolsets = ['b'] # mine\n"),
        ("toolsets = [\n  'a', # one\n  'b', # two\n]\n", ["a"], "toolsets = [\n  'a', # one\n  # two\n]\n"),
        ("toolsets = [\n  'a', # one\n]\n", ["a", "c"], "toolsets = [\n  'a', \"c\", # one\n]\n"),
        ("toolsets = []\n", ["a", "b"], 'toolsets = ["a", "b"]\n'),
        ("toolsets = ['a', 'a', 3]\n", ["b"], 'toolsets = ["b"]\n'),
        ("toolsets = 'core'\n", ["core"], 'toolsets = ["core"]\n'),
        (
            "'toolsets' = ['a']\n[x]\ntoolsets = ['z']\n",
            ["b"],
            "'toolsets' = [\"b\"]\n[x]\ntoolsets = ['z']\n",
        ),
        ("toolsets = ['b', 'a']", ["a", "b"], 'toolsets = ["a", "b"]'),
        ("toolsets=['a']", ["a"], "toolsets=['a']"),
    ],
)
def test_the_list_is_changed_and_what_is_around_it_stays(before: str, wanted: list[str], after: str) -> None:
    made = edit_toml_list(before.encode(), KEY, wanted).decode()
    assert tomllib.loads(made)[KEY] == wanted
    assert made == after


NAMES = st.sampled_from(["core", "journal", "tdd", 'odd "one"'])
SPACE = st.sampled_from(["", " ", "\n", "  # note\n", "\n\n"])
ROOT = st.sampled_from(
    ["", "# top\n", "mode = 'on'\n", 'x = """\n[a]\ntoolsets = [ ]\n"""\n', "a.toolsets = 1\n"]
)
TAIL = st.sampled_from(["", "\n[judge]\nmodel = 'x' # toolsets\n", "[[gate]]\ntoolsets = ['z']\n", "# end"])


@st.composite
def lists(draw: st.DrawFn) -> str:
    """A list as people may write it, or none."""
    items = draw(st.none() | st.lists(NAMES, max_size=4, unique=True))
    if items is None:
        return ""
    written = [f"{draw(SPACE)}{_quoted(one)}{draw(SPACE)}" for one in items]
    trailing = draw(st.sampled_from(["", ","])) if written else ""
    return f"toolsets = [{','.join(written)}{trailing}{draw(SPACE)}] # list\n"


def _quoted(text: str) -> str:
    return f"'{text}'"


@given(ROOT, lists(), TAIL, st.lists(NAMES, max_size=4, unique=True), st.sampled_from(["\n", "\r\n"]))
def test_however_it_was_written_it_says_what_is_wanted_in_its_order_and_every_comment_stays(
    root: str, written: str, tail: str, wanted: list[str], end: str
) -> None:
    before = (root + written + tail).replace("\n", end)
    there = tomllib.loads(before).get(KEY, [])
    wanted = [*(one for one in there if one in wanted), *(one for one in wanted if one not in there)]
    made = edit_toml_list(before.encode(), KEY, wanted).decode()
    assert tomllib.loads(made) == {**tomllib.loads(before), KEY: wanted}
    assert made.count(end) == made.count("\n") or "\n" not in before
    if not written:
        lines = made.splitlines()
        lines.remove(f"toolsets = {_listed(wanted)}")
        assert lines == before.splitlines()
    else:
        assert COMMENT.findall(made) == COMMENT.findall(before)


def _listed(wanted: list[str]) -> str:
    return "[" + ", ".join('"' + one.replace('"', '\\"') + '"' for one in wanted) + "]"


@pytest.mark.parametrize("before", ["toolsets = [", "\x00", "a" + ".b" * 1_000 + " = 1"])
def test_what_is_no_toml_is_left_alone(tmp_path: Path, before: str) -> None:
    place = tmp_path / "config.toml"
    place.write_text(before)
    with pytest.raises(UnusableError):
        write_toml_list(place, KEY, ["core"])
    assert place.read_text() == before


def test_a_file_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "new" / "config.toml"
    write_toml_list(place, KEY, ["core"])
    assert place.read_text() == 'toolsets = ["core"]\n'
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link_and_a_mode_stays_as_it_was(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(b"\xef\xbb\xbfmode = 'on'\n")
    real.chmod(0o644)
    place = tmp_path / "config.toml"
    place.symlink_to(real)
    write_toml_list(place, KEY, [])
    assert place.is_symlink()
    assert real.read_bytes() == b"\xef\xbb\xbfmode = 'on'\ntoolsets = []\n"
    assert real.stat().st_mode & 0o777 == 0o644
