"""Plays the demo's story through the real Claude Code or OpenCode against a scripted model."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sidecar import __version__
from sidecar.cli.demo_story import CLAIM, GOAL, REPORT, SHORTCUT, TESTS, DemoStory
from sidecar.cli.scripted.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from sidecar.cli.scripted.model_server import ScriptedModel
from sidecar.cli.scripted.model_wire import ReplyToolCall
from sidecar.cli.scripted.project import REPAIRED_SOURCE, SKIPPED_TEST_SOURCE, TEST_SOURCE, ScriptedScene
from sidecar.hosts.opencode import plugin_file, plugin_folder
from sidecar.platform.installation import plugin_root
from sidecar.platform.processes import find_program, run_process

# --- Claude Code --------------------------------------------------------------------------------------------

FAKE_KEY = "sk-ant-fake"
DEADLINE_SECONDS = 180.0


def _model_rules(scene: ScriptedScene, tools: tuple[str, str, str], path: str) -> list[ReplyRule]:
    """What the model says, in the host's names of its tools and of their argument for a file."""
    read, write, bash = tools
    shop, test = str(scene.project / "shop.py"), str(scene.project / "test_shop.py")
    replies = (
        reply_with_text(CLAIM),
        reply_with_calls(ReplyToolCall(read, {path: test})),
        reply_with_calls(ReplyToolCall(write, {path: test, "content": SKIPPED_TEST_SOURCE})),
        reply_with_text(SHORTCUT),
        reply_with_calls(ReplyToolCall(write, {path: test, "content": TEST_SOURCE})),
        reply_with_calls(ReplyToolCall(read, {path: shop})),
        reply_with_calls(ReplyToolCall(write, {path: shop, "content": REPAIRED_SOURCE})),
        reply_with_calls(ReplyToolCall(bash, {"command": TESTS, "description": "Run the tests"})),
        reply_with_text(REPORT),
    )
    return [ReplyRule(reply, RequestMatch(has_tool=bash)) for reply in replies]


class _Result(msgspec.Struct, frozen=True):
    result: str = ""
    num_turns: int = 0


async def play_claude(story: DemoStory, scene: ScriptedScene) -> None:
    """Run `claude -p` once: the model claims success, is sent back, repairs the code, and may stop."""
    claude = find_program("claude", scene.environment, str(scene.project))
    if not claude:
        story.trouble("claude is not on PATH. Install it: npm install -g @anthropic-ai/claude-code")
        return
    story.person(f'claude -p "{GOAL}"')
    story.agent(CLAIM)
    story.stops()
    with ScriptedModel(_model_rules(scene, ("Read", "Write", "Bash"), "file_path")) as model:
        line = [claude, "--plugin-dir", str(plugin_root()), "-p", GOAL, "--output-format", "json"]
        ended = await run_process(
            [*line, "--permission-mode", "bypassPermissions"],
            cwd=str(scene.project),
            environment={**scene.environment, **_claude_environment(model.url)},
            seconds=DEADLINE_SECONDS,
            separate=True,
        )
        for request in model.requests:
            _show_continuation(story, request.last)
    if ended.exit_code != 0:
        story.trouble(f"claude ended with {ended.exit_code}: {ended.errors.decode(errors='replace')}")
        return
    result = msgspec.json.decode(ended.output, type=_Result)
    story.agent(f"{result.result} ({result.num_turns} turns)")


def _claude_environment(url: str) -> dict[str, str]:
    """No login, no telemetry, no updates: the host talks only to the scripted model."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": FAKE_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }


def _show_continuation(story: DemoStory, text: str) -> None:
    """Show the continuation in a message to the model, without the text that the host puts around it."""
    _, found, rest = text.partition("Stop hook additional context: ")
    if found:
        story.told(rest.partition("</system-reminder>")[0].strip())


# --- OpenCode -----------------------------------------------------------------------------------------------

MODEL = "anthropic/claude-sonnet-4-5"
"""Any model that OpenCode knows: the scripted one answers in its place."""


async def play_opencode(story: DemoStory, scene: ScriptedScene) -> None:
    """Run `opencode run` once: the model claims success, is sent back, repairs the code, and may stop."""
    opencode = find_program("opencode", scene.environment, str(scene.project))
    if not opencode:
        story.trouble("opencode is not on PATH. Install it: npm install -g opencode-ai")
        return
    story.person(f'opencode run "{GOAL}"')
    story.agent(CLAIM)
    story.stops()
    with ScriptedModel(_model_rules(scene, ("read", "write", "bash"), "filePath")) as model:
        _install_plugin(scene, model.url)
        ended = await run_process(
            [opencode, "run", GOAL],
            cwd=str(scene.project),
            environment={**scene.environment, **_opencode_environment()},
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


def _install_plugin(scene: ScriptedScene, url: str) -> None:
    """Write the plugin and OpenCode's configuration into the home of the scene."""
    folder = plugin_folder.opencode_user_folder(scene.environment)
    runtime = (scene.home / ".local" / "state" / "supervisor" / "runtime").read_text(encoding="utf-8").strip()
    offers = plugin_file.InstallationInfo(command=runtime, version=__version__, verbs=())
    plugin_folder.write_stand_in(folder)
    plugin_folder.write_plugin_file(
        plugin_folder.plugin_file_path(folder), plugin_file.bake_plugin_from_root(plugin_root(), offers)
    )
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


def _opencode_environment() -> dict[str, str]:
    """No login, no updates, no downloads: the host talks only to the scripted model."""
    names = ("AUTOUPDATE", "LSP_DOWNLOAD", "MODELS_FETCH", "SHARE")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in names}
