"""`supervisor govern` and `supervisor governance`: governed phases for people."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from sidecar.cli.audit import MODE, typed_by
from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.notices import NotifyingView
from sidecar.cli.options import JSON_LINES, MAX_CENTS, MAX_TOKENS, PROJECT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.progress import ProgressView, open_budget
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.evidence.gates.approvals import TypedCatalog
from sidecar.kernel.governance import (
    FORMS,
    AnalyzeInput,
    ErrorAction,
    GovernedPhase,
    ImplementInput,
    ReviewInput,
)
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.settings import Mode, Settings
from sidecar.kernel.text import quote_as_code_block
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.rubric.texts import read_texts
from sidecar.systems.governance.policy.table import Stage
from sidecar.systems.governance.policy.work import (
    ANSWER_TOOL,
    PHASE_TOOL,
    Question,
    Work,
    describe_cost,
    fold_work,
    phase_output,
)
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.governance.service import NEW, Governance, PhaseOutcome, conduct
from sidecar.wiring.headless import build_governance, build_workers
from sidecar.wiring.platform import build_platform
from sidecar.wiring.supervision import build_services
from sidecar.work.progress import RunFinished, Step
from sidecar.workers.budget import Budget

NOT_DELIVERED: Final = 1
WAITS: Final = 3
ENDS: Final = {
    Stage.DELIVERED: ("govern-delivered", 0),
    Stage.STOPPED: ("govern-stopped", NOT_DELIVERED),
}
"""What is told at the end, a section of rubric/shell.md, and the exit code, where nothing is asked."""
PHASES: Final = {form.section: phase for phase, form in FORMS.items()}
SHOWN_LINES: Final = 40
"""Lines of a section that the screen shows; the report holds all."""


@click.command()
@click.argument("problem", default="")
@click.option("--mode", type=MODE, default=None, help="How strictly; else full.")
@click.option("--require", "requirements", multiple=True, help="What is required besides. May be repeated.")
@click.option("--rule", "rules", multiple=True, help='A rule: "only src/*", "never docs/*". May be repeated.')
@click.option("--lock", default=NEW, help="Go on with the work under this lock.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report in Markdown to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per phase, and nothing else.")
@JSON_LINES
@MAX_TOKENS
@MAX_CENTS
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
    json_lines: bool,
    project: str,
    **limits: Any,  # noqa: ANN401 - of the budget
) -> None:
    """Solve PROBLEM in governed phases: analyze, plan, implement, review, test, deliver.

    Agents work in copies of the project. Nothing comes into it before the change was reviewed and tested, and
    all is in the audit (supervisor audit). Example: supervisor govern "slugify drops accents" --mode light

    Exit codes: 0 delivered, 1 not delivered, 2 wrong usage, 3 a person must answer, 130 interrupted.
    """
    refuse_agents()
    if lock == NEW and not problem.strip():
        raise click.UsageError('say what is to be solved: supervisor govern "the problem, in a sentence"')
    begun, view = [lock], NotifyingView(project, as_json=as_json, json_lines=json_lines)
    platform = build_platform(user_paths().state, CommandLineFiles())
    governance = _build(project, budget := open_budget(platform, view.tell, **limits))
    for done in map(phase_output, governance.entries(lock)):
        budget.count(done.tokens, done.cents)
    caller = PhaseCaller(project=project, environment=os.environ, origin=typed_by())
    quiet = as_json or json_lines

    def show(outcome: PhaseOutcome) -> None:
        begun.append(outcome.context_lock_id)
        if as_json:
            echo_json(outcome)
        else:
            view.tell(_outcome_step(outcome))

    given = {
        GovernedPhase.ANALYZE: AnalyzeInput(problem_statement=problem, user_requirements=requirements),
        GovernedPhase.IMPLEMENT: ImplementInput(om_rules=rules),
        GovernedPhase.REVIEW: ReviewInput(quick_fix_eligible=True),
    }
    try:
        work = asyncio.run(
            conduct(
                governance,
                caller,
                given,
                lock,
                Mode(mode) if mode else None,
                tell=view.tell,
                show=show,
                ask=_ask if sys.stdin.isatty() and not quiet else lambda _: None,
            )
        )
    except KeyboardInterrupt:
        held = begun[-1] if begun[-1] != NEW else "ID (see supervisor lock list)"
        echo(f"Interrupted; the project is as it was. Go on: supervisor govern --lock {held}", err=True)
        sys.exit(INTERRUPTED_CODE)
    if report:
        write_whole(Path(report), write_report(work.lock, governance.entries(work.lock)).encode())
    sys.exit(_tell_end(work, view, budget, platform.configuration.load()[0], quiet=quiet))


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


def _build(project: str = "", budget: Budget | None = None) -> Governance:
    """Build governed phases. The tests of `project` count as approved by who typed the command."""
    state = user_paths().state
    for line in ChangeApplier(state).roll_back():
        echo(f"{line}.", err=True)
    files = CommandLineFiles()
    shared = build_services(files=files)
    if project:
        for problem in shared.configuration.load()[1]:
            echo(f"supervisor: {problem}", err=True)
        typed = asyncio.run(shared.catalog.list(project, os.environ)).gates
        shared = replace(shared, catalog=TypedCatalog(shared.catalog, typed))
    return build_governance(state, shared, build_workers(state, shared.spending, shared.secrets, budget))


def _outcome_step(outcome: PhaseOutcome) -> Step:
    """Return the step that tells how a phase ended, with the first lines of its section."""
    error = outcome.error
    asked = error is not None and error.action is ErrorAction.HUMAN_INTERVENTION  # with the question, below
    said = "ok" if error is None else "asks you" if asked else f"{error.type}: {error.message}"
    payload = msgspec.json.decode(msgspec.json.encode(outcome.payload))
    lines = "\n".join(payload_blocks(payload)).splitlines()
    more = (f"... and {len(lines) - SHOWN_LINES} lines more",) if len(lines) > SHOWN_LINES else ()
    shown = "\n".join((*lines[:SHOWN_LINES], *more))
    return Step(kind=PHASES[outcome.section], text=said, outcome=error.type if error else "ok", output=shown)


def _ask(question: Question) -> tuple[bool, str] | None:
    yes = click.confirm(question.message)
    text = "" if yes else click.prompt("Why", default="", show_default=False)
    return yes, text


def _tell_end(work: Work, view: ProgressView, budget: Budget, settings: Settings, *, quiet: bool) -> int:
    """Tell how it ended, and return the exit code."""
    section, code = ENDS.get(work.stage, ("govern-failed", NOT_DELIVERED))
    question = ""
    if work.question is not None:
        section, code, question = "govern-asks", WAITS, work.question.message
    spent = budget.obstacle(0, settings) if section == "govern-failed" else None
    why, way = (spent.text, " ".join(chain(*spent.way))) if spent else ("", "")
    section = "govern-exhausted" if spent else section
    said = read_texts("shell.md").say(section, lock=work.lock, question=question, why=why, way=way)
    outcome = "exhausted" if spent else "waiting" if question else work.stage
    tokens, cents = budget.tokens, budget.cents
    view.tell(RunFinished(outcome=outcome, detail=said, exit_code=code, tokens=tokens, cents=cents))
    view.close()
    if code == 0 and not quiet:
        echo(said)
    return code


# --- the report, from the audit alone -----------------------------------------------------------------------


def write_report(lock: str, entries: Iterable[AuditEntry]) -> str:
    """Return the report, from the audit alone: each phase with its result, what was asked and delivered."""
    blocks, entries = [f"# Governed change {lock}"], tuple(entries)
    for at, entry in enumerate(entries):
        if entry.tool == ANSWER_TOOL:
            said = msgspec.json.decode(entry.input, type=dict[str, str])["text"]
            blocks.append(f"A person answered {entry.result}{said and f': {said}'}.")
            before, after = (fold_work(lock, entries[:end]).review for end in (at, at + 1))
            if after and after != before:
                blocks += payload_blocks(msgspec.to_builtins([*after.rules]), "rules")
        if entry.tool.startswith(PHASE_TOOL):
            blocks += _phase_blocks(entry)
    return "\n\n".join(blocks) + "\n"


def _phase_blocks(entry: AuditEntry) -> Iterator[str]:
    phase = GovernedPhase(entry.tool.removeprefix(PHASE_TOOL))
    given, shown = (msgspec.json.decode(part, type=dict[str, Any]) for part in (entry.input, entry.output))
    took = ", ".join(filter(None, (entry.agent, f"{entry.duration_ms / 1000:.1f} s", describe_cost(entry))))
    yield f"## {FORMS[phase].section} {entry.result}"
    yield f"Iteration {entry.iteration}, {took}, audit entry {entry.number}."
    if phase is GovernedPhase.ANALYZE:
        yield given["problem_statement"]
    if error := shown.get("error"):
        yield f"{error['type']} ({error['action']}): {error['message']}"
    yield from payload_blocks(shown.get("payload"), quote=quote_as_code_block)


def payload_blocks(payload: Any, name: str = "", *, quote: Callable[[str], str] = str) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield a payload: lists as points, texts of several lines by `quote`, the rest as `name: value`."""
    match payload:
        case dict():
            for key, value in payload.items():
                yield from payload_blocks(value, key, quote=quote)
        case None | "" | []:
            return
        case list():
            yield f"{name}:"
            yield "\n".join(f"{number}. {_point(one)}" for number, one in enumerate(payload, 1))
        case str() if "\n" in payload:
            yield f"{name}:"
            yield quote(payload)
        case _:
            yield f"{name}: {payload}"


def _point(value: Any) -> str:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return "; ".join(f"{key}: {one}" for key, one in value.items() if one not in (None, "", []))
    return " then ".join(map(str, value)) if isinstance(value, list) else str(value)
