"""How a loop goes on: what a report is answered, when a stronger model takes over, when it is enough.

Each function takes a loop and returns it changed. Which step may follow which is the table in transitions.py.

- A task is done by one thing: a report of it that holds by the laws of a stop, in scope. It is complete where
  checks prove it or a judge says so; where nobody could look, it is done and not judged.
- A report that is not accepted is a failure. After `threshold` of them in a row, or where the agent is stuck,
  the next rung of the ladder works on it: small, medium, large, then the council, once for each task.
- After `max_iterations` reports on one task, or failures after the council, the task has failed, and a person
  is asked; so they are where only a person can tell. A critical security finding stops the session at once.
  Only a person gives such a task back.
- A task that is begun again goes on where it was left, whatever was done in between.
- What was spent only grows. At the user's limit nothing more is begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from sidecar.kernel.goal import Goal
from sidecar.kernel.loop import (
    CommandType,
    CouncilDecision,
    Escalation,
    ExecutionMode,
    GateResult,
    GateVerdict,
    Loop,
    LoopFailure,
    LoopState,
    LoopStatus,
    TaskProgress,
    Tier,
)
from sidecar.kernel.settings import LoopSettings
from sidecar.kernel.work import Standing
from sidecar.systems.taskloop.policy.transitions import LoopOrderError, Step, next_rung, take_step

KEPT_FAILURES: Final = 100
"""Failures that a loop remembers; the event log has all."""
SAME_TIMES: Final = 3
"""The same files, test or error this many times in a row means that the agent is stuck."""
KEPT_TASKS: Final = 200
"""Begun tasks whose iterations are remembered."""
KEPT_NAMES: Final = 50
"""Files and tests of one failure that are remembered."""
NAMED_TASKS: Final = 10
"""Tasks that an error names."""
LADDER: Final = tuple(Tier)


class Action(StrEnum):
    """What a report is answered with."""

    COMPLETE = "complete"
    DONE = "done"
    """Nothing speaks against it, and nobody judged it."""
    ITERATE = "iterate"
    ESCALATE = "escalate"
    COUNCIL = "council"
    HALT = "halt"
    FAIL = "fail"


class Report(Struct, frozen=True, kw_only=True):
    """What was found out about a report of the agent.

    `files` are those that really changed, `outside` those of them that the task's scope does not hold.
    `unreported` changed and were not listed by the agent, `unchanged` the reverse. `missing` are the points
    that are missing, `weakened` says what was changed of the checks. `why` is why it stands so. `by` is the
    model at work.
    """

    gates: tuple[GateResult, ...]
    standing: Standing = Standing.OPEN
    why: str = ""
    missing: tuple[str, ...] = ()
    next_step: str = ""
    files: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    unreported: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    summary: str = ""
    by: str = ""

    @property
    def blocking(self) -> tuple[str, ...]:
        """The required gates that did not pass."""
        return tuple(gate.id for gate in self.gates if gate.required and gate.verdict is not GateVerdict.PASS)


class Ruling(Struct, frozen=True, kw_only=True):
    """The loop after a report, what to do, and why: the name of a section in rubric/loop.md."""

    loop: Loop
    action: Action
    reason: str
    stuck: str = ""

    @property
    def verdict(self) -> GateVerdict:
        """What the gates of the last report amount to."""
        return gates_verdict(self.loop.gates)


# --- sessions and tasks -------------------------------------------------------------------------------------


def start_session(loop: Loop, command: str, kind: CommandType, mode: ExecutionMode) -> Loop:
    """Begin a loop session. What earlier ones spent stays counted. Raises LoopOrderError."""
    return replace(
        take_step(take_step(loop, Step.START), Step.BEGIN),
        **asdict(TaskProgress()),
        command=command,
        command_type=kind,
        mode=mode,
        status=LoopStatus.RUNNING,
        gates=(),
        escalations=(),
        proposals=(),
        parked=_park(loop),
        end_reason="",
    )


def end_session(
    loop: Loop, status: LoopStatus, reason: str, open_tasks: tuple[str, ...] = (), *, accepted: bool = False
) -> Loop:
    """End or pause a session. Raises LoopOrderError. `accepted`: a task was completed by a report."""
    if status is LoopStatus.PAUSED:
        take_step(loop, Step.FAIL)  # nothing to pause where nothing can fail
        return replace(loop, status=status, end_reason=reason)
    if status is LoopStatus.COMPLETED and open_tasks:
        raise LoopOrderError("loop-open-tasks", tasks=", ".join(open_tasks[:NAMED_TASKS]))
    if status is LoopStatus.COMPLETED and not accepted:
        raise LoopOrderError("loop-nothing-passed")
    step = Step.END if status is LoopStatus.COMPLETED else Step.FAIL
    return replace(take_step(loop, step), status=status, end_reason=reason)


def start_task(loop: Loop, goal: Goal, agent: str, complexity: int, limits: LoopSettings) -> Loop:
    """Give a task to an agent. Raises LoopOrderError. A task that is begun again keeps its failures.

    `goal`: what is asked of it; its id is the task's.
    """
    after, task = take_step(loop, Step.TASK), goal.id  # also the task at work, which goes on where it was
    if task in loop.held:
        raise LoopOrderError("loop-held", task=task)
    known = {one.task: one for one in _park(loop)}
    begun = known.pop(task, TaskProgress(task=task, tier=first_tier(loop.mode, complexity, limits)))
    return replace(
        after,
        **asdict(replace(begun, agent=agent)),
        status=LoopStatus.RUNNING,
        proposals=(),
        gates=(),
        parked=tuple(known.values()),
        goals=with_goal(loop.goals, goal),
    )


def with_goal(goals: tuple[Goal, ...], goal: Goal) -> tuple[Goal, ...]:
    """Return the goals with this one instead of the one of its id."""
    others = tuple(one for one in goals if one.id != goal.id)
    return (*others, goal)[-KEPT_TASKS:]


def give_back(loop: Loop, task: str, *, done: bool = False) -> Loop:
    """Let the agent begin a task again, also one that failed or was halted, with new iterations.

    It is judged by the files of its beginning, and is asked anew. `done`: a person took it as done.
    """
    goals = tuple(
        replace(one, asked_about=(), asked_to_run=()) if one.id == task else one
        for one in loop.goals
        if not (done and one.id == task)
    )
    return replace(
        loop,
        task="" if loop.task == task else loop.task,  # else its old progress would be parked again
        held=tuple(one for one in loop.held if one != task),
        parked=tuple(one for one in loop.parked if one.task != task),
        goals=goals,
        failures=tuple(one for one in loop.failures if one.task != task),
    )


def first_tier(mode: ExecutionMode, complexity: int, limits: LoopSettings) -> Tier:
    """Return the rung on which a task of this complexity (1 to 14) begins."""
    if mode == "eco":
        return Tier(limits.eco_tier)
    holds = (tier for tier, most in zip(LADDER, limits.complexity, strict=False) if complexity <= most)
    return next(holds, Tier.LARGE)


def record_tokens(loop: Loop, read: int, written: int, cents: float | None) -> Loop:
    """Add what a model took; never less than before. `cents` is None where its price is unknown."""
    spent = None if cents is None or loop.spent_cents is None else loop.spent_cents + max(0.0, cents)
    return replace(
        loop,
        input_tokens=loop.input_tokens + max(0, read),
        output_tokens=loop.output_tokens + max(0, written),
        spent_cents=spent,
        priced_cents=priced_cents(loop) + max(0.0, cents or 0.0),
    )


def priced_cents(loop: Loop) -> float:
    """Return the cents whose price is known; older loops remember them only while all are."""
    return max(loop.priced_cents, loop.spent_cents or 0.0)


def share_spending(loop: Loop, other: Loop) -> Loop:
    """Return a loop with what was spent by it or by another that counts with it: each knows of the rest."""
    unknown = loop.spent_cents is None or other.spent_cents is None
    return replace(
        loop,
        input_tokens=max(loop.input_tokens, other.input_tokens),
        output_tokens=max(loop.output_tokens, other.output_tokens),
        spent_cents=None if unknown else max(loop.spent_cents or 0.0, other.spent_cents or 0.0),
        priced_cents=max(priced_cents(loop), priced_cents(other)),
    )


def restore_loop(now: Loop, then: Loop) -> Loop:
    """Bring back the task that was at work, and its files. How far each task came stays, and what was spent.

    A task that is held now is not at work again.
    """
    for loop in (now, then):
        take_step(loop, Step.TASK)
    if then.task in now.held:
        then = replace(_leave_task(then), state=LoopState.SELECTING_AGENT)
    known = {one.task: one for one in (*_park(then), *_park(now))}
    at_work = known.pop(then.task, TaskProgress())
    return replace(
        now,
        **asdict(at_work),
        state=then.state,
        base=then.base,
        goals=then.goals,
        proposals=(),
        gates=(),
        parked=tuple(known.values()),
    )


def over_limit(loop: Loop, limits: LoopSettings) -> bool:
    """Whether the user's limit of money is reached."""
    return limits.max_cents is not None and priced_cents(loop) >= limits.max_cents


