"""When the language server of rubrics speaks: with a check that is made up, as a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.editor import PULL, Editor

TEXT = "## Patterns\n- **A**: b\n"
AGAIN: dict[str, Any] = {
    "textDocument": {"diagnostic": {}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    opened = Editor(tmp_path, "support.fake_check")
    yield opened
    opened.close()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / ".supervisor" / "rubric.md").as_uri()


def test_a_crash_is_an_error_in_the_answer_and_the_next_text_is_looked_at(editor: Editor, uri: str) -> None:
    editor.initialize(more=PULL)
    editor.open(uri, "CRASH")
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    for method, asked in (
        ("textDocument/diagnostic", {"textDocument": {"uri": uri}}),
        ("textDocument/hover", place),
        ("textDocument/completion", place),
    ):
        assert "today" in editor.ask(method, **asked)["error"]["message"]
    editor.change(uri, TEXT)
    assert len(editor.pull(uri)) == 1
    assert editor.shown == []


def test_a_crash_while_nobody_asks_is_in_the_log_and_disturbs_nobody(editor: Editor, uri: str) -> None:
    editor.initialize()
    editor.open(uri, "CRASH")
    assert "no flaws today" in editor.until("window/logMessage")["params"]["message"]
    editor.change(uri, TEXT)
    assert len(editor.said()[-1][1]) == 1
    assert editor.shown == []
    assert editor.exit() == 0


def test_what_a_look_at_the_project_finds_is_told_to_who_does_not_ask(editor: Editor, uri: str) -> None:
    editor.initialize()
    editor.open(uri, TEXT)
    told = [editor.until("textDocument/publishDiagnostics")["params"]["diagnostics"][0] for _ in range(2)]
    assert [each["message"] for each in told] == ["0 looks\nDo.", "1 looks\nDo."]
    assert {each["severity"] for each in told} == {2}


def test_who_asks_is_told_to_ask_again(editor: Editor, uri: str) -> None:
    editor.initialize(more=AGAIN)
    editor.open(uri, TEXT)
    editor.until("workspace/diagnostic/refresh")
    (found,) = editor.pull(uri)
    assert found["message"] == "1 looks\nDo."
    assert editor.published == []


def test_a_project_that_cannot_be_looked_at_is_in_the_log(editor: Editor, tmp_path: Path) -> None:
    editor.initialize()
    uri = (tmp_path / "broken" / ".supervisor" / "rubric.md").as_uri()
    editor.open(uri, TEXT)
    assert "no project today" in editor.until("window/logMessage")["params"]["message"]
    editor.tell("textDocument/didSave", textDocument={"uri": uri})
    assert "no project today" in editor.until("window/logMessage")["params"]["message"]
