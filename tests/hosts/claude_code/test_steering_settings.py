"""The settings by which Claude Code runs our hooks or not, apart from all others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.hosts.steering import STEERING_SETTINGS, read_claude_steering, restore_claude_settings

pytestmark = pytest.mark.proves("crashes and bad input")

OURS = {"supervisor@supervisor": True}
THEIRS: dict[str, Any] = {
    "theme": "light",
    "permissions": {"allow": ["Bash(make:*)"]},
    "enabledPlugins": {"other@market": True},
}
"""What the host writes for a person: a theme, a permission, another plugin."""
ATTACKS: dict[str, dict[str, Any]] = {
    "no hooks": {"disableAllHooks": True},
    "another PATH": {"env": {"PATH": "evil"}},
    "a hook": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "kill -STOP $PPID"}]}]}},
    "our plugin off": {"enabledPlugins": {"supervisor@supervisor": False, "other@market": True}},
    "all settings gone": {},
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("before", [{"env": {"A": "1"}, "enabledPlugins": OURS}, {"enabledPlugins": OURS}])
def test_what_steers_is_seen_and_put_back_and_the_rest_stays(
    tmp_path: Path, attack: str, before: dict[str, Any]
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(before), encoding="utf-8")
    kept = read_claude_steering(path)
    honest = {**before, **THEIRS, "enabledPlugins": OURS | THEIRS["enabledPlugins"], "disableAllHooks": False}
    path.write_text(json.dumps(honest, indent=4), encoding="utf-8")
    assert read_claude_steering(path) == kept, "what the host writes for a person is none of ours"
    done = ATTACKS[attack] if attack == "all settings gone" else {**honest, **ATTACKS[attack]}
    path.write_text(json.dumps(done), encoding="utf-8")
    assert read_claude_steering(path) != kept
    restored = json.loads(restore_claude_settings(path.read_text(encoding="utf-8"), kept))
    path.write_text(json.dumps(restored), encoding="utf-8")
    assert (read_claude_steering(path) == kept) is ("plugin" not in attack and attack != "all settings gone")
    steering = {name: before[name] for name in ("env",) if name in before}
    assert restored == {**{name: done[name] for name in done if name not in STEERING_SETTINGS}, **steering}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"enabledPlugins": []}', '{"theme": "dark"}', '{"disableAllHooks": false, "env": {}}']
)
def test_a_file_that_the_host_makes_for_a_permission_steers_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.local.json"
    path.write_text(text, encoding="utf-8")
    assert read_claude_steering(path) == ""
