"""Where the language server of rubrics says that something is, and what bad input does to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.editor import PULL, Editor

UNITS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
ODD: Final = "🎉e\u0301"
"""Two characters that a person sees, of three code points: 7, 4 and 3 units."""
TEXT: Final = f"""\
## Patterns

### {ODD} is shown

Applies to: `{ODD}/**`, `src/**`
Evidence: rule:{ODD}, rule:nope
Severity: {ODD}, \u2028mu

## Antipatterns

- **TALK**: it is said
"""
ALL: Final[list[tuple[str, dict[str, Any]]]] = [
    ("textDocument/diagnostic", {}),
    ("textDocument/hover", {"position": {"line": 0, "character": 3}}),
    ("textDocument/hover", {"position": {"line": 2_000_000_000, "character": 2_000_000_000}}),
    ("textDocument/completion", {"position": {"line": 3, "character": 1}}),
    ("textDocument/completion", {"position": {"line": 2_000_000_000, "character": 0}}),
    (
        "textDocument/codeAction",
        {
            "context": {"diagnostics": []},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 2_000_000_000, "character": 0}},
        },
    ),
]


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    opened = Editor(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / ".supervisor" / "rubric.md"
    place.parent.mkdir()
    return place


def place(words: str, encoding: str, *, end: bool = False) -> dict[str, int]:
    """Line and column of words, in units of an encoding."""
    at = TEXT.index(words) + (len(words) if end else 0)
    begin = TEXT.rfind("\n", 0, at) + 1
    codec, size = UNITS[encoding]
    return {"line": TEXT.count("\n", 0, at), "character": len(TEXT[begin:at].encode(codec)) // size}


def whole(words: str, encoding: str) -> dict[str, Any]:
    return {"start": place(words, encoding), "end": place(words, encoding, end=True)}


@pytest.mark.parametrize("encoding", UNITS)
def test_places_count_what_the_client_counts(editor: Editor, file: Path, encoding: str) -> None:
    editor.initialize([encoding], PULL)
    uri = {"uri": file.as_uri()}
    editor.open(file.as_uri(), TEXT)
    flaws = {found["code"]: found["range"] for found in editor.pull(file.as_uri()) if "nope" in str(found)}
    assert flaws["unknown-rule"] == whole("rule:nope", encoding)
    hover = editor.ask("textDocument/hover", textDocument=uri, position=place("src/", encoding))["result"]
    assert hover["range"] == whole("src/**", encoding)
    name = editor.ask("textDocument/hover", textDocument=uri, position=place("is shown", encoding))["result"]
    assert name["range"] == whole(f"{ODD} is shown", encoding)


GOOD: Final = "## Patterns\n- **A**: b\n## Antipatterns\n- **C**: d\n"
BAD: Final = {
    "nothing": "",
    "a mark alone": "\ufeff",
    "a mark and CRLF": "\ufeff" + GOOD.replace("\n", "\r\n"),
    "CR alone": GOOD.replace("\n", "\r"),
    "quotes in quotes": GOOD + ">" * 8_000,
    "lists in lists": GOOD + "- " * 4_000,
    "brackets": GOOD + "[" * 8_000,
    "stars": GOOD + "*" * 8_000,
    "one long name": f"## Patterns\n### {'é' * 4_000}\n",
    "braces": GOOD + "### X\nApplies to: " + "{a,b}/" * 160,
    "a code block without an end": GOOD + "```\n" + "#\n" * 3_000,
    "2,000 empty lines": GOOD + "\n" * 2_000,
    "nested list of 10,000 quotes": ">" * 10_000,
    "10 MB of lines": "- x\n" * (10 << 18),
    "one line of 10 MB": "## " + "x" * (10 << 20),
    "half a surrogate": "## Patterns\n- \ud83d\n",
    "nul and friends": "## Patterns\x00\n- \x00\x0b\x0c\x1c\x85\u2028\n",
}


def changed(uri: str, text: str) -> bytes:
    """A change of which half a character may be left, as a careless editor cuts it."""
    params = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}
    message = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}
    return json.dumps(message).encode()


def test_whatever_the_text_every_question_is_answered(editor: Editor, file: Path) -> None:
    editor.initialize(more=PULL)
    editor.open(file.as_uri(), GOOD)
    for name, text in BAD.items():
        editor.write(changed(file.as_uri(), text))
        for method, more in ALL:
            said = editor.ask(method, textDocument={"uri": file.as_uri()}, **more)
            assert "result" in said, (name, method, said)
    editor.change(file.as_uri(), GOOD)
    assert editor.pull(file.as_uri()) == []
    assert editor.exit() == 0


def test_a_text_too_big_has_its_one_flaw_and_no_more(editor: Editor, file: Path) -> None:
    editor.initialize(more=PULL)
    editor.open(file.as_uri(), "- **A**: b  \n" * 2_000)
    uri = {"uri": file.as_uri()}
    assert [each["code"] for each in editor.pull(file.as_uri())] == ["too-big"]
    for method, more in ALL:
        if method != "textDocument/diagnostic":
            assert not editor.ask(method, textDocument=uri, **more)["result"], method
