"""What docs/editors.md gives to be copied is well formed, and the commit hook fits; Neovim runs its part."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click
import pytest

from sidecar.cli.rubric import rubric
from sidecar.rubric.policy import PROJECT_RUBRIC_PATHS
from support.typed import typed

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def fences(language: str) -> list[str]:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    found = [each["text"] for each in FENCE.finditer(page) if each["language"] == language]
    assert found, language
    return found


def test_what_is_to_be_copied_is_well_formed() -> None:
    for text in fences("json"):
        json.loads(text)
    for text in fences("toml"):
        tomllib.loads(text)
    for text in fences("elisp"):
        assert text.count("(") == text.count(")")


@pytest.mark.process
def test_the_object_that_scripts_get_is_the_one_in_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    (told,) = [json.loads(each["text"]) for each in FENCE.finditer(page) if each["language"] == "json"]
    (tmp_path / ".supervisor").mkdir()
    (tmp_path / PROJECT_RUBRIC_PATHS[0]).write_text(
        "## Patterns\n\n- **DONE**: a test fails without the change\n"
    )
    monkeypatch.chdir(tmp_path)
    assert typed("rubric", "check", "--format", "json") == 1
    assert json.loads(capsys.readouterr().out) == told


def test_every_verb_of_rubric_stands_in_the_documents() -> None:
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    verbs = rubric.list_commands(click.Context(rubric))
    assert set(re.findall(r"^\| `(\w+)[ `]", page, re.MULTILINE)) >= set(verbs)


def test_every_editor_says_whether_it_was_run() -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    rows = dict(re.findall(r"^\| \[(.+?)\]\(#.+?\) \| ((?:not )?run\b.*) \|$", page, re.MULTILINE))
    assert list(rows) == [title for title in titles if title in rows]
    assert set(rows) == set(titles)
    for cited in re.findall(r"`(tests/\S+\.py)`", page):
        assert (ROOT / cited).is_file()


@pytest.mark.process
def test_the_commit_hook_checks_rubrics_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    fields = dict(line.strip("- ").split(": ", 1) for line in hook.splitlines())
    files = re.compile(fields["files"])
    for place in PROJECT_RUBRIC_PATHS:
        assert files.search(place)
        assert files.search(f"packages/shop/{place}")
    assert not any(
        files.search(name) for name in ("rubric.md", "docs/rubric.md", ".supervisor/rubric.md.bak")
    )
    (tmp_path / ".supervisor").mkdir()
    (tmp_path / PROJECT_RUBRIC_PATHS[0]).write_text("# nothing\n")
    monkeypatch.chdir(tmp_path)
    assert typed(*fields["entry"].split()[1:], PROJECT_RUBRIC_PATHS[0]) == 1
