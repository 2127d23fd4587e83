"""`supervisor demo`: shows the main use on real input, without host, API key or network."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from sidecar.cli.demo_hosts import play_claude, play_opencode
from sidecar.cli.demo_story import CLAIM, DIAGNOSIS, GOAL, REPORT, SHORTCUT, TESTS, DemoStory
from sidecar.cli.hosts import CLAUDE_CODE, OPENCODE, HostChoice
from sidecar.cli.printing import echo
from sidecar.cli.scripted.agent import HookAnswer, ScriptedAgent
from sidecar.cli.scripted.project import (
    REPAIRED_SOURCE,
    SKIPPED_TEST_SOURCE,
    TEST_SOURCE,
    ScriptedScene,
    build_shop_project,
)
from sidecar.platform.installation import plugin_root
from sidecar.platform.processes import run_process

COMMAND_SECONDS = 60.0
NEXT = (
    "Next, in a project of yours: supervisor install claude-code (or opencode). It says what to type there."
)


@click.command()
@click.option(
    "--host",
    type=HostChoice(["none", CLAUDE_CODE, OPENCODE]),
    default="none",
    show_default=True,
    help="Play it through the real host, against a scripted model on loopback.",
)
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw what the terminal showed.")
def demo(host: str, svg: str | None) -> None:
    """Show what happens when an agent stops too early.

    A real project with a really failing test, the real hooks and sidecar; only the agent is scripted.
    """
    if svg and not Path(svg).absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {Path(svg).absolute().parent}", param_hint="--svg")
    story = DemoStory(record=svg is not None)
    achieved = asyncio.run(_play_in_temp_folder(story, host))
    story.ends(well=achieved)
    if svg:
        story.draw(svg)
    if achieved and host == "none":
        echo(NEXT)
    sys.exit(0 if achieved else 1)


async def _play_in_temp_folder(story: DemoStory, host: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="supervisor-demo-", ignore_cleanup_errors=True) as root:
        scene = await build_shop_project(Path(root), supervisor_executable())
        try:
            await PLAYS[host](story, scene)
            return await _run_supervisor(scene, "goal status --exit-code") == 0
        finally:
            await _run_supervisor(scene, "stop")


def supervisor_executable() -> Path:
    """The `supervisor` executable that belongs to the running Python."""
    return Path(sys.executable).parent / "supervisor"


async def _play_scripted_agent(story: DemoStory, scene: ScriptedScene) -> None:
    agent = ScriptedAgent(plugin_root(), scene.project, scene.environment)
    await agent.start()
    story.person(GOAL)
    _show_hook_answer(story, await agent.prompt(GOAL))
    _agent_says(story, agent, CLAIM)
    if not (await _agent_stops(story, agent)).feedback:
        return
    agent.edit("test_shop.py", SKIPPED_TEST_SOURCE)
    story.does("edit test_shop.py")
    _agent_says(story, agent, SHORTCUT)
    if not (await _agent_stops(story, agent)).feedback:
        return
    _agent_says(story, agent, DIAGNOSIS)
    agent.edit("test_shop.py", TEST_SOURCE)
    story.does("edit test_shop.py")
    agent.edit("shop.py", REPAIRED_SOURCE)
    story.does("edit shop.py")
    story.does(f"{TESTS} → exit code {await agent.run(TESTS)}")
    _agent_says(story, agent, REPORT)
    await _agent_stops(story, agent)


PLAYS = {"none": _play_scripted_agent, CLAUDE_CODE: play_claude, OPENCODE: play_opencode}


def _agent_says(story: DemoStory, agent: ScriptedAgent, text: str) -> None:
    story.agent(text)
    agent.say(text)


async def _agent_stops(story: DemoStory, agent: ScriptedAgent) -> HookAnswer:
    story.stops()
    answer = await agent.stop()
    _show_hook_answer(story, answer)
    if answer.feedback:
        story.told(answer.feedback)
    return answer


def _show_hook_answer(story: DemoStory, answer: HookAnswer) -> None:
    if answer.system_message:
        story.supervisor(answer.system_message)
    if answer.exit_code != 0:
        story.trouble(f"the hook ended with {answer.exit_code}: {answer.output}")


async def _run_supervisor(scene: ScriptedScene, line: str) -> int | None:
    ended = await run_process(
        [str(supervisor_executable()), *line.split()],
        cwd=str(scene.project),
        environment=scene.environment,
        seconds=COMMAND_SECONDS,
    )
    return ended.exit_code
