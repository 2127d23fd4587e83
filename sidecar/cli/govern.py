"""`supervisor govern` and `supervisor governance`: governed phases for people."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import msgspec

from sidecar.cli.audit import MODE, typed_by
from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.options import PROJECT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.evidence.gates.approvals import TypedCatalog
from sidecar.kernel.governance import AnalyzeInput, ErrorAction, GovernedPhase, ImplementInput, ReviewInput
from sidecar.kernel.settings import Mode
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.rubric.texts import read_texts
from sidecar.systems.governance.conductor import Assignment, conduct, payload_blocks, write_report
from sidecar.systems.governance.policy.table import Stage
from sidecar.systems.governance.policy.work import Question, Work
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.governance.service import NEW, Governance, PhaseOutcome
from sidecar.wiring.headless import build_governance, build_workers
from sidecar.wiring.platform import build_evidence, build_platform

NOT_DELIVERED: Final = 1
WAITS: Final = 3
ENDS: Final = {
    Stage.DELIVERED: ("govern-delivered", 0),
    Stage.STOPPED: ("govern-stopped", NOT_DELIVERED),
}
"""What is told at the end, a section of rubric/shell.md, and the exit code, where nothing is asked."""
SHOWN_LINES: Final = 40
"""Lines of a section that the screen shows; the report holds all."""


@click.command()
@click.argument("problem", default="")
@click.option("--mode", type=MODE, default=None, help="How strictly; else full.")
@click.option("--require", "requirements", multiple=True, help="What is required besides. May be repeated.")
@click.option(
    "--rule", "rules", multiple=True, help='A rule, such as "only src/*" or "never docs/*". May be repeated.'
)
@click.option("--lock", default=NEW, help="Go on with the work under this lock.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report in Markdown to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per phase, and nothing else.")
@PROJECT
def govern(  # noqa: PLR0913 - one parameter per option
    problem: str,
    *,
    mode: str | None,
    requirements: tuple[str, ...],
    rules: tuple[str, ...],
    lock: str,
    report: str | None,
    as_json: bool,
    project: str,
) -> None:
    """Solve PROBLEM in governed phases: analyze, plan, implement, review, test, deliver.

    Agents work in copies of the project. Nothing comes into it before the change was reviewed and tested, and
    all is in the audit (supervisor audit). Example: supervisor govern "slugify drops accents" --mode light

    Exit codes: 0 delivered, 1 not delivered, 2 wrong usage, 3 a person must answer, 130 interrupted.
    """
    refuse_agents()
    if lock == NEW and not problem.strip():
        raise click.UsageError('say what is to be solved: supervisor govern "the problem, in a sentence"')
    governance = _build(project)
    caller = PhaseCaller(project=project, environment=os.environ, origin=typed_by())
    begun = [lock]

    def show(outcome: PhaseOutcome) -> None:
        begun.append(outcome.context_lock_id)
        if as_json:
            echo_json(outcome)
        else:
            _show(outcome)

    given = {
        GovernedPhase.ANALYZE: AnalyzeInput(problem_statement=problem, user_requirements=requirements),
        GovernedPhase.IMPLEMENT: ImplementInput(om_rules=rules),
        GovernedPhase.REVIEW: ReviewInput(quick_fix_eligible=True),
    }
    wish = Assignment(given=given, lock=lock, mode=Mode(mode) if mode else None)
    try:
        work = asyncio.run(
            conduct(
                governance,
                caller,
                wish,
                tell=lambda step: None if as_json else echo(f"  {step}"),
                show=show,
                ask=_ask if sys.stdin.isatty() and not as_json else lambda _: None,
            )
        )
    except KeyboardInterrupt:
        held = begun[-1] if begun[-1] != NEW else "ID (see supervisor lock list)"
        echo(f"Interrupted; the project is as it was. Go on: supervisor govern --lock {held}", err=True)
        sys.exit(INTERRUPTED_CODE)
    if report:
        write_whole(Path(report), write_report(work.lock, governance.entries(work.lock)).encode())
    sys.exit(_end(work, quiet=as_json))


@click.group()
def governance() -> None:
    """What governed phases ask, and your answer."""


@governance.command()
@click.argument("lock")
@click.argument("said", type=click.Choice(["yes", "no"]))
@click.argument("text", default="")
def answer(lock: str, said: str, text: str) -> None:
    """Answer what the work under LOCK asks, with a TEXT if you like. `status` shows the question."""
    refuse_agents()
    built = _build()
    caller = PhaseCaller(project="", environment=os.environ, origin=typed_by())
    work = built.answer(lock, caller, yes=said == "yes", text=text)
    echo(f"Answered {said}. The work is {work.stage} now.")


@governance.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(*, as_json: bool) -> None:
    """Show where the work under each lock stands, and what is asked."""
    found = _build().works()
    if as_json:
        echo_json(found)
        return
    if not found:
        echo("No project is under governance.")
    for work in found:
        echo(f"{work.lock}  {work.stage}, iteration {work.iteration}, mode {work.mode}: {work.problem}")
        if work.question is not None:
            echo(f"  asks: {work.question.message}")
            echo(f"  supervisor governance answer {work.lock} yes|no")


def _build(project: str = "") -> Governance:
    """Build governed phases. The tests of `project` count as approved by who typed the command."""
    state = user_paths().state
    for line in ChangeApplier(state).roll_back():
        echo(f"{line}.", err=True)
    files = CommandLineFiles()
    shared = build_evidence(state, build_platform(state, files), files)
    if project:
        typed = asyncio.run(shared.catalog.list(project, os.environ)).gates
        shared = replace(shared, catalog=TypedCatalog(shared.catalog, typed))
    return build_governance(state, shared, build_workers(state, shared.spending, shared.secrets))


def _show(outcome: PhaseOutcome) -> None:
    """Show the first lines of a section."""
    error = outcome.error
    asked = error is not None and error.action is ErrorAction.HUMAN_INTERVENTION  # with the question, below
    said = "ok" if error is None else "asks you" if asked else f"{error.type}: {error.message}"
    echo(f"{outcome.section}  {said}")
    payload = msgspec.json.decode(msgspec.json.encode(outcome.payload))
    lines = "\n".join(payload_blocks(payload)).splitlines()
    for line in lines[:SHOWN_LINES]:
        echo(f"  {line}")
    if len(lines) > SHOWN_LINES:
        echo(f"  ... and {len(lines) - SHOWN_LINES} lines more")


def _ask(question: Question) -> tuple[bool, str] | None:
    yes = click.confirm(question.message)
    text = "" if yes else click.prompt("Why", default="", show_default=False)
    return yes, text


def _end(work: Work, *, quiet: bool) -> int:
    """Say how it ended, and return the exit code."""
    section, code = ENDS.get(work.stage, ("govern-failed", NOT_DELIVERED))
    question = ""
    if work.question is not None:
        section, code, question = "govern-asks", WAITS, work.question.message
    if not quiet:
        echo(read_texts("shell.md").say(section, lock=work.lock, question=question))
    return code
