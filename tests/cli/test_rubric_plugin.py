"""The files of the second plugin: what the host is told to run, and which runtime that starts."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar import __version__
from sidecar.hosts.claude_code.install import MARKETPLACE, PLUGIN_ID, RUBRIC_PLUGIN_ID
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import user_paths
from support.table import often

pytestmark = pytest.mark.process

ROOT = plugin_root() / ".claude-plugin" / "rubric"
LIMIT_S = 60.0


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def start(**environment: str) -> subprocess.CompletedProcess[str]:
    """What the host runs, as it runs it."""
    (server,) = loaded(ROOT / ".lsp.json").values()
    arguments = [argument.replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT)) for argument in server["args"]]
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A `supervisor` that says how it was called."""
    path = tmp_path / "bin é" / "supervisor"
    path.parent.mkdir()
    path.write_text('#!/bin/sh\necho "$0 $*"\n')
    path.chmod(0o755)
    return path


def test_it_starts_the_runtime_that_an_install_recorded(command: Path) -> None:
    user_paths().record_runtime(command)
    assert start().stdout == f"{command} lsp\n"


def test_it_finds_the_state_folder_where_the_user_has_it(
    command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    user_paths().record_runtime(command)
    assert start().stdout == f"{command} lsp\n"
    assert start(XDG_STATE_HOME="relative").returncode == 1


def test_without_a_record_it_takes_the_one_that_the_environment_names(command: Path) -> None:
    user_paths().record_runtime(command.with_name("gone"))
    assert start(SUPERVISOR_BIN=str(command)).stdout == f"{command} lsp\n"


@pytest.mark.parametrize("recorded", often(["supervisor", "/nowhere/supervisor", "", "\0"], 2))
def test_without_a_runtime_it_says_what_to_type(recorded: str) -> None:
    user_paths().prepare()
    user_paths().runtime.write_text(recorded)
    done = start()
    assert done.returncode == 1
    assert "Type in a shell: supervisor install claude-code" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_is_grammar_that_python_3_8_knows() -> None:
    ast.parse((ROOT / "start.py").read_text(encoding="utf-8"), feature_version=(3, 8))


def test_the_marketplace_offers_both_plugins_and_only_the_second_has_a_language_server() -> None:
    market = loaded(plugin_root() / ".claude-plugin" / "marketplace.json")
    assert [f"{offered['name']}@{MARKETPLACE}" for offered in market["plugins"]] == [
        PLUGIN_ID,
        RUBRIC_PLUGIN_ID,
    ]
    assert (plugin_root() / market["plugins"][1]["source"]).resolve() == ROOT.resolve()
    assert not (plugin_root() / ".lsp.json").exists()
    assert "lspServers" not in loaded(plugin_root() / ".claude-plugin" / "plugin.json")
    (server,) = loaded(ROOT / ".lsp.json").values()
    assert server["extensionToLanguage"] == {".md": "markdown"}


def test_its_version_is_ours() -> None:
    assert loaded(ROOT / ".claude-plugin" / "plugin.json")["version"] == __version__
