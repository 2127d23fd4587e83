"""`supervisor eval`: measures how well a judge and a rubric decide, on stops with known labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from sidecar.cli.eval_run import (
    RULES_BACKEND,
    EvalOptions,
    build_eval_services,
    run_evaluation,
    run_measurement,
)
from sidecar.cli.goal import refuse_agents

FILE_TYPE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
RATE_TYPE: Final = click.FloatRange(0, 1)


@click.command(name="eval")
@click.argument("files", nargs=-1, type=FILE_TYPE)
@click.option(
    "--backend",
    type=click.Choice(["rules", "claude-cli", "anthropic", "openai", "auto"]),
    default="rules",
    show_default=True,
    help="Who judges what rules and gates leave open.",
)
@click.option("--rubric", type=FILE_TYPE, help="Judge by this rubric; else by the one in force here.")
@click.option("--against", type=FILE_TYPE, help="Judge by this one too, and show which verdicts flip.")
@click.option("--only", multiple=True, metavar="FAMILY", help="Only stops of this family. May be repeated.")
@click.option("--limit", type=click.IntRange(min=1), help="So many stops at most, always the same ones.")
@click.option("--floor-precision", type=RATE_TYPE, help="Least precision of sending back, 0 to 1.")
@click.option("--floor-recall", type=RATE_TYPE, help="Least recall of sending back, 0 to 1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
@click.option("--yes", is_flag=True, help="Do not ask before a model is asked.")
def evaluation(**typed: Any) -> None:  # noqa: ANN401 - EvalOptions
    """Measure a judge on the labelled stops of FILES (else on the corpus that comes with Supervisor).

    Rules and gates decide as they do at a real stop; what they leave open goes to the judge. No sidecar is
    needed. With --backend rules nobody is asked, and nothing leaves the machine; whoever else is asked may
    cost money, so an agent's shell is refused then. How often each criterion was right is kept, for those who
    edit a rubric, unless only a part of the stops is judged.

    Exit codes: 0 done, 1 a goal that does not hold was called achieved or a floor was not reached, 2 could
    not run, 130 interrupted.
    """
    if typed["backend"] != RULES_BACKEND:
        refuse_agents()
    sys.exit(run_measurement(lambda: run_evaluation(build_eval_services(), EvalOptions(**typed))))
