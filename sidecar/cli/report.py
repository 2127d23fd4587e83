"""`run report`, `run log` and `loop report`: what the log, the journal and git know of a run or a loop."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Raw, json
from msgspec.structs import asdict, replace

from sidecar.cli.options import PROJECT
from sidecar.cli.printing import echo, echo_json_text, in_shell, local_time
from sidecar.cli.progress import LABEL_WIDTH, format_duration, progress_lines
from sidecar.cli.team_orders import joined_membership
from sidecar.evidence.diffs import build_file_diffs
from sidecar.evidence.tree.work_tree import find_work_tree
from sidecar.hosts.shared import checked_session_id
from sidecar.kernel import log as events_log
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.goal import Goal
from sidecar.kernel.journal import Journal, NoteKind
from sidecar.kernel.log import EventFilter, LoggedEvent, RunIterationBegan, RunIterationEnded, RunTold
from sidecar.kernel.loop import GateVerdict, Loop
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import clean_line
from sidecar.platform.files import write_whole
from sidecar.platform.git import UnseenError, decode_git_text
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import EventLog
from sidecar.platform.services import PlatformServices, note_event
from sidecar.platform.team.membership import open_team
from sidecar.platform.team.ports import TeamTask, TeamTaskState
from sidecar.platform.team.store import TeamStore
from sidecar.platform.worktrees import PREFIX
from sidecar.servers.page.markup import FOLDER, Html, fill, fill_each
from sidecar.systems.iteration.policy.team import team_task_session
from sidecar.systems.taskloop.states import LOOP_KINDS
from sidecar.wiring.platform import build_platform, build_workspace
from sidecar.work import progress
from sidecar.work import report as parts
from sidecar.work.report import Report, TaskReport

KINDS: Final = tuple(events_log.event_kind(kind) for kind in (RunIterationBegan, RunIterationEnded, RunTold))
EVENTS_READ: Final = 2_000
"""Newest events that are read: those of some hundred iterations."""
LINE_LENGTH: Final = 300
TEAM_STATES: Final = {
    TeamTaskState.MERGED: parts.DONE,
    TeamTaskState.DROPPED: parts.DONE,
    TeamTaskState.HELD: parts.HALTED,
}
UNENDED: Final = "at work, or its run was killed"
REPORT_FILE: Final = click.option(
    "--report",
    type=click.Path(dir_okay=False, resolve_path=True),
    help="Write a report to this file: HTML, JSON or Markdown by its ending.",
)


def report_form(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --md, --html and --json, which choose the form of a report."""
    for form in ("json", "html", "md"):
        command = click.option(f"--{form}", "form", flag_value=form, help="Print it in this form.")(command)
    return command


def print_report(report: Report, form: str | None) -> None:
    """Print a report, for a person where no form is named."""
    text = format_report(report, form or "text").rstrip()
    echo_json_text(text) if form == "json" else echo(text)


def tell_report(report: Report, file: str | None, tell: progress.Tell | None) -> None:
    """Tell a report in short, each point in a line, without what the screen has shown already.

    It is written to the `file`, whose ending says the form. Raises OSError.
    """
    if file:
        write_whole(Path(file), format_report(report, Path(file).suffix.removeprefix(".")).encode())
    for title, points in parts.report_parts(report):
        if tell and title not in (parts.VERDICTS, parts.MET, parts.SPENT):
            tell(progress.Step(kind=title, text="\n".join(point.partition("\n")[0] for point in points)))


def format_report(report: Report, form: str) -> str:
    """Return the report as "json", "html", "text", or Markdown."""
    if form == "json":
        return json.format(json.encode(report)).decode()
    forms = {"html": _format_page, "text": _format_text}
    return in_shell(forms.get(form, parts.write_markdown)(report))


def _format_text(report: Report) -> str:
    lines = [*filter(None, (report.title, report.why, report.goal and f"goal: {report.goal}"))]
    for title, points in parts.report_parts(report):
        first, *more = _lines(points)
        lines += [f"{title:<{LABEL_WIDTH}} {first}", *(f"{'':<{LABEL_WIDTH}} {line}" for line in more)]
    return "\n".join(lines)


def _format_page(report: Report) -> str:
    """Return one page of HTML that runs no script and loads nothing."""
    style, sections = Html((FOLDER / "page.css").read_text(encoding="utf-8")), ""
    for title, points in parts.report_parts(report):
        lines = fill_each("report-point", ({"text": line} for line in _lines(points)))
        sections += fill("report-part", title=title, points=lines)
    about = {"title": report.title, "goal": report.goal, "why": report.why}
    return fill("report", **about, style=style, parts=Html(sections))


