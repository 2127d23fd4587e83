"""`supervisor rubric init` and `diff`: a rubric of one's own, and in what it is another than the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.platform.installation import plugin_root
from sidecar.rubric.reader import parse_rubric
from support.typed import typed

OWN = "## Patterns\n\n- **DONE**: it is\n\n## Antipatterns\n\n- **TALK\x1b[31m**: it is only said\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project; it is the current folder."""
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def place(project: Path) -> Path:
    """Where its rubric is, if it has one."""
    return project / ".supervisor" / "rubric.md"


def default() -> str:
    return (plugin_root() / "rubric" / "rubric.md").read_text(encoding="utf-8")


@pytest.mark.process
def test_a_new_rubric_has_the_defaults_criteria_below_the_projects_name_and_nothing_to_mend(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("rubric", "init") == 0
    assert capsys.readouterr().out.startswith(f"{place} was made. Edit it;")
    text = place.read_text(encoding="utf-8")
    assert text.startswith("# What done looks like in shop\n")
    assert parse_rubric(text) == parse_rubric(default())
    assert typed("rubric", "check", "--strict") == 0
    assert "hint" not in capsys.readouterr().out
    assert typed("rubric", "diff", "--summary") == 0
    assert capsys.readouterr().out.endswith("  its criteria stay as they are\n")


@pytest.mark.parametrize("there", ["file", "folder", "link"])
def test_what_is_there_is_never_written_over(
    place: Path, capsys: pytest.CaptureFixture[str], there: str
) -> None:
    place.parent.mkdir()
    if there == "file":
        place.write_text(OWN)
    elif there == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    before = place.lstat()
    assert typed("rubric", "init") == 1
    assert "is there already, and stays as it is" in capsys.readouterr().err
    assert place.lstat() == before


def test_a_file_in_the_place_of_the_folder_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".supervisor").write_text("")
    assert typed("rubric", "init") == 1
    assert capsys.readouterr().err.startswith(f"supervisor: {project}/.supervisor: File exists\n")


def test_by_force_it_is_kept_beside(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place.parent.mkdir()
    place.write_text(OWN)
    assert typed("rubric", "init", "--force") == 0
    assert place.with_name("rubric.md.bak").read_text() == OWN
    assert parse_rubric(place.read_text()) == parse_rubric(default())
    assert f"what was there is {place}.bak" in capsys.readouterr().out


def test_by_force_twice_what_was_kept_first_is_not_lost(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.parent.mkdir()
    place.write_text(OWN)
    assert [typed("rubric", "init", "--force"), typed("rubric", "init", "--force")] == [0, 1]
    assert place.with_name("rubric.md.bak").read_text() == OWN
    assert "rubric.md.bak is there already: move it away first" in capsys.readouterr().err


def test_the_users_own_is_made_in_the_configuration_folder(
    project: Path, home_is_a_fresh_folder: Path
) -> None:
    assert typed("rubric", "init", "--scope", "user") == 0
    text = (home_is_a_fresh_folder / ".config" / "supervisor" / "rubric.md").read_text(encoding="utf-8")
    assert text.startswith("# What done looks like\n")
    assert not (project / ".supervisor").exists()


def test_it_may_begin_with_another_file_if_that_could_serve(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ours.md").write_text(OWN)
    (tmp_path / "bad.md").write_text("# nothing\n")
    assert typed("rubric", "init", "--from", str(tmp_path / "bad.md")) == 1
    assert "cannot be a rubric: the section `## Patterns` is missing" in capsys.readouterr().err
    assert not place.exists()
    assert typed("rubric", "init", "--from", str(tmp_path / "ours.md")) == 0
    assert place.read_text() == OWN


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE"])
def test_an_agents_shell_makes_none(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], marker: str
) -> None:
    monkeypatch.setenv(marker, "1")
    assert typed("rubric", "init") == 1
    assert "only the user may do this" in capsys.readouterr().err
    assert not place.exists()


def test_one_that_was_just_made_is_in_force(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("rubric", "init") == 0
    assert typed("rubric", "show") == 0
    shown = capsys.readouterr().out
    assert f"in force: {place} " in shown
    assert shown.endswith("Nothing is held.\n")


@pytest.mark.usefixtures("project")
def test_where_the_default_serves_there_is_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("rubric", "diff") == 0
    assert "The default serves here" in capsys.readouterr().out


def test_of_a_file_that_cannot_serve_the_comparison_says_why(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.parent.mkdir()
    place.write_text("## Patterns\n- a\n")
    assert typed("rubric", "diff") == 0
    said = capsys.readouterr().out
    assert f"passed over: {place}: the section `## Antipatterns` is missing\n" in said
    assert said.endswith("The default serves here. Mend that file.\n")


def test_the_difference_names_criteria_first_and_shows_no_control_characters(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.parent.mkdir()
    place.write_text(default().replace("### DOCS-TRUE {#docs-true}", "### TALK\x1b[31m").replace(
        "Severity: note", "Severity: should"))  # fmt: skip
    assert typed("rubric", "diff") == 0
    said = capsys.readouterr().out
    assert said.split("\n---")[0].splitlines()[1:] == [
        "  1 pattern gone (DOCS-TRUE); 1 pattern added (TALK); 1 pattern changed (PLAIN-REPORT)"
    ]
    assert "-### DOCS-TRUE {#docs-true}\n+### TALK\\x1b[31m\n" in said
    assert "\x1b" not in said