# --- reports ------------------------------------------------------------------------------------------------


def gates_verdict(gates: Iterable[GateResult]) -> GateVerdict:
    """Return what gates amount to: required ones decide; a critical finding halts."""
    gates = tuple(gates)
    if any(gate.verdict is GateVerdict.HALT for gate in gates):
        return GateVerdict.HALT
    required = [gate.verdict for gate in gates if gate.required]
    for verdict in (GateVerdict.FAIL, GateVerdict.COULD_NOT_RUN):
        if verdict in required:
            return verdict
    return GateVerdict.PASS if required else GateVerdict.COULD_NOT_RUN


def begin_report(loop: Loop) -> Loop:
    """Take a report; the gates run next. Raises LoopOrderError."""
    _check_running(loop)
    return take_step(loop, Step.REPORT)


ACCEPTED: Final = {
    Standing.PROVED: (Action.COMPLETE, "loop-complete"),
    Standing.JUDGED: (Action.COMPLETE, "loop-complete-judged"),
    Standing.NOT_JUDGED: (Action.DONE, "loop-done"),
}
"""What a report is answered that stands so, in scope, and why."""


class Rungs(Struct, frozen=True, kw_only=True):
    """What bounds the way up: the user's limits, and which model really runs for each name (see TaskWork)."""

    limits: LoopSettings
    models: Mapping[str, str] = {}


