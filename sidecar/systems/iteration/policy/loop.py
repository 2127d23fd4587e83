"""Rules of a run: how it begins, how long each agent may take, and whether another one follows.

- The person's goal is set once. Typing the same goal again continues with what was spent; a goal that has
  ended is set anew, because the person asks for it.
- At most N agents means at most N - 1 continuations; the session's budget is set to that.
- After a stop the sidecar's ruling decides. A run never continues where the ruling is to rest, nor with a
  goal that the user paused or cleared meanwhile.
- A failing agent is judged by its results, like any other. MAX_AGENT_FAILURES of them in a row end the run,
  as does one that cannot work at all.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from sidecar.evidence.gates.goal_checks import named_checks
from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import CommandRefusal
from sidecar.kernel.goal import ExitCode, GoalStatus
from sidecar.kernel.journal import Journal, Task
from sidecar.kernel.orders import Order, goal_order
from sidecar.kernel.runs import RunRequest, RunStatus, StopDecision
from sidecar.kernel.session import MAX_CONTINUATIONS, MIN_CONTINUATIONS
from sidecar.work.progress import RunFinished
from sidecar.work.report import commit_subject

MAX_AGENTS: Final = MAX_CONTINUATIONS + 1
"""Maximum agents of one goal: the first, and one for each continuation that a budget may have."""
MAX_AGENT_FAILURES: Final = 3
"""Failing agents in a row that end a run."""
HOOKED_TASKS_LIMIT: Final = 20
"""Completed tasks of one iteration for which the user's hook runs; each run takes time."""


RunOutcome = Literal["agent-failed", "broken", "exhausted", "interrupted", "paused", "waiting"]
"""Ends after which the goal may go on: "waiting" for its user, "broken" where sidecar or state failed."""

FINAL_OUTCOMES: Final = ("achieved", "judged", "completed", "impossible", "cleared")
"""Outcomes after which the same goal does not go on."""

# --- how it begins ------------------------------------------------------------------------------------------


def with_default_goal(asked: RunRequest, now: RunStatus) -> RunRequest:
    """Give a request without a goal the one that its specification or its checks amount to.

    A session that has another goal to continue with keeps it.
    """
    condition = f"{asked.spec} is built and its tasks are done" if asked.spec else "all checks pass"
    continuable = now.status in CONTINUABLE_STATUSES and now.condition != condition
    if asked.goal.condition or continuable or not (asked.spec or asked.goal.checks):
        return asked
    return replace(asked, goal=replace(asked.goal, condition=condition, tasks_alone=bool(asked.spec)))


def opening_orders(asked: RunRequest, now: RunStatus) -> tuple[Order, ...]:
    """Return the commands to type before the first agent; raises CommandRefusal with what to do instead."""
    if now.project and now.project != asked.project:
        raise CommandRefusal(
            f"session {asked.session} belongs to {now.project}. Start it there, or take another --session"
        )
    if not asked.jobs and any(task.claim for task in now.journal.tasks):
        raise CommandRefusal(
            f"session {asked.session} has tasks of agents that worked at once. To go on type --jobs too"
        )
    if not asked.goal.condition and (asked.goal.checks or asked.goal.max_seconds or asked.goal.max_tokens):
        raise CommandRefusal("--check, --max-minutes and --max-tokens belong to a goal: type --goal too")
    if (
        not sets_new_goal(asked, now)
        and now.status in CONTINUABLE_STATUSES
        and next_agent_number(now) > agent_limit(asked, now)
    ):
        raise CommandRefusal(
            "the iterations of this goal are spent "
            f"({next_agent_number(now) - 1} of {agent_limit(asked, now)}). "
            "To go on type a greater --max-iterations, or another --goal"
        )
    entering = (goal_order(asked.goal),) if sets_new_goal(asked, now) else _go_on(asked, now)
    if asked.most is None:
        return entering
    return (Order(name="retry", number=max(asked.most - 1, MIN_CONTINUATIONS)), *entering)


def sets_new_goal(asked: RunRequest, now: RunStatus) -> bool:
    """Whether the goal is set, for the first time or anew; else the existing one continues."""
    goal = asked.goal
    same = goal.condition.split() == now.condition.split() and goal.checks == now.checks
    same = same and (goal.max_seconds, goal.max_tokens) == (now.max_seconds, now.max_tokens)
    kept = same and now.status in CONTINUABLE_STATUSES
    return bool(goal.condition) and not kept


def _go_on(asked: RunRequest, now: RunStatus) -> tuple[Order, ...]:
    """Return what is typed to continue the goal; a greater budget, typed before, made it active again."""
    if now.status is GoalStatus.EXHAUSTED:
        if asked.most is None or asked.most - 1 <= now.continuations or now.seconds_left <= 0:
            raise CommandRefusal(
                f"the budget is spent ({now.continuations} of {now.budget} continuations; "
                f"{now.last_reason}). To go on type a greater --max-iterations, or set the goal again with "
                "--goal"
            )
        return ()
    if now.status not in CONTINUABLE_STATUSES:
        said = f"the goal of this session is {now.status}" if now.status else "this session has no goal"
        raise CommandRefusal(f'{said}. Set one: --goal "all tests pass"')
    if now.seconds_left <= 0:
        raise CommandRefusal("the time of this goal is spent. Set it again to go on: --goal, --max-minutes")
    return () if now.status is GoalStatus.ACTIVE else (Order(name="goal", word="resume"),)


