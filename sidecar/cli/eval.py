"""`supervisor eval`: measures a judge on stops with known labels, and tries a rubric on kept stops.

Before a model is asked, the user sees how often, and must agree.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

import click
from msgspec import Struct
from msgspec.structs import replace

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.eval_report import (
    EvalExitCode,
    EvalReport,
    Evaluation,
    build_report,
    eval_progress,
    print_eval_report,
)
from sidecar.cli.goal import refuse_agents
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.screen import Screen
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.judging.asking import JudgeAccess
from sidecar.judging.labelled_stops import MeasurementsFile, default_corpus_files, read_labelled_stops
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.stop_history import LabelledStop, RecordedStop
from sidecar.kernel.text import escape_unprintable
from sidecar.platform.installation import HostError
from sidecar.platform.log_readings import STOPS_PER_PROJECT, StopHistory
from sidecar.platform.paths import user_paths
from sidecar.systems.supervision.evaluation import (
    estimate_judge_calls,
    evaluate_stops,
    recorded_outcome,
)

CASE_TOKENS: Final = 8_000
"""Size of the largest case that a model is shown, in tokens."""
RULES_BACKEND: Final = "rules"
RULES_ALONE: Final = "rules alone: what they leave open stays unjudged"
AS_THEN: Final = "as they ended then"
FILE_TYPE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)

EvalBackend = Literal["rules", "claude-cli", "opencode", "anthropic", "openai", "auto"]
KnownStops = Sequence[LabelledStop | RecordedStop]


class EvalOptions(Struct, frozen=True, kw_only=True):
    """The command line options."""

    files: tuple[Path, ...] = ()
    kept: bool = False
    backend: EvalBackend = RULES_BACKEND
    rubric: Path | None = None
    against: Path | None = None
    limit: int | None = None
    as_json: bool = False
    yes: bool = False


class EvalServices(Struct, frozen=True, kw_only=True):
    """The services that a measurement needs. `rubric` reads a file; None stands for that of the folder."""

    asking: JudgeAccess
    rubric: Callable[[Path | None], Rubric]
    stop_history: StopHistory
    measurements: MeasurementsFile


def build_eval_services() -> EvalServices:
    """The services of the current user."""
    from sidecar.wiring.platform import load_project_rubric, load_rubric_file  # noqa: PLC0415 - not for --help
    from sidecar.wiring.supervision import build_services  # noqa: PLC0415 - the same

    services = build_services(files=CommandLineFiles())
    settings, problems = services.configuration.load()
    for problem in problems:
        echo(f"supervisor: {escape_unprintable(problem)}", err=True)
    return EvalServices(
        asking=JudgeAccess(
            judge=services.judge,
            settings=settings,
            environment=os.environ,
            spending=services.spending,
            mask=services.secrets.masker(os.environ),
        ),
        rubric=lambda path: load_rubric_file(path) if path else load_project_rubric(str(Path.cwd())),
        stop_history=services.stop_history,
        measurements=MeasurementsFile(user_paths().state, services.clock),
    )


@click.command(name="eval")
@click.argument("files", nargs=-1, type=FILE_TYPE)
@click.option("--kept", is_flag=True, help="Play the last judged stops of this folder again instead.")
@click.option(
    "--backend",
    type=click.Choice(["rules", "claude-cli", "opencode", "anthropic", "openai", "auto"]),
    default=RULES_BACKEND,
    show_default=True,
    help="Who judges what rules and checks leave open.",
)
@click.option("--rubric", type=FILE_TYPE, help="Judge by this rubric; else by the file that serves here.")
@click.option("--against", type=FILE_TYPE, help="Judge by this one too, and show which verdicts flip.")
@click.option("--limit", type=click.IntRange(min=1), help="So many stops at most, always the same ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
@click.option("--yes", is_flag=True, help="Do not ask before a model is asked.")
def evaluation(**typed: Any) -> None:  # noqa: ANN401 - EvalOptions
    """Measure a judge on the labelled stops of FILES (else on the corpus that comes with Supervisor).

    Rules and checks decide as they do at a real stop; what they leave open goes to the judge. With --kept the
    last judged stops of this folder are played again: what was found out then is taken as it was, and so is
    the judge's answer, unless the rubric shows it another case. No sidecar is needed, and nothing is changed.

    With --backend rules nobody is asked, and nothing leaves the machine; whoever else is asked may cost
    money, so an agent's shell is refused then.

    Exit codes: 0 done, 1 a goal that does not hold was called achieved or a kept stop ends otherwise, 2 could
    not run, 130 interrupted.
    """
    wish = EvalOptions(**typed)
    if wish.kept and (wish.files or wish.against):
        raise click.UsageError("--kept takes neither FILES nor --against: it compares with how they ended")
    if wish.backend != RULES_BACKEND:
        refuse_agents()
    sys.exit(_run_evaluation(build_eval_services(), wish))


def _run_evaluation(doors: EvalServices, wish: EvalOptions) -> int:
    """Measure, and return the exit code, whatever ends it."""
    try:
        return asyncio.run(evaluate(doors, wish))
    except KeyboardInterrupt:
        echo("Interrupted: nobody is asked any more.", err=True)
        return INTERRUPTED_CODE
    except click.Abort:
        echo("Nobody was asked.", err=True)
    except (BadInputError, HostError, OSError) as error:
        echo(f"supervisor: {escape_unprintable(str(error))}", err=True)
    return EvalExitCode.COULD_NOT_RUN


async def evaluate(doors: EvalServices, wish: EvalOptions) -> int:
    """Measure, print the report, and return the exit code. Raises BadInputError and click.Abort."""
    stops = _recorded_stops(doors, wish) if wish.kept else _labelled_stops(wish)
    rubrics = [doors.rubric(wish.rubric), *([doors.rubric(wish.against)] if wish.against else [])]
    settings = doors.asking.settings
    settings = replace(settings, judge=replace(settings.judge, backend=wish.backend))
    asking = replace(doors.asking, settings=settings)
    if wish.backend == RULES_BACKEND:  # nothing is spent, and nothing needs masking
        asking = replace(asking, spending=None, mask=None)
    judge = await _confirm_judge(asking, stops, rubrics, wish)
    done = await _judge_stops(asking, stops, rubrics, wish)
    origins = [rubric.origin for rubric in rubrics]
    if wish.kept:
        done.insert(0, tuple(recorded_outcome(stop) for stop in stops if isinstance(stop, RecordedStop)))
        origins.insert(0, AS_THEN)
    report = build_report(
        Evaluation(judge=judge, alone=wish.backend == RULES_BACKEND, rubrics=origins, outcomes=done)
    )
    if not wish.kept and wish.limit is None:  # figures over a part would mislead
        report = _compare_with_last(doors, report)
    if wish.as_json:
        echo_json(report)
    else:
        print_eval_report(Screen(highlight=False), report)
    return report.exit_code


def _compare_with_last(doors: EvalServices, report: EvalReport) -> EvalReport:
    """Record the measurement, and return the report with the last one of the same judge."""
    try:
        last = doors.measurements.last(report.backend)
        doors.measurements.keep(report.stops, report.backend, report.rubric)
    except OSError as error:
        echo(f"supervisor: the figures could not be kept: {escape_unprintable(str(error))}", err=True)
        return report
    return replace(report, last=last)


def _recorded_stops(doors: EvalServices, wish: EvalOptions) -> tuple[RecordedStop, ...]:
    kept = doors.stop_history.last(str(Path.cwd()), min(wish.limit or STOPS_PER_PROJECT, STOPS_PER_PROJECT))
    if not kept.stops:
        raise BadInputError("; ".join(kept.problems) or "no stop was kept for this project yet")
    for problem in kept.problems:
        echo(f"supervisor: {escape_unprintable(problem)}", err=True)
    return kept.stops


def _labelled_stops(wish: EvalOptions) -> tuple[LabelledStop, ...]:
    """The stops to judge, in their order. A limit takes those with the smallest digests: always the same."""
    items = read_labelled_stops(wish.files or default_corpus_files())
    if not items:
        raise BadInputError("there is no stop to judge in these files")
    if wish.limit is None:
        return items

    def digest(item: LabelledStop) -> bytes:
        return blake2b(item.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()

    first = {item.id for item in sorted(items, key=digest)[: wish.limit]}
    return tuple(item for item in items if item.id in first)


async def _confirm_judge(
    asking: JudgeAccess, stops: KnownStops, rubrics: Sequence[Rubric], wish: EvalOptions
) -> str:
    """Text that names the judge, after the user agreed to the cost. Raises BadInputError and click.Abort."""
    if wish.backend == RULES_BACKEND:
        return RULES_ALONE
    chosen = asking.judge.chosen(os.environ, asking.settings)
    if not chosen.backend:
        raise BadInputError(f"no judge can be asked: {chosen.why}")
    told = f"{chosen.backend} ({chosen.why})"
    calls = sum([await estimate_judge_calls(stops, rubric, asking.settings) for rubric in rubrics])
    if calls and not wish.yes:
        most = calls * CASE_TOKENS // 1000
        echo(
            f"{escape_unprintable(told)} would be asked about {calls} cases of at most {CASE_TOKENS} tokens,"
            f" some of them twice; that is {most} thousand tokens at most for once each. This may cost"
            " money.",
            err=True,
        )
        click.confirm("Go on?", default=False, abort=True, err=True)
    return told


async def _judge_stops(
    asking: JudgeAccess, stops: KnownStops, rubrics: Sequence[Rubric], wish: EvalOptions
) -> list[Any]:
    with eval_progress(Screen(highlight=False, stderr=wish.as_json), len(stops) * len(rubrics)) as told:
        done = [await evaluate_stops(stops, rubric, asking, told) for rubric in rubrics]
    asked = [one for outcomes in done for one in outcomes if one.asked]
    if wish.backend != RULES_BACKEND and asked and all(one.failed for one in asked):
        raise BadInputError(f"the judge gave no verdict at all: {asked[0].failed}")
    return done
