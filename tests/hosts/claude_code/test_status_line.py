"""Our part of the status line stands behind the user's own, and leaves it as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.hosts.claude_code.settings import edit_status_line, put_status_line
from sidecar.platform.installation import HostError

pytestmark = pytest.mark.proves("seeing and asking back")

OURS = Path("/opt/a b/supervisor")
ALONE = "'/opt/a b/supervisor' status-line"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"type": "command", "command": ALONE, "refreshInterval": 5}),
        (
            {"type": "command", "command": "it's 'mine' | cut -c1", "padding": 0},
            {
                "type": "command",
                "command": f"{ALONE} --beside 'it'\"'\"'s '\"'\"'mine'\"'\"' | cut -c1'",
                "padding": 0,
                "refreshInterval": 5,
            },
        ),
        (
            {"type": "command", "command": "it's odd", "refreshInterval": 60},
            {"type": "command", "command": f"{ALONE} --beside 'it'\"'\"'s odd'", "refreshInterval": 60},
        ),
    ],
)
def test_it_is_put_behind_what_is_there_once_and_taken_out_again(
    before: dict[str, object], after: dict[str, object]
) -> None:
    settings = {"model": "opus", **({"statusLine": before} if before else {})}
    text = json.dumps(settings, indent=2).encode() + b"\n"
    put = edit_status_line(text, OURS)
    assert json.loads(put) == {"model": "opus", "statusLine": after}
    assert edit_status_line(put, OURS) == put
    moved = edit_status_line(put, Path("/new/supervisor"))
    assert json.loads(edit_status_line(moved, None)) == settings
    assert edit_status_line(text, None) == text


def test_settings_that_cannot_be_read_stay_and_it_is_said_what_to_add(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{no", encoding="utf-8")
    with pytest.raises(HostError, match="was left as it is") as raised:
        put_status_line(path, OURS)
    assert "status-line" in str(raised.value.moves)
    assert path.read_text(encoding="utf-8") == "{no"
