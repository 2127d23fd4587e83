"""`supervisor run`: starts an agent afresh again and again until its goal holds (docs/run.md)."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from msgspec.structs import replace

from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import ACCEPT_JUDGED_OPTION, accepted_code, call_sidecar, greet_sidecar
from sidecar.cli.notices import NotifyingView
from sidecar.cli.options import MAX_CENTS, MAX_TOKENS, typed_options
from sidecar.cli.printing import echo
from sidecar.cli.progress import ProgressView, RunBoard
from sidecar.cli.report import (
    REPORT_FILE,
    read_report,
    show_log,
    show_report,
    tell_report,
)
from sidecar.cli.run_crew import RunOptions, build_crew, play_list
from sidecar.cli.run_keys import RunKeys, typed_keys
from sidecar.cli.signals import INTERRUPTED_CODE, work_until_signal
from sidecar.hosts.shared import checked_session_id
from sidecar.kernel import runs
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.journal import Author, NoteKind
from sidecar.kernel.orders import parse_order
from sidecar.platform.client import SidecarError
from sidecar.platform.paths import Paths, project_digest, user_paths
from sidecar.platform.processes import find_program
from sidecar.platform.team.ports import LEASE_S
from sidecar.servers.tools.door import ToolOutcome, ToolRequest
from sidecar.systems.iteration import run_files
from sidecar.systems.iteration.loop import AgentLoop
from sidecar.systems.iteration.policy.loop import MAX_AGENTS
from sidecar.systems.iteration.ports import RunParticipants
from sidecar.systems.supervision.forgetting import ForgetRequest
from sidecar.wiring.platform import build_platform
from sidecar.work.merging import find_session_worktrees
from sidecar.work.progress import RunWarning

FOLLOW_S: Final = 1.0
"""Seconds between two looks at the session's status for the terminal."""
MAX_JOBS: Final = 100
"""Most agents at once."""
NO_LIMIT: Final = (525_600, 1_000_000_000_000)
"""The minutes, a year, and the tokens of a run without a limit."""
PROMPT_AS_SPEC: Final = "what the prompt asks for"
"""What a goal calls --prompt where no file names it."""
PERMISSION_MODES: Final = ("all", "edits", "none")
"""The values of `hosts.acp.link.PermissionLevel`."""


OTHERS: Final = {"log": show_log, "report": show_report}


