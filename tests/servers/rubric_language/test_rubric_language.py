"""The language server of rubrics, as a process: what an editor is told, of what, where, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.editor import PULL, Editor

PATTERNS = "## Patterns\n- **DONE**: it is done\n"
ANTIPATTERNS = "## Antipatterns\n- **TALK**: it is said\n"
MISSING = "the section `## Antipatterns` is missing"
EMPTY = "the section `## Patterns` has no criterion: no `###` heading and no list item"


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    opened = Editor(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a project has its rubric; nothing is there yet."""
    place = tmp_path / "shop é" / ".supervisor" / "rubric.md"
    place.parent.mkdir(parents=True)
    return place


def at(found: Any) -> tuple[int, int, int, int]:
    """Line and column of the beginning and of the end."""
    begin, end = found["range"]["start"], found["range"]["end"]
    return begin["line"], begin["character"], end["line"], end["character"]


def messages(found: list[Any]) -> list[str]:
    return [each["message"] for each in found]


def test_a_missing_section_is_shown_and_the_cure_clears_it(editor: Editor, file: Path) -> None:
    editor.initialize()
    editor.open(file.as_uri(), PATTERNS)
    ((uri, (found,)),) = editor.said()
    assert uri == file.as_uri()
    assert (found["message"], found["severity"], found["code"]) == (MISSING, 1, "missing-section")
    assert found["source"] == "supervisor-rubric"
    assert at(found) == (0, 0, 0, len("## Patterns"))
    editor.change(file.as_uri(), PATTERNS + ANTIPATTERNS)
    assert editor.said() == [(file.as_uri(), [])]


def test_what_was_shown_is_taken_back_when_the_file_is_closed(editor: Editor, file: Path) -> None:
    editor.initialize()
    editor.open(file.as_uri(), PATTERNS)
    assert len(editor.said()) == 1
    editor.tell("textDocument/didClose", textDocument={"uri": file.as_uri()})
    assert editor.said() == [(file.as_uri(), [])]


def test_of_no_other_file_a_word_is_said(editor: Editor, tmp_path: Path) -> None:
    editor.initialize()
    for name in ("README.md", "rubric.md", "docs/rubric.md", ".supervisor/notes.md"):
        uri = (tmp_path / name).as_uri()
        editor.open(uri, PATTERNS)
        editor.change(uri, "")
        editor.tell("textDocument/didSave", textDocument={"uri": uri})
        editor.tell("textDocument/didClose", textDocument={"uri": uri})
    assert editor.said() == []
    assert editor.shown == []


def test_a_client_that_asks_is_answered_and_not_told_unasked(editor: Editor, file: Path) -> None:
    able = editor.initialize(more=PULL)
    assert able["diagnosticProvider"]["interFileDependencies"] is False
    editor.open(file.as_uri(), PATTERNS)
    assert messages(editor.pull(file.as_uri())) == [MISSING]
    editor.change(file.as_uri(), ANTIPATTERNS)
    assert messages(editor.pull(file.as_uri())) == ["the section `## Patterns` is missing"]
    assert editor.published == []


@pytest.mark.long
def test_a_client_that_asks_about_another_file_gets_an_answer_with_nothing(
    editor: Editor, file: Path
) -> None:
    editor.initialize(more=PULL)
    readme = (file.parent / "README.md").as_uri()
    editor.open(readme, PATTERNS)
    assert editor.pull(readme) == []
    assert editor.pull(file.as_uri()) == [], "it is not open"
    assert editor.pull("untitled:rubric.md") == []


def test_the_users_own_rubric_is_looked_at(editor: Editor, home_is_a_fresh_folder: Path) -> None:
    editor.initialize()
    uri = (home_is_a_fresh_folder / ".config" / "supervisor" / "rubric.md").as_uri()
    editor.open(uri, "")
    ((_, found),) = editor.said()
    assert messages(found) == ["the section `## Patterns` is missing", MISSING]
    assert [at(each) for each in found] == [(0, 0, 0, 0)] * 2


