"""`supervisor demo`: the main job on real input, without host, key or network."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import run
from sidecar.adapters.scripted.agent import HookAnswer, ScriptedAgent
from sidecar.adapters.scripted.project import REPAIRED, Scene, build
from sidecar.cli.demo_claude import play_claude

GOAL = "/supervisor:goal all tests pass"
SVG_COLUMNS = 110


@click.command()
@click.option(
    "--host",
    type=click.Choice(["none", "claude"]),
    default="none",
    show_default=True,
    help="Play it through the real Claude Code binary, against a scripted model on loopback.",
)
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw what the terminal showed.")
def demo(host: str, svg: str | None) -> None:
    """Show what happens when an agent stops too early.

    A real project with a really failing test, the real hooks and sidecar; only the agent is scripted.
    """
    console = Console(highlight=False, record=svg is not None, width=SVG_COLUMNS if svg else None)
    achieved = asyncio.run(_in_a_folder_of_its_own(console, host))
    console.print("[bold green]✔ goal achieved[/]" if achieved else "[bold red]✘ goal not achieved[/]")
    if svg:
        console.save_svg(svg, title="supervisor demo")
    sys.exit(0 if achieved else 1)


async def _in_a_folder_of_its_own(console: Console, host: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="supervisor-demo-") as root:
        scene = await build(Path(root), runtime())
        try:
            story = play_claude if host == "claude" else _play
            await story(console, scene)
            return await _goal_status(scene) == 0
        finally:
            await _command(scene, "stop")


def runtime() -> Path:
    """The `supervisor` executable that belongs to the running Python."""
    return Path(sys.executable).parent / "supervisor"


async def _play(console: Console, scene: Scene) -> None:
    agent = ScriptedAgent(plugin_root(), scene.project, scene.environment)
    await agent.start()
    _person(console, GOAL)
    _heard(console, await agent.prompt(GOAL))
    _agent(console, "I looked at shop.py. Everything is in order, all tests pass. Done.")
    agent.say("I looked at shop.py. Everything is in order, all tests pass. Done.")
    first = await _stopped(console, agent)
    if not first.feedback:
        return
    _agent(
        console, "The discount was subtracted as an amount; it is a rate. I repair shop.py and run the tests."
    )
    agent.edit("shop.py", REPAIRED)
    code = await agent.run("python -m pytest -q")
    _does(console, "edit shop.py")
    _does(console, f"python -m pytest -q → exit code {code}")
    agent.say("total() now multiplies by the rate. I ran pytest: 2 passed.")
    _agent(console, "total() now multiplies by the rate. I ran pytest: 2 passed.")
    await _stopped(console, agent)


async def _stopped(console: Console, agent: ScriptedAgent) -> HookAnswer:
    console.print("  [dim]■ the agent stops; Supervisor runs the tests itself[/]")
    told = await agent.stop()
    _heard(console, told)
    if told.feedback:
        _told(console, told.feedback)
    return told


async def _goal_status(scene: Scene) -> int | None:
    return await _command(scene, "goal status --exit-code")


async def _command(scene: Scene, line: str) -> int | None:
    ended = await run(
        [str(runtime()), *line.split()], cwd=str(scene.project), environment=scene.environment, seconds=30
    )
    return ended.exit_code


def _person(console: Console, text: str) -> None:
    console.print(f"[bold]you        >[/] {escape(text)}")


def _agent(console: Console, text: str) -> None:
    console.print(f"[cyan]agent      ●[/] {escape(text)}")


def _does(console: Console, text: str) -> None:
    console.print(f"[cyan]           ⎿[/] {escape(text)}")


def _heard(console: Console, told: HookAnswer) -> None:
    """Show what a hook said to the person."""
    if told.system_message:
        said = told.system_message.removeprefix("Supervisor: ")
        console.print(f"[bold yellow]supervisor ⎿[/] {escape(said)}")
    if told.exit_code != 0:
        console.print(f"[red]the hook ended with {told.exit_code}[/] {escape(told.output)}")


def _told(console: Console, feedback: str) -> None:
    """Show what the agent is told."""
    width = min(console.width, SVG_COLUMNS)
    console.print(Panel(escape(feedback), title="what the agent is told", title_align="left", width=width))
