"""Judges a change between two commits as the stop of an agent that made it, where no session is known.

- The checks of the base count; the base's own run first, on the base's files. What failed there is not the
  change's. Whatever the change adds or redefines of the checks runs after them, and is told.
- A detected check that the change has detected otherwise runs as it is detected now; a configured one runs as
  the base has it, and the change's apart.
- No model is asked. The worst finding decides: an error is found, a warning leaves it open.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.approvals import gate_digest
from sidecar.evidence.gates.goal_checks import asks_for_change_of_checks
from sidecar.evidence.gates.policy import (
    advisory_gates,
    bears_on_goal,
    build_gate_baseline,
    new_gate_failures,
    required_gates,
)
from sidecar.evidence.ports import CopyVersion, GateCatalog, GateContext
from sidecar.evidence.proof.check_files import bears_on_checks, files_in, text_of
from sidecar.evidence.proof.covered import PYTHON_MODULE, count_run_lines
from sidecar.evidence.proof.expectations import find_places
from sidecar.evidence.proof.file_names import is_document
from sidecar.evidence.proof.policy import (
    CHANGED_CHECKS,
    EXECUTED_CHANGES,
    bare_name,
    describe_check_change,
    fewer_ran,
)
from sidecar.evidence.proof.untouched import find_untouched
from sidecar.evidence.proof.worth import weigh_passes
from sidecar.evidence.tree.change_source import ChangeSource
from sidecar.evidence.tree.workspace import ChangeCopy
from sidecar.kernel.effects import Inquiry
from sidecar.kernel.events import NO_RUBRIC, AgentStopped, ProjectState
from sidecar.kernel.evidence import (
    CheckChange,
    FileBaseline,
    FindingSeverity,
    IntegrityFinding,
    ProjectChanges,
)
from sidecar.kernel.gate import NOTHING_SHOWN, AvailableGates, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import Goal
from sidecar.kernel.masking import mask_gate_run
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.text import clean_line
from sidecar.kernel.turn import Turn
from sidecar.platform.data import load_data
from sidecar.platform.files import scratch_folder
from sidecar.systems.supervision.checking import CheckResult, CheckWish
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.stop_loop import build_lone_loop

KEY: Final = SessionKey("change", "change")
THE_CHECKS: Final = "All checks pass."
"""What is asked of a change of which nobody says what it is for. It names no check."""
TURN: Final = Turn(last_message_id="change", readable=False)
"""What is known of the work: no more than its files."""
NAMED_FAILURES: Final = 5
IN_COPIES: Final = {
    "old": "checks of the base, code of the change",
    "product": "checks and all else of the base, product of the change",
    "fresh": "checks of the change, code of the base",
    "on_base": "product of the base, all else of the change",
    "falsified": "the change, with an expectation turned wrong",
}
"""What ran where, by the fields of `CheckComparison` and `CheckTrial`."""
ON_CHANGE: Final = "the change as it is"
TRACED_S: Final = 60.0
"""Seconds of a check that is run once more to count the lines that it runs."""
LINE: Final = 500
"""Characters of a message."""


class Level(StrEnum):
    """How much a finding weighs; the words are those of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


RESULTS: Final = {Level.ERROR: CheckResult.FOUND, Level.WARNING: CheckResult.UNKNOWN}


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """What a finding means, and its level where the finding does not say it."""

    means: str
    level: Level | None = None


class ChangeFinding(Struct, frozen=True, kw_only=True):
    """One finding about a change.

    `rule` is one of data/change_findings.toml. `file` is relative to the repository, "" for none; `line` is
    the line in it at the end of the change, 0 for none.
    """

    rule: str
    level: Level
    message: str
    file: str = ""
    line: int = 0


class RanCheck(Struct, frozen=True, kw_only=True):
    """One run of a check. `what` says which version of the checks ran on which files.

    `tests` is the number of tests that ran, None where unknown; `failures` are the first failing lines.
    """

    check: str
    command: str
    what: str
    outcome: Outcome
    tests: int | None = None
    seconds: float = 0.0
    reason: str = ""
    failures: tuple[str, ...] = ()


class CheckedChange(Struct, frozen=True, kw_only=True):
    """What was found about a change, for people and programs.

    `base` is the commit at which it begins, `head` its last one, "" where the files were taken as they are,
    and `tree` git's name of the files. `result` is "clear", "found" or "unknown", and `exit_code` its number.
    `proof` are lines about what was executed that would have failed without it, where nothing speaks against.
    `source` is who made it.
    """

    base: str
    head: str
    tree: str
    goal: str
    result: str
    exit_code: int
    changed: tuple[str, ...] | None
    ran: tuple[RanCheck, ...]
    proof: tuple[str, ...]
    findings: tuple[ChangeFinding, ...]
    source: ChangeSource = ChangeSource()


