"""The report of a run or a loop: what is done and how it stands, what was tried and changed, how to go on.

One Struct and one list of its parts serve the screen, Markdown and HTML; as JSON it is printed as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import FileDiff
from sidecar.kernel.journal import Task, TaskStatus
from sidecar.kernel.text import clean_line, counted, quote_as_code_block
from sidecar.kernel.work import Standing

SHOWN: Final = {
    Standing.PROVED: "by checks",
    Standing.JUDGED: "by a judge's word",
    Standing.NOT_JUDGED: "not judged",
}
DONE, OPEN, BLOCKED, HALTED, FAILED = STATES = ("done", "open", "blocked", "halted", "failed")
"""How a task stands: "blocked" waits for a task that is halted or failed, "halted" for a person."""
VERDICTS, MET, SPENT, GO_ON = "verdicts", "met", "spent", "go on"
TASK_LENGTH: Final = 200
"""Characters of what a task is, and of each thing that was tried for it."""
SUBJECT_LENGTH: Final = 72
"""Maximum characters of a commit's first line."""
MARKUP: Final = re.compile(r"[\\<\[*]")
"""Characters with which a text could be more than text in Markdown."""


class TaskReport(Struct, frozen=True, kw_only=True):
    """How a task stands, one of STATES. `why`: how it was shown, how far it came, or what it waits for.

    `commits` are those of its title. `tried`: what came of each attempt at it, where it is not done.
    """

    id: str
    content: str
    state: str
    why: str = ""
    commits: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """All of it. `kind` is the command, "run" or "loop"; `outcome` how it ended, or stands, and `why`.

    `seconds` are those that agents took. `cents` is None where a price is
    not known; `judge_cents` are counted apart in a run. `verdicts` say how each agent ended. `questions` wait
    for an answer, `met` are limits, waits and warnings. `files` and `commits` since the commit `since` are
    None where they are not known, `unmerged` are the session's branches. `go_on` are commands.
    """

    kind: str
    session: str
    outcome: str
    project: str = ""
    goal: str = ""
    why: str = ""
    seconds: float = 0.0
    tokens: int = 0
    cents: float | None = None
    judge_cents: float = 0.0
    tasks: tuple[TaskReport, ...] = ()
    verdicts: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    met: tuple[str, ...] = ()
    since: str = ""
    files: tuple[FileDiff, ...] | None = None
    commits: tuple[str, ...] | None = None
    unmerged: tuple[str, ...] = ()
    go_on: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which it is, and how it ended."""
        return f"{self.kind.capitalize()} {self.session}: {self.outcome}"


def commit_subject(task: str) -> str:
    """Return the first line of a commit that is made for a task."""
    return clean_line(task.partition("\n")[0], SUBJECT_LENGTH)


def report_tasks(
    tasks: Sequence[Task], tried: Mapping[str, Sequence[str]], commits: Sequence[str] | None
) -> tuple[TaskReport, ...]:
    """Return how each task stands. What was `tried` for it: by its id; its `commits`: by their title."""
    known = {task.id: task for task in tasks}
    made = [commit.partition(" ") for commit in commits or ()]
    return tuple(
        TaskReport(
            id=task.id,
            content=clean_line(task.content, TASK_LENGTH),
            state=state,
            why=", ".join(filter(None, why)),
            commits=tuple(name for name, _, title in made if title == commit_subject(task.content)),
            tried=tuple(tried.get(task.id, ())) if task.open else (),
        )
        for task in tasks
        for state, *why in [_stands(task, known)]
    )


def _stands(task: Task, known: Mapping[str, Task]) -> tuple[str, ...]:
    """Return its state, and why."""
    if not task.open:
        return DONE, SHOWN.get(task.shown, "") if task.shown else ""
    reports = counted(task.iteration, "report") if task.iteration else ""
    if task.status is TaskStatus.FAILED:
        return FAILED, reports and f"after {reports}"
    if task.status is TaskStatus.BLOCKED:
        return HALTED, reports and f"after {reports}", "waits for you"
    if task.status is TaskStatus.IN_PROGRESS:
        return OPEN, "begun", reports
    waits = [ident for ident in task.depends_on if ident in known and known[ident].open]
    stuck = any(_stands(known[ident], known)[0] != OPEN for ident in waits)
    return BLOCKED if stuck else OPEN, f"waits for {', '.join(waits)}" if waits else ""


def report_parts(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts that are not empty, each with its points; lines after the first are details."""
    yield from ((title, points) for title, points in _all_parts(report) if points)


def _all_parts(report: Report) -> Iterator[tuple[str, list[str]]]:
    for state in STATES:
        yield state, [_task_point(task) for task in report.tasks if task.state == state]
    yield "asks", list(report.questions)
    yield VERDICTS, list(report.verdicts)
    if files := report.files:
        added, removed = (sum(getattr(one, name) for one in files) for name in ("added", "removed"))
        total = f"{counted(len(files), 'file')} changed, {added} lines added, {removed} removed"
        yield "files", ["\n".join((total, *(f"{x.mark} {x.path} +{x.added} -{x.removed}" for x in files)))]
    if commits := report.commits:
        head = f"{counted(len(commits), 'commit')}: git log {report.since[:12]}..HEAD"
        yield "commits", ["\n".join((head, *commits))]
    yield "unmerged", [f"{branch}: git diff HEAD...{branch}" for branch in report.unmerged]
    yield MET, list(report.met)
    cents = "cost unknown" if report.cents is None else f"{report.cents:.2f} cents"
    judged = f", judging {report.judge_cents:.2f} cents" if report.judge_cents else ""
    took = f"; agents worked {report.seconds / 60:.0f} min" if report.seconds else ""
    yield SPENT, [f"{report.tokens:,} tokens, {cents}{judged}{took}"]
    yield GO_ON, list(report.go_on)


def _task_point(task: TaskReport) -> str:
    about = "; ".join(filter(None, (task.why, " ".join(task.commits))))
    return "\n".join((f"{task.id} {task.content}{about and f' ({about})'}", *task.tried))


def write_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    blocks = [f"# {report.title}", _as_text(report.goal), _as_text(report.why)]
    for title, points in report_parts(report):
        listed = "\n".join("- " + _as_text(point).replace("\n", "\n  - ") for point in points)
        commands = quote_as_code_block("\n".join(points)) if title == GO_ON else ""
        blocks += [f"## {title.capitalize()}", commands or listed]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _as_text(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", text)
