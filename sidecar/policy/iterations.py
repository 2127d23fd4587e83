"""A run of agents: how it begins, how long each may take, and whether there is another one.

- The person's goal is set once. The same one typed again goes on with what was spent; one that has ended is
  set anew, because the person asks for it.
- At most N agents means at most N - 1 continuations: the session's budget says the same.
- After a stop the sidecar's ruling decides. A run never goes on where it says rest, and never goes on with a
  goal that the user paused or cleared meanwhile.
- An agent that fails is judged by what it left behind, as any. So many that fail in a row end the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.goal import CONDITION_LIMIT, Status
from sidecar.model.iterations import Asked, Ended, Ruled, Standing
from sidecar.model.journal import Journal, Task
from sidecar.policy import budget
from sidecar.policy.arguments import GoalArguments, Refusal, parse_goal
from sidecar.policy.commands import WORDS
from sidecar.policy.status import ExitCode

MOST: Final = budget.MOST + 1
"""Agents of one goal: the first, and one for each continuation that a budget may have."""
FAILURES: Final = 3
"""Agents in a row that fail."""
HOOKED: Final = 20
"""Completed tasks of one iteration that the user's hook is told of: each takes its time."""


class Typed(Struct, frozen=True):
    """A command of ours, as if it was typed in a host."""

    name: str
    arguments: str


# --- how it begins ------------------------------------------------------------------------------------------


def opening(asked: Asked, now: Standing) -> tuple[Typed, ...]:
    """What is typed before the first agent; raises Refusal with what to do instead."""
    if now.project and now.project != asked.project:
        raise Refusal(
            f"session {asked.session} belongs to {now.project}. Start it there, or take another --session"
        )
    if not asked.goal and (asked.checks or asked.minutes):
        raise Refusal("--check and --max-minutes belong to a goal: type --goal too")
    if asked.goal and (len(asked.goal) > CONDITION_LIMIT or asked.goal.lower() in WORDS):
        raise Refusal(
            f"a goal is a condition of at most {CONDITION_LIMIT} characters; details go into --spec"
        )
    if asked.goal and parse_goal(asked.goal) != GoalArguments(condition=parse_goal(asked.goal).condition):
        raise Refusal("--check and the like inside --goal are no words of a condition: type them as options")
    if not _sets(asked, now) and now.status in GOES_ON and number(now) > most(asked, now):
        raise Refusal(
            f"the iterations of this goal are spent ({number(now) - 1} of {most(asked, now)}). "
            "To go on type a greater --max-iterations, or another --goal"
        )
    retry = (Typed("retry", str(max(asked.most - 1, budget.LEAST))),) if asked.most is not None else ()
    entering = (Typed("goal", _words(asked)),) if _sets(asked, now) else ENTERING[now.status](asked, now)
    return (*retry, *entering)


def resumes(asked: Asked, now: Standing) -> bool:
    """Whether the goal that is there goes on; raises Refusal."""
    return not _sets(asked, now)


def _sets(asked: Asked, now: Standing) -> bool:
    """Whether the goal is set, for the first time or anew."""
    if not asked.goal:
        return False
    meant = parse_goal(_words(asked))
    there = GoalArguments(condition=now.condition, checks=now.checks, max_seconds=now.max_seconds)
    return now.status not in GOES_ON or replace(meant, max_tokens=None) != there


def _words(asked: Asked) -> str:
    """What would be typed after /supervisor:goal."""
    options = [f'--check "{_escaped(check)}"' for check in asked.checks]
    options += [f"--max-minutes {asked.minutes}"] if asked.minutes else []
    return " ".join([asked.goal, *options])


def _escaped(check: str) -> str:
    """A value in the quotes of /supervisor:goal."""
    return check.replace("\\", "\\\\").replace('"', '\\"')