class _Rules(Struct, frozen=True):
    rules: dict[str, Rule]


def finding_rules() -> Mapping[str, Rule]:
    """Return what each finding means, by its rule."""
    return load_data("change_findings", _Rules).rules


async def check_change(
    services: Services, change: ChangeCopy, base: FileBaseline, wish: CheckWish, head: str
) -> CheckedChange:
    """Judge a change by the files at its end and its beginning, `base`; `head` names it. Raises OSError."""
    stop = AgentStopped(key=KEY, project=change.project, environment=change.environment, transcript="")
    since = await services.workspace.since(base, stop.project, stop.environment)
    unseen = [_finding("not-seen", f"the submodule {path} was changed") for path in change.submodules]
    checked = partial(
        CheckedChange,
        base=change.began,
        head=change.commit if head else "",
        tree=change.tree,
        goal=wish.goal,
        changed=since.paths,
    )
    if since.paths == ():
        return _with_result(checked, unseen or [_finding("no-change", "nothing was run")])
    offered = await _gates_of_base(services, stop, base)
    goal = Goal(id="change", condition=wish.goal or THE_CHECKS, checks=wish.checks, base=base)
    before = await _run_on_base(services, stop, goal, offered, since)
    goal = replace(goal, baseline=build_gate_baseline(before))
    gates = ChangeCatalog(services.catalog, offered, before)
    loop = build_lone_loop(dataclasses.replace(services, catalog=gates))
    inquiry, _ = await loop.decide(stop, Session(key=KEY, project=change.project, goal=goal))
    found = [*_findings(inquiry, goal, wish, gates), *_claimed_findings(inquiry, wish, since), *unseen]
    for run in inquiry.runs:
        counts = run.gate.kind is Kind.TESTS and run.gate.command.startswith(PYTHON_MODULE)
        if counts and run.outcome is Outcome.PASSED and run.seconds < TRACED_S:
            at = GateContext(project=stop.project, tree="", environment=stop.environment)
            product = [file for file in since.files if file.path in inquiry.project_state.code]
            ran, lines = await count_run_lines(run.gate, at, product, offered.settings.seconds)
            told = _finding(
                "lines-run" if ran == lines else "lines-not-run",
                f"{run.gate.named} ran {ran} of {lines} changed lines",
            )
            found += [told] if ran else []
    worth = weigh_passes(goal, inquiry.runs, inquiry.comparisons, inquiry.project_state, alone=False)
    placed = [replace(one, file=f"{change.inside}{one.file}" if one.file else "") for one in found]
    return _with_result(checked, placed, tuple(_ran(before, inquiry)), worth.proof)


def _with_result(
    checked: Callable[..., CheckedChange],
    findings: Sequence[ChangeFinding],
    ran: tuple[RanCheck, ...] = (),
    proof: tuple[str, ...] = (),
) -> CheckedChange:
    levels = {one.level for one in findings}
    worst = next((RESULTS[level] for level in RESULTS if level in levels), CheckResult.CLEAR)
    proof = proof if worst is CheckResult.CLEAR else ()
    return checked(result=worst.name.lower(), exit_code=worst, findings=tuple(findings), ran=ran, proof=proof)


async def _gates_of_base(services: Services, stop: AgentStopped, base: FileBaseline) -> AvailableGates:
    """Return the gates that the base's own files offer; being there approves them."""
    async with scratch_folder("base") as folder:
        copy = await services.workspace.copy(base, stop.project, stop.environment, CopyVersion.BASE, folder)
        if copy.unseen:
            return AvailableGates(problems=(copy.unseen,))
        found = await services.catalog.list(copy.project, copy.environment)
    approved = [tuple(replace(gate, approved=True) for gate in some) for some in (found.gates, found.members)]
    return replace(found, gates=approved[0], members=approved[1])


async def _run_on_base(
    services: Services, stop: AgentStopped, goal: Goal, offered: AvailableGates, since: ProjectChanges
) -> tuple[GateRun, ...]:
    """Run the base's gates on its own files, before anything of the change runs."""
    state = ProjectState(tree=goal.base.tree, rubric=NO_RUBRIC, catalog=offered, changed=since.paths)
    wanted = (*required_gates(goal, state), *advisory_gates(goal, state))
    at = GateContext(project=stop.project, tree="", environment=stop.environment, base=goal.base)
    asked = [GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree="") for gate in wanted]
    seconds = float(offered.settings.seconds * len(asked))
    mask = services.secrets.masker(stop.environment)
    return tuple(mask_gate_run(run, mask) for run in await services.old_checks.run_base(at, asked, seconds))