def rule_report(loop: Loop, report: Report, rungs: Rungs, now: float) -> Ruling:
    """Answer a report, in the state `awaiting_quality_gates`. Raises LoopOrderError."""
    loop = replace(take_step(loop, Step.GATES_RAN), gates=report.gates, iteration=loop.iteration + 1)
    verdict = gates_verdict(report.gates)
    if verdict is GateVerdict.HALT:
        halted = _leave_task(_hold(take_step(loop, Step.BLOCK)))
        return Ruling(loop=replace(halted, status=LoopStatus.PAUSED), action=Action.HALT, reason="loop-halt")
    if report.standing is Standing.HELD:
        held = _leave_task(_hold(take_step(loop, Step.BLOCK)))
        return Ruling(loop=held, action=Action.HALT, reason="loop-held-back")
    if report.standing in ACCEPTED and not report.outside:
        return _accept(loop, report.standing)
    return _refuse(_add_failure(loop, report), report, rungs, now)


def _accept(loop: Loop, standing: Standing) -> Ruling:
    action, reason = ACCEPTED[standing]
    done = replace(take_step(loop, Step.COMPLETE), consecutive_failures=0)
    goals = tuple(one for one in loop.goals if one.id != loop.task)
    return Ruling(loop=replace(_leave_task(done), goals=goals), action=action, reason=reason)


def _refuse(loop: Loop, report: Report, rungs: Rungs, now: float) -> Ruling:
    limits = rungs.limits
    stuck = find_stuck(loop) if limits.stuck_detection else ""
    threshold = limits.eco_threshold if loop.mode == "eco" else limits.threshold
    if loop.iteration >= limits.max_iterations:
        return _fail(loop, "loop-iterations")
    if over_limit(loop, limits):
        return _fail(loop, "loop-spent")
    if stuck or loop.consecutive_failures >= threshold:
        reason = "loop-stuck" if stuck else "loop-threshold"
        return _step_up(take_step(loop, Step.ESCALATE), reason, rungs, now, stuck)
    reasons = {
        "loop-outside": report.outside,
        "loop-failed": gates_verdict(report.gates) is GateVerdict.FAIL,
        "loop-missing": True,
    }
    reason = next(name for name, holds in reasons.items() if holds)
    return Ruling(loop=take_step(loop, Step.ITERATE), action=Action.ITERATE, reason=reason)


def ask_for_escalation(loop: Loop, reason: str, rungs: Rungs, now: float) -> Ruling:
    """Step up because the agent asks for it, while a task is at work. Raises LoopOrderError."""
    _check_running(loop)
    return _step_up(take_step(loop, Step.ESCALATE), reason, rungs, now)


