"""The work of each phase: what a worker says, what our own evidence says, and what follows by the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.copies import NoCopyError, ProjectCopies, WorkCopy, without_written_files
from sidecar.kernel import governance as forms
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.gate import Gate, Outcome
from sidecar.kernel.governance import ErrorType, Phase
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.settings import ModeRules, Settings
from sidecar.platform.apply import ApplyError
from sidecar.systems.governance.agents import CALLER, ask_worker, take_answer, write_answer
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
from sidecar.systems.governance.policy import verdicts
from sidecar.systems.governance.policy.clauses import ClauseKind, parse_clause, plan_clauses, plan_faults
from sidecar.systems.governance.policy.work import Trouble, Work, decide
from sidecar.systems.governance.ports import Caller, GovernanceServices, Tell

OK: Final = "OK"
FAILED: Final = "ERROR"
TOLD: Final = 5
"""Points that a message names."""
OUTPUT_LENGTH: Final = 4_000

A = TypeVar("A", bound=Struct)


@dataclass(frozen=True, kw_only=True)
class PhaseCall:
    """One call of a phase, after its order was found right."""

    phase: Phase
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


class PhaseWork:
    """Does the work of one call: a method for each phase, under its name."""

    def __init__(self, services: GovernanceServices, call: PhaseCall) -> None:
        self._services, self._call = services, call
        workspace, caller = services.evidence.workspace, call.caller
        self._copies = ProjectCopies(workspace, caller.project, caller.environment)
        self._agent = "supervisor"
        """Who did the work."""

    async def run(self) -> PhaseDone:
        """Do it. Raises WorkerError, NoCopyError, BadInputError, ToolRuleError, OSError."""
        try:
            done: PhaseDone = await getattr(self, self._call.phase)(self._call.given)
        except ConflictError as error:
            trouble = Trouble(ErrorType.CONFLICT, "conflict", {"files": ", ".join(error.files)})
            done = PhaseDone(trouble=trouble, subject=self._call.work.subject)
        if done.trouble is None and self._input_differs():
            done = replace(done, trouble=Trouble(ErrorType.INPUT_DIFFERS, "differs"))
        return replace(done, agent=self._agent)

    def _input_differs(self) -> bool:
        """Whether the caller passed something else than the audit holds, which is what counts."""
        given, work = self._call.given, self._call.work
        known = {"analysis": work.analysis, "tasks": work.plan and work.plan.tasks}
        passed = {name: getattr(given, name, None) for name in known}
        return any(one and one != known[name] for name, one in passed.items())

    # --- analyze and plan ---------------------------------------------------------------------------------

    async def analyze(self, given: forms.AnalyzeInput) -> PhaseDone:
        values = {"problem": given.problem_statement, "requirements": _list(given.user_requirements)}
        async with self._copy() as copy:
            analysis = await self._answer(Phase.ANALYZE, forms.Analysis, values, copy, given.answer)
        if analysis.verifiability != "NON-VERIFIABLE":
            return PhaseDone(payload=analysis, result=OK)
        trouble = Trouble(ErrorType.NON_VERIFIABLE, "non-verifiable")
        return PhaseDone(payload=analysis, result=analysis.verifiability, trouble=trouble)

    async def plan(self, given: forms.PlanInput) -> PhaseDone:
        work, gates = self._call.work, await self._gates()
        values = {
            "problem": work.problem,
            "analysis": _json(work.analysis),
            "commands": _list(gate.command for gate in gates),
            "before": _json(work.plan),
        }
        async with self._copy() as copy:
            plan = await self._answer(Phase.PLAN, forms.Plan, values, copy, given.answer)
        if faults := plan_faults(plan):
            return PhaseDone(
                trouble=Trouble(ErrorType.INVALID_ANSWER, "plan-faults", {"faults": "; ".join(faults)})
            )
        known = {gate.command for gate in gates if gate.approved} | work.commands
        runs = [clause.subject for clause in plan_clauses(plan) if clause.kind is ClauseKind.RUN]
        asked = tuple(dict.fromkeys(command for command in runs if command not in known))
        values = {"commands": ", ".join(f"`{command}`" for command in asked)}
        question = Trouble(ErrorType.PERSON_ASKED, "ask-commands", values) if asked else None
        return PhaseDone(payload=plan, result=OK, trouble=question, commands=asked)

    # --- implement ----------------------------------------------------------------------------------------

    async def implement(self, given: forms.ImplementInput) -> PhaseDone:
        work, plan, services = self._call.work, self._plan_so_far, self._services
        rules = (
            verdicts.review_was_not_skipped(work),
            verdicts.tests_are_there(plan, work.analysis, await self._gates()),
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
        before = services.changes.load(work.lock)
        kind = forms.ImplementAnswer if self._call.settings.governance.workers else forms.WrittenAnswer
        async with self._bench(before) as bench:
            answer = await self._answer(Phase.IMPLEMENT, kind, values, bench.copy, given.answer)
            if isinstance(answer, forms.WrittenAnswer):
                write_answer(answer, bench.copy, services.applier)
            seen = await bench.changes()
            if why := bench.base.unseen or seen.unseen:
                raise NoCopyError(why)
            change, faults = keep_change(bench.copy, without_written_files(seen.files))
        if faults or not change:
            section = "not-deliverable" if faults else "nothing-changed"
            values = {"files": "; ".join(faults[:TOLD])}
            return PhaseDone(trouble=Trouble(ErrorType.INVALID_ANSWER, section, values))
        paths = [one.path for one in change if one not in before]
        if broken := verdicts.beyond_tasks(paths, answer, plan, given.om_rules):
            return PhaseDone(trouble=broken)
        services.changes.save(work.lock, change)
        files = tuple(one.path for one in change)
        about = forms.ImplementationMetadata(iteration=work.iteration, changes_count=len(files))
        artifacts = forms.Artifacts(files=files, diff=unified_diff(change), metadata=about)
        made = forms.Implementation(artifacts=artifacts, rules=rules)
        return PhaseDone(payload=made, result=OK, subject=change_digest(change))

    # --- review and test ----------------------------------------------------------------------------------

    async def review(self, given: forms.ReviewInput) -> PhaseDone:
        call, work, change = self._call, self._call.work, self._change()
        async with self._bench(change) as bench:
            call.tell("review: the checks run")
            runs = await bench.gates(call.caller.project, REVIEW_KINDS)
            weakened = await bench.weakened(runs, self._planned)
            values = {
                "problem": work.problem,
                "tasks": _json(work.plan),
                "diff": unified_diff(change),
                "nfrs": _json(work.analysis and work.analysis.nfrs) if call.rules.nfr_check else "",
                "checks": describe_runs(runs),
                "quick": "yes" if given.quick_fix_eligible else "",
            }
            answer = await self._answer(Phase.REVIEW, forms.ReviewAnswer, values, bench.copy, given.answer)
        ours, quick_fix = verdicts.gate_issues(runs, weakened), given.quick_fix_eligible and not work.fixes
        review, trouble = verdicts.rule_on_review(
            answer, ours, work.analysis, call.rules, quick_fix=quick_fix
        )
        result = "QUICK_FIX" if review.quick_fix_trigger else review.result
        return PhaseDone(payload=review, result=result, trouble=trouble, subject=work.subject)

    async def test(self, given: forms.TestInput) -> PhaseDone:
        call, work, change = self._call, self._call.work, self._change()
        async with self._bench(change) as bench:
            tree = await bench.tree()
            call.tell("test: the checks run")
            runs = await bench.gates(call.caller.project, TEST_KINDS)
            weakened = await bench.weakened(runs, self._planned)
            clauses = (*plan_clauses(self._plan_so_far), *map(parse_clause, given.verify_by_clauses))
            values = {
                "problem": work.problem,
                "tasks": _json(work.plan),
                "clauses": _list(clause.text for clause in clauses if clause.kind is ClauseKind.JUDGED),
                "diff": unified_diff(change),
                "checks": describe_runs(runs),
            }
            answer = await self._answer(Phase.TEST, forms.TestAnswer, values, bench.copy, given.answer)
            allowed = {run.gate.command for run in runs if run.outcome is not Outcome.NOT_APPROVED}
            allowed |= work.commands
            words = {word.clause.strip(): word for word in answer.clauses}
            results = [
                await bench.clause(one, may_run=one.subject in allowed, word=words.get(one.text))
                for one in clauses
            ]
            screenshots = bench.keep_files(work.lock, answer.screenshots)
        covered = [run.percent for run in runs if run.percent is not None]
        metrics = {one.name: one.value for one in answer.metrics}
        metrics |= {"tests_executed": float(sum(run.executed or 0 for run in runs))}
        metrics |= {"coverage_percent": min(covered)} if covered else {}
        output = "\n\n".join((describe_runs(runs), *(f"{one.clause.text}\n{one.why}" for one in results)))
        shown = forms.TestEvidence(
            test_output=output.strip()[-OUTPUT_LENGTH:], metrics=metrics, screenshots=screenshots
        )
        testing, trouble = verdicts.rule_on_tests(runs, weakened, results, answer.result, shown)
        return PhaseDone(
            payload=testing, result=testing.result, trouble=trouble, subject=work.subject, tree=tree
        )

    # --- conduct ------------------------------------------------------------------------------------------

    async def conduct(self, given: forms.ConductInput) -> PhaseDone:
        rules = self._call.rules
        if given.max_iterations is not None:
            rules = replace(rules, max_iterations=min(rules.max_iterations, given.max_iterations))
        said = (given.review_result, given.test_result, given.iteration_count)
        decision, trouble = decide(self._call.work, rules, said)
        return await self._deliver() if decision == "DELIVER" else self._decided(decision, trouble)

    async def _deliver(self) -> PhaseDone:
        """Apply the change whole. Where the project moved on since the tests, they run again first."""
        call, change = self._call, self._change()
        project = call.caller.project
        async with self._bench(change) as bench:
            moved = await bench.tree() != call.work.tested_tree
            steps = steps_to_copy(change, project, bench.copy)
            if moved:
                call.tell("conduct: the project moved on, so the checks run again")
                runs = await bench.gates(project, TEST_KINDS | REVIEW_KINDS)
                if failing := verdicts.failing_gates(runs):
                    trouble = Trouble(ErrorType.FAILED_CLAUSE, "moved", {"commands": ", ".join(failing)})
                    return self._decided("ITERATE", trouble)
            try:
                self._services.applier.apply(Path(project), Path(bench.copy.project), steps)
            except (ApplyError, OSError) as error:
                raise ConflictError([str(error)]) from error
        again = ", the latter again on the project as it is now" if moved else ""
        merged = f"; merged with what changed meanwhile: {', '.join(bench.merged)}" if bench.merged else ""
        return self._decided("DELIVER", None, change, {"again": again, "merged": merged})

    def _decided(
        self,
        decision: forms.Decision,
        trouble: Trouble | None,
        delivered: Change = (),
        values: dict[str, str] | None = None,
    ) -> PhaseDone:
        work = self._call.work
        reason = trouble or Trouble(ErrorType.INPUT_DIFFERS, "delivered", values or {})
        final = forms.FinalDecision(
            decision=decision,
            reason=self._services.say(reason.section, reason.values),
            next_iteration=work.iteration + 1 if decision == "ITERATE" else None,
            deliverables=forms.Deliverables(
                files=tuple(one.path for one in delivered),
                audit_log=f"supervisor audit show --lock {work.lock}",
            ),
        )
        return PhaseDone(payload=final, result=decision, trouble=trouble, subject=work.subject)

    # --- shared -------------------------------------------------------------------------------------------

    async def _answer(
        self, phase: Phase, kind: type[A], values: dict[str, str], copy: WorkCopy, given: forms.Answer
    ) -> A:
        """Return the work of a worker, or of the calling agent."""
        call = self._call
        if not call.settings.governance.workers:
            self._agent = CALLER
            return take_answer(phase, kind, given)
        call.tell(f"{phase}: an agent works in a copy of the project")
        masked = {name: call.mask(value) for name, value in values.items()}
        answer, self._agent = await ask_worker(self._services, phase, kind, masked, copy)
        return answer

    async def _gates(self) -> tuple[Gate, ...]:
        caller = self._call.caller
        return (await self._services.evidence.catalog.list(caller.project, caller.environment)).gates

    def _copy(self) -> AbstractAsyncContextManager[WorkCopy]:
        return self._copies.open("governance", history=True)

    @asynccontextmanager
    async def _bench(self, change: Change) -> AsyncIterator[CopyEvidence]:
        """Yield a copy of the project as it is now, with a change in it. Raises ConflictError."""
        async with self._copy() as copy:
            base = await self._services.evidence.workspace.remember(copy.project, copy.environment)
            merged = await put_change(change, copy)
            yield CopyEvidence(self._services, copy, base, merged, self._call.mask)

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
    def _plan_so_far(self) -> forms.Plan:
        if self._call.work.plan is None:
            raise TypeError("the table lets no phase that needs a plan come before it")
        return self._call.work.plan


def _json(value: Struct | None) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() if value else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