class ChangeCatalog:
    """Implements `GateCatalog`: the gates of the base, and what the change makes of them.

    `told` are the gates that the change adds or redefines, each with the base's, None where that has none.
    """

    def __init__(self, catalog: GateCatalog, base: AvailableGates, before: Iterable[GateRun]) -> None:
        """`before`: the runs of the base's gates on its own files; what failed there need not pass."""
        self._catalog, self._base = catalog, base
        self._must = {
            run.gate.id
            for run in before
            if (run.gate.required or run.gate.kind is Kind.TESTS) and run.outcome is not Outcome.FAILED
        }
        self.told: tuple[tuple[Gate, Gate | None], ...] = ()

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:
        found = await self._catalog.list(project, environment, place)
        known = {gate.id: gate for gate in self._base.gates}
        same = set(map(gate_digest, known.values()))
        others = [gate for gate in found.gates if gate_digest(gate) not in same]
        self.told = tuple((gate, known.get(gate.id)) for gate in others)
        now = {gate.id: replace(gate, required=gate.id in self._must) for gate in known.values()}
        for gate in others:
            of_base, its = known.get(gate.id, gate), replace(gate, approved=True)
            if gate.id not in known or {gate.origin, of_base.origin} == {GateOrigin.DETECTED}:
                now[gate.id] = replace(its, required=gate.id in self._must)
            elif (gate.command, gate.folder) != (of_base.command, of_base.folder):
                now[f"{gate.id}:new"] = replace(its, id=f"{gate.id}:new", required=False)
        members = {gate.id: gate for gate in (*found.members, *self._base.members)}
        approved = tuple(replace(gate, approved=True) for gate in members.values())
        settings = replace(self._base.settings, advisory_seconds=self._base.settings.seconds)
        problems = tuple(dict.fromkeys((*self._base.problems, *found.problems)))
        return AvailableGates(
            gates=tuple(now.values()), members=approved, settings=settings, problems=problems
        )

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        self._catalog.approve(project, gates)


# --- what was found -----------------------------------------------------------------------------------------


def _findings(inquiry: Inquiry, goal: Goal, wish: CheckWish, gates: ChangeCatalog) -> Iterator[ChangeFinding]:
    """Yield what is to be said, in the order in which it is shown."""
    state, project = inquiry.project_state, Path(inquiry.stop.project)
    for run in inquiry.runs:
        yield from _run_findings(run, goal, project)
    gone = {one.before for one in state.findings if one.change is CheckChange.CHECK_GONE}
    for one in state.findings:
        if one.change is not CheckChange.EXPECTATION_CHANGED or one.before not in gone:
            yield _integrity_finding(one, _level(one, inquiry, wish.goal), project)
    added = {gate.id for gate, before in gates.told if before is None}
    if not any(bears_on_goal(run) and run.gate.id not in added for run in inquiry.runs):
        yield _finding("no-check", "no check of the base ran on the change")
    for why in filter(None, (state.unseen, *state.catalog.problems)):
        yield _finding("not-seen", why)
    for part in state.untouched if wish.goal else ():
        yield _finding("goal-untouched", f"nothing that changed has {part}")
    for gate, before in gates.told:
        was = f", which was `{before.behind or before.command}`" if before else ""
        rule = "check-redefined" if before else "check-added"
        yield _finding(rule, f"{gate.id}: `{gate.behind or gate.command}`{was}")
    for trial in inquiry.trials:
        if trial.falsified is None and trial.unseen:
            yield _finding("not-tried", f"{trial.now.gate.named}: {trial.unseen}")


def _claimed_findings(inquiry: Inquiry, wish: CheckWish, since: ProjectChanges) -> Iterator[ChangeFinding]:
    """Yield what the author says of the change and nothing in it has. All else of these words is unread."""
    git = inquiry.project_state.repository
    known = (*(git.tags or ()), *(git.branches or ())) if git else ()
    checks = (*wish.checks, *(gate.command for gate in inquiry.project_state.catalog.gates))
    for part in find_untouched(wish.claimed, since.files, checks, known):
        yield _finding("goal-untouched", f"the pull request names {part}, and nothing that changed has it")


def _run_findings(run: GateRun, goal: Goal, project: Path) -> Iterator[ChangeFinding]:
    bears, named, news = bears_on_goal(run), run.gate.named, new_gate_failures(run, goal.baseline)
    if run.outcome in NOTHING_SHOWN:
        yield _finding("could-not-run" if bears else "advice-missing", f"{named}: {run.reason}")
    elif run.outcome is Outcome.FAILED and not _asked_for(run) and _failed_before(run, goal, news):
        as_before = "as it did before" if news == () else "and failed before, perhaps otherwise"
        yield _finding("failed-before" if bears else "advice-failed", f"{named} fails {as_before}")
    elif run.outcome is Outcome.FAILED:
        for name in (news or run.failing or run.failures or (run.reason,))[:NAMED_FAILURES]:
            line = next((line for line in run.failures if name in line), name)
            place = _find_test(name, f"{line}\n{run.output}", project)
            yield _finding("check-failed" if bears else "advice-failed", f"{named}: {line}", *place)
    elif run.flaky and bears:
        yield _finding("flaky", f"{named}: {'; '.join(run.failures)}")


