"""One paragraph that says where a session stands."""

from __future__ import annotations

from enum import IntEnum

from sidecar.model.goal import Goal, Status
from sidecar.model.session import Session
from sidecar.model.settings import Settings
from sidecar.policy import budget

NO_GOAL = "Supervisor: no goal is set. Type: /supervisor:goal all tests pass"


def describe(session: Session, settings: Settings) -> str:
    """Condition, status, what is spent of what, and the last reason."""
    goal = session.goal
    if goal is None or goal.status is Status.CLEARED:
        return NO_GOAL
    lines = [f"Supervisor: goal {goal.status}: {goal.condition}", _spending(goal, session, settings)]
    if goal.checks:
        lines.append(f"checks: {', '.join(goal.checks)}")
    if goal.last_reason:
        lines.append(f"last reason: {goal.last_reason}")
    if goal.unjudged:
        lines.append(f"the last stop was not judged: {goal.unjudged}")
    return "\n".join(lines)


def _spending(goal: Goal, session: Session, settings: Settings) -> str:
    spent = goal.spent
    pending = " (one more on its way)" if session.pending else ""
    return (
        f"continuations {spent.continuations}/{budget.continuations(session, settings)}{pending}, "
        f"{int(spent.seconds)}/{goal.max_seconds or settings.goal_max_seconds} seconds of work, "
        f"{spent.tokens}/{goal.max_tokens or settings.goal_max_tokens} tokens"
        + judging(spent.judge_tokens, spent.judge_cents)
    )


def judging(tokens: int, cents: float) -> str:
    """What judging cost, in words; "" where it cost nothing."""
    if not tokens:
        return ""
    return f", {tokens} tokens for judging" + (f" ({cents:.1f} cents)" if cents else "")


def switch_on(off: str) -> str:
    """What to type in a shell where Supervisor is off for this reason (see ports.Switches)."""
    return "supervisor on --project" if "project" in off else "supervisor on"


class ExitCode(IntEnum):
    """What a script learns from `supervisor goal status --exit-code`."""

    ACHIEVED = 0
    NOT_ACHIEVED = 1
    UNVERIFIED = 2
    NO_GOAL = 3


def exit_code(session: Session | None) -> ExitCode:
    """A goal whose last stop could not be judged is unverified, not merely unachieved (law 3)."""
    goal = session.goal if session is not None else None
    if goal is None or goal.status is Status.CLEARED:
        return ExitCode.NO_GOAL
    if goal.status is Status.ACHIEVED:
        return ExitCode.ACHIEVED
    return ExitCode.UNVERIFIED if goal.status is Status.UNVERIFIED or goal.unjudged else ExitCode.NOT_ACHIEVED
