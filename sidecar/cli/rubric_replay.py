"""`supervisor rubric replay`: what a rubric makes of the last stops of a project. Needs no sidecar."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypedDict, Unpack

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.kept_stops import STOPS
from sidecar.adapters.plugin import HostError
from sidecar.app.asking import Asking
from sidecar.app.replay import replay as play
from sidecar.cli.checks import visible
from sidecar.cli.eval_run import RULES, agree
from sidecar.cli.eval_table import Bar
from sidecar.cli.gate_table import console
from sidecar.cli.gates import FOLDER, INTERRUPTED
from sidecar.cli.goal import refuse_agents
from sidecar.cli.replay_table import Report, plain, tell
from sidecar.cli.rubric_spots import sayable
from sidecar.model.kept import KeptStop, Replayed
from sidecar.model.rubric import Rubric
from sidecar.model.settings import Settings
from sidecar.policy.replays import summary
from sidecar.ports import BadInputError, Judge, KeptStops, Mask, Purse

CHANGES: Final = 1
COULD_NOT_RUN: Final = 2

Backend = Literal["rules", "claude-cli", "opencode", "anthropic", "openai", "auto"]


class Wish(Struct, frozen=True, kw_only=True):
    """What was typed."""

    folder: str
    rubric: Path | None = None
    last: int = STOPS
    backend: Backend = RULES
    as_json: bool = False
    yes: bool = False


class Doors(Struct, frozen=True, kw_only=True):
    """What a replay works with."""

    kept: KeptStops
    judge: Judge
    settings: Settings
    purse: Purse
    mask: Mask


def real() -> Doors:
    """Those of the user who types."""
    from sidecar import wiring  # noqa: PLC0415 - a wrong usage and --help need no house

    house = wiring.build_house()
    settings, problems = house.configuration.load()
    for problem in problems:
        click.echo(f"! {visible(problem)}", err=True)
    return Doors(
        kept=house.kept,
        judge=house.judge,
        settings=settings,
        purse=house.purse,
        mask=house.secrets.masker(os.environ),
    )


class Typed(TypedDict):
    """What goes into a Wish as it was typed."""

    folder: str
    rubric: Path | None
    last: int
    backend: Backend
    as_json: bool
    yes: bool


@click.command(short_help="Play the last stops again under a rubric.")
@FOLDER
@click.option(
    "--rubric",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The rubric to try; else the file that serves FOLDER, as it is on disk now, held or not.",
)
@click.option(
    "--last",
    type=click.IntRange(1, STOPS),
    default=STOPS,
    show_default=True,
    help="So many stops at most, the newest.",
)
@click.option(
    "--backend",
    type=click.Choice(["rules", "claude-cli", "opencode", "anthropic", "openai", "auto"]),
    default=RULES,
    show_default=True,
    help="Who is asked where the judge would see another case; with rules nobody is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
@click.option("--yes", is_flag=True, help="Do not ask before a model is asked.")
def replay(**typed: Unpack[Typed]) -> None:
    """Play the last judged stops of FOLDER (else of the current folder) again, under a rubric.

    What was found out at each stop is kept on this machine and taken as it was. With --backend rules nobody
    is asked: the answer that the judge gave then is held against the rubric, and where that does not tell how
    the stop would end, it says so. Nothing is changed. Whoever else is asked may cost money, so an agent's
    shell is refused then.

    Exit codes: 0 nothing ends otherwise, 1 something does, 2 could not run, 130 interrupted.
    """
    if typed["backend"] != RULES:
        refuse_agents()
    try:
        code = asyncio.run(execute(real(), Wish(**typed)))
    except KeyboardInterrupt:
        click.echo("Interrupted: nobody is asked any more.", err=True)
        code = INTERRUPTED
    except click.Abort:
        click.echo("Nobody was asked.", err=True)
        code = COULD_NOT_RUN
    except (BadInputError, HostError, OSError) as error:
        click.echo(f"supervisor: {visible(str(error))}", err=True)
        code = COULD_NOT_RUN
    sys.exit(code)


async def execute(doors: Doors, wish: Wish) -> int:
    """Replay, and tell. Raises BadInputError and click.Abort."""
    rubric = _rubric(wish)
    recalled = doors.kept.last(wish.folder, wish.last)
    if recalled.problems and not recalled.stops:
        raise BadInputError("; ".join(recalled.problems))
    asking = await _asking(doors, recalled.stops, rubric, wish)
    done = await _played(recalled.stops, rubric, asking, wish)
    report = Report(
        project=sayable(wish.folder),
        rubric=sayable(rubric.origin),
        stops=done,
        problems=recalled.problems,
        summary=summary(done),
        exit_code=CHANGES if any(one.changed for one in done) else 0,
    )
    if wish.as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(plain(report))).decode())
    else:
        tell(console(), report)
    return report.exit_code


def _rubric(wish: Wish) -> Rubric:
    """The rubric to try. Raises BadInputError where a file cannot serve; no other one is tried instead."""
    from sidecar import wiring  # noqa: PLC0415 - see `real`

    return wiring.rubric_of(wish.rubric) if wish.rubric else wiring.rubric_on_disk(wish.folder)


async def _asking(doors: Doors, stops: Sequence[KeptStop], rubric: Rubric, wish: Wish) -> Asking | None:
    """Who is asked, after the person agreed to what that may cost; None where nobody is."""
    if wish.backend == RULES:
        return None
    settings = replace(doors.settings, judge=replace(doors.settings.judge, backend=wish.backend))
    chosen = doors.judge.chosen(os.environ, settings)
    if not chosen.backend:
        raise BadInputError(f"no judge can be asked: {chosen.why}")
    calls = sum(one.other_case for one in await play(stops, rubric))
    agree(f"{chosen.backend} ({chosen.why})", calls, yes=wish.yes)
    return Asking(
        judge=doors.judge,
        settings=settings,
        environment=os.environ,
        purse=doors.purse,
        mask=doors.mask,
    )


async def _played(
    stops: Sequence[KeptStop], rubric: Rubric, asking: Asking | None, wish: Wish
) -> tuple[Replayed, ...]:
    screen = console(errors=wish.as_json)
    with Bar(screen, len(stops), quiet=wish.as_json and not screen.is_terminal) as bar:
        done = await play(stops, rubric, asking, bar)
    asked = [one for one in done if one.other_case]
    if asking is not None and asked and all(one.failed for one in asked):
        raise BadInputError(f"the judge gave no verdict at all: {asked[0].failed}")
    return done
