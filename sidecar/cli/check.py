"""`supervisor check`: judges what an agent just did here, where no host has Supervisor."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from sidecar.cli.change_log import sum_up_results
from sidecar.cli.check_change import FILE, ChangeOptions, change_options, run_change_check
from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.history import story_lines
from sidecar.cli.printing import echo, echo_json, in_shell
from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.recorded import newest_session, read_recorded
from sidecar.hosts.shared import HOST_ALIASES
from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import escape_unprintable
from sidecar.platform.installation import HostError
from sidecar.systems.supervision.checking import CheckResult, CheckWish, check_session
from sidecar.systems.supervision.policy.decision_story import Story

SHOWN_STEPS: Final = ("checks", "old checks on new code", "claims", "judge")
"""Steps of the story that fit a screen; --explain shows all."""
MARKS: Final = {
    CheckResult.CLEAR: "✔ nothing speaks against it",
    CheckResult.FOUND: "✗ not done",
    CheckResult.UNKNOWN: "? not known",
}
LEFT_OPEN: Final = "the checks pass; what they do not show stays open, and --ask lets the judge decide that"
HASH: Final = 10
"""Characters of a commit's name."""
NO_SESSION: Final = (
    "no host has recorded a session of {folder}. Go to the project's folder, or name a file: "
    "supervisor check TRANSCRIPT. Loops, runs and governed phases are checked as they go: supervisor explain"
)


class CheckReport(Struct, frozen=True, kw_only=True):
    """One check, for a script. `base` is the commit with which the files were compared, "" for none."""

    session: str
    project: str
    base: str
    guessed: bool
    result: str
    exit_code: int
    story: Story


class NothingToJudge(click.ClickException):
    """There is no session or file to judge, or it could not be judged."""

    exit_code = CheckResult.UNKNOWN


@click.command()
@click.argument("named", nargs=-1, metavar="[SESSION|TRANSCRIPT|FILE...]")
@click.option("--goal", default="", help="What should be done; else what the agent was asked for last.")
@click.option("--check", "checks", multiple=True, metavar="COMMAND", help="Run this, too. May be repeated.")
@click.option("--ask", is_flag=True, help="Let the judge's model decide what no check does. It may cost.")
@click.option("--explain", is_flag=True, help="Show every step.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@change_options
@click.option("--log", is_flag=True, help="Sum up results that were written with --base and --json: FILE...")
@click.option(
    "--by", type=click.Choice(["agent", "author"]), default="agent", help="For whom; else by agent."
)
@click.option("--picture", type=FILE, help="Draw the figures, too, as SVG.")
def check(  # noqa: PLR0913 - one parameter per option
    named: tuple[str, ...],
    *,
    goal: str,
    checks: tuple[str, ...],
    ask: bool,
    explain: bool,
    as_json: bool,
    log: bool,
    by: str,
    picture: Path | None,
    **change: Any,  # noqa: ANN401 - the fields of ChangeOptions
) -> None:
    """Judge what an agent just did in this folder, as Supervisor would have when it stopped.

    No host needs Supervisor for it: its own record of the newest session is read, or that of SESSION, or a
    TRANSCRIPT (a file of a host, or of `opencode export`). The project's checks are run now.
    With --base a change between commits is judged, as a pull request is, and no session is read;
    with --log the results of many are summed up.

    Exit codes: 0 nothing speaks against it, 1 it would have been sent back, 2 not known: also
    where there is no session.
    """
    if ask:
        refuse_agents()
    try:
        if log:
            return sum_up_results([Path(file) for file in named], by, picture, as_json=as_json)
        _refuse_without_log(*named[1:], *(["--picture FILE"] if picture else []))
        if any(change.values()):
            wish, options = CheckWish(goal=goal, checks=checks), ChangeOptions(**change)
            sys.exit(asyncio.run(run_change_check(options, wish, as_json=as_json)))
        found = _find("".join(named))
        report = asyncio.run(_checked(found, CheckWish(goal=goal, checks=checks), ask=ask))
    except (BadInputError, HostError, OSError) as error:
        raise NothingToJudge(in_shell(str(error))) from error
    if as_json:
        echo_json(report)
    else:
        for line in _lines(report, explain=explain):
            echo(in_shell(line))
    sys.exit(report.exit_code)


async def _checked(found: RecordedSession, wish: CheckWish, *, ask: bool) -> CheckReport:
    from sidecar.wiring.command_line import build_check, remember_start  # noqa: PLC0415 - help needs none of it

    environment = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="supervisor-check-", ignore_cleanup_errors=True) as scratch:
        services = build_check(found, Path(scratch), CommandLineFiles(), ask=ask)
        base, guessed = await remember_start(found, Path(scratch), environment)
        result, story = await check_session(services, found, base, environment, wish)
    return CheckReport(
        session=f"{found.key.host}:{found.key.id}",
        project=found.project,
        base=base.head,
        guessed=guessed,
        result=result.name.lower(),
        exit_code=result,
        story=story,
    )


def _refuse_without_log(*typed: str) -> None:
    if typed:
        raise BadInputError(f"{typed[0]}: this goes with --log only")


def _find(session: str) -> RecordedSession:
    """Return the session that is meant. Raises BadInputError, OSError."""
    path = Path(session)
    if path.is_file():
        return _read_file(path)
    if path.suffix or path.name != session:  # no id of a session looks so
        raise BadInputError(f"{session}: no such file")
    folder = str(Path.cwd().resolve())
    host, _, ident = session.rpartition(":")
    host = HOST_ALIASES.get(host, host)
    newest = newest_session(folder, os.environ, host, ident)
    if newest is None:
        raise BadInputError(NO_SESSION.format(folder=folder))
    return newest


def _read_file(path: Path) -> RecordedSession:
    found = read_recorded(path)
    if not Path(found.project).is_dir():
        raise BadInputError(
            f"{path}: its project {found.project or '(none is named)'} is not on this machine"
        )
    return found


def _lines(report: CheckReport, *, explain: bool) -> Iterator[str]:
    story = report.story
    guess = ", a guess: the reflog does not go back so far" if report.guessed else ""
    began = f"since {report.base[:HASH]}, checked out when it began{guess}"
    since = began if report.base else "with no commit to compare with"
    yield escape_unprintable(f"{report.session} in {report.project}, {since}")
    yield from story_lines(step for step in story.steps if explain or step.about in SHOWN_STEPS)
    stop = story.decision.stop
    clear = report.exit_code == CheckResult.CLEAR
    detail = LEFT_OPEN if clear and stop.decided != RestReason.ACHIEVED else stop.detail or story.summary
    yield escape_unprintable(f"{MARKS[CheckResult(report.exit_code)]}: {detail}")
