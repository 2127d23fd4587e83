"""When the language server of rubrics speaks: with a desk that is made up, as a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.editor import PULL, Editor
from support.fake_desk import SAID

TEXT = "## Patterns\n- **A**: b\n"
AGAIN: dict[str, Any] = {
    "textDocument": {"diagnostic": {"relatedInformation": True}},
    "workspace": {"diagnostics": {"refreshSupport": True}, "codeLens": {"refreshSupport": True}},
}


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    opened = Editor(tmp_path, "support.fake_desk")
    yield opened
    opened.close()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / "rubric.md").as_uri()


def changes(uri: str, texts: list[str]) -> list[bytes]:
    return [
        msgspec.json.encode(
            {
                "jsonrpc": "2.0",
                "method": "textDocument/didChange",
                "params": {
                    "textDocument": {"uri": uri, "version": number + 1},
                    "contentChanges": [{"text": text}],
                },
            }
        )
        for number, text in enumerate(texts)
    ]


def looks(editor: Editor, uri: str) -> int:
    """How many texts were looked at, this one not counted."""
    return int(editor.pull(uri)[0]["message"].split()[0]) - 1


def test_of_many_changes_that_wait_only_the_last_is_looked_at(editor: Editor, uri: str) -> None:
    """A pipe may hand them over in two or three parts."""
    editor.initialize()
    editor.open(uri, TEXT)
    editor.until("textDocument/publishDiagnostics")
    editor.until("textDocument/publishDiagnostics")
    before = looks(editor, uri)
    editor.published.clear()
    editor.write(*changes(uri, [f"{TEXT}{number}" for number in range(200)]))
    assert looks(editor, uri) - before <= 5
    assert 1 <= len(editor.published) <= 4


def test_of_many_questions_that_are_taken_back_none_is_looked_into(editor: Editor, uri: str) -> None:
    editor.initialize(more=PULL)
    editor.open(uri, TEXT)
    before = looks(editor, uri)
    messages = []
    for number in range(1000, 1100):
        asked = {"textDocument": {"uri": uri}}
        messages += [
            {"jsonrpc": "2.0", "id": number, "method": "textDocument/diagnostic", "params": asked},
            {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}},
        ]
    editor.write(*map(msgspec.json.encode, messages))
    cancelled = [editor.until_answer(number) for number in range(1000, 1100)]
    assert sum("error" in each for each in cancelled) >= 95
    assert looks(editor, uri) - before <= 6


def test_a_crash_is_an_error_in_the_answer_and_the_next_text_is_looked_at(editor: Editor, uri: str) -> None:
    editor.initialize(more=PULL)
    editor.open(uri, "CRASH")
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    for method, asked in (
        ("textDocument/diagnostic", {"textDocument": {"uri": uri}}),
        ("textDocument/hover", place),
        ("textDocument/documentSymbol", {"textDocument": {"uri": uri}}),
        ("workspace/executeCommand", {"command": "supervisor.rubric.replay", "arguments": [uri]}),
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
    first, second = (
        editor.until("textDocument/publishDiagnostics")["params"]["diagnostics"][0] for _ in range(2)
    )
    assert first["message"].startswith("1 texts, ")
    assert second["message"] == "2 texts, 1 looks\nDo."
    assert (second["severity"], second.get("relatedInformation")) == (2, None)


def test_who_asks_is_told_to_ask_again_and_is_told_where_else_to_look(editor: Editor, uri: str) -> None:
    editor.initialize(more=AGAIN)
    editor.open(uri, TEXT)
    editor.until("workspace/diagnostic/refresh")
    (found,) = editor.pull(uri)
    (also,) = found["relatedInformation"]
    assert (also["message"], also["location"]["uri"]) == ("here", uri)
    assert also["location"]["range"]["start"] == {"line": 0, "character": 1}
    assert editor.published == []


def test_a_project_that_cannot_be_looked_at_is_in_the_log(editor: Editor, tmp_path: Path) -> None:
    editor.initialize()
    uri = (tmp_path / "broken" / "rubric.md").as_uri()
    editor.open(uri, TEXT)
    assert "no project today" in editor.until("window/logMessage")["params"]["message"]
    editor.tell("textDocument/didSave", textDocument={"uri": uri})
    assert "no project today" in editor.until("window/logMessage")["params"]["message"]


# --- replay -------------------------------------------------------------------------------------------------


def titles(editor: Editor, uri: str) -> list[str]:
    lenses = editor.ask("textDocument/codeLens", textDocument={"uri": uri})["result"]
    return [each["command"]["title"] for each in lenses]


def test_the_lens_replays_and_then_says_what_came_out_until_the_text_changes(
    editor: Editor, uri: str
) -> None:
    able = editor.initialize(more=AGAIN)
    assert "supervisor.rubric.replay" in able["executeCommandProvider"]["commands"]
    editor.open(uri, TEXT)
    (lens,) = editor.ask("textDocument/codeLens", textDocument={"uri": uri})["result"]
    assert lens["range"]["start"] == lens["range"]["end"] == {"line": 0, "character": 0}
    assert lens["command"]["title"] == "replay on the last 20 stops"
    command = {"command": lens["command"]["command"], "arguments": lens["command"]["arguments"]}
    assert editor.ask("workspace/executeCommand", **command)["result"] == SAID
    assert editor.shown == [SAID]
    assert editor.heard.count("workspace/codeLens/refresh") == 1
    assert titles(editor, uri) == [SAID]
    editor.change(uri, TEXT + "\n")
    assert titles(editor, uri) == ["replay on the last 20 stops"]


def test_where_no_stop_is_kept_there_is_no_lens(editor: Editor, tmp_path: Path) -> None:
    editor.initialize()
    uri = (tmp_path / "new" / "rubric.md").as_uri()
    editor.open(uri, TEXT)
    assert titles(editor, uri) == []


def test_a_replay_that_fails_says_so_and_leaves_the_lens(editor: Editor, uri: str, tmp_path: Path) -> None:
    editor.initialize()
    editor.open(uri, TEXT + "UNPLAYABLE")
    for arguments, why in (
        ([uri], "nothing can be read"),
        ([(tmp_path / "closed" / "rubric.md").as_uri()], "no rubric"),
        (["http://x"], "no rubric"),
        ([], "1 arguments"),
    ):
        said = editor.ask("workspace/executeCommand", command="supervisor.rubric.replay", arguments=arguments)
        assert why in said["error"]["message"]
    assert titles(editor, uri) == ["replay on the last 20 stops"]
    assert editor.shown == []
