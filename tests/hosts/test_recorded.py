"""Which recorded session is found, and what is no record."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sidecar.hosts.claude_code import record as claude_code
from sidecar.hosts.opencode import record as opencode
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey

TIMED = '{"timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n{"timestamp":"2027"}\n'
LINES = f'{{"type":"summary"}}\n\xff no JSON\n{TIMED}'


def transcript(path: Path, text: str = LINES, at: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="latin-1")
    os.utime(path, (at, at))
    return path


@pytest.mark.proves("seeing and asking back")
def test_the_newest_transcript_of_the_folder_is_taken_or_the_one_that_is_named(tmp_path: Path) -> None:
    home = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    folder = tmp_path / "projects" / "-srv-my-shop-v1-0"
    transcript(folder / "aaa.jsonl", at=1.0)
    transcript(folder / "bbb.jsonl", at=2.0)
    transcript(folder / "bbb" / "subagents" / "agent-1.jsonl", at=3.0)
    newest = claude_code.newest_session("/srv/my_shop/v1.0", home)
    assert newest is not None
    assert (newest.key, newest.project) == (SessionKey("claude-code", "bbb"), "/srv/my_shop/v1.0")
    assert (newest.began, newest.changed) == (1767225600.0, 2.0)
    named = claude_code.newest_session("/srv/my_shop/v1.0", home, "a")
    assert named is not None
    assert named.key.id == "aaa"
    assert claude_code.newest_session("/srv", home) is None
    assert claude_code.read_recorded(folder / "aaa.jsonl").project == "/p"


@pytest.mark.parametrize("text", ["", "{}\n", "no JSON\n", '{"timestamp": "soon"}\n'])
def test_a_file_without_a_time_is_no_transcript(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInputError, match="no transcript of Claude Code"):
        claude_code.read_recorded(transcript(tmp_path / "x.jsonl", text))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"info": 1, "messages": []}', b"\xff"])
def test_what_opencode_did_not_export_is_refused(data: bytes) -> None:
    with pytest.raises(BadInputError, match="no export of OpenCode"):
        opencode.read_export(data)


def test_an_export_gives_its_folder_its_times_and_its_last_turn() -> None:
    info = {"id": "ses_1", "directory": "/p", "time": {"created": 5000, "updated": 9000}, "version": "1"}
    found = opencode.read_export(json.dumps({"info": info, "messages": []}).encode())
    assert (found.key, found.project, found.began, found.changed) == (
        SessionKey("opencode", "ses_1"),
        "/p",
        5.0,
        9.0,
    )
    assert found.turn is not None


def test_where_there_is_no_opencode_there_is_no_session_of_it(tmp_path: Path) -> None:
    assert opencode.newest_session(str(tmp_path), {"PATH": str(tmp_path)}) is None
