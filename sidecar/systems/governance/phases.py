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

from sidecar.evidence.tree.checkout import NoCopyError, ProjectCopies, WorkCopy, begin_checked_copy
from sidecar.kernel import governance as forms
from sidecar.kernel.gate import Gate, Outcome
from sidecar.kernel.governance import ErrorType, GovernedPhase
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.settings import ModeRules, Settings
from sidecar.platform.apply import ApplyError
from sidecar.platform.git import UnseenError
from sidecar.systems.governance.policy import verdicts
from sidecar.systems.governance.policy.verdicts import ClauseKind, parse_clause, plan_clauses, plan_faults
from sidecar.systems.governance.policy.work import TroubleError, Work, decide
from sidecar.systems.governance.ports import GovernanceServices, PhaseCaller, Tell
from sidecar.systems.governance.workbench import (
    CALLER,
    REVIEW_KINDS,
    TEST_KINDS,
    CopyEvidence,
    ask_worker,
    describe_runs,
    take_answer,
    write_answer,
)
from sidecar.workers.ports import WorkerError

OK: Final = "OK"
FAILED: Final = "ERROR"
OUTPUT_LENGTH: Final = 4_000

A = TypeVar("A", bound=Struct)


class PhaseDone(Struct, frozen=True, kw_only=True):
    """What came of a phase. `result` decides the next stage; `commands` are those a person is asked about.

    `subject` names the change that was made, "" for the one before; `tree` is the digest of the files that
    were tested.
    """

    payload: Struct | None = None
    result: str = OK
    trouble: TroubleError | None = None
    subject: str = ""
    commands: tuple[str, ...] = ()
    tree: str = ""