def accept_decision(loop: Loop, decision: CouncilDecision) -> Loop:
    """Go on with what the council decided, on the highest model. Raises LoopOrderError."""
    return replace(
        take_step(loop, Step.DECIDED),
        tier=Tier.LARGE,
        decision=decision,
        council_met=True,
        consecutive_failures=0,
    )


def find_stuck(loop: Loop) -> str:
    """Say what is the same in the last three failures of the task at work; "" where nothing is."""
    last = loop.own_failures[-SAME_TIMES:]
    if min(len(last), loop.consecutive_failures) < SAME_TIMES:  # another model begins anew
        return ""
    if same := _in_all([failure.failing for failure in last]):
        return f"the same test failed {SAME_TIMES} times: {same}"
    if same := _in_all([failure.errors for failure in last]):
        return f"the same error {SAME_TIMES} times: {same}"
    files = last[0].files
    if files and all(failure.files == files for failure in last):
        return f"the same files changed {SAME_TIMES} times without progress: {', '.join(files[:3])}"
    return ""


# --- steps --------------------------------------------------------------------------------------------------


def _check_running(loop: Loop) -> None:
    if loop.status is LoopStatus.PAUSED:
        raise LoopOrderError("loop-paused", task=loop.task or "T1")


def _step_up(loop: Loop, reason: str, rungs: Rungs, now: float, stuck: str = "") -> Ruling:
    """Take the next rung; above the last one is the council, and above that nothing."""
    if loop.council_met:
        return _fail(loop, "loop-after-council")
    above = next_rung(loop.tier, rungs.models)
    council = above is Tier.COUNCIL
    if council and loop.own_failures and not loop.own_failures[-1].files:
        return _fail(loop, "loop-idle")  # there is nothing that a council could look at
    step = Escalation(from_tier=loop.tier, to_tier=above, reason=reason, iteration=loop.iteration, at=now)
    loop = replace(
        take_step(loop, Step.COUNCIL if council else Step.ESCALATED),
        tier=above,
        consecutive_failures=0,
        escalations=(*loop.escalations, step),
        proposals=(),
    )
    action = Action.COUNCIL if council else Action.ESCALATE
    return Ruling(loop=loop, action=action, reason=reason, stuck=stuck)


def _fail(loop: Loop, reason: str) -> Ruling:
    failed = _leave_task(_hold(take_step(loop, Step.BLOCK)))  # other tasks may go on
    return Ruling(loop=failed, action=Action.FAIL, reason=reason)


def _park(loop: Loop) -> tuple[TaskProgress, ...]:
    """Return how far every begun task came, the one at work last.

    A council that was left before it decided is for the next failure to call again.
    """
    others = tuple(one for one in loop.parked if one.task != loop.task)
    if not loop.task:
        return others
    at_work = msgspec.convert(loop, TaskProgress, from_attributes=True)
    if at_work.tier is Tier.COUNCIL:
        at_work = replace(at_work, tier=Tier.LARGE)
    return (*others, at_work)[-KEPT_TASKS:]


def _leave_task(loop: Loop) -> Loop:
    return replace(loop, parked=_park(loop), task="")


def _hold(loop: Loop) -> Loop:
    """Park the task at work, for a person."""
    return replace(loop, parked=_park(loop), held=(*loop.held, loop.task))


def _add_failure(loop: Loop, report: Report) -> Loop:
    bad = [gate for gate in report.gates if gate.required and gate.verdict is not GateVerdict.PASS]
    failure = LoopFailure(
        iteration=loop.iteration,
        task=loop.task,
        model=report.by,
        agent=loop.agent,
        errors=_distinct(
            (*(error for gate in bad for error in gate.errors or (gate.reason,) if error), *report.missing)
        ),
        gates_failed=tuple(gate.id for gate in bad),
        failing=_distinct(name for gate in bad for name in gate.failing)[:KEPT_NAMES],
        files=report.files[:KEPT_NAMES],
        summary=report.summary,
    )
    return replace(
        loop,
        consecutive_failures=loop.consecutive_failures + 1,
        failures=(*loop.failures, failure)[-KEPT_FAILURES:],
    )


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _in_all(lists: list[tuple[str, ...]]) -> str:
    """Return the first text that is in all of these, "" where there is none."""
    times = Counter(text for texts in lists for text in _distinct(texts))
    return next((text for text in lists[-1] if times[text] == len(lists)), "")
