"""What docs/rubric.md says of commands, editors and the commit hook is true; Neovim runs its part."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import msgspec
import pytest

from sidecar.cli.rubric import rubric
from sidecar.rubric.policy import PROJECT_RUBRIC_PATHS
from support.typed import typed

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


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
    assert typed("rubric", "check", "--json") == 1
    assert json.loads(capsys.readouterr().out) == told


def test_every_verb_of_rubric_stands_in_the_documents() -> None:
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    verbs = rubric.list_commands(click.Context(rubric))
    assert set(re.findall(r"^\| `(\w+)[ `]", page, re.MULTILINE)) >= set(verbs)


def test_every_editor_says_whether_it_was_run() -> None:
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    table = page.partition("| editor | how | tried |")[2].partition("\n\n")[0]
    tried = [row.rstrip(" |").rpartition(" | ")[2] for row in table.strip().splitlines()[1:]]
    assert len(tried) > 3
    for told in tried:
        cited = re.findall(r"`(tests/\S+\.py)`", told)
        assert told == "not run" or (told.startswith("run: ") and cited)
        assert all((ROOT / each).is_file() for each in cited)


@pytest.mark.process
def test_the_commit_hook_checks_rubrics_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = msgspec.yaml.decode((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    fields = next(one for one in hooks if one["id"] == "supervisor-rubric")
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
