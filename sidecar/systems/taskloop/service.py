"""The task loop: sessions, tasks, and reports that the project's own checks answer.

Every change is saved before it is answered; the event log tells it. A crash leaves the state that was saved
last, from which the same call goes on.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.budget import reached_worker_limit
from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.journal import Author, Journal, Task, TaskStatus, completed_task_ids, find_ready_tasks
from sidecar.kernel.log import LoopEscalated, LoopReportRuled, LoopSessionChanged, LoopTaskBegun
from sidecar.kernel.loop import CommandType, ExecutionMode, Loop, LoopState, LoopStatus
from sidecar.kernel.models import TokenUsage, answer_price_cents, model_prices, resolve_model
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.taskloop.checkpoints import LoopCheckpoints, checkpoint_bases
from sidecar.systems.taskloop.councils import LoopCouncils
from sidecar.systems.taskloop.policy import loop as rules
from sidecar.systems.taskloop.policy.agents import Agent, Scope
from sidecar.systems.taskloop.policy.complexity import estimate_complexity
from sidecar.systems.taskloop.policy.loop import Action, Ruling
from sidecar.systems.taskloop.policy.scope import files_outside
from sidecar.systems.taskloop.policy.selection import AgentSelection, TaskProfile, select_agent
from sidecar.systems.taskloop.policy.transitions import CALL_FIRST, LoopOrderError, Step, take_step
from sidecar.systems.taskloop.ports import HearGates, LoopServices
from sidecar.systems.taskloop.reports import (
    Claimed,
    Examined,
    ReportExaminer,
    ReportSubject,
    check_approved,
    choose_gates,
)
from sidecar.systems.taskloop.states import LoopStates, choose_model, loop_limits
from sidecar.systems.taskloop.wording import LoopWords, TaskFacts

ADHOC: Final = "adhoc"
NEW_STATUS: Final = {
    Action.COMPLETE: TaskStatus.COMPLETED,
    Action.HALT: TaskStatus.BLOCKED,
    Action.FAIL: TaskStatus.FAILED,
}
"""What becomes of a task; it goes on after any other answer."""
OPEN_STATUSES: Final = frozenset((LoopStatus.RUNNING, LoopStatus.PAUSED))


class TaskRequest(Struct, frozen=True, kw_only=True):
    """Which task to begin: one of the journal, or "adhoc" with what is to be done and when it is done."""

    task_id: str
    description: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    scope_files: tuple[str, ...] = ()


class Briefing(Struct, frozen=True, kw_only=True):
    """A task at work: what its agent is told. `agent` is None where it is not known any more."""

    loop: Loop
    task: Task
    agent: Agent | None
    model: str
    text: str
    selection: AgentSelection | None = None


class Completion(Struct, frozen=True, kw_only=True):
    """The answer to a report, or to the wish to escalate (then nothing was examined)."""

    ruling: Ruling
    model: str
    text: str
    examined: Examined | None = None

    @property
    def exit_signal(self) -> bool:
        """Whether the task is complete."""
        return self.ruling.action is Action.COMPLETE


class TaskLoops:
    """The loops of all sessions. Methods raise ToolRuleError, OSError and BadInputError."""

    def __init__(self, services: LoopServices) -> None:
        self.states = LoopStates(services)
        self.words = LoopWords(services.texts)
        self._services = services
        self.council = services.council
        self.checkpoints = LoopCheckpoints(self.states, services)
        self.councils = LoopCouncils(self.states, services)
        self._examiner = ReportExaminer(services)

    def of(self, key: SessionKey) -> Loop:
        """Return a session's loop."""
        return self.states.of(key)

    # --- sessions ---

    def start_session(
        self, session: Session, command: str, kind: CommandType, mode: ExecutionMode = ExecutionMode.NORMAL
    ) -> Loop:
        """Begin a loop session."""
        self.states.check_free(session.key)
        command, now = self._services.gates.mask(session)(command), self._services.clock.now()
        before = self.of(session.key)
        loop = self.states.save(rules.start_session(before, command, kind, mode, now))
        self._drop_base(session, loop, before.base)
        self.states.note(session, LoopSessionChanged(status=loop.status, command=command))
        return loop

    def end_session(self, session: Session, status: LoopStatus, reason: str = "") -> Loop:
        """Complete, fail or pause it."""
        self.states.check_free(session.key)
        left = tuple(task.id for task in self._services.tasks.of(session.key).tasks if task.open)
        reason = self._services.gates.mask(session)(reason)
        loop = self.states.save(rules.end_session(self.of(session.key), status, reason, left))
        self.states.note(session, LoopSessionChanged(status=status, reason=reason))
        return loop

    def record_tokens(self, session: Session, model: str, read: int, written: int) -> Loop:
        """Add what a model took. It counts for the loop alone: an agent's word must not stop the judge."""
        settings = self.states.settings()
        usage = TokenUsage(input=max(0, read), output=max(0, written))
        cents = answer_price_cents(resolve_model(model, settings), usage, model_prices(settings))
        loop = rules.record_tokens(self.of(session.key), read, written, cents)
        return self.states.save(loop)

    def record_worker(self, session: Session, tokens: int, cents: float | None) -> None:
        """Add what a worker took, as its backend counted it: input and output are not told apart."""
        if tokens or cents:
            self.states.save(rules.record_tokens(self.of(session.key), tokens, 0, cents))

    # --- tasks ---

    async def start_task(self, session: Session, asked: TaskRequest, by: Author = Author.AGENT) -> Briefing:
        """Give a task to the agent that fits it best."""
        key = session.key
        with self.states.reserved(key):
            loop, settings = self.of(key), self.states.settings()
            take_step(loop, Step.TASK)
            self._check_limits(loop)
            task = self._asked_task(session, asked, loop, by)
            agent, selection = self._choose_agent(session, task, loop)
            old = base = loop.base
            if loop.task != task.id or not base.snapshot:
                environment = self._services.gates.permitted_environment(session)
                base = await self._services.workspace.remember(session.project, environment)
            if not task.id:
                made = self._services.tasks.add_task(key, task.content, by)
                task = replace(task, id=made.id, by=made.by)
            limits = loop_limits(settings)
            loop = rules.start_task(self.of(key), task.id, agent.id, task.complexity, limits)
            task = replace(task, status=TaskStatus.IN_PROGRESS, agent=agent.id, iteration=loop.iteration)
            self._services.tasks.put_task(key, task)
            accepted = loop.accepted if loop.accepted.snapshot else base
            loop = self.states.save(replace(loop, base=base, accepted=accepted))
            if old != base:
                self._drop_base(session, loop, old)
        model = choose_model(loop, agent, task.complexity, settings)
        self.states.note(
            session,
            LoopTaskBegun(
                task=task.id,
                agent=agent.id,
                tier=loop.tier,
                model=model,
                complexity=task.complexity,
                iteration=loop.iteration,
            ),
        )
        return self._briefing(loop, task, agent, selection)

    def context(self, session: Session) -> Briefing:
        """Return the task at work."""
        loop = self._at_work(session, "task_context")
        task = self._services.tasks.task(session.key, loop.task)
        return self._briefing(loop, task, self.states.agent(session.project, loop.agent), None)

    def files_outside(self, session: Session, files: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of these files that the task at work may not change."""
        loop = self._at_work(session, "scope_check")
        task = self._services.tasks.task(session.key, loop.task)
        scope = self._scope(session, loop)
        names = (file.removeprefix("./") for file in files)
        return files_outside(names, task.scope_files, scope.can_modify, scope.cannot_modify)

    def agents(self, session: Session) -> tuple[Agent, ...]:
        """Return the agents that may be used in a session's project."""
        return tuple(self._services.agents.known(session.project).by_name.values())

    def find_agent(self, session: Session, ident: str) -> Agent:
        """Return an agent by its id."""
        known = self._services.agents.known(session.project).by_name
        if ident not in known:
            raise LoopOrderError("loop-no-agent", agent=ident[:60], known=", ".join(sorted(known)))
        return known[ident]

    def check_status(self, session: Session, ident: str, status: TaskStatus, by: Author) -> None:
        """Say whether a task's status may be set in the journal: an agent completes none by its word alone.

        A task that is not at work begins anew where a person sets its status, also one that waits for them.
        """
        loop, ident = self.of(session.key), ident.strip().upper()
        if by is Author.USER:
            if ident in loop.held or any(one.task == ident for one in loop.parked):
                self.states.save(rules.give_back(loop, ident))
            return
        if ident in loop.held:
            raise LoopOrderError("loop-held", task=ident)
        if loop.status in OPEN_STATUSES and status is TaskStatus.COMPLETED:
            raise LoopOrderError("loop-journal")

    # --- reports ---

    async def report_completion(
        self,
        session: Session,
        files: tuple[str, ...],
        summary: str,
        hear: HearGates | None = None,
        undone: str = "",
    ) -> Completion:
        """Find out whether the task at work is complete. Only this completes one.

        `undone`: why whoever did it says that it is not; then it is not, whatever the checks say.
        """
        key, settings = session.key, self.states.settings()
        with self.states.reserved(key):
            loop = rules.begin_report(self.of(key))
            task, scope = self._services.tasks.task(key, loop.task), self._scope(session, loop)
            agent = self.states.agent(session.project, loop.agent)
            offered = await self._services.gates.list(session)
            chosen = check_approved(choose_gates(offered.gates, settings), offered.may)
            loop = self.states.save(loop)
            claimed = Claimed(
                files=files,
                summary=summary,
                model=choose_model(loop, agent, task.complexity, settings),
                undone=undone,
            )
            subject = ReportSubject(session, loop, task, scope, chosen, claimed)
            examined = await self._examiner.examine(subject, hear)
            now = self.of(key)
            if (now.state, now.task, now.iteration) != (loop.state, loop.task, loop.iteration):
                raise LoopOrderError("loop-changed")
            limits = loop_limits(settings)
            ruling = rules.rule_report(now, examined.report, limits, self._services.clock.now())
            if ruling.action is Action.COMPLETE:
                ruling = await self._with_accepted_files(session, ruling)
            return self._carry_out(session, ruling, task, examined, agent)

    def escalate(self, session: Session, reason: str) -> Completion:
        """Take the next rung because the agent asks for it."""
        self.states.check_free(session.key)
        loop = self._at_work(session, "escalate")
        self._check_limits(loop)
        task = self._services.tasks.task(session.key, loop.task)
        reason = self._services.gates.mask(session)(reason)
        ruling = rules.ask_for_escalation(loop, reason, self._services.clock.now())
        agent = self.states.agent(session.project, loop.agent)
        return self._carry_out(session, ruling, task, None, agent)

    def _carry_out(
        self, session: Session, ruling: Ruling, task: Task, examined: Examined | None, agent: Agent | None
    ) -> Completion:
        """Save what was ruled, the task first: after a crash in between, the same report is given again."""
        settings, loop, before = self.states.settings(), ruling.loop, self.of(session.key)
        status = NEW_STATUS.get(ruling.action, TaskStatus.IN_PROGRESS)
        self._services.tasks.put_task(session.key, replace(task, status=status, iteration=loop.iteration))
        loop = self.states.save(loop)
        ruling = replace(ruling, loop=loop)
        self._note_ruling(session, ruling, task, examined)
        model = choose_model(loop, agent, task.complexity, settings)
        following = self._following(session.key) if ruling.action is Action.COMPLETE else ""
        facts = TaskFacts(task, settings.loop.max_iterations, model)
        text = self.words.ruling(ruling, examined, facts, following)
        if ruling.action is Action.COMPLETE:
            self._drop_base(session, loop, loop.base)
            self._drop_base(session, loop, before.accepted)
        return Completion(ruling=ruling, model=model, text=text, examined=examined)

    async def _with_accepted_files(self, session: Session, ruling: Ruling) -> Ruling:
        environment = self._services.gates.permitted_environment(session)
        accepted = await self._services.workspace.remember(session.project, environment)
        return replace(ruling, loop=replace(ruling.loop, accepted=accepted))

    def _note_ruling(self, session: Session, ruling: Ruling, task: Task, examined: Examined | None) -> None:
        loop = ruling.loop
        if examined is not None:
            report = examined.report
            self.states.note(
                session,
                LoopReportRuled(
                    task=task.id,
                    action=ruling.action,
                    verdict=ruling.verdict,
                    reason=ruling.reason,
                    iteration=loop.iteration,
                    tier=loop.tier,
                    agent=loop.agent,
                    gates=tuple(f"{gate.id}: {gate.verdict}" for gate in report.gates),
                    files=report.files,
                    outside=report.outside,
                    weakened=report.weakened,
                    stuck=ruling.stuck,
                    summary=report.summary,
                ),
            )
        if ruling.action in {Action.ESCALATE, Action.COUNCIL}:
            step = loop.escalations[-1]
            self.states.note(
                session,
                LoopEscalated(
                    task=task.id, from_tier=step.from_tier, to_tier=step.to_tier, reason=step.reason
                ),
            )
        if ruling.action in {Action.FAIL, Action.HALT}:
            self.states.note(session, LoopSessionChanged(status=loop.status, reason=ruling.reason))

    # --- parts ---

    def _drop_base(self, session: Session, loop: Loop, base: FileBaseline) -> None:
        """Delete a baseline that nothing needs."""
        if base.snapshot and base.snapshot not in {loop.accepted.snapshot, *checkpoint_bases(loop)}:
            self._services.workspace.forget(base, session.project)

    def _at_work(self, session: Session, tool: str) -> Loop:
        """Return the loop with its task at work. Raises LoopOrderError."""
        loop = self.of(session.key)
        if not loop.task or loop.state in {LoopState.COMPLETED, LoopState.FAILED}:
            raise LoopOrderError("loop-order", state=loop.state, step=tool, first=CALL_FIRST[loop.state])
        return loop

    def _check_limits(self, loop: Loop) -> None:
        settings = self.states.settings()
        reached = reached_worker_limit(self._services.spending.today(), settings)
        if not reached and rules.over_limit(loop, loop_limits(settings)):
            reached = self.words.cents(loop)
        if reached:
            raise LoopOrderError("loop-limit", limit=reached)

    def _asked_task(self, session: Session, asked: TaskRequest, loop: Loop, by: Author) -> Task:
        """Return the task as it will be; one that is not in the journal yet has no id."""
        mask = self._services.gates.mask(session)
        criteria = tuple(filter(None, (mask(one).strip() for one in asked.acceptance_criteria)))
        scope = tuple(filter(None, (one.strip() for one in asked.scope_files)))
        journal, ident, content = self._services.tasks.of(session.key), asked.task_id, mask(asked.description)
        if ident.strip().lower() == ADHOC:
            if not content.strip() or not criteria:
                raise LoopOrderError("loop-adhoc")
            ident = _find_unbegun(journal, content, loop)
        if not ident:
            task = Task(id="", content=content, acceptance_criteria=criteria, scope_files=scope)
        else:
            task = self._services.tasks.task(session.key, ident)
            if task.id in loop.held:
                raise LoopOrderError("loop-held", task=task.id)
            if not task.open:
                raise LoopOrderError("loop-task-completed", task=task.id)
            done = completed_task_ids(journal)
            if waits := [one for one in task.depends_on if one not in done]:
                raise LoopOrderError("loop-task-waits", task=task.id, on=", ".join(waits))
            own = by is Author.USER  # an agent says when a task is done only where nobody did
            task = replace(
                task,
                acceptance_criteria=criteria
                if criteria and (own or not task.acceptance_criteria)
                else task.acceptance_criteria,
                scope_files=scope if scope and (own or not task.scope_files) else task.scope_files,
            )
        known = task.complexity or estimate_complexity(
            task.content, task.acceptance_criteria, task.scope_files
        )
        return replace(task, complexity=known)

    def _choose_agent(self, session: Session, task: Task, loop: Loop) -> tuple[Agent, AgentSelection | None]:
        agents = self._services.agents.known(session.project).by_name
        if (suggested := agents.get(task.agent)) is not None:
            return suggested, None
        profile = TaskProfile(
            description="\n".join((task.content, *task.acceptance_criteria)),
            files=task.scope_files,
            task_type="bug" if loop.command_type is CommandType.BUG else None,
            complexity=task.complexity,
        )
        selection = select_agent(profile, agents.values())
        return agents[selection.primary], selection

    def _scope(self, session: Session, loop: Loop) -> Scope:
        agent = self.states.agent(session.project, loop.agent)
        return agent.scope if agent is not None else Scope()

    def _briefing(
        self, loop: Loop, task: Task, agent: Agent | None, selection: AgentSelection | None
    ) -> Briefing:
        settings = self.states.settings()
        model = choose_model(loop, agent, task.complexity, settings)
        why = selection.reasoning if selection else ()
        text = self.words.brief(loop, agent, TaskFacts(task, settings.loop.max_iterations, model), why)
        return Briefing(loop=loop, task=task, agent=agent, model=model, text=text, selection=selection)

    def _following(self, key: SessionKey) -> str:
        ready = find_ready_tasks(self._services.tasks.of(key))
        return self.words.say("loop-next", next=ready[0].id) if ready else self.words.say("loop-all-done")


def _find_unbegun(journal: Journal, content: str, loop: Loop) -> str:
    """Return the id of a task that a crash kept from beginning after it was added, "" where there is none."""
    begun = {loop.task, *(one.task for one in loop.parked)}
    same = (task.id for task in journal.tasks if task.open and task.content == content.strip())
    return next((ident for ident in same if ident not in begun), "")