CONTINUABLE_STATUSES: Final = frozenset(
    {GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED, GoalStatus.UNVERIFIED}
)
"""Statuses in which the same goal, typed again, continues; after any other it is set anew."""


def judge_warning(now: RunStatus, decides: str = "", *, assigned: bool = False) -> str:
    """Return what a run without a judge is told before its first agent; "" where nobody has to be asked.

    `decides`: what was answered to the goal. Where checks alone may decide it, that says whether one does.
    `assigned`: the goal is a task of a team's list.
    """
    alone = named_checks(now.condition, checks=now.checks).alone
    checks_decide = (alone and decides) or (now.checks and (alone or now.tasks_alone))
    if not now.no_judge or checks_decide:
        return ""
    way = (
        'a check decide: a task of the words "all checks pass" and its checks. Until then tasks are held'
        if assigned
        else "a check decide: --check COMMAND without --goal, or --spec FILE --check COMMAND. Until then the "
        "run goes on while tasks are ready, and ends as unjudged"
    )
    why = f"no model can judge whether the goal holds ({now.no_judge})"
    return f"{why}. Name a judge (docs/models.md), or let {way}"


# --- how it goes on -----------------------------------------------------------------------------------------


def agent_limit(asked: RunRequest, now: RunStatus) -> int:
    """Return how many agents this goal may have in all."""
    return min(asked.most if asked.most is not None else now.budget + 1, MAX_AGENTS)


def next_agent_number(now: RunStatus) -> int:
    """Return the number of the goal's next agent, from 1."""
    return now.continuations + (1 if now.pending else 0) + 1


def next_agent_seconds(now: RunStatus, longest: float) -> float:
    """Return how long the next agent may take: `longest`, or what is left of the goal's time."""
    return max(1.0, min(longest, now.seconds_left))


def commit_message(task: str, session: str, number: int) -> str:
    """Return the message of an iteration's commit: its task, and which iteration it was."""
    which = f"supervisor run {session}, iteration {number}"
    return f"{commit_subject(task)}\n\n{which}" if task else which


def run_end_after_stop(
    ruled: StopDecision, now: RunStatus, allowed: int, asked: RunRequest
) -> RunFinished | None:
    """Return the end of the run after a stop, None to start another agent."""
    if ruled.decision == "continue" and now.status is GoalStatus.ACTIVE:
        if next_agent_number(now) <= allowed:
            return None
        detail = f"{allowed} of {allowed} iterations, the goal stays active; still missing: {now.last_reason}"
        return run_ended("exhausted", detail, asked, _greater(allowed))
    gone = now.status in (None, GoalStatus.CLEARED)  # whatever the stop was taken for without a goal
    outcome = (now.status or GoalStatus.CLEARED).value if gone or ruled.decision != "rest" else ruled.reason
    detail = ruled.detail or ruled.note
    then = asked.again(*_changed_options(outcome, now, asked)) if outcome not in FINAL_OUTCOMES else ""
    return RunFinished(outcome=outcome, detail=detail, exit_code=now.exit_code, then=then)


def _changed_options(outcome: str, now: RunStatus, asked: RunRequest) -> tuple[tuple[str, ...], ...]:
    """Return the options without which the goal does not go on as it stands now."""
    if outcome == RestReason.WAITING:
        return (("--extra", "YOUR ANSWER"),)
    if outcome != GoalStatus.EXHAUSTED or asked.goal.condition:  # typed again, the goal is set anew
        return ()
    if now.budget <= now.continuations < MAX_CONTINUATIONS:
        return (_greater(now.budget + 1),)
    return (("--goal", now.condition), *(("--check", check) for check in now.checks))


def _greater(agents: int) -> tuple[str, str]:
    return "--max-iterations", str(min(2 * agents, MAX_AGENTS))


def run_ended(outcome: RunOutcome, detail: str, asked: RunRequest, *changed: tuple[str, ...]) -> RunFinished:
    """Return an end at which the goal is not achieved; with these `changed` options it goes on."""
    code = ExitCode.NOT_ACHIEVED.value
    return RunFinished(outcome=outcome, detail=detail, exit_code=code, then=asked.again(*changed))


def moved_tasks(before: Journal, now: Journal) -> tuple[str, ...]:
    """Return "ID STATUS" of each task that is new or has another status than before."""
    statuses = {task.id: task.status for task in before.tasks}
    return tuple(f"{task.id} {task.status}" for task in now.tasks if statuses.get(task.id) != task.status)


def newly_completed_tasks(before: Journal, now: Journal) -> tuple[Task, ...]:
    """Return the tasks that were open or missing before and are completed now."""
    closed = {task.id for task in before.tasks if not task.open}
    return tuple(task for task in now.tasks if not task.open and task.id not in closed)
