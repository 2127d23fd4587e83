"""`supervisor loop`: lets agents work on tasks until the project's checks pass, and shows how it went."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from typing import Any, Final

import click

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.history import print_event
from sidecar.cli.options import PROJECT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.signals import INTERRUPTED_CODE, work_until_signal
from sidecar.hosts.shared import checked_session_id
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal, Task
from sidecar.kernel.log import EventFilter
from sidecar.kernel.loop import Loop
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.text import clean_line
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices
from sidecar.servers.tools.loop_forms import LoopReport
from sidecar.systems.iteration.run_files import hold_run_lock
from sidecar.systems.taskloop.player import PlayEnd, PlayOutcome, PlayRequest, Tell
from sidecar.systems.taskloop.states import LOOP_KINDS
from sidecar.wiring.command_line import build_loop_player
from sidecar.wiring.platform import build_platform

HOST: Final = "loop"
"""The host of the sessions that are played here."""
EXIT_CODES: Final = {
    PlayOutcome.COMPLETED: 0,
    PlayOutcome.FAILED: 1,
    PlayOutcome.HALTED: 2,
    PlayOutcome.STOPPED: 2,
}
LABEL_WIDTH: Final = 9
LINE_LENGTH: Final = 300
EVENTS_SHOWN: Final = 200


class LoopShown(LoopReport, frozen=True, kw_only=True):
    """Where a loop stands, with its tasks. `message` says why it ended."""

    session: str
    tasks: tuple[Task, ...]
    message: str


class DefaultRun(click.Group):
    """A group in which what is no command is a task: `loop "task"` is `loop run "task"`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, ["run", *args] if args and args[0] not in known else args)


SESSION: Final = click.option(
    "--session", default="", help="A session's name, or HOST:ID; else the newest here."
)


@click.group(cls=DefaultRun)
def loop() -> None:
    """Let agents work on tasks until the project's checks pass: supervisor loop "add a --json option".

    It is the same as `supervisor loop run`; see there.
    """


@loop.command()
@click.argument("tasks", nargs=-1)
@click.option("--done-when", "criteria", multiple=True, help="When a task is done. May be repeated.")
@click.option("--scope", multiple=True, metavar="GLOB", help="What may be changed. May be repeated.")
@click.option("--eco", is_flag=True, help="Begin with the cheapest model, and escalate later.")
@click.option("--bug", is_flag=True, help="The tasks are bugs: agents for these come first.")
@click.option("--model", default="", help="This model's name, instead of the one that the loop chooses.")
@click.option("--session", default="", help="Go on with this session, or call a new one so.")
@click.option("--give-back", is_flag=True, help="Also go on with halted tasks: you looked at the finding.")
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end, and nothing else.")
def run(  # noqa: PLR0913 - one parameter per option
    tasks: tuple[str, ...],
    *,
    eco: bool,
    bug: bool,
    session: str,
    project: str,
    as_json: bool,
    **wishes: Any,  # noqa: ANN401 - fields of PlayRequest
) -> None:
    """Let agents work on TASKS, one after the other, in this project.

    An agent's word completes nothing: Supervisor runs the checks. What fails goes back, to stronger models,
    and to a council. Ctrl-C pauses; the same --session goes on, and gives failed tasks back.
    What a critical security finding halted goes on with --give-back alone.

    Exit codes: 0 completed, 1 failed, 2 halted or could not go on, 130 interrupted.
    """
    refuse_agents()
    tasks = tuple(filter(None, map(str.strip, tasks)))
    if not tasks and not session:
        raise click.UsageError('say what is to be done: supervisor loop "one task, in a sentence"')
    name, folders = checked_session_id(session or f"loop-{secrets.token_hex(3)}"), user_paths()
    folders.prepare()
    asked = PlayRequest(
        session=Session(key=SessionKey(HOST, name), project=project),
        environment=dict(os.environ),
        tasks=tasks,
        mode="eco" if eco else "normal",
        kind="bug" if bug else "implement",
        **wishes,
    )

    def tell(step: str, line: str) -> None:
        if not as_json:
            echo(f"{step:<{LABEL_WIDTH}} {clean_line(line, LINE_LENGTH)}")

    with hold_run_lock(folders.run, name, HOST):
        platform = build_platform(folders.state)
        for line in ChangeApplier(folders.state).roll_back():
            echo(f"{line}.", err=True)
        _check_project(platform, asked.session)
        tell("session", name)
        end = asyncio.run(_play(asked, tell))
        message = end.message if end else f"interrupted; go on with it: supervisor loop --session {name}"
        if end and end.outcome is PlayOutcome.HALTED:
            message += f" Then: supervisor loop --session {name} --give-back"
        if as_json:
            echo_json(_report(platform, asked.session.key, message))
        elif not end or end.outcome is not PlayOutcome.COMPLETED:
            echo(message, err=True)
    sys.exit(EXIT_CODES[end.outcome] if end else INTERRUPTED_CODE)


