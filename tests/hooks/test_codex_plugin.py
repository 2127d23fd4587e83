"""The plugin for Codex: what the host is told to run, one shell line per hook, and which skills it shows."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any, Final

import pytest

from hooks.relaying import RELAY, ROOT, Scene, run
from sidecar.hosts.codex.codec import HOOK_EVENT_NAMES, HOST, TYPED_COMMAND
from sidecar.hosts.codex.install import plugin_files

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process

OWN: Final = ROOT / ".codex-plugin"


def entries() -> dict[str, dict[str, Any]]:
    hooks = json.loads((OWN / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    return {event: group["hooks"][0] for event, (group,) in hooks.items()}


def test_every_event_that_is_understood_runs_the_relay_by_one_line_with_its_limits() -> None:
    found = entries()
    assert set(found) == set(HOOK_EVENT_NAMES)
    heads = set()
    for event, entry in found.items():
        head, name, silence, total, host = entry["command"].rsplit(" ", 4)
        heads.add(head)
        assert (name, host) == ({"Interrupt": "SessionEnd"}.get(event, event), HOST)
        assert float(silence) <= float(total) < entry["timeout"]
        assert set(entry) <= {"type", "command", "timeout", "statusMessage"}  # `args` would be left out
    (head,) = heads
    assert head.endswith(' "$PLUGIN_ROOT/hooks/relay.py"')


@pytest.mark.parametrize("text", [None, "this is no Python", "import sys; sys.exit(2)"])
def test_a_relay_that_is_gone_or_broken_ends_in_silence_and_never_in_exit_code_2(
    scene: Scene, tmp_path: Path, text: str | None
) -> None:
    (tmp_path / "hooks").mkdir()
    if text is not None:
        (tmp_path / "hooks" / "relay.py").write_text(text, encoding="utf-8")
    line = ("/bin/sh", "-c", entries()["Stop"]["command"])
    done = run(line, b"{}", scene.project, PLUGIN_ROOT=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_relay_is_found_where_the_host_puts_the_plugin(scene: Scene, tmp_path: Path) -> None:
    root = tmp_path / "a plugin's $HOME"
    for name, path in plugin_files().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / name)
    line = ("/bin/sh", "-c", entries()["UserPromptSubmit"]["command"])
    typed = json.dumps({"prompt": "$supervisor:goal x", "cwd": str(scene.project)}).encode()
    done = run(line, typed, scene.project, PLUGIN_ROOT=str(root))
    assert json.loads(done.stdout)["decision"] == "block"  # nothing would enforce it
    assert RELAY.read_bytes() == (root / "hooks" / "relay.py").read_bytes()


def test_the_manifest_names_files_that_the_plugin_holds() -> None:
    manifest = json.loads((OWN / "plugin.json").read_text(encoding="utf-8"))
    named = [*manifest["hooks"], manifest["mcpServers"], f"{manifest['skills']}/goal/SKILL.md"]
    assert {name.removeprefix("./") for name in named} <= set(plugin_files())
    server = json.loads((OWN / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["supervisor"]
    assert (server["cwd"], server["args"][-1], server["env_vars"]) == (
        ".",
        "./hooks/mcp.py",
        ["XDG_STATE_HOME"],
    )


def test_the_skills_are_commands_that_the_hook_answers() -> None:
    skills = sorted((OWN / "skills").glob("*/SKILL.md"))
    assert [skill.parent.name for skill in skills] == ["goal", "retry"]
    for skill in skills:
        text = skill.read_text(encoding="utf-8")
        assert re.match(rf"---\nname: {skill.parent.name}\ndescription: For the user only\. ", text)
        assert TYPED_COMMAND.match(
            f"${json.loads((OWN / 'plugin.json').read_text())['name']}:{skill.parent.name}"
        )