def _again(_asked: Asked, now: Standing) -> tuple[Typed, ...]:
    if now.seconds_left <= 0:
        raise Refusal("the time of this goal is spent. Set it again to go on: --goal, --max-minutes")
    return ()


def _resume(asked: Asked, now: Standing) -> tuple[Typed, ...]:
    return (*_again(asked, now), Typed("goal", "resume"))


def _raise(asked: Asked, now: Standing) -> tuple[Typed, ...]:
    """A greater budget, typed before, made it active again."""
    if asked.most is None or asked.most - 1 <= now.continuations or now.seconds_left <= 0:
        raise Refusal(
            f"the budget is spent ({now.continuations} of {now.budget} continuations; {now.last_reason}). "
            "To go on type a greater --max-iterations, or set the goal again with --goal"
        )
    return ()


def _over(_asked: Asked, now: Standing) -> tuple[Typed, ...]:
    said = f"the goal of this session is {now.status}" if now.status else "this session has no goal"
    raise Refusal(f'{said}. Set one: --goal "all tests pass"')


GOES_ON: Final = frozenset({Status.ACTIVE, Status.PAUSED, Status.STALLED, Status.UNVERIFIED})
"""What the same goal typed again goes on with; one that has ended otherwise is set anew."""

ENTERING: Final[dict[Status | None, Callable[[Asked, Standing], tuple[Typed, ...]]]] = {
    Status.ACTIVE: _again,
    Status.PAUSED: _resume,
    Status.STALLED: _resume,
    Status.UNVERIFIED: _resume,
    Status.EXHAUSTED: _raise,
    Status.ACHIEVED: _over,
    Status.IMPOSSIBLE: _over,
    Status.CLEARED: _over,
    None: _over,
}


# --- how it goes on -----------------------------------------------------------------------------------------


def most(asked: Asked, now: Standing) -> int:
    """How many agents this goal may have in all."""
    return min(asked.most if asked.most is not None else now.budget + 1, MOST)


def number(now: Standing) -> int:
    """Which agent of this goal the next one is, from 1."""
    return now.continuations + (1 if now.pending else 0) + 1


def seconds(now: Standing, longest: float) -> float:
    """How long the next agent may take: `longest`, or what is left of the goal's time."""
    return max(1.0, min(longest, now.seconds_left))


def after(ruled: Ruled, now: Standing, allowed: int, count: int) -> Ended | None:
    """The end of the run after a stop; None where there is another agent. `count`: those of this call."""
    if ruled.decision == "continue" and now.status is Status.ACTIVE:
        if number(now) <= allowed:
            return None
        detail = f"{allowed} of {allowed} iterations; still missing: {now.last_reason}"
        return Ended(
            outcome="exhausted", detail=detail, exit_code=ExitCode.NOT_ACHIEVED.value, iterations=count
        )
    outcome = ruled.reason if ruled.decision == "rest" else (now.status or Status.CLEARED).value
    detail = ruled.detail or ruled.note
    return Ended(outcome=outcome, detail=detail, exit_code=now.exit_code, iterations=count)


def failing(trouble: str, failures: int, count: int) -> Ended | None:
    """The end of the run after an agent failed, `failures` in a row with it; None where it goes on."""
    if failures < FAILURES:
        return None
    detail = f"{failures} agents in a row failed, the last one so: {trouble}"
    return Ended(
        outcome="agent-failed", detail=detail, exit_code=ExitCode.NOT_ACHIEVED.value, iterations=count
    )


def broken(why: str, count: int) -> Ended:
    """The end of a run whose sidecar or state failed in the middle."""
    return Ended(outcome="broken", detail=why, exit_code=ExitCode.NOT_ACHIEVED.value, iterations=count)


def completed(before: Journal, now: Journal) -> tuple[Task, ...]:
    """The tasks that were open, or not there, and are completed now."""
    closed = {task.id for task in before.tasks if not task.open}
    return tuple(task for task in now.tasks if not task.open and task.id not in closed)