class RunVerb(click.Command):
    """`run`, and what it is followed by that has options and arguments of its own."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:  # noqa: ANN401 - click's signature
        if args[:1] and (other := OTHERS.get(args[0])):
            return other.make_context(f"run {args[0]}", args[1:], *rest, **extra)
        return super().make_context(info_name, args, *rest, **extra)


@click.command(cls=RunVerb)
@click.option("--goal", default="", help="The condition. Without it the session's own goal goes on.")
@click.option("--check", "checks", multiple=True, help="A command that must pass. May be repeated.")
@click.option("--spec", type=click.Path(dir_okay=False), help="A file that says what is to be built.")
@click.option("--prompt", default="", help="What is to be done, in words instead of or besides a --spec.")
@click.option("--extra", default="", help="Text for every prompt, besides run.extra of the configuration.")
@click.option("--max-iterations", type=click.IntRange(1, MAX_AGENTS), help="Agents that may be started.")
@click.option("--max-minutes", type=click.IntRange(min=1), help="Minutes of work; else goal_max_seconds.")
@MAX_TOKENS
@MAX_CENTS
@click.option("--no-limit", is_flag=True, help="As many agents as a goal may have, and no other limit.")
@click.option("--reset", is_flag=True, help="Forget what is kept of the session, and begin anew.")
@click.option("--commit", is_flag=True, help="Commit what each iteration changed. Nothing is pushed.")
@click.option("--commit-mine", is_flag=True, help="First commit what you changed yourself.")
@click.option("--jobs", type=click.IntRange(1, MAX_JOBS), help="Agents at once, each in its own worktree.")
@click.option("--team", default="", metavar="LIST", help="Do the tasks of this list of your team.")
@click.option("--remote", default="origin", show_default=True, help="With --team: where the work is merged.")
@click.option("--lease", default=LEASE_S, type=click.IntRange(3, 3600), hidden=True)
@click.option("--session", default="", help="Go on with this session, or call a new one so.")
@click.option("--template", type=click.Path(dir_okay=False), help="Another prompt than the usual one.")
@ACCEPT_JUDGED_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each event.")
@REPORT_FILE
@click.option("--acp", is_flag=True, help="The agent speaks the Agent Client Protocol.")
@click.option(
    "--leave",
    type=click.Choice(PERMISSION_MODES),
    default="edits",
    show_default=True,
    help="What an agent with --acp may do that asks first.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(  # noqa: PLR0913 - one for each option
    *,
    goal: str,
    checks: tuple[str, ...],
    spec: str | None,
    prompt: str,
    max_iterations: int | None,
    max_minutes: int | None,
    max_tokens: int | None,
    no_limit: bool,
    jobs: int | None,
    team: str,
    commit_mine: bool,
    session: str,
    template: str | None,
    accept_judged: bool,
    as_json: bool,
    report: str | None,
    acp: bool,
    leave: str,
    command: tuple[str, ...],
    **wishes: Any,  # noqa: ANN401 - fields of RunOptions
) -> None:
    """Let an agent work in iterations until its goal holds.

    supervisor run --goal "all tests pass" --check "make test" -- claude -p

    Each iteration starts COMMAND afresh, with a prompt on its standard input (or where it says {prompt}), and
    is judged as any stop of an agent is. Ctrl-c ends it; the same --session goes on. `supervisor run init`
    writes the prompt's template into your configuration folder, `supervisor run log [SESSION] [NUMBER]` shows
    the iterations, and `supervisor run report [SESSION] [--md|--html|--json]` sums them up.

    Exit codes: 0 achieved, 1 not, 2 unverified, 3 no goal any more, 4 judged, 130 interrupted.
    """
    refuse_agents()
    folders = user_paths()
    if command == ("init",):
        written = run_files.write_template(folders)
        echo(f"Supervisor: every prompt of a run is made from {written} from now on.")
        return
    if no_limit and (max_iterations or max_minutes or max_tokens or wishes["max_cents"]):
        raise click.UsageError("--no-limit goes without other limits")
    if (jobs or team) and wishes["commit"]:
        raise click.UsageError("--jobs commits what it merges, and goes without --commit")
    if team and (goal or session or commit_mine or wishes["reset"]):
        raise click.UsageError("--team goes without --goal, --session, --commit-mine and --reset")
    asked = runs.RunRequest(
        session=checked_session_id(f"team-{team}" if team else session or f"run-{secrets.token_hex(3)}"),
        team=team,
        project=os.getcwd(),  # noqa: PTH109 - sent as text
        goal=_goal_terms(goal, checks, *(NO_LIMIT if no_limit else (max_minutes, max_tokens))),
        spec=Path(spec).name if spec else PROMPT_AS_SPEC if prompt else "",
        most=MAX_AGENTS if no_limit else max_iterations,
        jobs=jobs or int(bool(team)),
        options=tuple(typed_options(without=("session", "reset"))),
        agent=command,
    )
    if commit_mine:
        asyncio.run(run_files.IterationCommits(asked.project, os.environ).begin(mine=True))
    if not acp and not _program_exists(command[0], asked.project):
        raise BadInputError(f"there is no program {command[0]!r} on PATH. Example: -- claude -p")
    wish = RunOptions(
        asked=asked,
        command=command,
        spec="\n\n".join(filter(None, (prompt, run_files.read_text(Path(spec)) if spec else ""))),
        template=run_files.load_template(template, folders),
        leave=leave if acp else "",
        max_tokens=max_tokens,
        **wishes,
    )
    if jobs and not team:
        wish = replace(wish, worktrees=asyncio.run(find_session_worktrees(asked.project, asked.session)))
    greet_sidecar()
    show = NotifyingView(asked.project, json_lines=as_json)
    in_project = "" if asked.jobs else asked.project
    lock = f"{asked.session}-{project_digest(asked.project)}" if team else asked.session
    with run_files.hold_run_lock(folders.run, lock, project=in_project), closing(show):
        if wish.reset:
            _forget_session(asked.session)
        os.chdir(folders.run)  # the path of a socket has at most 108 bytes, so use it by its name
        if team:
            play = play_list(wish, folders, show, accept_judged=accept_judged)
        else:
            play = _run_to_end(wish, folders, show)
        code = asyncio.run(play)
        done = read_report(build_platform(folders.state), asked.session)
        tell_report(done, report, None if as_json else show.tell)
        sys.exit(accepted_code(code, accept_judged=accept_judged))


def _goal_terms(goal: str, checks: tuple[str, ...], minutes: int | None, tokens: int | None) -> GoalTerms:
    """Return the terms that the options name. Raises BadInputError where the condition holds options."""
    order = parse_order("goal", goal)
    written = order.goal or GoalTerms(condition="")
    if goal.strip() and order.word:
        raise BadInputError("a goal is a condition, and no command: details go into --spec")
    if order.fault or written != GoalTerms(condition=written.condition):
        why = order.fault or "--check and the like inside --goal are no words of a condition"
        raise BadInputError(f"{why}: type them as options of run")
    checks = tuple(filter(None, map(str.strip, checks)))
    return replace(written, checks=checks, max_seconds=minutes * 60 if minutes else None, max_tokens=tokens)


async def _run_to_end(wish: RunOptions, folders: Paths, show: ProgressView) -> int:
    """Run the loop and return the exit code; an interrupted run has told the sidecar, and tells the user."""
    crew = await build_crew(wish, folders, show)
    run = AgentLoop(crew, wish.asked)
    async with _steered(run, crew, wish.asked.session, show):
        end = await work_until_signal(run.run())
    if end is not None:
        return end.exit_code
    crew.tell(replace(run.interrupted(), exit_code=INTERRUPTED_CODE))
    return INTERRUPTED_CODE


@asynccontextmanager
async def _steered(
    run: AgentLoop, crew: RunParticipants, session: str, show: ProgressView
) -> AsyncIterator[None]:
    """Let a person at a terminal watch and steer the run while the block lasts."""
    if show.board is None:
        yield
        return
    stop = partial(signal.raise_signal, signal.SIGINT)
    keys = RunKeys(
        run.pause, stop, partial(_write_down, session), lambda said: show.tell(RunWarning(text=said))
    )
    following = asyncio.create_task(_follow(crew, show.board))
    try:
        with typed_keys(keys.press) as typed:
            show.board.keys = keys.line if typed else str
            yield
    finally:
        following.cancel()
        await keys.finish()


async def _follow(crew: RunParticipants, board: RunBoard) -> None:
    """Keep the board's status new, until cancelled."""
    while True:
        with suppress(OSError, BadInputError):
            board.status = await crew.overseer.look()
        await crew.clock.pause(FOLLOW_S)


async def _write_down(session: str, tool: str, text: str) -> None:
    """Add a task or a note of the person's to the journal. Raises OSError, BadInputError."""
    kind = {"type": NoteKind.TIP.value} if tool == "note_add" else {}
    call = ToolRequest(
        name=tool,
        arguments={"content": text, **kind},
        session=f"{runs.RUN_HOST}:{session}",
        project="",
        author=Author.USER,
    )
    try:
        done = await asyncio.to_thread(call_sidecar, "tool", call, ToolOutcome)
    except SidecarError as error:
        raise BadInputError(str(error)) from error
    if done.refused:
        raise BadInputError(done.text)


def _forget_session(session: str) -> None:
    """Remove what is kept of a session. Raises SidecarError; one that is not known is forgotten already."""
    if call_sidecar("run_status", runs.RunStatusQuery(session=session), runs.RunStatus).project:
        call_sidecar("forget", ForgetRequest(session=f"{runs.RUN_HOST}:{session}"), str)


def _program_exists(name: str, project: str) -> bool:
    """Whether a shell in the project would find it. The user typed it, so it may be in the project."""
    return bool(find_program(name, os.environ, "")) or ("/" in name and Path(project, name).is_file())
