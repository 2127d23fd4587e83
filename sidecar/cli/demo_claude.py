"""The demo's story through the real Claude Code, whose model is scripted."""

from __future__ import annotations

import msgspec

from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import find, run
from sidecar.adapters.scripted.model_server import Match, Rule, ScriptedModel, ToolCall, call, say
from sidecar.adapters.scripted.project import REPAIRED, SKIPPED, TEST, Scene
from sidecar.cli.story import CLAIM, GOAL, REPORT, SHORTCUT, TESTS, Story

FAKE_KEY = "sk-ant-fake"
DEADLINE_SECONDS = 180.0


class _Result(msgspec.Struct, frozen=True):
    result: str = ""
    num_turns: int = 0


async def play_claude(story: Story, scene: Scene) -> None:
    """One run of `claude -p`: the model claims success, is sent back, repairs, and may rest."""
    claude = find("claude", scene.environment, str(scene.project))
    if not claude:
        story.trouble("claude is not on PATH. Install it: npm install -g @anthropic-ai/claude-code")
        return
    story.person(f'claude -p "{GOAL}"')
    story.agent(CLAIM)
    story.stops()
    with ScriptedModel(_script(scene)) as model:
        line = [claude, "--plugin-dir", str(plugin_root()), "-p", GOAL, "--output-format", "json"]
        ended = await run(
            [*line, "--permission-mode", "bypassPermissions"],
            cwd=str(scene.project),
            environment={**scene.environment, **_clean_room(model.url)},
            seconds=DEADLINE_SECONDS,
            separate=True,
        )
        for request in model.requests:
            _tell(story, request.last)
    if ended.exit_code != 0:
        story.trouble(f"claude ended with {ended.exit_code}: {ended.errors.decode(errors='replace')}")
        return
    result = msgspec.json.decode(ended.output, type=_Result)
    story.agent(f"{result.result} ({result.num_turns} turns)")


def _clean_room(url: str) -> dict[str, str]:
    """No login, no telemetry, no updates: the host talks to the scripted model and to nobody else."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": FAKE_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }


def _script(scene: Scene) -> list[Rule]:
    agent = Match(has_tool="Bash")
    shop, test = str(scene.project / "shop.py"), str(scene.project / "test_shop.py")
    return [
        Rule(say(CLAIM), agent),
        Rule(call(ToolCall("Read", {"file_path": test})), agent),
        Rule(call(ToolCall("Write", {"file_path": test, "content": SKIPPED})), agent),
        Rule(say(SHORTCUT), agent),
        Rule(call(ToolCall("Write", {"file_path": test, "content": TEST})), agent),
        Rule(call(ToolCall("Read", {"file_path": shop})), agent),
        Rule(call(ToolCall("Write", {"file_path": shop, "content": REPAIRED})), agent),
        Rule(call(ToolCall("Bash", {"command": TESTS, "description": "Run the tests"})), agent),
        Rule(say(REPORT), agent),
    ]


def _tell(story: Story, text: str) -> None:
    """Show the continuation in what the model was told, without the host's wrapping."""
    _, found, rest = text.partition("Stop hook additional context: ")
    if found:
        story.told(rest.partition("</system-reminder>")[0].strip())
