"""Runs `supervisor eval`. Before a model is asked, the user sees how often, and must agree."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

import click
from msgspec import Struct
from msgspec.structs import replace

from sidecar.cli.eval_report import (
    EvalExitCode,
    EvalReport,
    advise_on_judge,
    advise_on_rubrics,
    count_families,
    count_judge_failures,
    eval_progress,
    format_cost,
    missed_floors,
    print_eval_report,
)
from sidecar.cli.gate_report import make_console
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.judging import labelled_stops
from sidecar.judging.figures import changed_outcomes, count_stops, misjudged_stops
from sidecar.judging.labelled_stops import MeasuredFile
from sidecar.judging.ports import Judge
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import EvaluatedStop, LabelledStop
from sidecar.kernel.text import escape_unprintable
from sidecar.platform.installation import HostError
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.paths import user_paths
from sidecar.systems.supervision.evaluation import EvaluationOptions, estimate_judge_calls, evaluate_stops

CASE_TOKENS: Final = 8_000
"""Size of the largest case that a model is shown, in tokens."""
RULES_BACKEND: Final = "rules"

EvalBackend = Literal["auto", "claude-cli", "anthropic", "openai", "rules"]


class EvalOptions(Struct, frozen=True, kw_only=True):
    """The command line options."""

    files: tuple[Path, ...] = ()
    backend: EvalBackend = RULES_BACKEND
    rubric: Path | None = None
    against: Path | None = None
    only: tuple[str, ...] = ()
    limit: int | None = None
    floor_precision: float | None = None
    floor_recall: float | None = None
    as_json: bool = False
    yes: bool = False


class EvalServices(Struct, frozen=True):
    """The services that a measurement needs.

    `rubric` reads the rubric of a file; None stands for the one in force in the current folder. `measured`
    stores the figures of each criterion on whole sets of stops.
    """

    judge: Judge
    settings: Settings
    rubric: Callable[[Path | None], Rubric]
    spending: DailySpending | None = None
    mask: SecretMask | None = None
    measured: MeasuredFile | None = None


def build_eval_services() -> EvalServices:
    """The services of the current user."""
    from sidecar.wiring.platform import load_rubric_file  # noqa: PLC0415 - not for a wrong usage or --help
    from sidecar.wiring.supervision import build_services  # noqa: PLC0415 - the same

    services = build_services()
    settings, problems = services.configuration.load()
    for problem in problems:
        echo(f"supervisor: {escape_unprintable(problem)}", err=True)

    def rubric(path: Path | None) -> Rubric:
        return services.rubrics.load(str(Path.cwd()), os.environ) if path is None else load_rubric_file(path)

    measured = MeasuredFile(user_paths().state, services.clock)
    return EvalServices(
        services.judge, settings, rubric, services.spending, services.secrets.masker(os.environ), measured
    )


def run_measurement(measure: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command that may ask a model, and return its exit code, whatever ends it."""
    try:
        return asyncio.run(measure())
    except KeyboardInterrupt:
        echo("Interrupted: nobody is asked any more.", err=True)
        return INTERRUPTED_CODE
    except click.Abort:
        echo("Nobody was asked.", err=True)
    except (BadInputError, HostError, OSError) as error:
        echo(f"supervisor: {escape_unprintable(str(error))}", err=True)
    return EvalExitCode.COULD_NOT_RUN


async def run_evaluation(doors: EvalServices, wish: EvalOptions) -> int:
    """Measure, print the report, and return the exit code. Raises BadInputError and click.Abort."""
    wish = replace(wish, files=wish.files or labelled_stops.default_corpus_files())
    items = _select_stops(labelled_stops.read_labelled_stops(wish.files), wish)
    rubrics = [doors.rubric(wish.rubric), *([doors.rubric(wish.against)] if wish.against else [])]
    settings = replace(doors.settings, judge=replace(doors.settings.judge, backend=wish.backend))
    doors = replace(doors, settings=settings)
    if wish.backend == RULES_BACKEND:  # nothing is spent, and nothing needs masking
        doors = replace(doors, spending=None, mask=None)
    backend = await _confirm_backend(doors, items, rubrics, wish)
    done = await _judge_stops(doors, items, rubrics, wish)
    report = _build_report(done, rubrics, wish, backend)
    _save_figures(doors, done[0], rubrics[0], wish)
    if wish.as_json:
        echo_json(report)
    else:
        print_eval_report(make_console(), report)
    return report.exit_code


def _select_stops(items: Sequence[LabelledStop], wish: EvalOptions) -> tuple[LabelledStop, ...]:
    """The stops to judge, in their order. A limit takes those with the smallest digests: always the same."""
    families = sorted({item.family for item in items})
    if missing := sorted(set(wish.only) - set(families)):
        there = ", ".join(map(escape_unprintable, families)) or "none"
        raise click.UsageError(f"there is no family {missing[0]!r}; there are: {there}")
    meant = [item for item in items if not wish.only or item.family in wish.only]
    if not meant:
        raise BadInputError("there is no stop to judge in these files")
    if wish.limit is None:
        return tuple(meant)
    first = {item.id for item in sorted(meant, key=_stop_digest)[: wish.limit]}
    return tuple(item for item in meant if item.id in first)


