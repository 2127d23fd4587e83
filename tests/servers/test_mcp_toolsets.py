"""The user edits config.toml, and the clients of a real sidecar hear that the list of tools has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.mcp_pipes import INITIALIZE, Home, Pipe

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.supervisor("stop")


@pytest.fixture
def settings(home: Home) -> Path:
    folder = home.folder / ".config" / "supervisor"
    folder.mkdir(parents=True)
    return folder / "config.toml"


def offered(pipe: Pipe) -> set[str]:
    return {tool["name"] for tool in pipe.ask(LIST)["result"]["tools"]}


def test_a_change_of_the_file_by_hand_is_told_and_in_force(home: Home, settings: Path) -> None:
    with home.pipe() as pipe:
        pipe.ask(INITIALIZE)
        pipe.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        assert {"status", "task_add"} <= offered(pipe)
        settings.write_text('toolsets = ["core"]\n', encoding="utf-8")
        assert pipe.hear() == CHANGED
        assert "status" in offered(pipe)
        assert "task_add" not in offered(pipe)
        settings.unlink()
        assert pipe.hear() == CHANGED
        assert "task_add" in offered(pipe)


def test_another_setting_is_no_news_to_clients(home: Home, settings: Path) -> None:
    with home.pipe() as pipe:
        pipe.ask(INITIALIZE)
        pipe.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        before = offered(pipe)
        settings.write_text("max_attempts = 3\n", encoding="utf-8")
        settings.write_text('toolsets = ["journal"]\n', encoding="utf-8")
        assert pipe.hear() == CHANGED
        assert offered(pipe) < before
        assert json.dumps(CHANGED) not in str(pipe.ask({**LIST, "method": "ping"}))
