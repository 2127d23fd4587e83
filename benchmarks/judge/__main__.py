"""How well Supervisor judges stops of which the truth is known.

    python benchmarks/judge [--backend rules|oracle|...] [--json FILE]

The stops are those of the package's corpus: written by hand, blind to the rules, and executed. `oracle`
answers by the truth: it measures the plumbing. Any backend but these and `rules` asks a model, which may cost
money.
"""

# ruff: noqa: E402 - imports of this folder come after the path

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
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
from sidecar.judging.asking import JudgeAccess
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.kernel.stop_history import EvaluatedStop, LabelledStop
from sidecar.platform.installation import plugin_root
from sidecar.rubric.reader import RubricFiles
from sidecar.systems.supervision.evaluation import AbsentJudge, evaluate_stops

EVERY: Final = 100
"""Stops between two lines of progress."""


def main() -> int:
    """Judge what is asked for; 0, or 1 where a goal that does not hold was called achieved."""
    asked = _arguments()
    rubric = RubricFiles(plugin_root() / "rubric" / "rubric.md").load("", {})
    results = _stored(rubric, asked.backend)
    named = asyncio.run(_ancestor(rubric))
    print(markdown(f"Judging stops, by {asked.backend}", results, named))
    if asked.json:
        known = {
            "backend": asked.backend,
            "results": figures_to_json(results),
            "ancestor": figures_to_json(named),
        }
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
    return 1 if any(one.false_complete for result in results for one in result.outcomes) else 0


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

    if backend == "oracle":
        return asyncio.run(consult(items, rubric, Settings(), told))
    if backend == "rules":
        return asyncio.run(
            evaluate_stops(items, rubric, JudgeAccess(judge=AbsentJudge(), settings=Settings()), told)
        )
    return asyncio.run(_modelled(items, rubric, backend, told))


async def _modelled(
    items: Sequence[LabelledStop], rubric: Rubric, backend: str, told: Callable[[EvaluatedStop], None]
) -> tuple[EvaluatedStop, ...]:
    """With the judges that the sidecar has; what this costs counts as the user's judging of the day."""
    from sidecar.wiring.supervision import build_services  # noqa: PLC0415 - rules alone need no services

    services = build_services()
    known, _ = services.configuration.load()
    settings = replace(known, judge=msgspec.convert({"backend": backend}, JudgeSettings))
    asking = JudgeAccess(
        judge=services.judge, settings=settings, environment=os.environ, spending=services.spending
    )
    return await evaluate_stops(items, rubric, asking, told)


async def _ancestor(rubric: Rubric) -> list[tuple[str, bool]]:
    return [
        (case.name, (await ancestor.judged(case, rubric)).ended == case.ended) for case in ancestor.cases()
    ]


class _Asked(argparse.Namespace):
    backend: str
    json: Path | None


def _arguments() -> _Asked:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    backends = ("rules", "oracle", "auto", "claude-cli", "anthropic", "openai")
    parser.add_argument("--backend", default="rules", choices=backends, help="who judges (rules)")
    parser.add_argument("--json", type=Path, help="write all figures and outcomes there")
    return parser.parse_args(namespace=_Asked())


if __name__ == "__main__":
    sys.exit(main())
