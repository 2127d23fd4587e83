"""The task loop: sessions, tasks, and reports that the project's own checks answer.

Every change is saved before it is answered; the event log tells it. A crash leaves the state that was saved
last, from which the same call goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from sidecar.evidence.gates.policy import build_gate_baseline
from sidecar.evidence.ports import HearGates
from sidecar.kernel.decoding import UNLISTED
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import NOTHING_SHOWN, GateRun
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.journal import (
    Author,
    Journal,
    Task,
    TaskStatus,
    completed_task_ids,
    find_ready_tasks,
)
from sidecar.kernel.log import EventData, LoopEscalated, LoopReportRuled, LoopSessionChanged, LoopTaskBegun
from sidecar.kernel.loop import CommandType, ExecutionMode, GateVerdict, Loop, LoopState, LoopStatus, Tier
from sidecar.kernel.session import Session, SessionKey, reached_worker_limit
from sidecar.kernel.settings import TokenUsage, answer_price_cents, model_prices, resolve_model
from sidecar.platform.paths import lies_inside
from sidecar.systems.taskloop.council import LoopCouncils
from sidecar.systems.taskloop.policy import loop as rules
from sidecar.systems.taskloop.policy.agents import Agent, TaskWork
from sidecar.systems.taskloop.policy.loop import Action, Report, Ruling
from sidecar.systems.taskloop.policy.selection import (
    AgentSelection,
    TaskProfile,
    estimate_complexity,
    select_agent,
)
from sidecar.systems.taskloop.policy.transitions import CALL_FIRST, LoopOrderError, Step, take_step
from sidecar.systems.taskloop.ports import LoopServices
from sidecar.systems.taskloop.reports import WorkerReport, choose_gates, judge_report, task_goal, work_claim
from sidecar.systems.taskloop.states import LoopCheckpoints, LoopStates
from sidecar.systems.taskloop.wording import LoopWords

ADHOC: Final = "adhoc"
NEW_STATUS: Final = {
    Action.COMPLETE: TaskStatus.COMPLETED,
    Action.DONE: TaskStatus.COMPLETED,
    Action.HALT: TaskStatus.BLOCKED,
    Action.FAIL: TaskStatus.FAILED,
}
"""What becomes of a task; it goes on after any other answer."""
OPEN_STATUSES: Final = frozenset((LoopStatus.RUNNING, LoopStatus.PAUSED))

Text = Annotated[str, Meta(max_length=4_000)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=200)]


class TaskRequest(Struct, frozen=True, kw_only=True):
    """Which task to begin: one of the journal, or "adhoc" with what is to be done and when it is done."""

    task_id: Annotated[str, Meta(min_length=1, max_length=200)]
    description: Text = ""
    acceptance_criteria: Texts = ()
    scope_files: Texts = ()
    sprint: Annotated[str, Meta(max_length=200), UNLISTED] = ""


class Briefing(TaskWork, frozen=True, kw_only=True):
    """A task at work, what its agent is told, and how the agent was selected, if it was."""

    text: str
    selection: AgentSelection | None = None


class Completion(Struct, frozen=True, kw_only=True):
    """The answer to a report, or to the wish to escalate, when there is none; see Ruling.

    `model` works on; `enforced`: Supervisor itself chose it. `blocking` are the required gates that did not
    pass. `why` is the decision in words, `text` the whole answer.
    """

    action: Action
    exit_signal: bool
    verdict: GateVerdict
    reason: str
    stuck: str
    status: LoopStatus
    state: LoopState
    tier: Tier
    iteration: int
    model: str
    enforced: bool = False
    blocking: tuple[str, ...] = ()
    report: Report | None
    why: str
    text: str


class TaskLoops:
    """The loops of all sessions. Methods raise ToolRuleError, OSError and BadInputError."""

    def __init__(self, services: LoopServices, home: Session | None = None) -> None:
        """`home`: see LoopStates."""
        self._services = services
        self.words = LoopWords(services.texts)
        self.states = LoopStates(services, home)
        self.checkpoints = LoopCheckpoints(self.states)
        self.councils = LoopCouncils(self.states, self.words)
        self.models: Mapping[str, str] = {}
        """What workers really run on; see TaskWork."""

    def of(self, key: SessionKey) -> Loop:
        """Return a session's loop."""
        return self.states.of(key)

    # --- sessions ---

    def start_session(
        self, session: Session, command: str, kind: CommandType, mode: ExecutionMode = "normal"
    ) -> Loop:
        """Begin a loop session."""
        self.states.check_free(session.key)
        command = self.states.mask(session, command)
        loop = rules.start_session(self.of(session.key), command, kind, mode)
        return self.states.save(session, loop, LoopSessionChanged(status=loop.status, command=command))

    async def remember_beginning(self, session: Session) -> None:
        """Keep the files as they are when the loop begins, for its summary."""
        if not self.of(session.key).began.snapshot:
            environment = self.states.environment(session)
            began = await self._services.shared.workspace.remember(session.project, environment)
            self.states.save(session, replace(self.of(session.key), began=began))

    def end_session(
        self, session: Session, status: LoopStatus, reason: str = "", by: Author = Author.AGENT
    ) -> Loop:
        """Complete, fail or pause it. A person may have taken each task as done."""
        self.states.check_free(session.key)
        tasks = self._services.tasks.of(session.key).tasks
        left = tuple(task.id for task in tasks if task.open)
        accepted = by is Author.USER or any(task.shown for task in tasks)
        reason = self.states.mask(session, reason)
        loop = rules.end_session(self.of(session.key), status, reason, left, accepted=accepted)
        return self.states.save(session, loop, LoopSessionChanged(status=status, reason=reason))

    def record_tokens(self, session: Session, model: str, read: int, written: int) -> Loop:
        """Add what a model took. It counts for the loop alone: an agent's word must not stop the judge."""
        settings = self.states.settings()
        usage = TokenUsage(input=max(0, read), output=max(0, written))
        cents = answer_price_cents(resolve_model(model, settings), usage, model_prices(settings))
        return self.states.save(session, rules.record_tokens(self.of(session.key), read, written, cents))

    def record_worker(self, session: Session, tokens: int, cents: float | None) -> None:
        """Add what a worker took, as its backend counted it: input and output are not told apart."""
        if tokens or cents:
            self.states.save(session, rules.record_tokens(self.of(session.key), tokens, 0, cents))

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
            base = loop.base
            if not loop.task or loop.task != task.id or not base.snapshot:
                workspace, environment = self._services.shared.workspace, self.states.environment(session)
                base = await workspace.remember(session.project, environment)
            if not task.id:
                made = self._services.tasks.add_task(key, task.content, by)
                task = replace(task, id=made.id, by=made.by)
            goal = task_goal(task, loop, _judged_base(loop, base), self._services.shared.clock.now())
            loop = rules.start_task(self.of(key), goal, agent.id, task.complexity, settings.loop)
            loop = replace(loop, base=base)
            task = replace(task, status=TaskStatus.IN_PROGRESS, agent=agent.id, iteration=loop.iteration)
            self._services.tasks.put_task(key, task)
            work = TaskWork(
                session=session, loop=loop, task=task, agent=agent, settings=settings, models=self.models
            )
            begun = LoopTaskBegun(
                task=task.id,
                agent=agent.id,
                tier=loop.tier,
                model=work.worker_model,
                complexity=task.complexity,
                iteration=loop.iteration,
            )
            work = replace(work, loop=self.states.save(session, loop, begun))
        return self._briefing(work, selection)

    def context(self, session: Session) -> Briefing:
        """Return the task at work."""
        return self._briefing(self._at_work(session, "task_context"))

    def files_outside(self, session: Session, files: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of these files that the task at work may not change."""
        work, project = self._at_work(session, "scope_check"), Path(session.project)
        out = [file for file in files if not lies_inside(project / file, project)]
        return (*out, *work.files_outside(file.removeprefix("./") for file in files if file not in out))

    def agents(self, session: Session) -> dict[str, Agent]:
        """Return the agents that may be used in a session's project, by their ids."""
        return self._services.agents.known((self.states.home or session).project).by_name

    def find_agent(self, session: Session, ident: str) -> Agent:
        """Return an agent by its id."""
        known = self.agents(session)
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
                done = status is TaskStatus.COMPLETED
                self.states.save(session, rules.give_back(loop, ident, done=done))
            return
        if ident in loop.held:
            raise LoopOrderError("loop-held", task=ident)
        if loop.status in OPEN_STATUSES and status is TaskStatus.COMPLETED:
            raise LoopOrderError("loop-journal")

    # --- reports ---

    async def _choose_gates(self, session: Session, work: TaskWork) -> dict[str, bool]:
        typed = self._services.typed or bool(work.task.checks)
        return choose_gates(await self._services.gates.offered(session), work.settings, typed=typed)

    async def look_before(self, session: Session, hear: HearGates) -> tuple[GateRun, ...]:
        """Run the checks that must pass for the task at work, before anybody works on it; keep how they end.

        Raises LoopOrderError where one of them cannot run: no worker can mend that.
        """
        with self.states.reserved(session.key):
            work = self._at_work(session, "task_start")
            chosen = await self._choose_gates(session, work)
            claim = work_claim(self._services, work, chosen)
            runs = await self._services.gates.give_way(session, self._services.work.look_before(claim, hear))
            unrun = (run for run in runs if run.outcome in NOTHING_SHOWN)
            if why := "; ".join(f"`{run.gate.command}`: {run.reason}" for run in unrun):
                raise LoopOrderError("loop-unrunnable", why=why)
            loop, goal = self.of(session.key), claim.goal
            goal = replace(goal, baseline=build_gate_baseline(runs))
            self.states.save(session, replace(loop, goals=rules.with_goal(loop.goals, goal)))
            return runs

    async def report_completion(
        self, session: Session, said: WorkerReport, hear: HearGates | None = None
    ) -> Completion:
        """Find out whether the task at work is complete. Only this completes one.

        Where whoever did it says that it is not, it is not, whatever the checks say.
        """
        with self.states.reserved(session.key):
            work = self._work(session, rules.begin_report(self.of(session.key)))
            chosen = await self._choose_gates(session, work)
            loop = self.states.save(session, work.loop)
            report, found = await judge_report(self._services, work, chosen, said, hear)
            now = self.of(session.key)
            if (now.state, now.task, now.iteration) != (loop.state, loop.task, loop.iteration):
                raise LoopOrderError("loop-changed")
            now = rules.record_tokens(now, found.tokens, 0, found.cents if found.tokens else 0.0)
            now = replace(now, goals=rules.with_goal(now.goals, _asked_again(found.goal)))
            ruling = rules.rule_report(now, report, self._rungs(work), self._services.shared.clock.now())
            return self._carry_out(work, ruling, report)

    def escalate(self, session: Session, reason: str) -> Completion:
        """Take the next rung because the agent asks for it."""
        self.states.check_free(session.key)
        work = self._at_work(session, "escalate")
        self._check_limits(work.loop)
        reason = self.states.mask(session, reason)
        now = self._services.shared.clock.now()
        ruling = rules.ask_for_escalation(work.loop, reason, self._rungs(work), now)
        return self._carry_out(work, ruling)

    def _carry_out(self, work: TaskWork, ruling: Ruling, report: Report | None = None) -> Completion:
        """Save what was ruled, the task first: after a crash in between, the same report is given again."""
        status = NEW_STATUS.get(ruling.action, TaskStatus.IN_PROGRESS)
        done = status is TaskStatus.COMPLETED and report is not None
        shown = report.standing if done and report else None
        task = replace(work.task, status=status, iteration=ruling.loop.iteration, shown=shown)
        self._services.tasks.put_task(work.session.key, task)
        loop = self.states.save(work.session, ruling.loop, *_ruling_events(ruling, task, report))
        work, ruling = replace(work, loop=loop, task=task), replace(ruling, loop=loop)
        following = self._following(work.session.key) if not loop.task else ""
        why = self.words.reason(work, ruling, report)
        return Completion(
            action=ruling.action,
            exit_signal=ruling.action is Action.COMPLETE,
            verdict=ruling.verdict,
            reason=ruling.reason,
            stuck=ruling.stuck,
            status=loop.status,
            state=loop.state,
            tier=loop.tier,
            iteration=loop.iteration,
            model=work.model,
            blocking=report.blocking if report else (),
            report=report,
            why=why,
            text=self.words.ruling(work, ruling, report, why, following),
        )

    # --- parts ---

    def _at_work(self, session: Session, tool: str) -> TaskWork:
        """Return the task at work. Raises LoopOrderError."""
        loop = self.of(session.key)
        if not loop.task or loop.state in {LoopState.COMPLETED, LoopState.FAILED}:
            raise LoopOrderError("loop-order", state=loop.state, step=tool, first=CALL_FIRST[loop.state])
        return self._work(session, loop)

    def _work(self, session: Session, loop: Loop) -> TaskWork:
        return TaskWork(
            session=session,
            loop=loop,
            task=self._services.tasks.task(session.key, loop.task),
            agent=self.agents(session).get(loop.agent),
            settings=self.states.settings(),
            models=self.models,
        )

    def _rungs(self, work: TaskWork) -> rules.Rungs:
        return rules.Rungs(limits=work.settings.loop, models=self.models)

    def _check_limits(self, loop: Loop) -> None:
        settings = self.states.settings()
        reached = reached_worker_limit(self._services.shared.spending.today(), settings)
        if not reached and rules.over_limit(loop, settings.loop):
            reached = self.words.cents(loop)
        if reached:
            raise LoopOrderError("loop-limit", limit=reached)

    def _asked_task(self, session: Session, asked: TaskRequest, loop: Loop, by: Author) -> Task:
        """Return the task as it will be; one that is not in the journal yet has no id."""
        mask = self._services.gates.mask(session)
        given = {
            "acceptance_criteria": tuple(
                filter(None, (mask(one).strip() for one in asked.acceptance_criteria))
            ),
            "scope_files": tuple(filter(None, map(str.strip, asked.scope_files))),
            "sprint": mask(asked.sprint).strip(),
        }
        journal, ident, content = self._services.tasks.of(session.key), asked.task_id, mask(asked.description)
        if ident.strip().lower() == ADHOC:
            if not content.strip() or not given["acceptance_criteria"]:
                raise LoopOrderError("loop-adhoc")
            ident = _find_unbegun(journal, content, loop)
        task = Task(id="", content=content)
        if ident:
            task = self._services.tasks.task(session.key, ident)
            _check_may_begin(task, journal, loop)
        own = by is Author.USER  # an agent says when a task is done only where nobody did
        new = {name: texts for name, texts in given.items() if texts and (own or not getattr(task, name))}
        task = replace(task, **new)
        known = estimate_complexity(task.content, task.acceptance_criteria, task.scope_files)
        return replace(task, complexity=task.complexity or known)

    def _choose_agent(self, session: Session, task: Task, loop: Loop) -> tuple[Agent, AgentSelection | None]:
        agents = self.agents(session)
        if (suggested := agents.get(task.agent)) is not None:
            return suggested, None
        profile = TaskProfile(
            description="\n".join((task.content, *task.acceptance_criteria)),
            files=task.scope_files,
            task_type="bug" if loop.command_type == "bug" else None,
            complexity=task.complexity,
        )
        selection = select_agent(profile, agents.values())
        return agents[selection.primary], selection

    def _briefing(self, work: TaskWork, selection: AgentSelection | None = None) -> Briefing:
        text = self.words.brief(work, selection.reasoning if selection else ())
        return Briefing(**asdict(work), text=text, selection=selection)

    def _following(self, key: SessionKey) -> str:
        ready = find_ready_tasks(self._services.tasks.of(key))
        return self.words.say("loop-next", next=ready[0].id) if ready else self.words.say("loop-all-done")


def _judged_base(loop: Loop, now: FileBaseline) -> FileBaseline:
    """Return the files by which a new task is judged: those of the first that was left, else now."""
    return next((one.base for one in loop.goals if one.id not in loop.held), now)


def _asked_again(goal: Goal) -> Goal:
    """Return the goal of a task that was judged as it is for its next report."""
    return replace(goal, status=GoalStatus.ACTIVE, spent=GoalSpending(), lifetime=0)


def _find_unbegun(journal: Journal, content: str, loop: Loop) -> str:
    """Return the id of a task that a crash kept from beginning after it was added, "" where there is none."""
    begun = {loop.task, *(one.task for one in loop.parked)}
    same = (task.id for task in journal.tasks if task.open and task.content == content.strip())
    return next((ident for ident in same if ident not in begun), "")


def _check_may_begin(task: Task, journal: Journal, loop: Loop) -> None:
    if task.id in loop.held:
        raise LoopOrderError("loop-held", task=task.id)
    if not task.open:
        raise LoopOrderError("loop-task-completed", task=task.id)
    done = completed_task_ids(journal)
    if waits := [one for one in task.depends_on if one not in done]:
        raise LoopOrderError("loop-task-waits", task=task.id, on=", ".join(waits))


def _ruling_events(ruling: Ruling, task: Task, report: Report | None) -> Iterator[EventData]:
    loop = ruling.loop
    if report is not None:
        gates = tuple(f"{gate.id}: {gate.verdict}" for gate in report.gates)
        yield LoopReportRuled(
            task=task.id,
            action=ruling.action,
            verdict=ruling.verdict,
            reason=ruling.reason,
            iteration=loop.iteration,
            tier=loop.tier,
            agent=loop.agent,
            gates=gates,
            files=report.files,
            outside=report.outside,
            weakened=report.weakened,
            standing=report.standing,
            missing=report.missing,
            stuck=ruling.stuck,
            summary=report.summary,
        )
    if ruling.action in {Action.ESCALATE, Action.COUNCIL}:
        step = loop.escalations[-1]
        yield LoopEscalated(task=task.id, from_tier=step.from_tier, to_tier=step.to_tier, reason=step.reason)
    if ruling.action in {Action.FAIL, Action.HALT}:
        yield LoopSessionChanged(status=loop.status, reason=ruling.reason)
