"""What Copilot CLI is told to run, and how the user gets to read what it would not show."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

import pytest

from hooks.relaying import ROOT, FakeSidecar, Scene, answer, command, entries, run
from hosts.copilot.writing import command_prompt
from sidecar import __version__

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process

FILE: Final = ROOT / "hooks" / "copilot.json"
HOOKS: Final[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["hooks"]
RELAY_LINE: Final = "$CLAUDE_PLUGIN_ROOT/hooks/relay.py"
NOTED: Final = b'{"decision":"block","reason":"R","systemMessage":"Supervisor: \\u00e9 sent back\\n1/3"}'


def line(event: str, root: Path = ROOT) -> list[str]:
    """How the host runs an event's hook; the folder of the plugin is in the environment there."""
    (entry,) = HOOKS[event]
    return ["bash", "-c", entry["bash"].replace("$CLAUDE_PLUGIN_ROOT", str(root))]


def test_its_hooks_are_claude_codes_with_the_same_limits_for_another_host() -> None:
    for event, entry in entries().items():
        if event in HOOKS:
            (own,) = HOOKS[event]
            words = shlex.split(own["bash"])
            assert own["timeoutSec"] == entry["timeout"]
            assert words[6:] == [
                "$CLAUDE_PLUGIN_ROOT/hooks/relay.py",
                *entry["args"][-4:-1],
                "copilot",
                "warn",
            ]
    manifest = json.loads((ROOT / ".plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert (manifest["name"], manifest["version"]) == ("supervisor", __version__)
    assert (ROOT / manifest["hooks"]).resolve() == FILE.resolve()


def test_what_the_user_is_to_read_goes_to_standard_error_and_the_answer_counts(scene: Scene) -> None:
    with FakeSidecar(scene.state, [answer(NOTED)], [answer(b"{}")]):
        noted, quiet = (run(line("Stop"), b"{}", scene.project) for _ in range(2))
    assert (noted.returncode, noted.stdout) == (2, NOTED)
    assert noted.stderr.decode() == "Supervisor: \u00e9 sent back\n1/3"
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"{}", b"")


def test_without_a_sidecar_a_typed_command_is_refused_and_a_stop_says_what_is_wrong(scene: Scene) -> None:
    typed = json.dumps({"prompt": command_prompt("goal", "all tests pass")}).encode()
    refused = json.loads(run(line("UserPromptSubmit"), typed, scene.project).stdout)
    assert refused["decision"] == "block"
    assert refused["reason"].endswith("&& supervisor install copilot")
    other = run(line("UserPromptSubmit"), b'{"prompt":"Hello."}', scene.project)
    assert (other.returncode, other.stdout, other.stderr) == (0, b"", b"")
    begun = run(line("SessionStart"), b"{}", scene.project)
    assert (begun.returncode, b"no runtime yet" in begun.stderr) == (2, True)


def test_a_plugin_that_is_gone_ends_in_silence(scene: Scene, tmp_path: Path) -> None:
    done = run(line("Stop", tmp_path), b"{}", scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_for_claude_code_that_it_runs_steps_aside(scene: Scene) -> None:
    with FakeSidecar(scene.state, [answer(NOTED)]) as fake:
        done = run(command("Stop"), b"{}", scene.project, COPILOT_HOOK_DIR="/home/user/project/.claude")
        assert fake.asked == []
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
