"""How well Supervisor judges stops of which the truth is known.

    python benchmarks/judge [--seeds A..B] [--backend rules|oracle|...] [--stored | --fresh] [--json FILE]

Without --seeds, 1,000 fresh seeds that follow from the present minute, drawn to the mix of MIX.md. The
stored corpus is told apart, and in it what was written by hand, blind to the rules. `oracle` answers by the
truth: it measures the plumbing. Any other backend but `rules` asks a model, which may cost money.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `judge.NAME`

from judge.oracle import consult  # noqa: E402 - after the path
from judge.report import Result, markdown  # noqa: E402

from judge import ancestor  # noqa: E402
from sidecar.adapters import labelled_file  # noqa: E402
from sidecar.adapters.plugin import plugin_root  # noqa: E402
from sidecar.adapters.rubric import RubricFiles  # noqa: E402
from sidecar.app.evaluation import Nobody, Options, evaluate  # noqa: E402
from sidecar.cli.eval_report import apart, failures, part, plain  # noqa: E402
from sidecar.model.evaluation import Outcome  # noqa: E402
from sidecar.model.labelled import Labelled  # noqa: E402
from sidecar.model.rubric import Rubric  # noqa: E402
from sidecar.model.settings import Judge, Settings  # noqa: E402
from sidecar.policy.figures import false_completes  # noqa: E402
from sidecar.ports import BadInputError  # noqa: E402

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
        known = {"backend": asked.backend, "results": plain(results), "ancestor": plain(named)}
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
    return 1 if any(false_completes(result.outcomes) for result in results) else 0


def _drawn(first: int, last: int) -> tuple[Labelled, ...]:
    from judge.generator import draw  # noqa: PLC0415 - the stored stops are judged without it

    return tuple(draw(seed) for seed in range(first, last + 1))


def _stored(rubric: Rubric, backend: str) -> list[Result]:
    """The corpus of the package, each origin apart."""
    try:
        items = labelled_file.read(labelled_file.default_files())
    except BadInputError as error:
        print(f"the stored corpus cannot be read:\n{error}", file=sys.stderr)
        return []
    sets = apart(_judged(items, rubric, backend))
    return [_result(f"stored: {name}", own) for name, own in sets.items()]


def _result(name: str, outcomes: Sequence[Outcome]) -> Result:
    told = tuple(one for one in failures(outcomes) if one.reason != Nobody.WHY)
    return Result(part=part(name, outcomes), outcomes=tuple(outcomes), failures=told)


def _judged(items: Sequence[Labelled], rubric: Rubric, backend: str) -> tuple[Outcome, ...]:
    done = 0

    def told(_outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if done % EVERY == 0:
            print(f"{done} of {len(items)} ...", file=sys.stderr, flush=True)

    options = Options(environment=os.environ, told=told)
    if backend == "oracle":
        return asyncio.run(consult(items, rubric, Settings(), options))
    if backend == "rules":
        return asyncio.run(evaluate(items, Nobody(), rubric, Settings(), options))
    return asyncio.run(_modelled(items, rubric, backend, options))


async def _modelled(
    items: Sequence[Labelled], rubric: Rubric, backend: str, options: Options
) -> tuple[Outcome, ...]:
    """With the judges that the sidecar has; what this costs counts as the user's judging of the day."""
    from sidecar.wiring import build_house  # noqa: PLC0415 - rules alone need no house

    house = build_house()
    known, _ = house.configuration.load()
    settings = replace(known, judge=msgspec.convert({"backend": backend}, Judge))
    return await evaluate(items, house.judge, rubric, settings, replace(options, purse=house.purse))


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