@pytest.mark.long
def test_whatever_ends_the_lines_the_empty_section_is_found(editor: Editor, file: Path) -> None:
    editor.initialize()
    text = f"# Ours\x0c\u2028\n\n##  Patterns \nnothing\n{ANTIPATTERNS}"
    for ending in ("\n", "\r\n", "\r"):
        editor.open(file.as_uri(), text.replace("\n", ending))
        *_, (_, (found,)) = editor.said()  # a slow machine may say it of the text before, too
        assert (found["message"], found["code"]) == (EMPTY, "empty-section")
        assert at(found) == (2, 0, 2, len("##  Patterns"))


def test_a_file_that_is_not_utf8_is_shown_until_it_is_saved_as_utf8(editor: Editor, file: Path) -> None:
    file.write_bytes(f"{PATTERNS}{ANTIPATTERNS}".encode() + b"\r\n caf\xe9 au lait\r\n")
    text = file.read_bytes().decode("latin-1")
    editor.initialize()
    editor.open(file.as_uri(), text)
    ((_, (found,)),) = editor.said()
    assert (found["code"], at(found)) == ("unusable", (0, 0, 0, len("## Patterns")))
    assert found["message"].startswith("not UTF-8 at byte")
    editor.change(file.as_uri(), text)
    assert len(editor.said()[0][1]) == 1, "an edit is not yet the cure"
    file.write_text(text, encoding="utf-8")
    editor.tell("textDocument/didSave", textDocument={"uri": file.as_uri()})
    # the last: the server watches the folder too, and may have published before it heard of the save
    assert editor.said()[-1] == (file.as_uri(), [])


def test_what_is_no_file_or_leads_out_of_the_project_is_shown(
    editor: Editor, file: Path, tmp_path: Path
) -> None:
    editor.initialize(more=PULL)
    good = PATTERNS + ANTIPATTERNS
    file.mkdir()
    editor.open(file.as_uri(), good)
    assert messages(editor.pull(file.as_uri())) == ["a folder"]
    file.rmdir()
    assert editor.pull(file.as_uri()) == [], "deleted while it is open"
    (tmp_path / "elsewhere.md").write_text(good)
    file.symlink_to(tmp_path / "elsewhere.md")
    assert messages(editor.pull(file.as_uri())) == ["a link that leads out of the project"]
    file.unlink()
    file.symlink_to(file)
    assert len(editor.pull(file.as_uri())) == 1


def test_strange_messages_do_not_end_it(editor: Editor, file: Path) -> None:
    editor.initialize()
    editor.write(b"{")
    editor.write(b"[" * 100_000)
    editor.write(b'{"jsonrpc": "2.0", "method": 1}')
    editor.write(b"\xff\xfe")
    editor.change("file:///never/.supervisor/rubric.md", "opened")
    editor.tell("textDocument/didSave", textDocument={"uri": file.as_uri()})
    editor.tell("workspace/didChangeWatchedFiles", changes=[{"uri": file.as_uri(), "type": 1}])
    editor.tell("supervisor/unheardOf")
    for uri in (
        "",
        "rubric.md",
        "file://[/rubric.md",
        "file:///a%00/.supervisor/rubric.md",
        "http://x/rubric.md",
    ):
        editor.open(uri, "x")
    editor.write(
        b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///h/'
        b'.supervisor/rubric.md","languageId":"markdown","version":0,"text":"\\ud800\\u0000"}}}'
    )
    editor.said()
    editor.open(file.as_uri(), PATTERNS)
    assert [messages(found) for _, found in editor.said()] == [[MISSING]]


def test_after_shutdown_and_exit_the_process_ends_with_0(editor: Editor) -> None:
    editor.initialize()
    assert editor.exit() == 0


@pytest.mark.long
def test_an_exit_without_shutdown_ends_the_process_with_1(editor: Editor) -> None:
    editor.initialize()
    editor.tell("exit")
    assert editor.process.wait(60) == 1


def test_when_the_editor_is_gone_the_process_ends(editor: Editor, file: Path) -> None:
    editor.initialize()
    editor.open(file.as_uri(), PATTERNS)
    editor.close()
    assert editor.process.returncode == 1