def _lines(points: Sequence[str]) -> list[str]:
    """Return the points line by line, with a mark before their details."""
    return "\n".join(point.replace("\n", "\n- ") for point in points).split("\n")


def with_changes(report: Report, began: FileBaseline, session: str) -> Report:
    """Return a report with what changed in its project since the session's baseline."""
    return asyncio.run(_with_changes(report, began, f"{PREFIX}/{session}/"))


async def _with_changes(report: Report, began: FileBaseline, branches: str) -> Report:
    workspace, environment, project = build_workspace(user_paths().state), dict(os.environ), report.project
    if began.snapshot:
        changes = await workspace.since(began, project, environment)
        files = tuple(replace(one, hunks="") for one in build_file_diffs(changes))
        report = replace(report, files=files, since=began.head)
    try:
        if (found := await find_work_tree(project, environment)) is None:
            return report
        git = found.git
        refs = await git.told(
            "for-each-ref", "--no-merged=HEAD", "--format=%(refname:short)", f"refs/heads/{branches}"
        )
        since = f"{began.head}..HEAD" if began.head else "HEAD"
        commits = await git.told("log", "--reverse", "--no-merges", "--format=%h %s", since)
    except (UnseenError, OSError, ValueError):
        return report  # nothing is known of git
    made, kept = (tuple(decode_git_text(said).splitlines()) for said in (commits, refs))
    return replace(report, commits=made, unmerged=kept)


# --- of a run -----------------------------------------------------------------------------------------------


Turn = progress.RunStarted | progress.AgentEnded | progress.RunFinished
Met = progress.RunWarning | progress.Limited | progress.BudgetUsed
Kept = Turn | Met
"""What a report needs of that which a run told."""


def keep_told(
    platform: PlatformServices, key: SessionKey, project: str, then: Callable[[progress.Progress], None]
) -> Callable[[progress.Progress], None]:
    """Return what keeps in the log what a session's report needs, and tells `then` all of it."""
    mask = platform.secrets.masker(os.environ)

    def tell(what: progress.Progress) -> None:
        then(what)
        if isinstance(what, Kept):
            texts = {name: mask(value) for name, value in asdict(what).items() if isinstance(value, str)}
            if isinstance(what, progress.AgentEnded):
                texts["said"] = ""  # its iteration's end has its words
            told = RunTold(told=Raw(json.encode(replace(what, **texts))))
            note_event(platform.log, platform.clock, "iteration", told, key, project)

    return tell


def _describe_met(told: Iterable[tuple[float, Kept]]) -> tuple[str, ...]:
    return tuple(
        clean_line(f"{local_time(at)} {label}: {text}", LINE_LENGTH)
        for at, what in told
        if isinstance(what, Met)
        for label, text in progress_lines(what)
    )


@click.command("report")
@click.argument("session", default="")
@PROJECT
@click.option("--team", "name", default="", help="Of this list of your team, from all machines.")
@report_form
def show_report(session: str, project: str, name: str, form: str | None) -> None:
    """Tell what a run did: tasks, verdicts, files, commits, cost, what waits for you, and how to go on."""
    if name:
        with closing(open_team(joined_membership())) as team:
            print_report(read_team_report(team, name), form)
        return
    platform = build_platform(user_paths().state)
    print_report(read_report(platform, find_run(platform.log, session, project)), form)


def read_team_report(team: TeamStore, name: str) -> Report:
    """Return the report of a team's list. Raises BadInputError where there is none, OSError."""
    if not (tasks := team.tasks(name)):
        raise BadInputError(f"there is no list {name}. Those that there are: supervisor team list")
    names = {one.id: one.name for one in team.machines()}
    ends = list[RunIterationEnded]()
    reports = tuple(_team_task(team, task, names, ends) for task in tasks)
    held = [task for task in tasks if task.state is TeamTaskState.HELD]
    cents = [one.cents for one in ends if one.cents is not None]
    return Report(
        kind="list",
        session=name,
        outcome=f"{sum(one.state == parts.DONE for one in reports)} of {len(tasks)} done",
        seconds=sum(one.seconds for one in ends),
        tokens=sum(one.tokens for one in ends),
        cents=sum(cents) if cents else None,
        tasks=reports,
        questions=tuple(f"{task.id} is held: {task.note}" for task in held),
        go_on=tuple(f"supervisor team give-back {name} {task.id}" for task in held),
    )