@dataclass(kw_only=True)
class PhaseCall:
    """One call of a phase, after its order was found right: a method for each phase, under its name.

    `agent` did the work.
    """

    services: GovernanceServices
    phase: GovernedPhase
    work: Work
    given: Struct
    caller: PhaseCaller
    rules: ModeRules
    settings: Settings
    mask: SecretMask
    tell: Tell
    agent: str = "supervisor"

    async def run(self) -> PhaseDone:
        """Do the work. Raises BadInputError, ToolRuleError, OSError."""
        try:
            done: PhaseDone = await getattr(self, self.phase)(self.given)
        except TroubleError as error:
            trouble = error
        except WorkerError as error:
            trouble = TroubleError(ErrorType.INVALID_ANSWER, "worker-failed", why=error.message)
        except (NoCopyError, UnseenError) as error:
            trouble = TroubleError(ErrorType.EVIDENCE_UNAVAILABLE, "no-copy", why=str(error))
        else:
            if done.trouble is None and self._input_differs():
                return replace(done, trouble=TroubleError(ErrorType.INPUT_DIFFERS, "differs"))
            return done
        return PhaseDone(result=FAILED, trouble=trouble)

    def _input_differs(self) -> bool:
        """Whether the caller passed something else than the audit holds, which is what counts."""
        known = {"analysis": self.work.analysis, "tasks": self.work.plan and self.work.plan.tasks}
        passed = {name: getattr(self.given, name, None) for name in known}
        return any(one and one != known[name] for name, one in passed.items())

    # --- analyze and plan ---------------------------------------------------------------------------------

    async def analyze(self, given: forms.AnalyzeInput) -> PhaseDone:
        problem, requirements = given.problem_statement, _list(given.user_requirements)
        async with self._copy() as copy:
            analysis = await self._answer(
                forms.Analysis, copy, given.answer, problem=problem, requirements=requirements
            )
        if analysis.verifiability != "NON-VERIFIABLE":
            return PhaseDone(payload=analysis)
        trouble = TroubleError(ErrorType.NON_VERIFIABLE, "non-verifiable")
        return PhaseDone(payload=analysis, result=analysis.verifiability, trouble=trouble)

    async def plan(self, given: forms.PlanInput) -> PhaseDone:
        gates = await self._gates()
        commands = _list(gate.command for gate in gates)
        async with self._copy() as copy:
            plan = await self._answer(forms.Plan, copy, given.answer, commands=commands)
        if faults := plan_faults(plan):
            raise TroubleError(ErrorType.INVALID_ANSWER, "plan-faults", faults="; ".join(faults))
        known = {gate.command for gate in gates if gate.approved} | self.work.commands
        runs = [clause.subject for clause in plan_clauses(plan) if clause.kind is ClauseKind.RUN]
        asked = tuple(dict.fromkeys(command for command in runs if command not in known))
        if not asked:
            return PhaseDone(payload=plan)
        named = ", ".join(f"`{command}`" for command in asked)
        question = TroubleError(ErrorType.PERSON_ASKED, "ask-commands", commands=named)
        return PhaseDone(payload=plan, trouble=question, commands=asked)

    # --- implement ----------------------------------------------------------------------------------------

    async def implement(self, given: forms.ImplementInput) -> PhaseDone:
        work, plan, services = self.work, self._plan, self.services
        rules = (
            verdicts.review_was_not_skipped(work),
            verdicts.tests_are_there(plan, work.analysis, await self._gates()),
        )
        for rule in rules:
            if not rule.passed:
                raise TroubleError(ErrorType.EVIDENCE_UNAVAILABLE, "rule-fails", rule=rule.rule, why=rule.why)
        kind = forms.ImplementAnswer if self.settings.governance.workers else forms.WrittenAnswer
        async with self._bench() as bench:
            answer = await self._answer(kind, bench.copy, given.answer, rules=_list(given.om_rules))
            if isinstance(answer, forms.WrittenAnswer):
                write_answer(answer, bench.copy, services.applier)
            seen = await bench.changes()
            project = self.caller.project
            change = await services.locks.changes.keep(
                work.lock, project, bench.copy, seen.files, work.subject
            )
        verdicts.check_bounds(change.new, answer, plan, given.om_rules)
        about = forms.ImplementationMetadata(iteration=work.iteration, changes_count=len(change.files))
        artifacts = forms.Artifacts(files=change.files, diff=change.diff, metadata=about)
        made = forms.ImplementedChange(artifacts=artifacts, rules=rules)
        return PhaseDone(payload=made, subject=change.name)

    # --- review and test ----------------------------------------------------------------------------------

    async def review(self, given: forms.ReviewInput) -> PhaseDone:
        work = self.work
        async with self._bench() as bench:
            self.tell("review: the checks run")
            runs = await bench.gates(self.caller.project, REVIEW_KINDS)
            weakened = await bench.weakened(runs, self._planned)
            answer = await self._answer(
                forms.ReviewAnswer,
                bench.copy,
                given.answer,
                nfrs=_json(work.analysis and work.analysis.nfrs) if self.rules.nfr_check else "",
                checks=describe_runs(runs),
                quick="yes" if given.quick_fix_eligible else "",
            )
        review, trouble = verdicts.rule_on_review(
            answer,
            verdicts.gate_issues(runs, weakened),
            work.analysis,
            self.rules,
            quick_fix=given.quick_fix_eligible and not work.fixes,
        )
        result = "QUICK_FIX" if review.quick_fix_trigger else review.result
        return PhaseDone(payload=review, result=result, trouble=trouble)

    async def test(self, given: forms.TestInput) -> PhaseDone:
        work = self.work
        async with self._bench() as bench:
            tree = (await bench.changes()).tree
            self.tell("test: the checks run")
            runs = await bench.gates(self.caller.project, TEST_KINDS)
            weakened = await bench.weakened(runs, self._planned)
            clauses = (*plan_clauses(self._plan), *map(parse_clause, given.verify_by_clauses))
            judged = _list(clause.text for clause in clauses if clause.kind is ClauseKind.JUDGED)
            checks = describe_runs(runs)
            answer = await self._answer(
                forms.TestAnswer, bench.copy, given.answer, clauses=judged, checks=checks
            )
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
        output = "\n\n".join((checks, *(f"{one.clause.text}\n{one.why}" for one in results)))
        shown = forms.TestEvidence(
            test_output=output.strip()[-OUTPUT_LENGTH:], metrics=metrics, screenshots=screenshots
        )
        testing, trouble = verdicts.rule_on_tests(runs, weakened, results, answer.result, shown)
        return PhaseDone(payload=testing, result=testing.result, trouble=trouble, tree=tree)

    # --- conduct ------------------------------------------------------------------------------------------

    async def conduct(self, given: forms.ConductInput) -> PhaseDone:
        decision, trouble = decide(self.work, self.rules, given)
        return await self._deliver() if trouble is None else self._decided(decision, trouble)

    async def _deliver(self) -> PhaseDone:
        """Apply the change whole. Where the project moved on since the tests, they run again first."""
        project = self.caller.project
        async with self._bench() as bench:
            change = await bench.changes()
            moved = change.tree != self.work.tested_tree
            if moved:
                self.tell("conduct: the project moved on, so the checks run again")
                runs = await bench.gates(project, TEST_KINDS | REVIEW_KINDS)
                if failing := verdicts.failing_gates(runs):
                    named = ", ".join(failing)
                    return self._decided(
                        "ITERATE", TroubleError(ErrorType.FAILED_CLAUSE, "moved", commands=named)
                    )
            try:
                self.services.applier.apply(Path(project), Path(bench.copy.project), change.files)
            except (ApplyError, OSError) as error:
                raise TroubleError(ErrorType.CONFLICT, "conflict", files=str(error)) from error
        again = ", the latter again on the project as it is now" if moved else ""
        merged = f"; merged with what changed meanwhile: {', '.join(bench.merged)}" if bench.merged else ""
        reason = self.services.texts.say("delivered", again=again, merged=merged)
        return self._decided("DELIVER", reason=reason, files=tuple(one.path for one in change.files))

    def _decided(
        self,
        decision: forms.Decision,
        trouble: TroubleError | None = None,
        *,
        reason: str = "",
        files: tuple[str, ...] = (),
    ) -> PhaseDone:
        work = self.work
        final = forms.FinalDecision(
            decision=decision,
            reason=self.services.texts.say(trouble.section, **trouble.values) if trouble else reason,
            next_iteration=work.iteration + 1 if decision == "ITERATE" else None,
            deliverables=forms.Deliverables(
                files=files, audit_log=f"supervisor audit show --lock {work.lock}"
            ),
        )
        return PhaseDone(payload=final, result=decision, trouble=trouble)

    # --- shared -------------------------------------------------------------------------------------------

    async def _answer(self, kind: type[A], copy: WorkCopy, given: forms.Answer, **values: str) -> A:
        """Return the work of a worker, or of the calling agent.

        `values` fill the worker's prompt besides what is known of the work.
        """
        if not self.settings.governance.workers:
            self.agent = CALLER
            return take_answer(self.phase, kind, given)
        self.tell(f"{self.phase}: an agent works in a copy of the project")
        work = self.work
        known = {
            "problem": work.problem,
            "analysis": _json(work.analysis),
            "tasks": _json(work.plan),
            "diff": work.implementation.artifacts.diff if work.implementation else "",
            "review": _json(work.review),
            "testing": _json(work.testing),
        }
        masked = {name: self.mask(value) for name, value in (known | values).items()}
        answer, self.agent = await ask_worker(self.services, self.phase, kind, masked, copy)
        return answer

    async def _gates(self) -> tuple[Gate, ...]:
        catalog = self.services.shared.catalog
        return (await catalog.list(self.caller.project, self.caller.environment)).gates

    def _copy(self) -> AbstractAsyncContextManager[WorkCopy]:
        workspace, caller = self.services.shared.workspace, self.caller
        return ProjectCopies(workspace, caller.project, caller.environment).open("governance", history=True)

    @asynccontextmanager
    async def _bench(self) -> AsyncIterator[CopyEvidence]:
        """Yield a copy of the project as it is now, with the change in it that was made last."""
        work, changes, caller = self.work, self.services.locks.changes, self.caller
        at = (caller.session, caller.project, caller.environment)
        async with self._copy() as copy:
            begun = await begin_checked_copy(self.services.shared, *at, copy)
            merged = await changes.put(work.lock, copy, work.subject) if work.subject else ()
            yield CopyEvidence(**vars(begun), services=self.services, merged=merged, mask=self.mask)

    @property
    def _planned(self) -> str:
        """What the user asked for and what was planned, in words."""
        tasks = (f"{task.todo}\n{task.done_when}" for task in self._plan.tasks)
        return "\n".join((self.work.problem, *tasks))

    @property
    def _plan(self) -> forms.Plan:
        if self.work.plan is None:
            raise TypeError("the table lets no phase that needs a plan come before it")
        return self.work.plan


def _json(value: Struct | None) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() if value else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
