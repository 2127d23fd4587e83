"""The baked file: what is in it, and how it is known again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.hosts.opencode.link import JUDGE_AGENT
from sidecar.hosts.opencode.plugin_file import (
    FILE_LIMIT,
    InstallationInfo,
    bake_plugin_file,
    identify_plugin_file,
)
from sidecar.platform.installation import HostError, plugin_root

OFFERS = InstallationInfo("/opt/venv/bin/supervisor", "1.2.3")
SOURCE = "// a plugin\nconst A = 1\nconst SETUP = {} // filled in\nconst B = 2\n"


def setup_of(text: str) -> dict[str, Any]:
    """What stands in the place of SETUP."""
    found = re.search(r"^const SETUP = (\{\n.*?\n\})$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    setup: dict[str, Any] = json.loads(found[1])
    return setup


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A plugin's folder of its own."""
    root = tmp_path / "root"
    for name, text in {
        "hooks/opencode.js": SOURCE,
        "commands/goal.md": "---\ndescription: 'Set: a goal'\nargument-hint: '[x]'\n---\n\nDo $ARGUMENTS.\n",
        "rubric/opencode-judge.md": "---\ndescription: It judges\n---\n\nJudge it.\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


# --- baking -------------------------------------------------------------------------------------------------


def test_commands_and_judge_are_in_the_file_and_the_rest_of_it_is_as_it_was(root: Path) -> None:
    text = bake_plugin_file(root, OFFERS)
    setup = setup_of(text)
    assert setup["version"] == "1.2.3"
    commands = {"supervisor:goal": {"description": "Set: a goal", "template": "Do $ARGUMENTS."}}
    assert setup["config"]["command"] == commands
    assert setup["config"]["agent"] == {
        "supervisor-judge": {
            "mode": "subagent",
            "hidden": True,
            "description": "It judges",
            "prompt": "Judge it.",
            "permission": {"*": "deny"},
        }
    }
    lines = text.split("\n")
    assert lines[1:3] == ["// a plugin", "const A = 1"]
    assert text.endswith("\n}\nconst B = 2\n")


def test_both_servers_are_offered(root: Path) -> None:
    both = setup_of(bake_plugin_file(root, InstallationInfo("/r", "1")))
    own = {"PYTHONPATH": "", "PYTHONSAFEPATH": "1"}
    here = {**own, "CLAUDE_PROJECT_DIR": ""}
    assert both["config"]["mcp"] == {
        "supervisor": {"type": "local", "command": ["/r", "mcp"], "enabled": True, "environment": here}
    }
    assert both["lsp"] == {"supervisor-rubric": {"command": ["/r", "lsp"], "extensions": [".md"], "env": own}}


def test_the_servers_that_would_switch_on_all_of_the_hosts_own_stay_out_of_its_configuration(
    root: Path,
) -> None:
    assert "lsp" not in setup_of(bake_plugin_file(root, OFFERS))["config"]


def test_the_real_files_make_every_command_and_a_judge_without_tools() -> None:
    root = plugin_root()
    setup = setup_of(bake_plugin_file(root, OFFERS))["config"]
    names = {f"supervisor:{path.stem}" for path in (root / "commands").glob("*.md")}
    assert {"supervisor:goal", "supervisor:retry"} <= names == set(setup["command"])
    for command in setup["command"].values():
        assert command["description"]
        assert not re.search(r"!`|(?<![\w`])@\w", command["template"])  # a shell, or a file, to the host
    assert "$ARGUMENTS" in setup["command"]["supervisor:goal"]["template"]
    assert setup["agent"][JUDGE_AGENT]["permission"] == {"*": "deny"}


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("hooks/opencode.js", "const B = 2\n", "no place for the commands"),
        ("hooks/opencode.js", SOURCE + SOURCE, "no place for the commands"),
        ("commands/goal.md", "Do it.\n", "does not begin with its description"),
        ("commands/goal.md", "---\nhint: x\n---\nDo it.\n", "missing required field `description`"),
        ("commands/goal.md", "---\ndescription: [\n---\nDo it.\n", "does not begin with its description"),
        ("commands/goal.md", "---\ndescription: 3\n---\nDo it.\n", "Expected `str`, got `int`"),
        ("commands/goal.md", "---\n- 1\n---\nDo it.\n", "does not begin with its description"),
        ("commands/goal.md", None, "holds no command"),
        ("rubric/opencode-judge.md", None, "cannot be read: No such file"),
        ("hooks/opencode.js", "x" * (FILE_LIMIT + 1), "cannot be read: .* more than"),
    ],
)
def test_an_installation_that_is_not_whole_bakes_nothing_and_says_what_to_do(
    root: Path, name: str, text: str | None, why: str
) -> None:
    if text is None:
        (root / name).unlink()
    else:
        (root / name).write_text(text, encoding="utf-8")
    with pytest.raises(HostError, match=why) as caught:
        bake_plugin_file(root, OFFERS)
    assert caught.value.moves


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60))
def test_whatever_a_command_says_is_data_in_the_file(body: str) -> None:
    text = bake_plugin_file(plugin_root(), InstallationInfo(body, "1"))
    assert setup_of(text)["config"]["mcp"]["supervisor"]["command"] == [body, "mcp"]


# --- knowing it again ---------------------------------------------------------------------------------------


def test_our_file_says_its_version_and_a_changed_one_that_it_was_changed(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "supervisor.js"
    text = bake_plugin_file(root, OFFERS)
    path.write_text(text, encoding="utf-8")
    found = identify_plugin_file(path)
    assert found is not None
    assert (found.version, found.changed) == ("1.2.3", False)
    path.write_text(text.replace("const B = 2", "const B = 3"), encoding="utf-8")
    found = identify_plugin_file(path)
    assert found is not None
    assert found.changed


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"export const X = 1\n",
        b"\xff\xfe",
        b"\n// Written by `supervisor install opencode`",
        b"/" * (2 << 20),
    ],
    ids=["empty", "another's", "no UTF-8", "not at the head", "huge"],
)
def test_what_is_not_ours_is_not_taken_for_ours(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "supervisor.js"
    path.write_bytes(data)
    assert identify_plugin_file(path) is None
