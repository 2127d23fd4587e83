"""The commands a person types: /supervisor:goal and /supervisor:retry.

What is typed chooses a row of WORDS or sets a goal. Only setting a goal lets the prompt go on to the model;
every other form ends at no cost. A command that cannot be carried out is refused with what to type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.effects import Reply
from sidecar.model.goal import CONDITION_LIMIT, Goal, Status
from sidecar.model.session import Session
from sidecar.model.settings import Settings
from sidecar.policy import budget
from sidecar.policy.arguments import Refusal, parse_goal
from sidecar.policy.skip import active_goal
from sidecar.policy.status import describe

Outcome = tuple[Session, Reply]


class Typed(Struct, frozen=True, kw_only=True):
    """A command as it was typed. `at`: seconds since the epoch; `position`: byte of the transcript then."""

    name: str
    arguments: str
    at: float
    position: int


def typed(session: Session, settings: Settings, command: Typed) -> Outcome:
    """Carry out one typed command."""
    try:
        if command.name == "retry":
            return _retry(session, settings, command.arguments.strip())
        return _goal(session, settings, command)
    except Refusal as refusal:
        return session, Reply(text=f"Supervisor: {refusal}", refused=True)


def _goal(session: Session, settings: Settings, command: Typed) -> Outcome:
    word = command.arguments.strip().lower()
    if word not in WORDS:
        return _set(session, settings, command)
    after, reply = WORDS[word](session, settings)
    return _uncounted(session, after, command.position), reply


def _set(session: Session, settings: Settings, command: Typed) -> Outcome:
    asked = parse_goal(command.arguments)
    if not asked.condition:
        raise Refusal("a goal needs a condition, for example: /supervisor:goal all tests pass")
    if len(asked.condition) > CONDITION_LIMIT:
        raise Refusal(
            f"the condition has {len(asked.condition)} characters, {CONDITION_LIMIT} are allowed. "
            "Write the details into a file and name the file in the condition."
        )
    serial = session.serial + 1
    goal = Goal(
        id=hashlib.sha256(f"{session.key.id}/{serial}".encode()).hexdigest()[:8],
        condition=asked.condition,
        checks=asked.checks,
        set_at=command.at,
        max_seconds=asked.max_seconds,
        max_tokens=asked.max_tokens,
    )
    session = replace(
        _afresh(session), goal=goal, serial=serial, counted_to=command.position, active_since=command.at
    )
    total = budget.continuations(session, settings)
    checks = f"; checks: {', '.join(asked.checks)}" if asked.checks else ""
    text = f"Supervisor: goal set, up to {total} continuations{_limits(goal)}: {goal.condition}{checks}"
    return session, Reply(text=text, work=True)


def _limits(goal: Goal) -> str:
    minutes = f", {goal.max_seconds // 60} minutes" if goal.max_seconds else ""
    return minutes + (f", {goal.max_tokens} tokens" if goal.max_tokens else "")


def _afresh(session: Session) -> Session:
    """What was counted towards an earlier goal does not count towards the next."""
    return replace(
        session,
        pending=None,
        stalls=0,
        streak=0,
        unasked=0,
        movement=None,
        judged="",
        waited_for=(),
        told_native=False,
    )


def _show(session: Session, settings: Settings) -> Outcome:
    return session, Reply(text=describe(session, settings))


def _clear(session: Session, settings: Settings) -> Outcome:
    return _move(session, settings, CLEARABLE, Status.CLEARED, "goal cleared")


def _pause(session: Session, settings: Settings) -> Outcome:
    return _move(session, settings, PAUSABLE, Status.PAUSED, "goal paused; /supervisor:goal resume goes on")


def _resume(session: Session, settings: Settings) -> Outcome:
    goal = session.goal
    if goal is not None and goal.status is Status.EXHAUSTED:
        raise Refusal("the budget is spent. A greater one makes the goal active again: /supervisor:retry N")
    session = replace(session, stalls=0, streak=0, movement=None)
    return _move(session, settings, RESUMABLE, Status.ACTIVE, "goal active again; type a prompt to go on")


CLEARABLE = frozenset(Status) - {Status.CLEARED}
PAUSABLE = frozenset({Status.ACTIVE})
RESUMABLE = frozenset({Status.PAUSED, Status.STALLED, Status.UNVERIFIED})


def _uncounted(before: Session, after: Session, position: int) -> Session:
    """What the agent did while its goal was paused does not count towards it.

    Except where a continuation is on its way: to know that it arrived, one must look behind `position`.
    """
    over = before.goal is not None and before.goal.status is Status.PAUSED and active_goal(after) is not None
    if not over or after.pending is not None:
        return after
    return replace(after, counted_to=max(after.counted_to, position))


def _move(
    session: Session, settings: Settings, allowed: frozenset[Status], to: Status, words: str
) -> Outcome:
    goal = session.goal
    if goal is None or goal.status not in allowed:
        return session, Reply(text=f"Supervisor: nothing to do, {_state(session, settings)}")
    moved = replace(goal, status=to, unjudged="", asked_to_run=())
    pending = None if to is Status.CLEARED else session.pending  # a paused one may still arrive
    return replace(session, goal=moved, pending=pending), Reply(text=f"Supervisor: {words}: {goal.condition}")


def _state(session: Session, settings: Settings) -> str:
    return describe(session, settings).removeprefix("Supervisor: ")


def _help(session: Session, _: Settings) -> Outcome:
    return session, Reply(text=USAGE)


USAGE = """Supervisor: /supervisor:goal <condition> [--check "command"]... [--max-minutes N] [--max-tokens N]
/supervisor:goal shows it; clear, pause, resume do what they say; /supervisor:retry [1-100] is the budget"""

WORDS: dict[str, Callable[[Session, Settings], Outcome]] = {
    "": _show,
    "status": _show,
    **dict.fromkeys(("help", "--help", "-h"), _help),
    **dict.fromkeys(("clear", "stop", "off", "reset", "none", "cancel"), _clear),
    "pause": _pause,
    "resume": _resume,
}


def _retry(session: Session, settings: Settings, text: str) -> Outcome:
    if not text:
        return session, Reply(text=_budget_line(session, settings))
    if not text.isascii() or not text.isdigit() or not budget.LEAST <= int(text[:12]) <= budget.MOST:
        raise Refusal(f"retry takes a whole number from {budget.LEAST} to {budget.MOST}, not {text[:40]!r}")
    session = replace(session, retry=int(text))
    goal = session.goal
    if goal is None or goal.status is not Status.EXHAUSTED:
        return session, Reply(text=_budget_line(session, settings))
    if spent := budget.spent_reason(goal, session, settings):
        text = f"{_budget_line(session, settings)} The goal stays exhausted: {spent} are spent."
        return session, Reply(text=text)
    session = replace(session, goal=replace(goal, status=Status.ACTIVE), stalls=0, streak=0, movement=None)
    active = f"The goal is active again, type a prompt to go on: {goal.condition}"
    return session, Reply(text=f"{_budget_line(session, settings)} {active}")


def _budget_line(session: Session, settings: Settings) -> str:
    total, goal = budget.continuations(session, settings), session.goal
    used = f", {goal.spent.continuations} used" if goal is not None else ""
    return f"Supervisor: budget of {total} continuation{'' if total == 1 else 's'}{used}."
