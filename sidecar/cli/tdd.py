"""`supervisor tdd`: lets agents write a behaviour in the three phases, and shows what Supervisor verified."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Final

import click
from msgspec import Struct

from sidecar.cli.goal import refuse_agents
from sidecar.cli.held_files import CommandLineFiles
from sidecar.cli.printing import echo, echo_json
from sidecar.evidence.tree.apply import ChangeApplier
from sidecar.kernel.errors import BadInputError
from sidecar.platform.paths import user_paths
from sidecar.platform.secrets import SecretForms
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.skills import Skills
from sidecar.systems.tdd.workbench import SkillRequest, SkillResult
from sidecar.wiring.evidence import build_evidence
from sidecar.wiring.platform import build_platform
from sidecar.wiring.tdd import build_skills
from sidecar.wiring.workers import build_workers

EXIT_CODES: Final = {"pass": 0, "fail": 1, "error": 2}
INTERRUPTED_CODE: Final = 130
LABEL_WIDTH: Final = 9
OUTPUT_LINES: Final = 15
"""Lines of the tests' output that are shown when a phase is not verified."""


class TddOptions(Struct, frozen=True, kw_only=True):
    """The command line options."""

    spec: str
    project: str
    phases: tuple[Phase, ...]
    test_path: str
    impl_path: str
    model: str
    test_cmd: str
    keep: bool
    as_json: bool


@click.command()
@click.argument("spec", default="")
@click.option(
    "--project",
    default=".",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Another folder than this one.",
)
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
    options = TddOptions(
        spec=spec,
        project=project,
        phases=tuple(map(Phase, phases)) or tuple(Phase),
        test_path=test_path,
        impl_path=impl_path,
        model=model,
        test_cmd=test_cmd,
        keep=keep,
        as_json=as_json,
    )
    _check_options(options)
    state, files = user_paths().state, CommandLineFiles()
    for line in ChangeApplier(state).roll_back():
        echo(f"{line}.", err=True)
    platform = build_platform(state)
    workers = build_workers(platform.spending, platform.secrets)
    skills = build_skills(state, platform, build_evidence(state, files), files, workers)
    try:
        results = asyncio.run(run_phases(skills, options))
    except KeyboardInterrupt:
        echo("Interrupted: the agent was ended, and the project is as it was.", err=True)
        sys.exit(INTERRUPTED_CODE)
    except BadInputError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        echo_json(results)
    sys.exit(max(EXIT_CODES[result.status] for result in results))


def _check_options(options: TddOptions) -> None:
    """Raise UsageError where a phase misses what it needs."""
    if Phase.RED in options.phases and not options.spec.strip():
        raise click.UsageError('say what is to be built: supervisor tdd "one behaviour, in a sentence"')
    if Phase.RED not in options.phases and not options.test_path:
        raise click.UsageError("without the red phase, name the file of the test: --test PATH")
    if options.phases == (Phase.REFACTOR,) and not options.impl_path:
        raise click.UsageError("refactor alone needs the file to improve: --impl PATH")


async def run_phases(skills: Skills, options: TddOptions) -> list[SkillResult]:
    """Run one phase after the other until one is not verified."""
    results: list[SkillResult] = []
    values = {"spec": options.spec, "test_path": options.test_path, "impl_path": options.impl_path}
    for phase in options.phases:
        result = await skills.run_phase(
            phase, _request(options, values), lambda step: _print_step(options, step)
        )
        results.append(result)
        _print_result(options, result)
        if not result.verified:
            break
        values |= _next_values(phase, result, values)
    return results


def _request(options: TddOptions, values: Mapping[str, str]) -> SkillRequest:
    return SkillRequest(
        project=options.project,
        environment=os.environ,
        values=values,
        model=options.model,
        test_cmd=options.test_cmd,
        keep=options.keep,
        approved=True,
    )


def _next_values(phase: Phase, result: SkillResult, values: Mapping[str, str]) -> dict[str, str]:
    """Return what a phase found out for the next one."""
    if phase is Phase.RED:
        return {"test_path": result.file_path}
    return {"impl_path": values["impl_path"] or next(iter(result.files), "")} if phase is Phase.GREEN else {}


def _print_step(options: TddOptions, step: str) -> None:
    phase, _, what = step.partition(": ")
    if not options.as_json:
        echo(f"{phase:<{LABEL_WIDTH}} {what}")


def _print_result(options: TddOptions, result: SkillResult) -> None:
    if options.as_json:
        return
    mark = "verified" if result.verified else "not verified"
    echo(f"{result.phase:<{LABEL_WIDTH}} {mark}: {_masked(result.message)}")
    changed = ", ".join(result.files)
    cents = "" if result.cents is None else f", {result.cents:.1f} cents"
    took = f"{result.tokens:,} tokens{cents}" if result.tokens else ""
    if line := "; ".join(filter(None, (changed and f"changed: {changed}", took))):
        echo(f"{'':<{LABEL_WIDTH}} {line}")
    if not result.verified:
        for line in _masked(result.runner_output).splitlines()[-OUTPUT_LINES:]:
            echo(f"{'':<{LABEL_WIDTH}} | {line}")


def _masked(text: str) -> str:
    return SecretForms().masker(os.environ)(text)
