"""The demo's story through the real OpenCode, whose model is scripted."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sidecar import __version__
from sidecar.adapters.opencode import plugin_file, plugin_folder
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import find, run
from sidecar.adapters.scripted.model_server import Match, Rule, ScriptedModel, ToolCall, call, say
from sidecar.adapters.scripted.project import REPAIRED, SKIPPED, TEST, Scene
from sidecar.cli.story import CLAIM, GOAL, REPORT, SHORTCUT, TESTS, Story

FAKE_KEY = "sk-ant-fake"
DEADLINE_SECONDS = 180.0
MODEL = "anthropic/claude-sonnet-4-5"
"""Any model that the host knows: the scripted one answers in its place."""


async def play_opencode(story: Story, scene: Scene) -> None:
    """One `opencode run`: the model claims success, is sent back, repairs, and may rest."""
    opencode = find("opencode", scene.environment, str(scene.project))
    if not opencode:
        story.trouble("opencode is not on PATH. Install it: npm install -g opencode-ai")
        return
    story.person(f'opencode run "{GOAL}"')
    story.agent(CLAIM)
    story.stops()
    with ScriptedModel(_script(scene)) as model:
        _lay_out(scene, model.url)
        ended = await run(
            [opencode, "run", GOAL],
            cwd=str(scene.project),
            environment={**scene.environment, **_clean_room()},
            seconds=DEADLINE_SECONDS,
            separate=True,
        )
        for request in model.requests:
            _, found, told = request.last.partition("[supervisor ")
            if found:
                story.told(found + told)
    if ended.exit_code != 0:
        story.trouble(f"opencode ended with {ended.exit_code}: {ended.errors.decode(errors='replace')}")
        return
    story.agent(ended.output.decode(errors="replace").strip().rpartition("\n")[2])


def _lay_out(scene: Scene, url: str) -> None:
    """Put the plugin into the scene's home, and the host's configuration beside it."""
    folder = plugin_folder.user_folder(scene.environment)
    runtime = (scene.home / ".local" / "state" / "supervisor" / "runtime").read_text(encoding="utf-8").strip()
    offers = plugin_file.Offers(command=runtime, version=__version__, verbs=())
    plugin_folder.stand_in(folder)
    plugin_folder.put(plugin_folder.target(folder), plugin_file.baked(plugin_root(), offers))
    options = {"baseURL": f"{url}/v1", "apiKey": FAKE_KEY}
    settings = {
        "model": MODEL,
        "small_model": MODEL,
        "provider": {"anthropic": {"options": options}},
        "permission": "allow",
        "share": "disabled",
        "autoupdate": False,
    }
    Path(folder, "opencode.json").write_bytes(msgspec.json.encode(settings))


def _clean_room() -> dict[str, str]:
    """No login, no updates: the host talks to the scripted model and to nobody else."""
    names = ("AUTOUPDATE", "LSP_DOWNLOAD", "MODELS_FETCH", "SHARE")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in names}


def _script(scene: Scene) -> list[Rule]:
    agent = Match(has_tool="bash")
    shop, test = str(scene.project / "shop.py"), str(scene.project / "test_shop.py")
    return [
        Rule(say(CLAIM), agent),
        Rule(call(ToolCall("read", {"filePath": test})), agent),
        Rule(call(ToolCall("write", {"filePath": test, "content": SKIPPED})), agent),
        Rule(say(SHORTCUT), agent),
        Rule(call(ToolCall("write", {"filePath": test, "content": TEST})), agent),
        Rule(call(ToolCall("read", {"filePath": shop})), agent),
        Rule(call(ToolCall("write", {"filePath": shop, "content": REPAIRED})), agent),
        Rule(call(ToolCall("bash", {"command": TESTS, "description": "Run the tests"})), agent),
        Rule(say(REPORT), agent),
    ]
