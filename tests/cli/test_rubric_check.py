"""`supervisor rubric check`: the same faults as in an editor, for people, scripts, GitHub and scanners."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli import rubric_found
from sidecar.cli.rubric_found import CheckedFile
from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix, TextEdit, TextSpan
from sidecar.platform.installation import plugin_root
from support.typed import typed

pytestmark = pytest.mark.process

PATTERNS = "## Patterns\n\n- **DONE**: a test fails without the change\n"
GOOD = PATTERNS + "\n## Antipatterns\n\n- **NO-PRINT**: a print statement is left in the diff\n"
MISSING = "the section `## Antipatterns` is missing"
TEXT = "## Patterns\r\n\n- 🎉 **é**: good\n"
FAULTS = CheckedFile(
    "a b/100%,é:.md",
    TEXT,
    (
        Flaw(
            "undecidable",
            "50% of it,\nsays: nothing",
            25,
            29,
            FlawSeverity.WARNING,
            help="say what to see",
            fixes=(QuickFix("say it", (TextEdit(TextSpan(25, 29), "exits with 0"),)),),
            also=((TextSpan(0, 11), "here"),),
        ),
        Flaw("too-much", "all of it", 0, len(TEXT), FlawSeverity.HINT),
    ),
)  # fmt: skip


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
    (project / ".supervisor" / "rubric.md").write_text(GOOD.replace("**DONE**", "**NO-PRINT**") + GOOD)
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
    [(b"x" * (2 << 20), "unusable"), (b"# \xff\n" + GOOD.encode(), "not-utf-8"), (b"# x" * 8000, "too-big"),
     (b">" * 8000, "missing-section"), (b"", "missing-section"), (b"\0\r\x1b[31m", "missing-section")],
)  # fmt: skip
@pytest.mark.parametrize("place", [".supervisor/rubric.md", "draft.md"])
def test_what_no_rubric_can_be_is_an_error_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str], content: bytes, code: str, place: str
) -> None:
    (project / place).write_bytes(content)
    for form in rubric_found.FORMATS:
        assert typed("rubric", "check", "--format", form, place) == 1
        said = capsys.readouterr().out
        assert code in said
        assert "\x1b" not in said


def test_a_name_that_is_no_utf_8_stands_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"\xff.md")
    (project / name).write_text("# x")
    for form in rubric_found.FORMATS:
        assert typed("rubric", "check", "--format", form, name) == 1
        assert "missing-section" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_a_folder_in_its_place_is_an_error_and_hangs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other" / "rubric.md").mkdir(parents=True)
    assert typed("rubric", "check", str(tmp_path / "other" / "rubric.md")) == 1
    assert "error: a folder [unusable]" in capsys.readouterr().out


# --- formats ------------------------------------------------------------------------------------------------


def lines(form: str, *every: CheckedFile) -> list[str]:
    return "\n".join(rubric_found.FORMATS[form](every)).split("\n")


def test_a_person_reads_place_weight_reason_and_what_would_help() -> None:
    assert lines("text", FAULTS) == [
        "a b/100%,é:.md:3:12: warning: 50% of it,\\nsays: nothing [undecidable]",
        "    say what to see",
        "    fix: say it",
        "a b/100%,é:.md:1:1: hint: all of it [too-much]",
        "a b/100%,é:.md: 1 warning, 1 hint",
    ]


def test_github_gets_one_command_a_flaw_with_its_own_escapes() -> None:
    first, second = lines("github", FAULTS)
    file = "file=a b/100%25%2Cé%3A.md"
    where = f"{file},line=3,endLine=3,col=12,endColumn=16,title=rubric%3A undecidable"
    assert first == f"::warning {where}::50%25 of it,%0Asays: nothing%0Asay what to see"
    assert second == f"::notice {file},line=1,endLine=4,title=rubric%3A too-much::all of it"


def test_a_script_gets_one_object_that_counts_and_places_everything() -> None:
    report = json.loads("\n".join(lines("json", FAULTS)))
    assert (report["errors"], report["warnings"], report["hints"]) == (0, 1, 1)
    ((first, _),) = [file["flaws"] for file in report["files"]]
    assert first == {
        "code": "undecidable",
        "weight": "warning",
        "why": "50% of it,\nsays: nothing",
        "help": "say what to see",
        "line": 3,
        "column": 12,
        "end_line": 3,
        "end_column": 16,
        "fixes": ["say it"],
    }


def test_a_scanner_gets_sarif_with_places_related_places_and_fixes() -> None:
    log = json.loads("\n".join(lines("sarif", FAULTS)))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    first, second = run["results"]
    assert [rules[one["ruleIndex"]]["id"] for one in (first, second)] == ["undecidable", "too-much"]
    assert (first["level"], second["level"]) == ("warning", "note")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/100%25%2C%C3%A9%3A.md"
    assert place["region"] == {"startLine": 3, "startColumn": 12, "endLine": 3, "endColumn": 16}
    assert first["relatedLocations"][0]["message"] == {"text": "here"}
    ((change,),) = [fix["artifactChanges"] for fix in first["fixes"]]
    assert change["replacements"] == [
        {"deletedRegion": place["region"], "insertedContent": {"text": "exits with 0"}}
    ]
    assert "fixes" not in second


def test_a_file_without_a_flaw_is_an_empty_list_of_results() -> None:
    (run,) = json.loads("\n".join(lines("sarif", CheckedFile("rubric.md", GOOD, ()))))["runs"]
    assert run["results"] == []
    assert lines("github", CheckedFile("rubric.md", GOOD, ())) == [""]


@given(text=st.text(max_size=60), data=st.data())
def test_every_place_is_where_an_editor_would_count_it(text: str, data: Any) -> None:
    begin = data.draw(st.integers(0, len(text)))
    if text[begin - 1 : begin + 1] == "\r\n":
        return
    report = json.loads("\n".join(lines("json", CheckedFile("x", text, (Flaw("a", "b", begin, len(text)),)))))
    (found,) = report["files"][0]["flaws"]
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    above = sum(map(len, rows[: found["line"] - 1])) + found["line"] - 1
    assert above + found["column"] - 1 == len(text[:begin].replace("\r\n", "\n"))
    assert (found["end_line"], found["end_column"]) == (len(rows), len(rows[-1]) + 1)