async def _play(asked: PlayRequest, tell: Tell) -> PlayEnd | None:
    """Return how it ended, None where a signal ended it."""
    return await work_until_signal((await build_loop_player(asked, tell, CommandLineFiles())).play())


def _check_project(platform: PlatformServices, session: Session) -> None:
    """Raise BadInputError where the session is of another project."""
    for event in platform.log.newest(EventFilter(session=session.key, kinds=LOOP_KINDS), 1):
        if event.project != session.project:
            raise BadInputError(f"session {session.key.id} is of {event.project}: go there, or take another")


# --- readings -----------------------------------------------------------------------------------------------


@loop.command()
@SESSION
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(session: str, project: str, *, as_json: bool) -> None:
    """Show where a loop stands."""
    platform = build_platform(user_paths().state)
    shown = _report(platform, _find_session(platform, session, project))
    if as_json:
        echo_json(shown)
        return
    at_work = f", {shown.task} at work on the tier {shown.tier}" if shown.task else ""
    echo(f"{shown.session}: {shown.status}{at_work}")
    for task in shown.tasks:
        about = f"{task.agent or '-'}, {task.iteration} reports: {task.content}"
        echo(f"{task.id:<4} {task.status:<11} {clean_line(about, LINE_LENGTH)}")
    cents = "cost unknown" if shown.spent_cents is None else f"{shown.spent_cents:.2f} cents"
    echo(f"{shown.input_tokens + shown.output_tokens:,} tokens, {cents}")
    if shown.message:
        echo(shown.message)


@loop.command()
@SESSION
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON.")
def history(session: str, project: str, *, as_json: bool) -> None:
    """Show what was done and decided in a loop, oldest first."""
    platform = build_platform(user_paths().state)
    key = _find_session(platform, session, project)
    for event in platform.log.newest(EventFilter(session=key, kinds=LOOP_KINDS), EVENTS_SHOWN):
        print_event(event, as_json=as_json)


def _find_session(platform: PlatformServices, named: str, project: str) -> SessionKey:
    """Return the named session, else the one of this project with the newest event. Raises BadInputError."""
    if named:
        host, _, ident = named.rpartition(":")
        key = SessionKey(host or HOST, checked_session_id(ident))
    else:
        newest = platform.log.newest(EventFilter(project=project, kinds=LOOP_KINDS), 1)
        if not newest or newest[0].session is None:
            raise BadInputError(f"no task loop was begun in {project}. Example: supervisor loop TASK")
        key = newest[0].session
    if platform.loops.load(key) is None:
        raise BadInputError(f"there is no task loop {key.host}:{key.id}")
    return key


def _report(platform: PlatformServices, key: SessionKey, message: str = "") -> LoopShown:
    at = platform.loops.load(key) or Loop(key=key)
    name = key.id if key.host == HOST else f"{key.host}:{key.id}"
    tasks = (platform.journals.load(key) or Journal()).tasks
    return LoopShown(**at.overview(), session=name, tasks=tasks, message=message or at.end_reason)