def _team_task(
    team: TeamStore, task: TeamTask, names: Mapping[str, str], ends: list[RunIterationEnded]
) -> TaskReport:
    """Return how a task of a team stands, with each agent that worked on it, whose ends are added."""
    tried, state = list[str](), TEAM_STATES.get(task.state, parts.OPEN)
    for attempt in range(1, task.attempts + 1):
        key = SessionKey(RUN_HOST, team_task_session(replace(task, attempts=attempt)))
        found = team.newest(EventFilter(session=key, kinds=KINDS), EVENTS_READ)
        events = [one.event for one in found]
        ends += (one.data for one in events if isinstance(one.data, RunIterationEnded))
        by = next((f"{one.person} on {names.get(one.machine, one.machine)}" for one in found), "")
        lines = (agent_line(at, end) for at, _, end in started_agents(events))
        tried += (f"attempt {attempt} by {by}: {line}" for line in lines)
    by = f"{task.person} on {names.get(task.machine, task.machine)}" if task.machine else ""
    return TaskReport(
        id=task.id,
        content=clean_line(task.content, parts.TASK_LENGTH),
        state=state,
        why=", ".join(filter(None, (by, task.note, task.branch))),
        tried=() if state == parts.DONE else tuple(tried),
    )


def read_report(platform: PlatformServices, name: str) -> Report:
    """Return the report of a session. Raises BadInputError where nothing is kept of it."""
    key = SessionKey(RUN_HOST, name)
    events = platform.log.newest(EventFilter(session=key, kinds=KINDS), EVENTS_READ)
    if not events:
        raise BadInputError(f"nothing is kept of a run {name}")
    session, journal = platform.store.load(key), platform.journals.load(key) or Journal()
    goal = (session and session.goal) or Goal(id="", condition="")
    told = list(read_told(events))
    ends = [what for _, what in told if isinstance(what, progress.AgentEnded)]
    cents = [one.cents for one in ends if one.cents is not None]
    turns = [what for _, what in told if isinstance(what, progress.RunStarted | progress.RunFinished)]
    last = turns[-1] if turns else None
    outcome, why = (last.outcome, last.detail) if isinstance(last, progress.RunFinished) else (UNENDED, "")
    closed, kind = journal.closed_at or 0.0, NoteKind.STUCK
    stuck = [f"{one.id} {one.content}" for one in journal.notes if one.kind is kind and one.at > closed]
    report = Report(
        kind=RUN_HOST,
        session=name,
        project=events[-1].project,
        goal=goal.condition,
        outcome=outcome,
        why=why,
        seconds=sum(one.seconds for one in ends),
        tokens=sum(one.tokens for one in ends),
        cents=sum(cents) if cents else None,
        judge_cents=goal.spent.judge_cents,
        verdicts=tuple(iteration_lines(events)),
        questions=(*([why] if outcome == "waiting" else ()), *stuck),
        met=_describe_met(told),
        go_on=(last.then,) if last and last.then else (),
    )
    tried = defaultdict[str, list[str]](list)
    if session:  # those of a team's list are in the sessions of its tasks
        report = with_changes(report, goal.base, name)
    for at, begun, end in started_agents(events):
        tried[begun.task].append(f"iteration {begun.iteration}: {agent_line(at, end)}")
    return replace(report, tasks=parts.report_tasks(journal.tasks, tried, report.commits))


def read_told(events: Iterable[LoggedEvent]) -> Iterator[tuple[float, Kept]]:
    """Yield what a run told that is kept, and when."""
    for event in events:
        if isinstance(event.data, RunTold):
            yield event.at, json.decode(event.data.told, type=Kept)


@click.command("log")
@click.argument("session", default="")
@click.argument("number", default=0)
def show_log(session: str, number: int) -> None:
    """Print the iterations of a run, or the prompt and the output of one."""
    log = build_platform(user_paths().state).log
    name = find_run(log, session, os.getcwd())  # noqa: PTH109 - as it was sent
    found = log.newest(EventFilter(session=SessionKey(RUN_HOST, name), kinds=KINDS), EVENTS_READ)
    lines = tuple(iteration_lines(found, number))
    if not lines:
        raise BadInputError(f"no iteration {number or ''} of the session {name} is kept")
    for line in lines if number else (f"session {name}", *lines):
        echo(line)


def find_run(log: EventLog, named: str, project: str) -> str:
    """Return the session's name, else that of the one that ran last in this project. Raises BadInputError."""
    if named:
        return checked_session_id(named.removeprefix(f"{RUN_HOST}:"))
    for event in log.newest(EventFilter(project=project, kinds=KINDS), 1):
        if event.session is not None:
            return event.session.id
    raise BadInputError(f"nothing was run in {project}. Example: supervisor run --help")