def _stop_digest(item: LabelledStop) -> bytes:
    return blake2b(item.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()


async def _confirm_backend(
    doors: EvalServices, items: Sequence[LabelledStop], rubrics: Sequence[Rubric], wish: EvalOptions
) -> str:
    """Text that names the judge, after the user agreed to the cost. Raises BadInputError and click.Abort."""
    if wish.backend == RULES_BACKEND:
        return "rules alone: what they leave open stays unjudged"
    chosen = doors.judge.chosen(os.environ, doors.settings)
    if not chosen.backend:
        raise BadInputError(f"no judge can be asked: {chosen.why}")
    calls = sum([await estimate_judge_calls(items, rubric, doors.settings) for rubric in rubrics])
    told = f"{chosen.backend} ({chosen.why})"
    confirm_model_cost(told, calls, yes=wish.yes)
    return told


def confirm_model_cost(told: str, calls: int, *, yes: bool) -> None:
    """Print which model would be asked how often, and ask the user to agree. Raises click.Abort."""
    if not calls or yes:
        return
    most = calls * CASE_TOKENS // 1000
    echo(
        f"{escape_unprintable(told)} would be asked about {calls} cases of at most {CASE_TOKENS} tokens, some"
        f" of them twice; that is {most} thousand tokens at most for once each. This may cost money.",
        err=True,
    )
    click.confirm("Go on?", default=False, abort=True, err=True)


async def _judge_stops(
    doors: EvalServices, items: Sequence[LabelledStop], rubrics: Sequence[Rubric], wish: EvalOptions
) -> list[tuple[EvaluatedStop, ...]]:
    with eval_progress(make_console(errors=wish.as_json), len(items) * len(rubrics)) as told:
        options = EvaluationOptions(
            environment=os.environ, told=told, spending=doors.spending, mask=doors.mask
        )
        done = [
            await evaluate_stops(items, doors.judge, rubric, doors.settings, options) for rubric in rubrics
        ]
    asked = [one for outcomes in done for one in outcomes if one.asked]
    if wish.backend != RULES_BACKEND and asked and all(one.failed for one in asked):
        raise BadInputError(f"the judge gave no verdict at all: {next(iter(count_judge_failures(asked)))}")
    return done


def _save_figures(
    doors: EvalServices, outcomes: Sequence[EvaluatedStop], rubric: Rubric, wish: EvalOptions
) -> None:
    """Store the figures of each criterion, for a whole set only: figures over a part would mislead."""
    if doors.measured is None or wish.only or wish.limit is not None:
        return
    alone = wish.backend == RULES_BACKEND
    by = RULES_BACKEND if alone else doors.judge.chosen(os.environ, doors.settings).backend
    try:
        doors.measured.keep(outcomes, rubric, by)
    except OSError as error:
        echo(f"supervisor: the figures could not be kept: {escape_unprintable(str(error))}", err=True)


def _build_report(
    done: Sequence[tuple[EvaluatedStop, ...]], rubrics: Sequence[Rubric], wish: EvalOptions, backend: str
) -> EvalReport:
    first, every = done[0], [one for outcomes in done for one in outcomes]
    alone, blind = wish.backend == RULES_BACKEND, tuple(one for one in first if one.blind)
    stops, failures = count_stops("all", first), {} if alone else count_judge_failures(every)
    after = count_stops("all, against", done[-1]) if wish.against else None
    missed = missed_floors(stops, wish.floor_precision, wish.floor_recall)
    if lie := next((one.id for one in every if one.false_complete), ""):
        advice = f"A goal that does not hold was called achieved: do not rely on this judge; see {lie}."
    elif missed:
        advice = f"Not good enough: {', '.join(missed)}."
    elif not alone and 2 * sum(bool(one.failed) for one in every) > sum(one.asked for one in every):
        why = next(iter(failures))
        advice = f"The judge gave no verdict on most of what it was asked ({why}): see to that first."
    elif after and alone:
        advice = "No model read either rubric, so they cannot differ: add --backend auto."
    elif after:
        advice = advise_on_rubrics(stops, after, rubrics[0].origin, rubrics[-1].origin)
    else:  # the others may be alike to what the rules were made on
        advice = advise_on_judge(blind or first, rubrics[0], alone=alone)
    return EvalReport(
        backend=backend,
        rubric=rubrics[0].origin,
        stops=stops,
        blind=count_stops("written blind", blind) if blind and blind != first else None,
        families=count_families(first),
        wrong=misjudged_stops(first),
        cost=format_cost(every),
        failures=failures,
        against=rubrics[-1].origin if after else "",
        stops_against=after,
        flips=changed_outcomes(first, done[-1]) if after else (),
        advice=advice,
        exit_code=EvalExitCode.FELL_SHORT if lie or missed else EvalExitCode.DONE,
    )
