"""The work of each phase: what a worker says, what our own evidence says, and what follows by the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.copies import NoCopyError, ProjectCopies, WorkCopy, without_written_files
from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.gate import Outcome
from sidecar.kernel.governance import (
    Analysis,
    Artifacts,
    Decision,
    Deliverables,
    ErrorType,
    FinalDecision,
    Implementation,
    ImplementationMetadata,
    Phase,
    Plan,
    TestEvidence,
    Testing,
    Verifiability,
)
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.settings import Settings
from sidecar.platform.apply import ApplyError
from sidecar.systems.governance.agents import CALLER, PhaseAgents, take_answer
from sidecar.systems.governance.changes import (
    Change,
    ConflictError,
    change_digest,
    keep_change,
    put_change,
    steps_to_copy,
    unified_diff,
)
from sidecar.systems.governance.evidence import REVIEW_KINDS, TEST_KINDS, CopyEvidence, describe_runs
from sidecar.systems.governance.policy.clauses import ClauseKind, parse_clause, plan_clauses, plan_faults
from sidecar.systems.governance.policy.phases import (
    AnalyzeInput,
    ConductInput,
    ImplementAnswer,
    ImplementInput,
    PlanInput,
    ReviewAnswer,
    ReviewInput,
    TestAnswer,
    TestInput,
)
from sidecar.systems.governance.policy.rules import (
    beyond_tasks,
    review_was_not_skipped,
    rule_result,
    tests_are_there,
)
from sidecar.systems.governance.policy.table import ModeRules, Rule
from sidecar.systems.governance.policy.verdicts import (
    failing_gates,
    gate_issues,
    rule_on_review,
    rule_on_tests,
)
from sidecar.systems.governance.policy.work import Trouble, Work, decide
from sidecar.systems.governance.ports import Caller, GovernanceServices

Tell = Callable[[str], None]
"""Is told what is being done, in one line each time."""
OK: Final = "OK"
FAILED: Final = "ERROR"
TOLD: Final = 5
"""Points that a message names."""
OUTPUT_LENGTH: Final = 4_000

A = TypeVar("A", bound=Struct)


@dataclass(frozen=True, kw_only=True)
class PhaseCall:
    """One call of a phase, after its order was found right."""

    work: Work
    given: Struct
    caller: Caller
    rules: ModeRules
    settings: Settings
    mask: SecretMask
    tell: Tell


class PhaseDone(Struct, frozen=True, kw_only=True):
    """What came of a phase. `result` decides the next stage; `commands` are those a person is asked about.

    `subject` is the digest of the change it is about, `tree` of the files on which it was tested.
    """

    payload: Struct | None = None
    result: str = FAILED
    trouble: Trouble | None = None
    agent: str = "supervisor"
    subject: str = ""
    commands: tuple[str, ...] = ()
    tree: str = ""


@dataclass(frozen=True)
class _Bench:
    """A copy of the project with the change in it, its files before, and what was merged."""

    copy: WorkCopy
    base: FileBaseline
    evidence: CopyEvidence
    merged: tuple[str, ...]


class PhaseWork:
    """Does the work of one call."""

    def __init__(self, services: GovernanceServices, call: PhaseCall) -> None:
        self._services, self._call = services, call
        self._agents = PhaseAgents(services.workers, services.prompts)
        self._copies = ProjectCopies(services.workspace, call.caller.project, call.caller.environment)

    async def run(self) -> PhaseDone:
        """Do it. Raises WorkerError, NoCopyError, BadInputError, ToolRuleError, OSError."""
        work = self._call.work
        try:
            match self._call.given:
                case AnalyzeInput() as given:
                    done = await self._analyze(given)
                case PlanInput() as given:
                    done = _warned(await self._plan(given), given.analysis, work.analysis)
                case ImplementInput() as given:
                    done = _warned(await self._implement(given), given.tasks, self._plan_so_far.tasks)
                case ReviewInput() as given:
                    done = _warned(await self._review(given), given.tasks, self._plan_so_far.tasks)
                case TestInput() as given:
                    done = _warned(await self._test(given), given.tasks, self._plan_so_far.tasks)
                case ConductInput() as given:
                    done = await self._conduct(given)
                case other:
                    raise TypeError(f"{type(other)} is the input of no phase")
        except ConflictError as error:
            trouble = Trouble(ErrorType.CONFLICT, "conflict", {"files": ", ".join(error.files)})
            done = PhaseDone(trouble=trouble, subject=work.subject)
        return done

    # --- analyze and plan ---------------------------------------------------------------------------------

    async def _analyze(self, given: AnalyzeInput) -> PhaseDone:
        values = {"problem": given.problem_statement, "requirements": _list(given.user_requirements)}
        async with self._copies.open("governance", history=True) as copy:
            analysis, agent = await self._answer(Phase.ANALYZE, Analysis, values, copy, given.answer)
        if analysis.verifiability is not Verifiability.NON_VERIFIABLE:
            return PhaseDone(payload=analysis, result=OK, agent=agent)
        trouble = Trouble(ErrorType.NON_VERIFIABLE, "non-verifiable")
        return PhaseDone(payload=analysis, result=analysis.verifiability, trouble=trouble, agent=agent)

    async def _plan(self, given: PlanInput) -> PhaseDone:
        work, caller = self._call.work, self._call.caller
        gates = (await self._services.catalog.list(caller.project, caller.environment)).gates
        values = {
            "problem": work.problem,
            "analysis": _json(work.analysis),
            "commands": _list(gate.command for gate in gates),
            "before": _json(work.plan),
        }
        async with self._copies.open("governance", history=True) as copy:
            plan, agent = await self._answer(Phase.PLAN, Plan, values, copy, given.answer)
        if faults := plan_faults(plan):
            trouble = Trouble(ErrorType.INVALID_ANSWER, "plan-faults", {"faults": "; ".join(faults)})
            return PhaseDone(trouble=trouble, agent=agent)
        known = {gate.command for gate in gates if gate.approved} | work.commands
        runs = [clause.subject for clause in plan_clauses(plan) if clause.kind is ClauseKind.RUN]
        asked = tuple(dict.fromkeys(command for command in runs if command not in known))
        values = {"commands": ", ".join(f"`{command}`" for command in asked)}
        question = Trouble(ErrorType.PERSON_ASKED, "ask-commands", values) if asked else None
        return PhaseDone(payload=plan, result=OK, trouble=question, agent=agent, commands=asked)

    # --- implement ----------------------------------------------------------------------------------------

    async def _implement(self, given: ImplementInput) -> PhaseDone:
        work, plan, caller = self._call.work, self._plan_so_far, self._call.caller
        gates = (await self._services.catalog.list(caller.project, caller.environment)).gates
        rules = (
            rule_result(Rule.REVIEW_NOT_SKIPPED, *review_was_not_skipped(work)),
            rule_result(Rule.TESTS_REQUIRED, *tests_are_there(plan, work.analysis, gates)),
        )
        for rule in rules:
            if not rule.passed:
                values = {"rule": rule.rule, "why": rule.why}
                return PhaseDone(trouble=Trouble(ErrorType.EVIDENCE_UNAVAILABLE, "rule-fails", values))
        values = {
            "problem": work.problem,
            "tasks": _json(plan),
            "rules": _list(given.om_rules),
            "review": _json(work.review),
            "testing": _json(work.testing),
        }
        before = self._services.changes.load(work.lock)
        async with self._bench(before) as bench:
            answer, agent = await self._answer(
                Phase.IMPLEMENT, ImplementAnswer, values, bench.copy, given.answer
            )
            change, faults = await self._changes(bench)
        if faults or not change:
            section = "not-deliverable" if faults else "nothing-changed"
            trouble = Trouble(ErrorType.INVALID_ANSWER, section, {"files": "; ".join(faults[:TOLD])})
            return PhaseDone(trouble=trouble, agent=agent)
        known = {one.path for one in before}
        paths = [one.path for one in change if one.path not in known or one not in before]
        if broken := beyond_tasks(paths, answer, plan, given.om_rules):
            return PhaseDone(trouble=broken, agent=agent)
        self._services.changes.save(work.lock, change)
        files = tuple(one.path for one in change)
        about = ImplementationMetadata(iteration=work.iteration, changes_count=len(files))
        artifacts = Artifacts(files=files, diff=unified_diff(change), metadata=about)
        made = Implementation(artifacts=artifacts, rules=rules)
        return PhaseDone(payload=made, result=OK, agent=agent, subject=change_digest(change))

    async def _changes(self, bench: _Bench) -> tuple[Change, tuple[str, ...]]:
        """Return the change in a copy, and which files of it cannot be delivered. Raises NoCopyError."""
        copy = bench.copy
        seen = await self._services.workspace.since(bench.base, copy.project, copy.environment)
        if why := bench.base.unseen or seen.unseen:
            raise NoCopyError(why)
        return keep_change(copy, without_written_files(seen.files))

    # --- review and test ----------------------------------------------------------------------------------

    async def _review(self, given: ReviewInput) -> PhaseDone:
        call, work, change = self._call, self._call.work, self._change()
        async with self._bench(change) as bench:
            call.tell("review: the checks run")
            runs = await bench.evidence.gates(call.caller.project, REVIEW_KINDS)
            weakened = await bench.evidence.weakened(runs, self._planned)
            values = {
                "problem": work.problem,
                "tasks": _json(self._plan_so_far),
                "diff": unified_diff(change),
                "nfrs": _json(work.analysis and work.analysis.nfrs) if call.rules.nfr_check else "",
                "checks": describe_runs(runs),
                "quick": "yes" if given.quick_fix_eligible else "",
            }
            answer, agent = await self._answer(Phase.REVIEW, ReviewAnswer, values, bench.copy, given.answer)
        review, trouble = rule_on_review(
            answer,
            gate_issues(runs, weakened),
            work.analysis,
            call.rules,
            quick_fix=given.quick_fix_eligible and not work.fixes,
        )
        result = "QUICK_FIX" if review.quick_fix_trigger else review.result
        return PhaseDone(
            payload=review, result=result, trouble=trouble, agent=agent, subject=change_digest(change)
        )

    async def _test(self, given: TestInput) -> PhaseDone:
        call, work, change = self._call, self._call.work, self._change()
        async with self._bench(change) as bench:
            copy = bench.copy
            tree = await self._services.workspace.fingerprint(copy.project, copy.environment)
            call.tell("test: the checks run")
            runs = await bench.evidence.gates(call.caller.project, TEST_KINDS)
            weakened = await bench.evidence.weakened(runs, self._planned)
            clauses = (*plan_clauses(self._plan_so_far), *map(parse_clause, given.verify_by_clauses))
            values = {
                "problem": work.problem,
                "tasks": _json(self._plan_so_far),
                "clauses": _list(clause.text for clause in clauses if clause.kind is ClauseKind.JUDGED),
                "diff": unified_diff(change),
                "checks": describe_runs(runs),
            }
            answer, agent = await self._answer(Phase.TEST, TestAnswer, values, copy, given.answer)
            allowed = {run.gate.command for run in runs if run.outcome is not Outcome.NOT_APPROVED}
            allowed |= work.commands
            words = {word.clause.strip(): word for word in answer.clauses}
            results = [
                await bench.evidence.clause(one, may_run=one.subject in allowed, word=words.get(one.text))
                for one in clauses
            ]
            screenshots = bench.evidence.keep_files(work.lock, answer.screenshots)
        ruling = rule_on_tests(runs, weakened, results, answer.result)
        covered = [run.percent for run in runs if run.percent is not None]
        counted = {"tests_executed": float(sum(run.executed or 0 for run in runs))}
        counted |= {"coverage_percent": min(covered)} if covered else {}
        output = "\n\n".join((describe_runs(runs), *(f"{one.clause.text}\n{one.why}" for one in results)))
        why = "; ".join(ruling.unseen[:TOLD]) or "each clause and each check has evidence"
        testing = Testing(
            result=ruling.result,
            evidence=TestEvidence(
                test_output=output.strip()[-OUTPUT_LENGTH:],
                metrics={one.name: one.value for one in answer.metrics} | counted,
                screenshots=screenshots,
            ),
            failed_clauses=ruling.failed,
            rules=(rule_result(Rule.EVIDENCE, not ruling.unseen, why),),
        )
        return PhaseDone(
            payload=testing,
            result=ruling.result,
            trouble=ruling.trouble,
            agent=agent,
            subject=change_digest(change),
            tree=tree,
        )

    # --- conduct ------------------------------------------------------------------------------------------

    async def _conduct(self, given: ConductInput) -> PhaseDone:
        rules = self._call.rules
        if given.max_iterations is not None:
            rules = replace(rules, max_iterations=min(rules.max_iterations, given.max_iterations))
        said = (given.review_result, given.test_result, given.iteration_count)
        decision, trouble = decide(self._call.work, rules, said)
        return await self._deliver() if decision is Decision.DELIVER else self._decided(decision, trouble)

    async def _deliver(self) -> PhaseDone:
        """Apply the change whole. Where the project moved on since the tests, they run again first."""
        call, change = self._call, self._change()
        async with self._bench(change) as bench:
            copy = bench.copy
            tree = await self._services.workspace.fingerprint(copy.project, copy.environment)
            moved = tree != call.work.tested_tree
            steps = steps_to_copy(change, call.caller.project, copy)
            if moved:
                call.tell("conduct: the project moved on, so the checks run again")
                runs = await bench.evidence.gates(call.caller.project, TEST_KINDS | REVIEW_KINDS)
                if failing := failing_gates(runs):
                    trouble = Trouble(ErrorType.FAILED_CLAUSE, "moved", {"commands": ", ".join(failing)})
                    return self._decided(Decision.ITERATE, trouble)
            try:
                self._services.applier.apply(Path(call.caller.project), Path(copy.project), steps)
            except (ApplyError, OSError) as error:
                raise ConflictError([str(error)]) from error
        again = ", the latter again on the project as it is now" if moved else ""
        merged = f"; merged with what changed meanwhile: {', '.join(bench.merged)}" if bench.merged else ""
        return self._decided(Decision.DELIVER, None, change, {"again": again, "merged": merged})

    def _decided(
        self,
        decision: Decision,
        trouble: Trouble | None,
        delivered: Change = (),
        values: dict[str, str] | None = None,
    ) -> PhaseDone:
        work = self._call.work
        reason = trouble or Trouble(ErrorType.INPUT_DIFFERS, "delivered", values or {})
        final = FinalDecision(
            decision=decision,
            reason=self._services.say(reason.section, reason.values),
            next_iteration=work.iteration + 1 if decision is Decision.ITERATE else None,
            deliverables=Deliverables(
                files=tuple(one.path for one in delivered),
                audit_log=f"supervisor audit show --lock {work.lock}",
            ),
        )
        return PhaseDone(payload=final, result=decision, trouble=trouble, subject=work.subject)

    # --- shared -------------------------------------------------------------------------------------------

    async def _answer(
        self,
        phase: Phase,
        kind: type[A],
        values: dict[str, str],
        copy: WorkCopy,
        given: dict[str, Any] | None,
    ) -> tuple[A, str]:
        call = self._call
        if not call.settings.governance.workers:
            return take_answer(phase, kind, given), CALLER
        call.tell(f"{phase}: an agent works in a copy of the project")
        masked = {name: call.mask(value) for name, value in values.items()}
        return await self._agents.ask(phase, kind, masked, copy, call.settings)

    @asynccontextmanager
    async def _bench(self, change: Change) -> AsyncIterator[_Bench]:
        """Yield a copy of the project as it is now, with a change in it. Raises ConflictError."""
        async with self._copies.open("governance", history=True) as copy:
            base = await self._services.workspace.remember(copy.project, copy.environment)
            merged = await put_change(change, copy)
            yield _Bench(copy, base, CopyEvidence(self._services, copy, base, self._call.mask), merged)

    def _change(self) -> Change:
        """Return the change that was made last. Raises ToolRuleError where it is not what the audit says."""
        change = self._services.changes.load(self._call.work.lock)
        if change_digest(change) != self._call.work.subject:
            raise ToolRuleError("governance-change-lost", lock=self._call.work.lock)
        return change

    @property
    def _planned(self) -> str:
        """What the user asked for and what was planned, in words."""
        tasks = (f"{task.todo}\n{task.done_when}" for task in self._plan_so_far.tasks)
        return "\n".join((self._call.work.problem, *tasks))

    @property
    def _plan_so_far(self) -> Plan:
        if self._call.work.plan is None:
            raise TypeError("the table lets no phase that needs a plan come before it")
        return self._call.work.plan


def _warned(done: PhaseDone, given: object, known: object) -> PhaseDone:
    """Add a warning where the caller passed something else than the audit holds, which is what counts."""
    if done.trouble is not None or not given or given == known:
        return done
    return replace(done, trouble=Trouble(ErrorType.INPUT_DIFFERS, "differs"))


def _json(value: Struct | None) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() if value else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
