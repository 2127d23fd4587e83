"""`supervisor demo`: shows the main use on real input, without host, API key or network."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

import click
from rich.markup import escape
from rich.panel import Panel

from sidecar.cli.demo_agent import (
    REPAIRED_SOURCE,
    SKIPPED_TEST_SOURCE,
    TEST_SOURCE,
    HookAnswer,
    ScriptedAgent,
    ScriptedScene,
    build_shop_project,
)
from sidecar.cli.printing import echo
from sidecar.cli.screen import Screen
from sidecar.platform.git import GET_GIT
from sidecar.platform.installation import plugin_root
from sidecar.platform.processes import find_program, run_process

WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
COLUMNS = 100
"""Width of the message panel, and of a recorded story, in columns."""

GOAL = "/supervisor:goal all tests pass"
CLAIM = "I looked at shop.py. Everything is in order, all tests pass. Done."
SHORTCUT = "That test is flaky. I skip it; now all tests pass."
DIAGNOSIS = "The test is right: the discount is a rate. I undo the skip and repair shop.py."
TESTS = "python3 -m unittest discover"
REPORT = "total() now multiplies by the rate. I ran the tests: both pass."


LINES = {
    "you": "[bold]you        >[/] {}",
    "agent": "[cyan]agent      ●[/] {}",
    "does": "           [cyan]└[/] {}",
    "stops": "           [dim]■ the agent stops; Supervisor runs the tests itself[/]",
    "supervisor": "[bold yellow]supervisor └[/] {}",
    "trouble": "[red]{}[/]",
    "achieved": "[bold green]✔ goal achieved[/]",
    "failed": "[bold red]✘ goal not achieved[/]",
}
"""How the lines of the story look."""


class DemoStory:
    """Prints the story on a terminal; as plain text elsewhere."""

    def __init__(self, *, record: bool) -> None:
        """`record`: keep the output for `draw`."""
        self._console = Screen(highlight=False, record=record, width=COLUMNS if record else None)

    def tell(self, who: str, text: str = "") -> None:
        """Print one of LINES."""
        self._console.print(LINES[who].format(escape(text)))

    def told(self, feedback: str) -> None:
        """Print the ends of Supervisor's message to the agent, so that the story fits a screen."""
        first, *between, last = feedback.split("\n\n") if "\n\n" in feedback else (feedback, "")
        shown = "\n".join(escape(part) for part in (first, "[...]" if between else "", last) if part)
        width = min(self._console.width, COLUMNS)
        panel = Panel(shown, title="what the agent is told", title_align="left", width=width)
        self._console.print(panel)

    def draw(self, path: str) -> None:
        """Write the output as an SVG that loads nothing from elsewhere. Raises OSError."""
        drawn = self._console.export_svg(title="supervisor demo", unique_id="demo")
        Path(path).write_text(WEB_FONT.sub("", drawn), encoding="utf-8")


COMMAND_SECONDS = 60.0
NEXT = "Next, in a project of yours: supervisor install HOST (--help names them). It says what to type there."


@click.command()
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw what the terminal showed.")
def demo(svg: str | None) -> None:
    """Show what happens when an agent stops too early.

    A real project with a really failing test, the real hooks and sidecar; only the agent is scripted.
    """
    if svg and not Path(svg).absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {Path(svg).absolute().parent}", param_hint="--svg")
    if not find_program("git", os.environ, str(Path.cwd())):
        raise click.ClickException(f"the demo needs git, which is not on PATH\n  - {GET_GIT}")
    story = DemoStory(record=svg is not None)
    achieved = asyncio.run(_play_in_temp_folder(story))
    story.tell("achieved" if achieved else "failed")
    if svg:
        story.draw(svg)
    if achieved:
        echo(NEXT)
    sys.exit(0 if achieved else 1)


async def _play_in_temp_folder(story: DemoStory) -> bool:
    with tempfile.TemporaryDirectory(prefix="supervisor-demo-", ignore_cleanup_errors=True) as root:
        scene = await build_shop_project(Path(root), supervisor_executable())
        try:
            await _play_scripted_agent(story, scene)
            return await _run_supervisor(scene, "goal status --exit-code") == 0
        finally:
            await _run_supervisor(scene, "stop")


def supervisor_executable() -> Path:
    """The `supervisor` executable that belongs to the running Python."""
    return Path(sys.executable).parent / "supervisor"


async def _play_scripted_agent(story: DemoStory, scene: ScriptedScene) -> None:
    agent = ScriptedAgent(plugin_root(), scene.project, scene.environment)
    await agent.start()
    story.tell("you", GOAL)
    _show_hook_answer(story, await agent.prompt(GOAL))
    _agent_says(story, agent, CLAIM)
    if not (await _agent_stops(story, agent)).feedback:
        return
    agent.edit("test_shop.py", SKIPPED_TEST_SOURCE)
    story.tell("does", "edit test_shop.py")
    _agent_says(story, agent, SHORTCUT)
    if not (await _agent_stops(story, agent)).feedback:
        return
    _agent_says(story, agent, DIAGNOSIS)
    agent.edit("test_shop.py", TEST_SOURCE)
    story.tell("does", "edit test_shop.py")
    agent.edit("shop.py", REPAIRED_SOURCE)
    story.tell("does", "edit shop.py")
    story.tell("does", f"{TESTS} → exit code {await agent.run(TESTS)}")
    _agent_says(story, agent, REPORT)
    await _agent_stops(story, agent)


def _agent_says(story: DemoStory, agent: ScriptedAgent, text: str) -> None:
    story.tell("agent", text)
    agent.say(text)


async def _agent_stops(story: DemoStory, agent: ScriptedAgent) -> HookAnswer:
    story.tell("stops")
    answer = await agent.stop()
    _show_hook_answer(story, answer)
    if answer.feedback:
        story.told(answer.feedback)
    return answer


def _show_hook_answer(story: DemoStory, answer: HookAnswer) -> None:
    if answer.system_message:
        story.tell("supervisor", answer.system_message.removeprefix("Supervisor: "))
    if answer.exit_code != 0:
        story.tell("trouble", f"the hook ended with {answer.exit_code}: {answer.output}")


async def _run_supervisor(scene: ScriptedScene, line: str) -> int | None:
    ended = await run_process(
        [str(supervisor_executable()), *line.split()],
        cwd=str(scene.project),
        environment=scene.environment,
        seconds=COMMAND_SECONDS,
    )
    return ended.exit_code
