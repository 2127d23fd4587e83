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
    return WORDS[word](session, settings) if word in WORDS else _set(session, settings, command)


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
    return session, Reply(
        text=f"Supervisor: goal set, up to {total} continuations: {goal.condition}{checks}", work=True
    )


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
    return _move(session, settings, RESUMABLE, Status.ACTIVE, "goal active again")


CLEARABLE = frozenset(Status) - {Status.CLEARED}
PAUSABLE = frozenset({Status.ACTIVE})
RESUMABLE = frozenset({Status.PAUSED, Status.STALLED, Status.UNVERIFIED})


def _move(
    session: Session, settings: Settings, allowed: frozenset[Status], to: Status, words: str
) -> Outcome:
    goal = session.goal
    if goal is None or goal.status not in allowed:
        return session, Reply(text=f"Supervisor: nothing to do. {describe(session, settings)}")
    moved = replace(goal, status=to, unjudged="", asked_to_run=())
    pending = None if to is Status.CLEARED else session.pending  # a paused one may still arrive
    return replace(session, goal=moved, pending=pending), Reply(text=f"Supervisor: {words}: {goal.condition}")


WORDS: dict[str, Callable[[Session, Settings], Outcome]] = {
    "": _show,
    "status": _show,
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
    return session, Reply(
        text=f"{_budget_line(session, settings)} The goal is active again: {goal.condition}"
    )


def _budget_line(session: Session, settings: Settings) -> str:
    total, goal = budget.continuations(session, settings), session.goal
    used = f", {goal.spent.continuations} used" if goal is not None else ""
    return f"Supervisor: budget of {total} continuations{used}."
