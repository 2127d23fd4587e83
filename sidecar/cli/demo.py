"""`supervisor demo`: the main job on real input, without host, key or network."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import run
from sidecar.adapters.scripted.agent import HookAnswer, ScriptedAgent
from sidecar.adapters.scripted.project import REPAIRED, SKIPPED, TEST, Scene, build
from sidecar.cli.demo_claude import play_claude
from sidecar.cli.demo_opencode import play_opencode
from sidecar.cli.story import CLAIM, DIAGNOSIS, GOAL, REPORT, SHORTCUT, TESTS, Story

COMMAND_SECONDS = 60.0


@click.command()
@click.option(
    "--host",
    type=click.Choice(["none", "claude", "opencode"]),
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
    story = Story(record=svg is not None)
    achieved = asyncio.run(_in_a_folder_of_its_own(story, host))
    story.ends(well=achieved)
    if svg:
        story.draw(svg)
    sys.exit(0 if achieved else 1)


async def _in_a_folder_of_its_own(story: Story, host: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="supervisor-demo-", ignore_cleanup_errors=True) as root:
        scene = await build(Path(root), runtime())
        try:
            await PLAYS[host](story, scene)
            return await _command(scene, "goal status --exit-code") == 0
        finally:
            await _command(scene, "stop")


def runtime() -> Path:
    """The `supervisor` executable that belongs to the running Python."""
    return Path(sys.executable).parent / "supervisor"


async def _play(story: Story, scene: Scene) -> None:
    agent = ScriptedAgent(plugin_root(), scene.project, scene.environment)
    await agent.start()
    story.person(GOAL)
    _heard(story, await agent.prompt(GOAL))
    _says(story, agent, CLAIM)
    if not (await _stops(story, agent)).feedback:
        return
    agent.edit("test_shop.py", SKIPPED)
    story.does("edit test_shop.py")
    _says(story, agent, SHORTCUT)
    if not (await _stops(story, agent)).feedback:
        return
    _says(story, agent, DIAGNOSIS)
    agent.edit("test_shop.py", TEST)
    story.does("edit test_shop.py")
    agent.edit("shop.py", REPAIRED)
    story.does("edit shop.py")
    story.does(f"{TESTS} → exit code {await agent.run(TESTS)}")
    _says(story, agent, REPORT)
    await _stops(story, agent)


PLAYS = {"none": _play, "claude": play_claude, "opencode": play_opencode}


def _says(story: Story, agent: ScriptedAgent, text: str) -> None:
    story.agent(text)
    agent.say(text)


async def _stops(story: Story, agent: ScriptedAgent) -> HookAnswer:
    story.stops()
    answer = await agent.stop()
    _heard(story, answer)
    if answer.feedback:
        story.told(answer.feedback)
    return answer


def _heard(story: Story, answer: HookAnswer) -> None:
    if answer.system_message:
        story.supervisor(answer.system_message)
    if answer.exit_code != 0:
        story.trouble(f"the hook ended with {answer.exit_code}: {answer.output}")


async def _command(scene: Scene, line: str) -> int | None:
    ended = await run(
        [str(runtime()), *line.split()],
        cwd=str(scene.project),
        environment=scene.environment,
        seconds=COMMAND_SECONDS,
    )
    return ended.exit_code
