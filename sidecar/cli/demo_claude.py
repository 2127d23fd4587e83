"""The demo's story through the real Claude Code, whose model is scripted."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.markup import escape

from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import find, run
from sidecar.adapters.scripted.model_server import Match, Rule, ScriptedModel, ToolCall, call, say
from sidecar.adapters.scripted.project import REPAIRED, Scene

GOAL = "/supervisor:goal all tests pass"
FAKE_KEY = "sk-ant-fake"
DEADLINE_SECONDS = 180.0


class _Result(msgspec.Struct, frozen=True):
    result: str = ""
    num_turns: int = 0


async def play_claude(console: Console, scene: Scene) -> None:
    """One run of `claude -p`: the model claims success, is sent back, repairs, and may rest."""
    claude = find("claude", scene.environment, str(scene.project))
    if not claude:
        console.print("[red]claude is not on PATH.[/] Install it: npm install -g @anthropic-ai/claude-code")
        return
    console.print(f"[bold]you        >[/] claude -p {escape(GOAL)!r}")
    with ScriptedModel(_script(scene)) as model:
        environment = {
            **scene.environment,
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        }
        line = [claude, "--plugin-dir", str(plugin_root()), "-p", GOAL, "--output-format", "json"]
        line += ["--permission-mode", "bypassPermissions"]
        ended = await run(
            line, cwd=str(scene.project), environment=environment, seconds=DEADLINE_SECONDS, separate=True
        )
        for request in model.requests:
            for told in _continuations(request.last):
                console.print(f"[bold yellow]supervisor ⎿[/] {escape(told)}")
    if ended.exit_code != 0:
        console.print(
            f"[red]claude ended with {ended.exit_code}:[/] {escape(ended.errors.decode(errors='replace'))}"
        )
        return
    result = msgspec.json.decode(ended.output, type=_Result)
    console.print(f"[cyan]agent      ●[/] {escape(result.result)} [dim]({result.num_turns} turns)[/]")


def _script(scene: Scene) -> list[Rule]:
    agent = Match(has_tool="Bash")
    write = ToolCall("Write", {"file_path": str(scene.project / "shop.py"), "content": REPAIRED})
    look = ToolCall("Read", {"file_path": str(scene.project / "shop.py")})
    tests = ToolCall("Bash", {"command": "python -m pytest -q", "description": "Run the tests"})
    return [
        Rule(say("I looked at shop.py. Everything is in order, all tests pass. Done."), agent),
        Rule(call(look), agent),
        Rule(call(write), agent),
        Rule(call(tests), agent),
        Rule(say("total() now multiplies by the rate. I ran pytest: 2 passed."), agent),
    ]


def _continuations(text: str) -> list[str]:
    """The continuation in what the model was told, without the host's wrapping."""
    _, found, rest = text.partition("Stop hook additional context: ")
    return [rest.partition("</system-reminder>")[0].strip()] if found else []
