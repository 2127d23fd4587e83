"""The rules by which Claude Code keeps its agent from our files, and how they join the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.hosts.claude_code.settings import (
    deny_rules,
    edit_deny_rules,
    replace_deny_rules,
    user_settings_file,
)
from sidecar.platform.installation import HostError
from sidecar.platform.paths import Paths

RULES = ("Edit(~/a/**)", "Read(~/b)")


def test_rules_name_the_folders_in_the_home_and_elsewhere_and_the_runtime_with_its_environment(
    home_is_a_fresh_folder: Path, tmp_path: Path
) -> None:
    home = home_is_a_fresh_folder
    folders = Paths(state=tmp_path / "state" / "supervisor", config=home / ".config" / "supervisor")
    fixed = (
        f"Edit(/{tmp_path}/state/supervisor/**)",
        "Edit(~/.config/supervisor/**)",
        "Edit(~/.config/opencode/supervisor/**)",
        "Edit(~/.claude/plugins/cache/supervisor/**)",
        "Edit(~/.config/opencode/plugin*/supervisor.js)",
    )
    secrets = tuple(f"Read(/{tmp_path}/state/supervisor/{name})" for name in ("mcp-token", "team-password"))
    assert deny_rules(folders, None) == (*fixed, *secrets)
    command = home / "tools" / "bin" / "supervisor"
    command.parent.mkdir(parents=True)
    command.touch()
    assert deny_rules(folders, command) == (*fixed, "Edit(~/tools/bin/supervisor)", *secrets)
    (home / "tools" / "pyvenv.cfg").touch()
    assert deny_rules(folders, command) == (*fixed, "Edit(~/tools/**)", *secrets)
    link = home / "supervisor"
    link.symlink_to(command)
    assert deny_rules(folders, link) == (*fixed, "Edit(~/tools/**)", "Edit(~/supervisor)", *secrets)


def test_a_folder_that_is_a_link_is_denied_by_both_names(home_is_a_fresh_folder: Path) -> None:
    home = home_is_a_fresh_folder
    (home / ".config").mkdir(exist_ok=True)
    (home / "dotfiles").mkdir()
    (home / ".config" / "supervisor").symlink_to(home / "dotfiles")
    rules = deny_rules(Paths(state=home / "state", config=home / ".config" / "supervisor"), None)
    assert rules[1:3] == ("Edit(~/.config/supervisor/**)", "Edit(~/dotfiles/**)")


@pytest.mark.parametrize(
    "before",
    [
        b"{}\n",
        b'{\n  "permissions": {\n    "allow": [\n      "Bash"\n    ]\n  },\n  "n": 12345678901234567890.0\n}',
        b'{\n  "permissions": {\n    "deny": [\n      "Bash(rm *)"\n    ]\n  },\n  "text": "\\u00e9"\n}\n',
    ],
)
def test_what_was_put_in_and_taken_out_again_leaves_every_byte(before: bytes) -> None:
    after = edit_deny_rules(before, (), RULES)
    assert json.loads(after)["permissions"]["deny"][-2:] == list(RULES)
    assert edit_deny_rules(after, RULES, RULES) == after
    assert edit_deny_rules(after, RULES, ()) == before


def test_rules_of_the_users_own_stay_in_their_order() -> None:
    text = json.dumps({"permissions": {"deny": ["x", "old", "Read(~/b)", "y"]}}).encode()
    after = json.loads(edit_deny_rules(text, ("old",), RULES))["permissions"]["deny"]
    assert after == ["x", "Read(~/b)", "y", "Edit(~/a/**)"]


def test_the_file_keeps_its_mode_and_its_link(home_is_a_fresh_folder: Path, tmp_path: Path) -> None:
    folder = home_is_a_fresh_folder / ".claude"
    folder.mkdir()
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}", encoding="utf-8")
    kept.chmod(0o640)
    (folder / "settings.json").symlink_to(kept)
    replace_deny_rules(user_settings_file({}), (), RULES)
    assert (folder / "settings.json").is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert json.loads(kept.read_bytes()) == {"permissions": {"deny": list(RULES)}}


def test_a_folder_of_settings_that_is_named_is_the_one(tmp_path: Path) -> None:
    path = user_settings_file({"CLAUDE_CONFIG_DIR": str(tmp_path / "conf")})
    replace_deny_rules(path, (), RULES)
    assert path == tmp_path / "conf" / "settings.json"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["[]", '{"permissions": []}', '{"permissions": {"deny": "x"}}', "{", "\0"])
def test_settings_that_are_no_settings_are_left_as_they_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HostError, match="left as it is") as caught:
        replace_deny_rules(path, (), RULES)
    assert caught.value.moves[0] == 'add to permissions.deny there: "Edit(~/a/**)"'
    assert path.read_text(encoding="utf-8") == text