def iteration_lines(events: Sequence[LoggedEvent], number: int = 0) -> Iterator[str]:
    """Give a line for each agent that was started, or all that is kept of those with this number.

    Agents are numbered as on the screen: one that took the place of a killed one has its number.
    """
    for at, begun, end in started_agents(events):
        if number == begun.iteration:
            yield from _in_full(begun, at, end)
        elif not number:
            yield f"{begun.iteration} {agent_line(at, end)}"


def started_agents(
    events: Sequence[LoggedEvent],
) -> Iterator[tuple[float, RunIterationBegan, LoggedEvent | None]]:
    """Yield each agent that was started."""
    ends = {event.data.number: event for event in events if isinstance(event.data, RunIterationEnded)}
    for event in events:
        if isinstance(begun := event.data, RunIterationBegan):
            yield event.at, begun, ends.get(begun.number)


def agent_line(at: float, end: LoggedEvent | None) -> str:
    """Say how an agent ended, and when."""
    how = f"{local_time(end.at)}, {_ending(end)}" if end else f"{local_time(at)} {UNENDED}"
    return clean_line(in_shell(how), LINE_LENGTH)


def _in_full(begun: RunIterationBegan, at: float, end: LoggedEvent | None) -> Iterator[str]:
    yield f"iteration {begun.iteration} (of {begun.most} of its goal), {local_time(at)}"
    yield f"\n--- prompt ---\n{begun.prompt}"
    if end and isinstance(end.data, RunIterationEnded):
        yield f"\n--- output ---\n{end.data.output}\n\n--- end, {local_time(end.at)} ---\n{_ending(end)}"


def _ending(event: LoggedEvent) -> str:
    if not isinstance(ended := event.data, RunIterationEnded):
        return ""
    parts = (
        f"after {format_duration(ended.seconds)}",
        f"{ended.tokens:,} tokens" * bool(ended.tokens),
        "" if ended.cents is None else f"{ended.cents:.2f} cents",
        ended.trouble or (f"exit code {ended.exit_code}" if ended.exit_code else ""),
        ", ".join(ended.moved),
        f"{ended.decided}: {ended.detail}".removesuffix(": "),
    )
    return "; ".join(filter(None, parts))


# --- of a loop ----------------------------------------------------------------------------------------------


def summarize_loop(platform: PlatformServices, key: SessionKey, name: str, again: str) -> Report:
    """Sum a loop up. `again`: the command that goes on with it, "" where an agent does."""
    at, journal = platform.loops.load(key) or Loop(key=key), platform.journals.load(key) or Journal()
    events = platform.log.newest(EventFilter(session=key, kinds=(*LOOP_KINDS, *KINDS)), EVENTS_READ)
    report, tried = Report(kind="loop", session=name, outcome=at.status), defaultdict[str, list[str]](list)
    if events:
        report = with_changes(replace(report, project=events[-1].project), at.began, key.id)
    for event in events:
        if isinstance(done := event.data, events_log.LoopReportRuled):
            tried[done.task].append(_describe_report(done))
    tasks = parts.report_tasks(journal.tasks, tried, report.commits)
    return replace(
        report,
        goal=at.command,
        why=at.end_reason,
        tokens=at.input_tokens + at.output_tokens,
        cents=at.spent_cents,
        tasks=tasks,
        met=_describe_met(read_told(events)),
        go_on=ways_on(again, tasks) if again else (),
    )


def _describe_report(report: events_log.LoopReportRuled) -> str:
    gates = (gate for gate in report.gates if not gate.endswith(f": {GateVerdict.PASS}"))
    found = "; ".join((*gates, *report.missing, *(f"out of scope: {file}" for file in report.outside)))
    said = clean_line(f"{report.summary} → {found or report.action}", parts.TASK_LENGTH)
    return f"report {report.iteration} ({report.agent}, {report.tier}): {said}"


def ways_on(again: str, tasks: Sequence[TaskReport]) -> tuple[str, ...]:
    """Return the commands that go on. `again`: the loop's own."""
    halted = [task.id for task in tasks if task.state == parts.HALTED]
    ways = (f"{again} --give-back", *(f"{again} --accept {ident}" for ident in halted)) if halted else ()
    return (again, *ways) if any(task.state in (parts.OPEN, parts.FAILED) for task in tasks) else ways
