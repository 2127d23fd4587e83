"""How well Supervisor judges stops of which the truth is known.

    python benchmarks/judge [--seeds A..B] [--backend rules|oracle|...] [--stored | --fresh] [--json FILE]

Without --seeds, 1,000 fresh seeds that follow from the present minute, drawn to the mix of MIX.md. The
stored corpus is told apart, and in it what was written by hand, blind to the rules. `oracle` answers by the
truth: it measures the plumbing. Any other backend but `rules` asks a model, which may cost money.
"""

# ruff: noqa: E402 - imports of this folder come after the path

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `judge.NAME`

from judge.oracle import consult
from judge.report import Result, build_report_part, figures_to_json, markdown, split_by_origin

from judge import ancestor
from sidecar.judging import labelled_stops
from sidecar.judging.labelled_stops import count_false_completes
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.kernel.stop_history import EvaluatedStop, LabelledStop
from sidecar.platform.installation import plugin_root
from sidecar.rubric.reader import RubricFiles
from sidecar.systems.supervision.evaluation import AbsentJudge, EvaluationOptions, evaluate_stops

FRESH: Final = 1000
"""Seeds of a run."""
EVERY: Final = 100
"""Stops between two lines of progress."""


def main() -> int:
    """Judge what is asked for; 0, or 1 where a goal that does not hold was called achieved."""
    asked = _arguments()
    rubric = RubricFiles(plugin_root() / "rubric" / "rubric.md").load("", {})
    results: list[Result] = []
    if asked.fresh or not asked.stored:
        first, last = _seeds(asked.seeds)
        outcomes = _judged(_drawn(first, last), rubric, asked.backend)
        results.append(_result(f"fresh seeds {first}..{last}", outcomes))
    if asked.stored or not asked.fresh:
        results += _stored(rubric, asked.backend)
    named = asyncio.run(_ancestor(rubric))
    print(markdown(f"Judging stops, by {asked.backend}", results, named))
    if asked.json:
        known = {
            "backend": asked.backend,
            "results": figures_to_json(results),
            "ancestor": figures_to_json(named),
        }
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
    return 1 if any(count_false_completes(result.outcomes) for result in results) else 0


def _drawn(first: int, last: int) -> tuple[LabelledStop, ...]:
    from judge.generator import draw  # noqa: PLC0415 - the stored stops are judged without it

    return tuple(draw(seed) for seed in range(first, last + 1))


def _stored(rubric: Rubric, backend: str) -> list[Result]:
    """The corpus of the package, each origin apart."""
    try:
        items = labelled_stops.read_labelled_stops(labelled_stops.default_corpus_files())
    except BadInputError as error:
        print(f"the stored corpus cannot be read:\n{error}", file=sys.stderr)
        return []
    sets = split_by_origin(_judged(items, rubric, backend))
    return [_result(f"stored: {name}", own) for name, own in sets.items()]


def _result(name: str, outcomes: Sequence[EvaluatedStop]) -> Result:
    told = dict(
        Counter(one.failed for one in outcomes if one.failed not in ("", AbsentJudge.WHY)).most_common()
    )
    return Result(part=build_report_part(name, outcomes), outcomes=tuple(outcomes), failures=told)


def _judged(items: Sequence[LabelledStop], rubric: Rubric, backend: str) -> tuple[EvaluatedStop, ...]:
    done = 0

    def told(_outcome: EvaluatedStop) -> None:
        nonlocal done
        done += 1
        if done % EVERY == 0:
            print(f"{done} of {len(items)} ...", file=sys.stderr, flush=True)

    options = EvaluationOptions(environment=os.environ, told=told)
    if backend == "oracle":
        return asyncio.run(consult(items, rubric, Settings(), options))
    if backend == "rules":
        return asyncio.run(evaluate_stops(items, AbsentJudge(), rubric, Settings(), options))
    return asyncio.run(_modelled(items, rubric, backend, options))


async def _modelled(
    items: Sequence[LabelledStop], rubric: Rubric, backend: str, options: EvaluationOptions
) -> tuple[EvaluatedStop, ...]:
    """With the judges that the sidecar has; what this costs counts as the user's judging of the day."""
    from sidecar.wiring.supervision import build_services  # noqa: PLC0415 - rules alone need no services

    services = build_services()
    known, _ = services.configuration.load()
    settings = replace(known, judge=msgspec.convert({"backend": backend}, JudgeSettings))
    return await evaluate_stops(
        items, services.judge, rubric, settings, replace(options, spending=services.spending)
    )


async def _ancestor(rubric: Rubric) -> list[tuple[str, bool]]:
    return [
        (case.name, (await ancestor.judged(case, rubric)).ended == case.ended) for case in ancestor.cases()
    ]


def _seeds(asked: str) -> tuple[int, int]:
    """The first and the last seed: those asked for, or fresh ones."""
    if not asked:
        first = int(time.time()) // 60 * 1000
        return first, first + FRESH - 1
    lower, _, upper = asked.partition("..")
    return int(lower), int(upper or lower)


class _Asked(argparse.Namespace):
    seeds: str
    backend: str
    stored: bool
    fresh: bool
    json: Path | None


def _arguments() -> _Asked:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="", help="first and last, as 1..1000")
    backends = ("rules", "oracle", "auto", "claude-cli", "anthropic", "openai")
    parser.add_argument("--backend", default="rules", choices=backends, help="who judges (rules)")
    parser.add_argument("--stored", action="store_true", help="the stored corpus alone")
    parser.add_argument("--fresh", action="store_true", help="fresh seeds alone")
    parser.add_argument("--json", type=Path, help="write all figures and outcomes there")
    return parser.parse_args(namespace=_Asked())


if __name__ == "__main__":
    sys.exit(main())
