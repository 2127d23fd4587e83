"""`supervisor rubric check`: the same faults as in an editor, for people and scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.platform.installation import plugin_root
from sidecar.rubric.policy import find_text_position
from support.table import often
from support.typed import typed

pytestmark = pytest.mark.process

PATTERNS = "## Patterns\n\n- **DONE**: a test fails without the change\n"
GOOD = PATTERNS + "\n## Antipatterns\n\n- **NO-PRINT**: a print statement is left in the diff\n"
MISSING = "the section `## Antipatterns` is missing"
FORMS = ((), ("--json",))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a good rubric; it is the current folder."""
    (tmp_path / "shop" / ".supervisor").mkdir(parents=True)
    (tmp_path / "shop" / ".supervisor" / "rubric.md").write_text(GOOD)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.mark.usefixtures("project")
def test_a_good_rubric_ends_with_0_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("rubric", "check", "--strict") == 0
    assert capsys.readouterr().out == ".supervisor/rubric.md: nothing to mend\n"


def test_a_missing_section_ends_with_1_and_says_where(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".supervisor" / "rubric.md").write_text(PATTERNS)
    assert typed("rubric", "check") == 1
    said = capsys.readouterr().out
    assert said.startswith(f".supervisor/rubric.md:1:1: error: {MISSING} [missing-section]\n")
    assert said.endswith(".supervisor/rubric.md: 1 error\n")


def test_a_warning_counts_only_where_it_is_wanted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".supervisor" / "rubric.md").write_text(GOOD + "  Severity: high\n")
    assert typed("rubric", "check") == 0
    assert ": warning: " in capsys.readouterr().out
    assert typed("rubric", "check", "--strict") == 1


@pytest.mark.usefixtures("project")
def test_a_file_that_is_named_is_checked_wherever_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "draft.md"
    draft.write_text(PATTERNS)
    assert typed("rubric", "check", str(draft), ".supervisor/rubric.md") == 1
    said = capsys.readouterr().out
    assert f"{draft}:1:1: error: {MISSING}" in said
    assert said.endswith("2 files: 1 error\n")


def test_the_default_rubric_has_nothing_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("rubric", "check", "--strict", str(plugin_root() / "rubric" / "rubric.md")) == 0
    assert capsys.readouterr().out.endswith(": nothing to mend\n")


def test_where_there_is_nothing_to_check_it_ends_with_2_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("rubric", "check") == 2
    assert "Make one: supervisor rubric init" in capsys.readouterr().err
    assert typed("rubric", "check", "nowhere.md") == 2
    assert "nowhere.md: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "code"),
    often(
        [(b"x" * (2 << 20), "unusable"), (b"# \xff\n" + GOOD.encode(), "unusable"),
         (b"# x" * 8000, "too-big"),
         (b">" * 8000, "missing-section"), (b"", "missing-section"), (b"\0\r\x1b[31m", "missing-section")],
        2,
    ),
)  # fmt: skip
@pytest.mark.parametrize("place", [".supervisor/rubric.md", "draft.md"])
def test_what_no_rubric_can_be_is_an_error_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str], content: bytes, code: str, place: str
) -> None:
    (project / place).write_bytes(content)
    for form in FORMS:
        assert typed("rubric", "check", *form, place) == 1
        said = capsys.readouterr().out
        assert code in said
        assert "\x1b" not in said


def test_a_name_that_is_no_utf_8_stands_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"\xff.md")
    (project / name).write_text("# x")
    for form in FORMS:
        assert typed("rubric", "check", *form, name) == 1
        assert "missing-section" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_a_folder_in_its_place_is_an_error_and_hangs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other" / "rubric.md").mkdir(parents=True)
    assert typed("rubric", "check", str(tmp_path / "other" / "rubric.md")) == 1
    assert "error: a folder [unusable]" in capsys.readouterr().out


# --- what is printed ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_a_person_reads_place_weight_reason_and_what_would_help_and_a_script_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "a b%.md"
    draft.write_text(GOOD + "  Severity: hi\x1bgh\n\n## 🎉 Notes\n", encoding="utf-8")
    assert typed("rubric", "check", str(draft)) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{draft}:8:3: warning: this is prose, and the criterion is a must")
    assert said[0].endswith("[unknown-severity]")
    assert said[1] == "    It is must, should or note."
    assert "    fix: Write `Severity: must`" in said
    assert said[-1] == f"{draft}: 1 warning, 1 hint"
    assert typed("rubric", "check", "--json", str(draft)) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["errors"], report["warnings"], report["hints"]) == (0, 1, 1)
    (file,) = report["files"]
    assert file["path"] == str(draft)
    (_, last) = file["flaws"]
    places = (last["line"], last["column"], last["end_line"], last["end_column"])
    assert (last["code"], last["weight"], places) == ("unknown-section", "hint", (10, 4, 10, 11))


@given(text=st.text(max_size=60), data=st.data())
def test_every_place_is_where_an_editor_would_count_it(text: str, data: Any) -> None:
    begin = data.draw(st.integers(0, len(text)))
    if text[begin - 1 : begin + 1] == "\r\n":
        return
    line, column = find_text_position(text, begin)
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    above = sum(map(len, rows[: line - 1])) + line - 1
    assert above + column - 1 == len(text[:begin].replace("\r\n", "\n"))
    assert find_text_position(text, len(text)) == (len(rows), len(rows[-1]) + 1)
