"""Carries out `supervisor eval`. Before a model is asked, the person is told how often, and must agree."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters import labelled_file
from sidecar.adapters.measured_file import MeasuredFile
from sidecar.adapters.paths import of_user
from sidecar.app.evaluation import Options, evaluate, likely_calls
from sidecar.cli.checks import visible
from sidecar.cli.eval_report import Floors, Report, exit_code, failures, parts, plain
from sidecar.cli.eval_table import Bar, tell
from sidecar.cli.gate_table import console
from sidecar.model.evaluation import Outcome
from sidecar.model.labelled import Labelled
from sidecar.model.rubric import Rubric
from sidecar.model.settings import Settings
from sidecar.policy.figures import flips, wrong
from sidecar.ports import BadInputError, Judge, Mask, Purse

CASE_TOKENS: Final = 8_000
"""Tokens of the largest case that a model is shown."""
RULES: Final = "rules"

Backend = Literal["auto", "claude-cli", "anthropic", "openai", "rules"]


class Wish(Struct, frozen=True, kw_only=True):
    """What was typed."""

    files: tuple[Path, ...] = ()
    backend: Backend = RULES
    rubric: Path | None = None
    against: Path | None = None
    only: tuple[str, ...] = ()
    limit: int | None = None
    floors: Floors = Floors()
    as_json: bool = False
    yes: bool = False


class Doors(Struct, frozen=True):
    """What a measurement works with.

    `rubric` reads the one of a file, for None the one in force here. `measured` keeps what whole sets of
    stops say of each criterion.
    """

    judge: Judge
    settings: Settings
    rubric: Callable[[Path | None], Rubric]
    purse: Purse | None = None
    mask: Mask | None = None
    measured: MeasuredFile | None = None


def real() -> Doors:
    """Those of the user who types."""
    from sidecar import wiring  # noqa: PLC0415 - a wrong usage and --help need no house

    house = wiring.build_house()
    settings, problems = house.configuration.load()
    for problem in problems:
        click.echo(f"! {visible(problem)}", err=True)

    def rubric(path: Path | None) -> Rubric:
        return house.rubrics.load(str(Path.cwd()), os.environ) if path is None else wiring.rubric_of(path)

    measured = MeasuredFile(of_user().state, house.clock)
    return Doors(house.judge, settings, rubric, house.purse, house.secrets.masker(os.environ), measured)


async def execute(doors: Doors, wish: Wish) -> int:
    """Measure, and tell. Raises BadInputError and click.Abort."""
    files = wish.files or labelled_file.default_files()
    items = _chosen(labelled_file.read(files), wish)
    rubrics = [doors.rubric(wish.rubric), *([doors.rubric(wish.against)] if wish.against else [])]
    doors = _with_backend(doors, wish)
    backend = await _agreed(doors, items, rubrics, wish)
    done = await _judged(doors, items, rubrics, wish)
    report = _report(done, rubrics, wish)
    report = replace(report, backend=backend, files=tuple(map(str, files)))
    _keep(doors, done[0], rubrics[0], wish)
    if wish.as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(plain(report))).decode())
    else:
        tell(console(), report)
    return report.exit_code


def _chosen(items: Sequence[Labelled], wish: Wish) -> tuple[Labelled, ...]:
    """The stops that are meant, in their order. A limit takes those with the least digests, of all."""
    families = sorted({item.family for item in items})
    if missing := sorted(set(wish.only) - set(families)):
        there = ", ".join(map(visible, families)) or "none"
        raise click.UsageError(f"there is no family {missing[0]!r}; there are: {there}")
    meant = [item for item in items if not wish.only or item.family in wish.only]
    if not meant:
        raise BadInputError("there is no stop to judge in these files")
    if wish.limit is None:
        return tuple(meant)
    first = {item.id for item in sorted(meant, key=_lot)[: wish.limit]}
    return tuple(item for item in meant if item.id in first)


def _lot(item: Labelled) -> bytes:
    return blake2b(item.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _with_backend(doors: Doors, wish: Wish) -> Doors:
    """The doors for this backend. Nothing is spent and nothing needs masking where rules alone judge."""
    settings = replace(doors.settings, judge=replace(doors.settings.judge, backend=wish.backend))
    alone = wish.backend == RULES
    return replace(
        doors,
        settings=settings,
        purse=None if alone else doors.purse,
        mask=None if alone else doors.mask,
    )


async def _agreed(doors: Doors, items: Sequence[Labelled], rubrics: Sequence[Rubric], wish: Wish) -> str:
    """Who will judge, after the person agreed to what that may cost."""
    if wish.backend == RULES:
        return "rules alone: what they leave open stays unjudged"
    chosen = doors.judge.chosen(os.environ, doors.settings)
    if not chosen.backend:
        raise BadInputError(f"no judge can be asked: {chosen.why}")
    calls = sum([await likely_calls(items, rubric, doors.settings) for rubric in rubrics])
    told = f"{chosen.backend} ({chosen.why})"
    agree(told, calls, yes=wish.yes)
    return told


def agree(told: str, calls: int, *, yes: bool) -> None:
    """Tell who would be asked how often, and go on where the person agrees. Raises click.Abort."""
    if not calls or yes:
        return
    most = calls * CASE_TOKENS // 1000
    click.echo(
        f"{visible(told)} would be asked about {calls} cases of at most {CASE_TOKENS} tokens, some"
        f" of them twice; that is {most} thousand tokens at most for once each. This may cost money.",
        err=True,
    )
    click.confirm("Go on?", default=False, abort=True, err=True)


async def _judged(
    doors: Doors, items: Sequence[Labelled], rubrics: Sequence[Rubric], wish: Wish
) -> list[tuple[Outcome, ...]]:
    screen = console(errors=wish.as_json)
    with Bar(screen, len(items) * len(rubrics), quiet=wish.as_json and not screen.is_terminal) as bar:
        options = Options(environment=os.environ, told=bar, purse=doors.purse, mask=doors.mask)
        done = [await evaluate(items, doors.judge, rubric, doors.settings, options) for rubric in rubrics]
    asked = [one for outcomes in done for one in outcomes if one.asked]
    if wish.backend != RULES and asked and all(one.failed for one in asked):
        raise BadInputError(f"the judge gave no verdict at all: {failures(asked)[0].reason}")
    return done


def _keep(doors: Doors, outcomes: Sequence[Outcome], rubric: Rubric, wish: Wish) -> None:
    """Keep what a whole set says of each criterion; figures over a part would mislead."""
    if doors.measured is None or wish.only or wish.limit is not None:
        return
    by = RULES if wish.backend == RULES else doors.judge.chosen(os.environ, doors.settings).backend
    try:
        doors.measured.keep(outcomes, rubric, by)
    except OSError as error:
        click.echo(f"! the figures could not be kept: {visible(str(error))}", err=True)


def _report(done: Sequence[tuple[Outcome, ...]], rubrics: Sequence[Rubric], wish: Wish) -> Report:
    first, last = done[0], done[-1]
    compared = len(done) > 1
    every = parts(first)
    missed = wish.floors.missed(every[0].figures)
    return Report(
        backend="",
        rubric=rubrics[0].origin,
        files=(),
        parts=every,
        wrong=wrong(first),
        failures=() if wish.backend == RULES else failures([one for outcomes in done for one in outcomes]),
        against=rubrics[-1].origin if compared else "",
        parts_against=parts(last) if compared else (),
        flips=flips(first, last) if compared else (),
        missed=missed,
        exit_code=exit_code([one for outcomes in done for one in outcomes], missed),
    )
