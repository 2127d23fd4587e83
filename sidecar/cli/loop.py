"""`supervisor loop`: lets agents work on tasks until the project's checks pass, and shows how it went."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import sys
from contextlib import closing
from typing import Any, Final

import click
from msgspec.structs import replace

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.history import print_event
from sidecar.cli.notices import NotifyingView
from sidecar.cli.options import JSON_LINES, LIMITS, MAX_CENTS, MAX_TOKENS, PROJECT, typed_options
from sidecar.cli.plan import find_plan, open_plan, plan_session, propose_to_person
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.progress import ProgressView, open_budget
from sidecar.cli.pull_request import open_pull_request
from sidecar.cli.report import REPORT_FILE, keep_told, print_report, report_form, summarize_loop, tell_report
from sidecar.cli.signals import INTERRUPTED_CODE, work_until_signal
from sidecar.hosts.shared import checked_session_id
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import ExitCode
from sidecar.kernel.journal import Journal, Task
from sidecar.kernel.log import EventFilter
from sidecar.kernel.loop import LOOP_HOST as HOST
from sidecar.kernel.loop import Loop, loop_command
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.text import clean_line
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices
from sidecar.servers.tools.loop_forms import LoopReport
from sidecar.systems.iteration.run_files import hold_run_lock
from sidecar.systems.taskloop.player import PlayEnd, PlayOutcome, PlayRequest
from sidecar.systems.taskloop.policy.plan import PlannedTask, fill_task
from sidecar.systems.taskloop.states import LOOP_KINDS
from sidecar.wiring.command_line import build_loop_player
from sidecar.wiring.platform import build_platform
from sidecar.work.progress import RunFinished, RunStarted, Tell
from sidecar.work.report import SHOWN, Report, write_markdown
from sidecar.workers.budget import Budget

EXIT_CODES: Final = {
    PlayOutcome.COMPLETED: 0,
    PlayOutcome.JUDGED: 4,
    PlayOutcome.FAILED: 1,
    PlayOutcome.HALTED: 2,
    PlayOutcome.STOPPED: 2,
}
TASK_OPTIONS: Final = ("criteria", "checks", "scope", "complexity")
"""Options that hold for each task which says nothing of its own."""
PLAYED_OPTIONS: Final = ("eco", "bug", "model", "jobs", "commit", "branch", "pr", *LIMITS)
"""Options of how tasks are played."""
MAX_JOBS: Final = 16
"""Most tasks at once."""
LINE_LENGTH: Final = 300
EVENTS_SHOWN: Final = 200
INTERRUPTED: Final = "interrupted"
"""The outcome where a signal ended it."""


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
@click.option("--check", "checks", multiple=True, metavar="COMMAND", help="It must pass. May be repeated.")
@click.option("--complexity", type=click.IntRange(0, 14), default=0, help="1 to 14, 0 to estimate it.")
@click.option("--scope", multiple=True, metavar="GLOB", help="What may be changed. May be repeated.")
@click.option("--eco", is_flag=True, help="Begin with the cheapest model, and escalate later.")
@click.option("--bug", is_flag=True, help="The tasks are bugs: agents for these come first.")
@click.option("--model", default="", help="This model's name, instead of the one that the loop chooses.")
@click.option("--jobs", type=click.IntRange(1, MAX_JOBS), help="Tasks at once, each in a git worktree.")
@click.option("--commit", is_flag=True, help="Each task is a commit. The same as --jobs 1.")
@click.option("--branch", default="", help="Work on this new branch, or go on with it. Commits.")
@click.option("--pr", is_flag=True, help="At the end push the --branch and open a pull request, with gh.")
@MAX_TOKENS
@MAX_CENTS
@click.option("--session", default="", help="Go on with this session, or call a new one so.")
@click.option("--accept", multiple=True, metavar="TASK", help="Take this held task as done: you looked.")
@click.option("--give-back", is_flag=True, help="Also go on with halted tasks: you looked at the finding.")
@click.option("--propose", is_flag=True, help="Let an agent write a plan for these wishes, and look at it.")
@click.option(
    "--output", default="", metavar="FILE", help="The plan to propose; else plan.md beside the wishes."
)
@click.option("--yes", is_flag=True, help="Take what would be asked about without asking.")
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end, and nothing else.")
@JSON_LINES
@REPORT_FILE
def run(  # noqa: PLR0913 - one parameter per option
    tasks: tuple[str, ...],
    *,
    eco: bool,
    bug: bool,
    jobs: int | None,
    commit: bool,
    pr: bool,
    session: str,
    project: str,
    as_json: bool,
    json_lines: bool,
    report: str | None,
    propose: bool,
    output: str,
    yes: bool,
    **wishes: Any,  # noqa: ANN401 - fields of PlannedTask and PlayRequest
) -> None:
    """Let agents work on TASKS, or on those of a plan (supervisor loop plan.md), in this project.

    An agent's word completes nothing: Supervisor runs the checks. What fails goes back, to stronger models,
    and to a council. Ctrl-C pauses; the same --session goes on, and gives failed tasks back.
    What a critical security finding halted goes on with --give-back alone.

    Exit codes: 0 completed, 1 failed, 2 halted or could not go on, 4 completed, but a task by a judge's word
    or judged by nobody, 130 interrupted.
    """
    refuse_agents()
    titles = tuple(dict.fromkeys(filter(None, map(str.strip, tasks))))
    _check_usage(something=bool(titles or session), branch=bool(wishes["branch"]) or not pr)
    if propose:
        sys.exit(propose_to_person(titles, output, project, wishes["model"], yes=yes))
    path, folders = find_plan(titles), user_paths()
    unnamed = plan_session(path, project) if path else f"loop-{secrets.token_hex(3)}"
    name = checked_session_id(session or unnamed)
    folders.prepare()
    typed, limits = ({option: wishes.pop(option) for option in kind} for kind in (TASK_OPTIONS, LIMITS))
    asked = PlayRequest(
        session=Session(key=SessionKey(HOST, name), project=project),
        environment=dict(os.environ),
        tasks=tuple(PlannedTask(title=title, done=False, **typed) for title in titles),
        plan=str(path.resolve()) if path else "",
        mode="eco" if eco else "normal",
        kind="bug" if bug else "implement",
        **wishes,
    )

    show = NotifyingView(project, as_json=as_json, json_lines=json_lines)
    platform = build_platform(folders.state)
    jobs = jobs or int(commit or bool(asked.branch)) or _jobs_before(platform, asked.session.key)
    with hold_run_lock(folders.run, name, HOST, "" if jobs else project), closing(show):
        for line in ChangeApplier(folders.state).roll_back():
            echo(f"{line}.", err=True)
        _check_project(platform, asked.session)
        plan = open_plan(path, platform, asked.session.key, show.tell, yes=yes) if path else None
        if plan:
            asked = replace(asked, tasks=tuple(fill_task(task, typed) for task in plan.tasks()), whole=True)
        goal, resumed = "; ".join(titles), platform.loops.load(asked.session.key) is not None
        show.tell(RunStarted(session=name, project=project, goal=goal, most=0, jobs=jobs, resumed=resumed))
        told = keep_told(platform, asked.session.key, project, show.tell)
        budget = open_budget(platform, told, **limits)
        end = asyncio.run(_play(asked, plan.tell if plan else show.tell, jobs, budget))
        if plan:
            plan.close()
        code = EXIT_CODES[end.outcome] if end else INTERRUPTED_CODE
        stopped = end is not None and end.outcome is PlayOutcome.STOPPED
        spent = budget.obstacle(0, platform.configuration.load()[0]) if stopped else None
        again = _command_again(titles[0] if path else "", name, spent.way if spent else ())
        summary = summarize_loop(platform, asked.session.key, name, again)
        outcome = "exhausted" if spent else end.outcome.value if end else INTERRUPTED
        _tell_end(show, outcome, end.message if end else "", code, summary)
        tell_report(summary, report, None if json_lines else show.tell)
        if as_json:
            words = "\n".join(filter(None, (end.message if end else "", *summary.go_on)))
            echo_json(_report(platform, asked.session.key, words))
        if pr and code in {0, ExitCode.JUDGED}:
            title, body = summary.tasks[0].content, write_markdown(summary)
            echo(open_pull_request(project, asked.branch, title, body, yes=yes), err=True)
    sys.exit(code)


def _command_again(plan: str, session: str, changed: tuple[tuple[str, str], ...]) -> str:
    """Return the command that goes on as it was typed. What is asked of a session's tasks is kept with it."""
    kept = (*PLAYED_OPTIONS, *(TASK_OPTIONS if plan else ()))
    words = ["supervisor loop", shlex.quote(plan)] if plan else [loop_command(session)]
    names = [option[0] for option in changed]
    options = (option for option in typed_options(only=kept) if option[0] not in names)
    return " ".join((*words, *map(shlex.join, (*options, *changed))))


