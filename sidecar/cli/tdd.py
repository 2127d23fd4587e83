"""`supervisor tdd` and `skill`: let agents write a behaviour in three phases, or do any other skill."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec
from msgspec.structs import replace

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.notices import NotifyingView
from sidecar.cli.options import JSON_LINES, MAX_CENTS, MAX_TOKENS, PROJECT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.progress import open_budget
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.paths import user_paths
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.skills import Skills
from sidecar.systems.tdd.workbench import SkillRequest, SkillResult
from sidecar.wiring.headless import build_typed_skills
from sidecar.wiring.platform import build_platform
from sidecar.work.progress import RunFinished, Step, Tell

EXIT_CODES: Final = {"pass": 0, "fail": 1, "error": 2}
PHASE: Final = click.Choice([phase.value for phase in Phase])
OUTPUT_LINES: Final = 15
"""Lines of the tests' output that are shown when a phase is not verified."""


@click.command()
@click.argument("spec", default="")
@PROJECT
@click.option("--phase", "phases", multiple=True, type=PHASE, help="Only this phase. May be repeated.")
@click.option("--test", "test_path", default="", help="The file of the test, where nothing else tells.")
@click.option("--impl", "impl_path", default="", help="The file to refactor, where green is left out.")
@click.option("--test-cmd", default="", help="The command that runs the tests; else it is detected.")
@click.option("--model", default="", help="A model's name; else the configured one.")
@MAX_TOKENS
@MAX_CENTS
@click.option("--keep", is_flag=True, help="Leave what was refused in the project, to look at it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list of the results, and nothing else.")
@JSON_LINES
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
    json_lines: bool,
    **limits: Any,  # noqa: ANN401 - of the budget
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
    show = NotifyingView(project, as_json=as_json, json_lines=json_lines)
    budget = open_budget(build_platform(state, files), show.tell, **limits)
    skills = build_typed_skills(state, files, budget)
    try:
        results = asyncio.run(run_phases(skills, wanted, request, show.tell))
    except KeyboardInterrupt:
        echo("Interrupted: the agent was ended, and the project is as it was.", err=True)
        sys.exit(INTERRUPTED_CODE)
    if as_json:
        echo_json(results)
    code, ended = max(EXIT_CODES[result.status] for result in results), _result_step(results[-1]).outcome
    said, tokens, cents = results[-1].message, budget.tokens, budget.cents
    show.tell(RunFinished(outcome=ended, detail=said, exit_code=code, tokens=tokens, cents=cents))
    show.close()
    sys.exit(code)


def _check_values(phases: tuple[Phase, ...], values: Mapping[str, str]) -> None:
    """Raise UsageError where a phase misses what it needs."""
    if Phase.RED in phases and not values["spec"].strip():
        raise click.UsageError('say what is to be built: supervisor tdd "one behaviour, in a sentence"')
    if Phase.RED not in phases and not values["test_path"]:
        raise click.UsageError("without the red phase, name the file of the test: --test PATH")
    if phases == (Phase.REFACTOR,) and not values["impl_path"]:
        raise click.UsageError("refactor alone needs the file to improve: --impl PATH")


async def run_phases(
    skills: Skills, phases: tuple[Phase, ...], request: SkillRequest, tell: Tell
) -> list[SkillResult]:
    """Run one phase after the other until one is not verified."""
    results: list[SkillResult] = []
    for phase in phases:
        result = await skills.run(phase, request, tell)
        results.append(result)
        tell(_result_step(result))
        if not result.verified:
            break
        impl_path = request.values["impl_path"] or next(iter(result.files), "")
        values = {"test_path": result.file_path} if phase is Phase.RED else {"impl_path": impl_path}
        request = replace(request, values={**request.values, **values})
    return results


def _result_step(result: SkillResult) -> Step:
    """Return the step that tells how a phase ended."""
    ended = "verified" if result.verified else "nothing done" if result.status == "pass" else "not verified"
    changed = f"changed: {', '.join(result.files)}" if result.files else ""
    cents = "" if result.cents is None else f", {result.cents:.1f} cents"
    took = f"{result.tokens:,} tokens{cents}" if result.tokens else ""
    lines = (f"{ended}: {result.message}", "; ".join(filter(None, (changed, took))))
    printed = result.runner_output.splitlines()[-OUTPUT_LINES:] if result.status != "pass" else ()
    return Step(
        kind=result.phase,
        text="\n".join(lines).strip(),
        attempt=result.attempts,
        outcome=ended,
        tokens=result.tokens,
        cents=result.cents,
        output="\n".join(f"| {line}" for line in printed),
    )


# --- any other skill ----------------------------------------------------------------------------------------


@click.command()
@click.argument("name", default="")
@click.argument("request", nargs=-1)
@PROJECT
@click.option("--model", default="", help="A model's name; else the skill's own or the configured one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and nothing else.")
def skill(name: str, request: tuple[str, ...], *, project: str, model: str, as_json: bool) -> None:
    """Let an agent do the skill NAME as REQUEST says; without a name, list the skills.

    The agent works in a copy of the project. What it writes there is dropped, and its answer is printed. A
    skill of your own is one Markdown file (docs/tdd.md). Example: supervisor skill review "the last commit"

    Exit codes: 0 answered, 1 refused, 2 it could not be tried, 130 interrupted.
    """
    skills = build_typed_skills(user_paths().state, CommandLineFiles())
    if not name:
        known = skills.known(project)
        listed = {one.name: one.about for one in known.by_name.values()}
        echo_json(listed) if as_json else echo("\n".join(map(": ".join, listed.items())))
        for problem in known.problems:
            echo(f"supervisor: {problem}", err=True)
        return
    refuse_agents()
    if not request or name.startswith("tdd_"):
        raise click.UsageError('say what it is to do: supervisor skill NAME "..."; phases: supervisor tdd')
    values = {"request": " ".join(request)}
    asked = SkillRequest(project=project, environment=os.environ, values=values, model=model)
    done = asyncio.run(skills.run(name, asked, lambda step: echo(f"{step.kind}: {step.text}", err=True)))
    if as_json:
        echo_json(done)
    elif done.answer is None:
        echo(f"{done.message}\n{done.runner_output}".strip(), err=True)
    for field, value in ({} if as_json else done.answer or {}).items():
        data = msgspec.json.format(msgspec.json.encode(value)).decode()
        echo(f"{field}: {value if isinstance(value, str) else data}")
    sys.exit(EXIT_CODES[done.status])
