"""`supervisor rubric replay`: judges the last stops of a project again by a rubric. Needs no sidecar."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from sidecar.cli.eval_report import clipped_cell, eval_progress, print_plain
from sidecar.cli.eval_run import RULES_BACKEND, confirm_model_cost, run_measurement
from sidecar.cli.gate_report import make_console
from sidecar.cli.goal import refuse_agents
from sidecar.cli.options import FOLDER_ARGUMENT
from sidecar.cli.printing import echo, echo_json, local_time
from sidecar.cli.screen import new_table
from sidecar.judging.asking import JudgeAccess
from sidecar.judging.ports import Judge
from sidecar.judging.replays import summarize_replays
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import RecordedStop, ReplayedStop
from sidecar.kernel.text import escape_unencodable, escape_unprintable
from sidecar.platform.log_readings import STOPS_PER_PROJECT, DailySpending, StopHistory
from sidecar.systems.supervision.replay import replay_stops as play

# --- The report: the schema of `--json`, and the terminal output --------------------------------------------


UNDECIDED_MARK: Final = "?"
"""Shown for an ending that only a model can decide."""
NEEDS_BACKEND: Final = "the judge would see other criteria: add --backend"


class ReplayReport(Struct, frozen=True, kw_only=True):
    """One replay.

    `rubric` is where the rubric was read from; `stops` are in order of time. `version` is raised when a field
    changes its meaning or is removed; fields may be added at any time.
    """

    version: int = 1
    project: str
    rubric: str
    stops: tuple[ReplayedStop, ...]
    problems: tuple[str, ...]
    summary: str
    exit_code: int


def replay_to_json(report: ReplayReport) -> Any:  # noqa: ANN401 - what JSON can say of it
    """Convert the report for JSON; each stop also has `changed`."""
    stops = [msgspec.structs.asdict(one) | {"changed": one.changed} for one in report.stops]
    return msgspec.structs.asdict(report) | {"stops": stops}


def print_replay_report(screen: Console, report: ReplayReport) -> None:
    """Print every stop, the problems, and a line with the totals."""
    print_plain(screen, f"rubric: {report.rubric}")
    if report.stops:
        shown = new_table("when", "session", "ended then", "ends now", "why")
        for one in report.stops:
            shown.add_row(
                format_local_time(one.at),
                clipped_cell(one.session),
                one.before,
                _ending_cell(one),
                clipped_cell(_explain_ending(one)),
            )
        screen.print(shown)
    for problem in report.problems:
        echo(f"supervisor: {problem}", err=True)
    print_plain(screen, report.summary)


def format_local_time(at: float) -> str:
    """A time, in seconds since the epoch, in the local time zone."""
    return local_time(at, "%Y-%m-%d %H:%M")


def _ending_cell(one: ReplayedStop) -> Text:
    if one.asks:
        return Text(UNDECIDED_MARK, style="yellow")
    return Text(one.now, style="red" if one.changed else "")


def _explain_ending(one: ReplayedStop) -> str:
    if one.failed:
        return f"no verdict: {one.failed}"
    return NEEDS_BACKEND if one.asks and one.other_case else one.detail


# --- The command --------------------------------------------------------------------------------------------


CHANGES_FOUND: Final = 1

ReplayBackend = Literal["rules", "claude-cli", "opencode", "anthropic", "openai", "auto"]


class ReplayOptions(Struct, frozen=True, kw_only=True):
    """The command line options."""

    folder: str
    rubric: Path | None = None
    last: int = STOPS_PER_PROJECT
    backend: ReplayBackend = RULES_BACKEND
    as_json: bool = False
    yes: bool = False


class ReplayServices(Struct, frozen=True, kw_only=True):
    """The services that a replay needs."""

    stop_history: StopHistory
    judge: Judge
    settings: Settings
    spending: DailySpending
    mask: SecretMask


def build_replay_services() -> ReplayServices:
    """The services of the current user."""
    from sidecar.wiring import supervision  # noqa: PLC0415 - a wrong usage and --help need no services

    services = supervision.build_services()
    settings, problems = services.configuration.load()
    for problem in problems:
        echo(f"supervisor: {escape_unprintable(problem)}", err=True)
    return ReplayServices(
        stop_history=services.stop_history,
        judge=services.judge,
        settings=settings,
        spending=services.spending,
        mask=services.secrets.masker(os.environ),
    )


@click.command(short_help="Play the last stops again under a rubric.")
@FOLDER_ARGUMENT
@click.option(
    "--rubric",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The rubric to try; else the file that serves FOLDER, as it is on disk now, held or not.",
)
@click.option(
    "--last",
    type=click.IntRange(1, STOPS_PER_PROJECT),
    default=STOPS_PER_PROJECT,
    show_default=True,
    help="So many stops at most, the newest.",
)
@click.option(
    "--backend",
    type=click.Choice(["rules", "claude-cli", "opencode", "anthropic", "openai", "auto"]),
    default=RULES_BACKEND,
    show_default=True,
    help="Who is asked where the judge would see another case; with rules nobody is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
@click.option("--yes", is_flag=True, help="Do not ask before a model is asked.")
def replay(**typed: Any) -> None:  # noqa: ANN401 - ReplayOptions
    """Play the last judged stops of FOLDER (else of the current folder) again, under a rubric.

    What was found out at each stop is kept on this machine and taken as it was. With --backend rules nobody
    is asked: the answer that the judge gave then is held against the rubric, and where that does not tell how
    the stop would end, it says so. Nothing is changed. Whoever else is asked may cost money, so an agent's
    shell is refused then.

    Exit codes: 0 nothing ends otherwise, 1 something does, 2 could not run, 130 interrupted.
    """
    if typed["backend"] != RULES_BACKEND:
        refuse_agents()
    sys.exit(run_measurement(lambda: execute_replay(build_replay_services(), ReplayOptions(**typed))))


async def execute_replay(doors: ReplayServices, wish: ReplayOptions) -> int:
    """Replay, print the report, and return the exit code. Raises BadInputError and click.Abort."""
    rubric = _rubric_to_try(wish)
    recalled = doors.stop_history.last(wish.folder, wish.last)
    if recalled.problems and not recalled.stops:
        raise BadInputError("; ".join(recalled.problems))
    asking = await _confirm_asking(doors, recalled.stops, rubric, wish)
    done = await _replay_stops(recalled.stops, rubric, asking, wish)
    report = ReplayReport(
        project=escape_unencodable(wish.folder),
        rubric=escape_unencodable(rubric.origin),
        stops=done,
        problems=recalled.problems,
        summary=summarize_replays(done),
        exit_code=CHANGES_FOUND if any(one.changed for one in done) else 0,
    )
    if wish.as_json:
        echo_json(replay_to_json(report))
    else:
        print_replay_report(make_console(), report)
    return report.exit_code


def _rubric_to_try(wish: ReplayOptions) -> Rubric:
    """The rubric to try. Raises BadInputError where its file is not valid; no other one is tried instead."""
    from sidecar.wiring import platform as build  # noqa: PLC0415 - see `real`

    return build.load_rubric_file(wish.rubric) if wish.rubric else build.load_project_rubric(wish.folder)


async def _confirm_asking(
    doors: ReplayServices, stops: Sequence[RecordedStop], rubric: Rubric, wish: ReplayOptions
) -> JudgeAccess | None:
    """The judge to ask, after the user agreed to the cost; None for rules alone. Raises BadInputError."""
    if wish.backend == RULES_BACKEND:
        return None
    settings = replace(doors.settings, judge=replace(doors.settings.judge, backend=wish.backend))
    chosen = doors.judge.chosen(os.environ, settings)
    if not chosen.backend:
        raise BadInputError(f"no judge can be asked: {chosen.why}")
    calls = sum(one.other_case for one in await play(stops, rubric))
    confirm_model_cost(f"{chosen.backend} ({chosen.why})", calls, yes=wish.yes)
    return JudgeAccess(
        judge=doors.judge,
        settings=settings,
        environment=os.environ,
        spending=doors.spending,
        mask=doors.mask,
    )


async def _replay_stops(
    stops: Sequence[RecordedStop], rubric: Rubric, asking: JudgeAccess | None, wish: ReplayOptions
) -> tuple[ReplayedStop, ...]:
    with eval_progress(make_console(errors=wish.as_json), len(stops)) as bar:
        done = await play(stops, rubric, asking, bar)
    asked = [one for one in done if one.other_case]
    if asking is not None and asked and all(one.failed for one in asked):
        raise BadInputError(f"the judge gave no verdict at all: {asked[0].failed}")
    return done