def _tell_end(show: ProgressView, outcome: str, message: str, code: int, summary: Report) -> None:
    """Tell how it ended."""
    tokens, cents = summary.tokens, summary.cents
    show.tell(RunFinished(outcome=outcome, detail=message, exit_code=code, tokens=tokens, cents=cents))


def _check_usage(*, something: bool, branch: bool) -> None:
    if not something:
        raise click.UsageError('say what is to be done: supervisor loop "one task, in a sentence"')
    if not branch:
        raise click.UsageError("--pr needs the name of a branch: --branch NAME --pr")


async def _play(asked: PlayRequest, tell: Tell, jobs: int, budget: Budget) -> PlayEnd | None:
    """Return how it ended, None where a signal ended it."""
    player = await build_loop_player(asked, tell, CommandLineFiles(), jobs, budget)
    return await work_until_signal(player.play())


def _jobs_before(platform: PlatformServices, key: SessionKey) -> int:
    """Return 1 for a session whose tasks have worktrees already: it goes on there. Else 0."""
    journal = platform.journals.load(key) or Journal()
    return int(any(task.claim and task.open for task in journal.tasks))


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
        how = f"{SHOWN[task.shown]}, " if task.shown else ""
        about = f"{how}{task.agent or '-'}, {task.iteration} reports: {task.content}"
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


@loop.command()
@click.argument("session", default="")
@PROJECT
@report_form
def report(session: str, project: str, form: str | None) -> None:
    """Sum up a loop: what is done and how that was shown, what is not, what changed, how to go on."""
    platform = build_platform(user_paths().state)
    key = _find_session(platform, session, project)
    again = loop_command(key.id) if key.host == HOST else ""
    print_report(summarize_loop(platform, key, _shown_name(key), again), form)


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


def _shown_name(key: SessionKey) -> str:
    return key.id if key.host == HOST else f"{key.host}:{key.id}"


def _report(platform: PlatformServices, key: SessionKey, message: str = "") -> LoopShown:
    at = platform.loops.load(key) or Loop(key=key)
    tasks = (platform.journals.load(key) or Journal()).tasks
    return LoopShown(**at.overview(), session=_shown_name(key), tasks=tasks, message=message or at.end_reason)
