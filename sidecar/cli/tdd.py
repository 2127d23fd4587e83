"""`supervisor tdd`: lets agents write a behaviour in the three phases, and shows what Supervisor verified."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import click
from msgspec.structs import replace

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.options import PROJECT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.paths import user_paths
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.skills import Skills
from sidecar.systems.tdd.workbench import SkillRequest, SkillResult
from sidecar.wiring.headless import build_skills, build_workers
from sidecar.wiring.platform import build_evidence, build_platform

EXIT_CODES: Final = {"pass": 0, "fail": 1, "error": 2}
LABEL_WIDTH: Final = 9
OUTPUT_LINES: Final = 15
"""Lines of the tests' output that are shown when a phase is not verified."""


@click.command()
@click.argument("spec", default="")
@PROJECT
@click.option(
    "--phase",
    "phases",
    multiple=True,
    type=click.Choice([phase.value for phase in Phase]),
    help="Only this phase. May be repeated.",
)
@click.option("--test", "test_path", default="", help="The file of the test, where red is left out.")
@click.option("--impl", "impl_path", default="", help="The file to refactor, where green is left out.")
@click.option("--test-cmd", default="", help="The command that runs the tests; else it is detected.")
@click.option("--model", default="", help="A model's name; else the configured one.")
@click.option("--keep", is_flag=True, help="Leave what was refused in the project, to look at it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list of the results, and nothing else.")
def tdd(  # noqa: PLR0913 - one parameter per option
    spec: str,
    *,
    project: str,
    phases: tuple[str, ...],
    test_path: str,
    impl_path: str,
    model: str,
    test_cmd: str,
    keep: bool,
    as_json: bool,
) -> None:
    """Let agents write the behaviour SPEC: a failing test, the least code, a better structure.

    An agent works in a copy of the project. Supervisor runs the tests itself, and only what it verified comes
    into the project. Example: supervisor tdd "slugify('Hello World') gives 'hello-world'"

    Exit codes: 0 all phases verified, 1 one was not, 2 one could not be tried, 130 interrupted.
    """
    refuse_agents()
    wanted = tuple(map(Phase, phases)) or tuple(Phase)
    request = SkillRequest(
        project=project,
        environment=os.environ,
        values={"spec": spec, "test_path": test_path, "impl_path": impl_path},
        model=model,
        test_cmd=test_cmd,
        keep=keep,
        approved=True,
    )
    _check_values(wanted, request.values)
    state, files = user_paths().state, CommandLineFiles()
    for line in ChangeApplier(state).roll_back():
        echo(f"{line}.", err=True)
    shared = build_evidence(state, build_platform(state, files), files)
    workers = build_workers(state, shared.spending, shared.secrets)
    skills = build_skills(state, shared, workers, files)
    try:
        results = asyncio.run(run_phases(skills, wanted, request, quiet=as_json))
    except KeyboardInterrupt:
        echo("Interrupted: the agent was ended, and the project is as it was.", err=True)
        sys.exit(INTERRUPTED_CODE)
    if as_json:
        echo_json(results)
    sys.exit(max(EXIT_CODES[result.status] for result in results))


def _check_values(phases: tuple[Phase, ...], values: Mapping[str, str]) -> None:
    """Raise UsageError where a phase misses what it needs."""
    if Phase.RED in phases and not values["spec"].strip():
        raise click.UsageError('say what is to be built: supervisor tdd "one behaviour, in a sentence"')
    if Phase.RED not in phases and not values["test_path"]:
        raise click.UsageError("without the red phase, name the file of the test: --test PATH")
    if phases == (Phase.REFACTOR,) and not values["impl_path"]:
        raise click.UsageError("refactor alone needs the file to improve: --impl PATH")


async def run_phases(
    skills: Skills, phases: tuple[Phase, ...], request: SkillRequest, *, quiet: bool
) -> list[SkillResult]:
    """Run one phase after the other until one is not verified, and print each step unless `quiet`."""
    say = (lambda _label, _text: None) if quiet else _print_line
    results: list[SkillResult] = []
    for phase in phases:
        result = await skills.run(phase, request, lambda step: say(*step.split(": ", 1)))
        results.append(result)
        for label, text in _result_lines(result):
            say(label, text)
        if not result.verified:
            break
        request = replace(request, values={**request.values, **_next_values(phase, result, request.values)})
    return results


def _next_values(phase: Phase, result: SkillResult, values: Mapping[str, str]) -> dict[str, str]:
    """Return what a phase found out for the next one."""
    if phase is Phase.RED:
        return {"test_path": result.file_path}
    return {"impl_path": values["impl_path"] or next(iter(result.files), "")} if phase is Phase.GREEN else {}


def _print_line(label: str, text: str) -> None:
    echo(f"{label:<{LABEL_WIDTH}} {text}")


def _result_lines(result: SkillResult) -> Iterator[tuple[str, str]]:
    yield result.phase, f"{'verified' if result.verified else 'not verified'}: {result.message}"
    changed = f"changed: {', '.join(result.files)}" if result.files else ""
    cents = "" if result.cents is None else f", {result.cents:.1f} cents"
    took = f"{result.tokens:,} tokens{cents}" if result.tokens else ""
    if line := "; ".join(filter(None, (changed, took))):
        yield "", line
    if not result.verified:
        yield from (("", f"| {line}") for line in result.runner_output.splitlines()[-OUTPUT_LINES:])