def _asked_for(run: GateRun) -> bool:
    """Whether the goal's words ask that this check passes, so that an old failure counts, too."""
    return run.gate.required and run.gate.origin is not GateOrigin.TYPED


def _failed_before(run: GateRun, goal: Goal, news: tuple[str, ...] | None) -> bool:
    """Whether nothing shows that a failure is the change's: also where no name of one is in both runs."""
    known = {one.gate for one in goal.baseline if one.outcome is Outcome.FAILED}
    return news == () or (news is None and run.gate.id in known)


def _level(one: IntegrityFinding, inquiry: Inquiry, goal: str) -> Level:
    """Return how much a finding weighs. `goal`: what a person said that the change is for.

    Where nothing but checks changed and as many tests run, nobody claims that the product was repaired: then
    only a person can tell whether the test was wrong, and may have said so.
    """
    level, asked = finding_rules()[one.change].level, asks_for_change_of_checks(goal)
    if level is not None:
        return level
    if one.change is CheckChange.OLD_FAILURE_REMAINS and _only_checks_changed(inquiry):
        return Level.NOTE if asked else Level.ERROR if goal else Level.WARNING
    if one.weight is FindingSeverity.GRAVE:
        return Level.ERROR
    return Level.NOTE if one.change in CHANGED_CHECKS and asked else Level.WARNING


def _only_checks_changed(inquiry: Inquiry) -> bool:
    """Whether all that changed bears on checks or is documentation, and no fewer tests run than did."""
    fewer = any(one.base is not None and fewer_ran(one.now, one.base) for one in inquiry.comparisons)
    rest = [path for path in inquiry.project_state.changed or ("",) if not bears_on_checks(path)]
    return not fewer and all(map(is_document, rest))


def _integrity_finding(one: IntegrityFinding, level: Level, project: Path) -> ChangeFinding:
    said, file, line = describe_check_change(one, "at the base"), one.file, one.line
    if file.startswith("`"):
        said, file = f"{file}: {said}", ""
    elif one.change in EXECUTED_CHANGES and one.before and not line:
        line = _find_test(one.before, "", project, (file,))[1]
    return ChangeFinding(rule=one.change, level=level, message=clean_line(said, LINE), file=file, line=line)


def _finding(rule: str, message: str, file: str = "", line: int = 0) -> ChangeFinding:
    level = finding_rules()[rule].level or Level.WARNING
    return ChangeFinding(rule=rule, level=level, message=clean_line(message, LINE), file=file, line=line)


def _find_test(name: str, said: str, project: Path, files: Sequence[str] = ()) -> tuple[str, int]:
    """Return the file and line of a test, or the line in it at which it is said to fail; "" and 0 if unknown.

    `files`: where it may be, else all files of checks.
    """
    named = [project / file for file in files] or files_in(project, bears_on_checks)
    bare = bare_name(name).rpartition(".")[2]
    for file in filter(Path.is_file, named if bare else ()):
        text = text_of(file)
        at = text.find(bare)
        if at >= 0:
            begin, path = text.count("\n", 0, at) + 1, file.relative_to(project).as_posix()
            told = (line for where, line in find_places(said) if path.endswith(where) and line > begin)
            return path, next(told, begin)
    return "", 0


# --- what ran -----------------------------------------------------------------------------------------------


def _ran(before: Iterable[GateRun], inquiry: Inquiry) -> Iterator[RanCheck]:
    """Yield the runs in the order in which they were made."""
    yield from (_ran_check(run, "the base as it was") for run in before)
    yield from (_ran_check(run, ON_CHANGE) for run in inquiry.runs)
    for one in (*inquiry.comparisons, *inquiry.trials):
        runs = ((what, getattr(one, name, None)) for name, what in IN_COPIES.items())
        yield from (_ran_check(run, what) for what, run in runs if run is not None)


def _ran_check(run: GateRun, what: str) -> RanCheck:
    return RanCheck(
        check=run.gate.id,
        command=run.gate.named,
        what=what,
        outcome=run.outcome,
        tests=run.executed,
        seconds=round(run.seconds, 2),
        reason=clean_line(run.reason, LINE),
        failures=tuple(clean_line(line, LINE) for line in run.failures[:NAMED_FAILURES]),
    )
