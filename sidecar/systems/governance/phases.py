"""The work of each phase: what a worker says, what our own evidence says, and what follows by the rules."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.policy import runnable_gates
from sidecar.evidence.proof.policy import describe_findings, standing_findings
from sidecar.kernel import governance as forms
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import Goal
from sidecar.kernel.governance import ContextLock, ErrorType, GovernedPhase
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import ModeRules, Settings
from sidecar.kernel.text import fill_template
from sidecar.kernel.work import WorkClaim
from sidecar.platform.apply import ApplyError
from sidecar.platform.git import UnseenError
from sidecar.rubric.texts import read_prompt
from sidecar.systems.governance.audit import SYSTEM
from sidecar.systems.governance.policy import verdicts
from sidecar.systems.governance.policy.table import MODES
from sidecar.systems.governance.policy.verdicts import (
    MUST_PASS,
    ClauseKind,
    clause_commands,
    parse_clause,
    plan_clauses,
)
from sidecar.systems.governance.policy.work import TroubleError, Work, decide, find_contradiction
from sidecar.systems.governance.ports import GovernanceServices, PhaseCaller
from sidecar.systems.governance.workbench import (
    OUTPUT_LENGTH,
    REVIEW_KINDS,
    TEST_KINDS,
    CopyEvidence,
    describe_runs,
    take_answer,
    write_answer,
)
from sidecar.work.place import NoCopyError, ProjectCopies, WorkCopy, begin_checked_copy
from sidecar.work.progress import Step, Tell
from sidecar.workers.backend import route_model
from sidecar.workers.ports import CountedWorkers, WorkerError, WorkerFailure, WorkerTask

OK: Final = "OK"
FAILED: Final = "ERROR"
CALLER: Final = "caller"
VERIFIES: Final = "a task is verified by it"
ORIGINS: Final = (GateOrigin.PROJECT, GateOrigin.TYPED)
"""Of a command of a plan: before and after a person let it run."""

log = logging.getLogger(__name__)

A = TypeVar("A", bound=Struct)
Files = tuple[str, ...]


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


@dataclass
class PhaseCall:
    """One call of a phase, after its order was found right: a method for each phase, under its name.

    `agent` did the work; `meanwhile` are files of the project that changed while it was not kept from them.
    """

    services: GovernanceServices
    workers: CountedWorkers
    phase: GovernedPhase
    work: Work
    given: Struct
    caller: PhaseCaller
    lock: ContextLock
    settings: Settings
    mask: SecretMask
    tell: Tell
    agent: str = "supervisor"
    meanwhile: tuple[str, ...] = ()

    async def run(self) -> PhaseDone:
        """Do the work. Raises BadInputError, ToolRuleError, OSError."""
        try:
            done: PhaseDone = await getattr(self, self.phase)(self.given)
        except TroubleError as error:
            trouble = error
        except WorkerError as error:
            trouble = TroubleError(ErrorType.INVALID_ANSWER, "worker-failed", why=error.message)
            if error.failure is WorkerFailure.WROTE_OUTSIDE:
                trouble.error = ErrorType.RULE_VIOLATION
        except (NoCopyError, UnseenError) as error:
            trouble = TroubleError(ErrorType.EVIDENCE_UNAVAILABLE, "no-copy", why=str(error))
        else:
            if done.trouble is None and self.meanwhile:
                files = ", ".join(self.meanwhile)
                done = replace(done, trouble=TroubleError(ErrorType.PROJECT_CHANGED, "changed", files=files))
            if done.trouble is None and (wrong := find_contradiction(self.work, self.given)):
                return replace(done, trouble=TroubleError(ErrorType.INPUT_DIFFERS, "differs", **wrong))
            return done
        return PhaseDone(result=FAILED, trouble=trouble)

    # --- analyze and plan ---------------------------------------------------------------------------------

    async def analyze(self, given: forms.AnalyzeInput) -> PhaseDone:
        problem, requirements = given.problem_statement, _list(given.user_requirements)
        async with self._copy() as copy:
            analysis = await self._answer(forms.Analysis, copy, problem=problem, requirements=requirements)
        if analysis.verifiability != "NON-VERIFIABLE":
            return PhaseDone(payload=analysis)
        trouble = TroubleError(ErrorType.NON_VERIFIABLE, "non-verifiable")
        return PhaseDone(payload=analysis, result=analysis.verifiability, trouble=trouble)

    async def plan(self, _: forms.PlanInput) -> PhaseDone:
        gates = await self._gates()
        async with self._copy() as copy:
            plan = await self._answer(forms.Plan, copy, commands=_list(gate.command for gate in gates))
        verdicts.check_order_of_tasks(plan)
        runs = await self._gates((), clause_commands(plan_clauses(plan)))
        may = runnable_gates(runs)
        asked = tuple(gate.command for gate in runs if gate not in may)
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
            answer = await self._answer(kind, bench.copy, rules=_list(given.om_rules))
            if isinstance(answer, forms.WrittenAnswer):
                write_answer(answer, bench.copy, services.applier)
            made = (await bench.changes()).files
            change = await services.locks.changes.keep(work.lock, bench.copy, made, work.subject)
        verdicts.check_bounds(change.new, answer, plan, given.om_rules)
        about = forms.ImplementationMetadata(iteration=work.iteration, changes_count=len(change.files))
        artifacts = forms.Artifacts(files=change.files, diff=change.diff, metadata=about)
        return PhaseDone(
            payload=forms.ImplementedChange(artifacts=artifacts, rules=rules), subject=change.name
        )

    # --- review and test ----------------------------------------------------------------------------------

    async def review(self, given: forms.ReviewInput) -> PhaseDone:
        work = self.work
        async with self._bench() as bench:
            runs, weakened = await self._check(bench, REVIEW_KINDS)
            answer = await self._answer(
                forms.ReviewAnswer,
                bench.copy,
                nfrs=_json(work.analysis and work.analysis.nfrs) if self._rules.nfr_check else "",
                checks=describe_runs(runs),
                quick="yes" if given.quick_fix_eligible else "",
            )
        review, trouble = verdicts.rule_on_review(
            answer,
            verdicts.gate_issues(runs, weakened),
            work.analysis,
            self._rules,
            quick_fix=given.quick_fix_eligible and not work.fixes,
        )
        result = "QUICK_FIX" if review.quick_fix_trigger else review.result
        return PhaseDone(payload=review, result=result, trouble=trouble)

    async def test(self, given: forms.TestInput) -> PhaseDone:
        clauses = (*plan_clauses(self._plan), *map(parse_clause, given.verify_by_clauses))
        judged = _list(clause.text for clause in clauses if clause.kind is ClauseKind.JUDGED)
        commands = clause_commands(clauses)
        async with self._bench() as bench:
            tree = (await bench.changes()).tree
            runs, weakened = await self._check(bench, TEST_KINDS, commands)
            results, checks = [bench.verify(clause, runs) for clause in clauses], describe_runs(runs)
            answer = await self._answer(forms.TestAnswer, bench.copy, clauses=judged, checks=checks)
            for word in answer.clauses if self.agent != CALLER else ():
                results = [bench.judge(one, word) for one in results]
            screenshots = bench.keep_files(self.work.lock, answer.screenshots)
        covered = [run.percent for run in runs if run.percent is not None]
        metrics = {one.name: one.value for one in answer.metrics}
        metrics |= {"tests_executed": float(sum(run.executed or 0 for run in runs))}
        metrics |= {"coverage_percent": min(covered)} if covered else {}
        output = "\n\n".join((checks, *(f"{one.clause.text}\n{one.why}" for one in results)))
        output = output.strip()[-OUTPUT_LENGTH:]
        shown = forms.TestEvidence(test_output=output, metrics=metrics, screenshots=screenshots)
        others = [run for run in runs if run.gate.command not in commands]
        testing, trouble = verdicts.rule_on_tests(others, weakened, results, answer.result, shown)
        return PhaseDone(payload=testing, result=testing.result, trouble=trouble, tree=tree)

    # --- conduct ------------------------------------------------------------------------------------------

    async def conduct(self, given: forms.ConductInput) -> PhaseDone:
        decision, trouble = decide(self.work, self._rules, given)
        return await self._deliver() if trouble is None else self._decided(decision, trouble)

    async def _deliver(self) -> PhaseDone:
        """Apply the change whole. Where the project moved on since the tests, they run again first."""
        async with self._bench() as bench:
            change = await bench.changes()
            moved = change.tree != self.work.tested_tree
            if moved:
                commands = clause_commands(plan_clauses(self._plan))
                runs, weakened = await self._check(bench, REVIEW_KINDS | TEST_KINDS, commands)
                must = (run for run in runs if run.gate.required and run.outcome is not Outcome.PASSED)
                if why := (*(run.gate.named for run in must), *weakened):
                    trouble = TroubleError(ErrorType.FAILED_CLAUSE, "moved", why="; ".join(why))
                    return self._decided("ITERATE", trouble)
            try:
                bench.apply(self.services.applier, change.files)
            except (ApplyError, OSError) as error:
                raise TroubleError(ErrorType.CONFLICT, "conflict", files=str(error)) from error
        again = ", the latter again on the project as it is now" if moved else ""
        merged = f"; merged with what changed meanwhile: {', '.join(bench.merged)}" if bench.merged else ""
        reason = self.services.texts.say("delivered", again=again, merged=merged)
        return self._decided("DELIVER", None, reason, tuple(one.path for one in change.files))

    def _decided(
        self, decision: forms.Decision, trouble: TroubleError | None, reason: str = "", files: Files = ()
    ) -> PhaseDone:
        log = f"supervisor audit show --lock {self.work.lock}"
        final = forms.FinalDecision(
            decision=decision,
            reason=self.services.texts.say(trouble.section, **trouble.values) if trouble else reason,
            next_iteration=self.work.iteration + 1 if decision == "ITERATE" else None,
            deliverables=forms.Deliverables(files=files, audit_log=log),
        )
        return PhaseDone(payload=final, result=decision, trouble=trouble)

    # --- shared -------------------------------------------------------------------------------------------

    async def _check(
        self, bench: CopyEvidence, kinds: Collection[Kind], commands: Collection[str] = ()
    ) -> tuple[tuple[GateRun, ...], tuple[str, ...]]:
        """Judge the change by gates of these kinds and commands, as a stop with the problem as its goal.

        Return how they ended, and which checks were weakened. Raises NoCopyError.
        """
        self.tell(Step(kind=self.phase, text="the checks run"))
        gates = await self._gates(kinds, commands)
        asked = "\n".join((self.work.problem, *self.work.requirements))
        claim = WorkClaim(
            key=SessionKey(SYSTEM, self.work.lock),
            project=bench.copy.project,
            environment=bench.copy.environment,
            goal=Goal(id=self.phase, condition=asked, set_at=bench.origin.since, base=bench.base),
            required={one.id: one.kind in MUST_PASS or one.command in commands for one in gates},
            gates=gates,
        )
        found = await self.services.work.judge(claim, origin=bench.origin)
        if found.changed is None:
            raise NoCopyError(found.why)
        return found.runs, describe_findings(standing_findings(found.findings, asked))

    async def _answer(self, kind: type[A], copy: WorkCopy, **values: str) -> A:
        """Return the work of a worker, or of the calling agent.

        `values` fill the worker's prompt besides what is known of the work.
        """
        if not self.settings.governance.workers:
            self.agent = CALLER
            return take_answer(self.phase, kind, self.given)
        self.tell(Step(kind=self.phase, text="an agent works in a copy of the project"))
        work = self.work
        known = {
            "problem": work.problem,
            "requirements": _list(work.requirements),
            "notes": _list(work.notes),
            "analysis": _json(work.analysis),
            "tasks": _json(work.plan),
            "diff": work.implementation.artifacts.diff if work.implementation else "",
            "review": _json(work.review),
            "testing": _json(work.testing),
        }
        head, text = read_prompt("governance", self.phase)
        task = WorkerTask(
            prompt=fill_template(text, {name: self.mask(value) for name, value in (known | values).items()}),
            answer=kind,
            tools=head.tools,
            model=route_model("", f"governance_{self.phase}", self.settings, preset=head.model),
            project=copy.project,
            environment=copy.environment,
            guarded=copy.origin,
        )
        done = await self.workers.run(task, self.settings, log.debug)
        self.agent, self.meanwhile = f"worker {done.model}", done.meanwhile
        return done.answer

    async def _gates(
        self, kinds: Collection[Kind] = tuple(Kind), commands: Iterable[str] = ()
    ) -> tuple[Gate, ...]:
        """Return the project's gates of these kinds, and a gate for each of these commands.

        A command that a person let run is approved, whichever way it is named.
        """
        services, run, wanted = self.services.shared, self.work.commands, dict.fromkeys(commands)
        listed = (await services.catalog.list(self.caller.project, self.caller.environment)).gates
        known = {gate.command for gate in listed if not gate.folder}
        ours = (
            Gate(id=f"clause:{number}", command=command, why=VERIFIES, origin=ORIGINS[command in run])
            for number, command in enumerate(wanted)
            if command not in known
        )
        return tuple(
            replace(gate, approved=gate.approved or (gate.command in run and not gate.folder))
            for gate in (*listed, *ours)
            if gate.kind in kinds or (gate.command in wanted and not gate.folder)
        )

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
            yield CopyEvidence(**vars(begun), kept=self.services.kept, merged=merged)

    @property
    def _rules(self) -> ModeRules:
        return MODES.get(self.lock.mode, self.settings.governance.custom)

    @property
    def _plan(self) -> forms.Plan:
        if self.work.plan is None:
            raise TypeError("the table lets no phase that needs a plan come before it")
        return self.work.plan


def _json(value: Struct | None) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() if value else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
