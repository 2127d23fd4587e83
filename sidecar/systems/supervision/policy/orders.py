"""What the orders of a person do, and who gave them: /supervisor:goal and /supervisor:retry.

An order's word selects a row of GOAL_COMMANDS, or it sets a goal. Only setting a goal passes the prompt on to
the model; every other order ends without a model call. One that cannot be carried out is refused with what to
type instead. The last part is the table "Who may change what" of the design.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.goal import ExitCode, Goal, GoalStatus, GoalTerms
from sidecar.kernel.orders import HOLD, Ancestry, Giver, Order, Origin
from sidecar.kernel.session import HELD_LIMIT, Session, active_goal, continuation_budget, reached_goal_limit
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_line, counted
from sidecar.platform.data import load_data
from sidecar.systems.supervision.policy.sessions import TAKEN_UP, prompt_way, way_on

# --- Description of a session's status ----------------------------------------------------------------------


NO_GOAL = "no goal is set. Type: /supervisor:goal all tests pass"


def describe_session(session: Session, settings: Settings) -> tuple[str, ...]:
    """Describe the condition and the status; then spending and its limits, and the last reason, in lines."""
    goal = session.goal
    if goal is None or goal.status is GoalStatus.CLEARED:
        ended = goal.last_reason if goal else ""
        return (NO_GOAL, f"The last one ended, {ended}: {goal.condition}") if goal and ended else (NO_GOAL,)
    checks = f" (checks: {', '.join(goal.checks)})" if goal.checks else ""
    last = (
        goal.last_reason and f"last reason: {goal.last_reason}",
        goal.unjudged and f"the last stop was not judged: {goal.unjudged}",
    )
    lines = (
        f"goal {goal.status}: {goal.condition}{checks}",
        _describe_spending(goal, session, settings),
        "; ".join(filter(None, last)),
    )
    return tuple(filter(None, lines))


def not_judged_message(why: str) -> str:
    """Return one line about a stop that nobody could judge, and of which nothing is known."""
    return f"Supervisor: this stop was not judged: {why}. Type in a shell: supervisor doctor"


def _describe_spending(goal: Goal, session: Session, settings: Settings) -> str:
    spent = goal.spent
    pending = " (one more on its way)" if session.pending else ""
    return (
        f"continuations {spent.continuations}/{continuation_budget(session, settings)}{pending}, "
        f"{int(spent.seconds)}/{goal.max_seconds or settings.goal_max_seconds} seconds of work, "
        f"{spent.tokens}/{goal.max_tokens or settings.goal_max_tokens} tokens"
        + judging_cost_text(spent.judge_tokens, spent.judge_cents)
    )


def judging_cost_text(tokens: int, cents: float) -> str:
    """Describe the cost of judging; "" where there was none."""
    if not tokens:
        return ""
    return f", {tokens} tokens for judging" + (f" ({cents:.1f} cents)" if cents else "")


def switch_on_command(off: str) -> str:
    """Return what to type in a shell where Supervisor is off for this reason (see SwitchStore)."""
    return "supervisor on --project" if "project" in off else "supervisor on"


def session_exit_code(session: Session | None) -> ExitCode:
    """Return the exit code: a goal whose last stop could not be judged is unverified, not failed (law 3)."""
    goal = session.goal if session is not None else None
    if goal is None or goal.status is GoalStatus.CLEARED:
        return ExitCode.NO_GOAL
    if goal.status in (GoalStatus.ACHIEVED, GoalStatus.COMPLETED):
        return ExitCode.ACHIEVED
    if goal.status is GoalStatus.JUDGED:
        return ExitCode.JUDGED
    unsure = goal.status is GoalStatus.UNVERIFIED or goal.unjudged
    return ExitCode.UNVERIFIED if unsure else ExitCode.NOT_ACHIEVED


# --- Commands -----------------------------------------------------------------------------------------------


CommandOutcome = tuple[Session, CommandReply]


class Typed(NamedTuple):
    """When and where an order was typed: in seconds since the epoch, and the byte of the transcript.

    `origin`: by which processes, "" in the host.
    """

    at: float
    position: int
    prompt_id: str = ""
    origin: str = ""


def carry_out_order(session: Session, settings: Settings, order: Order, typed: Typed) -> CommandOutcome:
    """Carry out an order about the goal or the budget."""
    if order.fault:
        return session, refusal(order.fault)
    if order.goal is not None:
        return _set_goal(session, settings, order.goal, typed)
    if order.name == "retry":
        return _set_budget(session, settings, order.number)
    if order.word == HOLD:
        return _hold(session, f"{order.reason} ({typed.origin or 'typed in the host'})")
    after, reply = GOAL_COMMANDS[order.word](session, settings)
    return _skip_paused_work(session, after, typed.position), reply


def refusal(why: str) -> CommandReply:
    """Return the answer to an order that is not carried out."""
    return CommandReply(headline=why, refused=True)


def _set_goal(session: Session, settings: Settings, asked: GoalTerms, typed: Typed) -> CommandOutcome:
    serial = session.serial + 1
    goal = Goal(
        id=hashlib.sha256(f"{session.key.id}/{serial}".encode()).hexdigest()[:8],
        prompt_id=typed.prompt_id,
        set_at=typed.at,
        **asdict(asked),
    )
    session = replace(
        _reset_goal_counters(session),
        goal=goal,
        serial=serial,
        counted_to=typed.position,
        active_since=typed.at,
    )
    named = ", ".join(f"`{check}`" for check in goal.checks)
    checks = f"{named} must pass. {CHOSEN_LATER}" if named else CHOSEN_LATER
    return session, describe_new_goal(session, goal, settings, checks)


CONDITION_SHOWN = 300
"""Characters of a new goal's condition that are shown again."""
CHOSEN_LATER = (
    "The project's checks and the judge are found at the next stop; to see them: supervisor gates, doctor."
)


def describe_new_goal(session: Session, goal: Goal, settings: Settings, checks: str) -> CommandReply:
    """Say what will be judged, by what, and within which budget."""
    money = " and ".join(
        f"{cents:g} cents for judging {what}"
        for cents, what in ((settings.goal_max_cents, "it"), (settings.judge.daily_cents, "in a day"))
        if cents
    )
    total = continuation_budget(session, settings)
    limits = (
        counted(total, "continuation"),
        f"{(goal.max_seconds or settings.goal_max_seconds) / 60:g} minutes of work",
        f"{goal.max_tokens or settings.goal_max_tokens} tokens",
        money or "no limit in money",
    )
    return CommandReply(
        headline=f"goal set: {clean_line(goal.condition, CONDITION_SHOWN)}",
        details=(checks, f"Budget: {', '.join(limits)}."),
        work=True,
    )


def _reset_goal_counters(session: Session) -> Session:
    """Reset what was counted for an earlier goal."""
    return replace(
        session,
        pending=None,
        stalls=0,
        streak=0,
        unasked=0,
        movement=None,
        judged="",
        waited_for=(),
        notified_native=False,
        notified_plan=False,
    )


def _show_status(session: Session, settings: Settings) -> CommandOutcome:
    headline, *details = describe_session(session, settings)
    return session, CommandReply(headline=headline, details=tuple(details))


def _resume_goal(session: Session, settings: Settings) -> CommandOutcome:
    goal = session.goal
    exhausted = goal is not None and goal.status is GoalStatus.EXHAUSTED
    if goal is not None and exhausted and (spent := reached_goal_limit(goal, session, settings)):
        return session, refusal(f"{spent} are spent. To go on, type: {way_on(session, settings)}")
    session = replace(session, stalls=0, streak=0, movement=None)
    words = f"goal active again ({prompt_way(session)})"
    return _change_goal_status(session, settings, RESUMABLE_STATUSES, GoalStatus.ACTIVE, words)


PAUSED_WORDS = "goal paused; /supervisor:goal resume goes on"
CLEARABLE_STATUSES = frozenset(GoalStatus) - {GoalStatus.CLEARED}
PAUSABLE_STATUSES = frozenset({GoalStatus.ACTIVE})
RESUMABLE_STATUSES = TAKEN_UP | {GoalStatus.PAUSED, GoalStatus.UNVERIFIED}


def _skip_paused_work(before: Session, after: Session, position: int) -> Session:
    """Leave out of the count what the agent did while its goal was paused.

    Except where a continuation is pending: the transcript before `position` must be read to see that it
    arrived.
    """
    paused = before.goal is not None and before.goal.status is GoalStatus.PAUSED
    if not paused or active_goal(after) is None or after.pending is not None:
        return after
    return replace(after, counted_to=max(after.counted_to, position))


def _change_goal_status(
    session: Session, settings: Settings, allowed: frozenset[GoalStatus], to: GoalStatus, words: str
) -> CommandOutcome:
    goal = session.goal
    if goal is None or goal.status not in allowed:
        headline, *details = describe_session(session, settings)
        return session, CommandReply(headline=f"nothing to do, {headline}", details=tuple(details))
    reason = "" if to is GoalStatus.CLEARED else goal.last_reason
    moved = replace(goal, status=to, last_reason=reason, unjudged="", asked_to_run=())
    pending = None if to is GoalStatus.CLEARED else session.pending  # when paused, it may still arrive
    return replace(session, goal=moved, pending=pending), CommandReply(headline=f"{words}: {goal.condition}")


def _hold(session: Session, why: str) -> CommandOutcome:
    """Take the last objection back for the files as they were. That reaches no goal (law 5)."""
    last = session.objection
    if last is None or not last.tree:
        return session, refusal(
            "there is nothing to hold: no stop of this session was sent back on known files"
        )
    held = (*session.held, replace(last, held=why))[-HELD_LIMIT:]
    points = clean_line("; ".join(last.missing), CONDITION_SHOWN)
    return replace(session, objection=None, held=held), CommandReply(
        headline=f"not asked again while the files are as they were: {points}",
        details=("A goal stays as it is. To take this back, type: /supervisor:goal unhold",),
    )


def _unhold(session: Session, _: Settings) -> CommandOutcome:
    said = f"{counted(len(session.held), 'finding')} may be asked for again"
    return replace(session, held=()), CommandReply(headline=said)


GOAL_USAGE = CommandReply(
    headline='/supervisor:goal <condition> [--check "command"]... [--max-minutes N] [--max-tokens N]',
    details=(
        "/supervisor:goal shows it; clear, pause and resume do so; hold REASON takes a finding back",
        "/supervisor:retry [1-100] is the budget",
    ),
)

GOAL_COMMANDS: dict[str, Callable[[Session, Settings], CommandOutcome]] = {
    "status": _show_status,
    "help": lambda session, _: (session, GOAL_USAGE),
    "clear": lambda session, settings: _change_goal_status(
        session, settings, CLEARABLE_STATUSES, GoalStatus.CLEARED, "goal cleared"
    ),
    "pause": lambda session, settings: _change_goal_status(
        session, settings, PAUSABLE_STATUSES, GoalStatus.PAUSED, PAUSED_WORDS
    ),
    "resume": _resume_goal,
    "unhold": _unhold,
}
"""What each word of an order does; see kernel.orders.GOAL_WORDS."""


def _set_budget(session: Session, settings: Settings, number: int | None) -> CommandOutcome:
    goal, more = session.goal, ""
    if number is not None:
        session = replace(session, retry=number)
    if number is not None and goal is not None and goal.status is GoalStatus.EXHAUSTED:
        if spent := reached_goal_limit(goal, session, settings):
            way = way_on(session, settings)
            more = f" The goal stays exhausted: {spent} are spent. To go on, type: {way}"
        else:
            active = replace(goal, status=GoalStatus.ACTIVE)
            session = replace(session, goal=active, stalls=0, streak=0, movement=None)
            more = f" The goal is active again ({prompt_way(session)}): {goal.condition}"
    used = f", {goal.spent.continuations} used" if goal is not None else ""
    total = counted(continuation_budget(session, settings), "continuation")
    return session, CommandReply(headline=f"budget of {total}{used}.{more}")


# --- Whose order it is: the table "Who may change what" of the design, as the rules of a game ---------------
# 1. What comes from below a host whose agent works is the agent's, whatever its environment says: refused.
# 2. A person types by hand: in a terminal, with nothing between the command and the leader of that terminal's
#    session but shells and what passes a command on. A git hook, a recipe or a script is no hand.
# 3. A person's window hangs on what was there before: above the command is no host, and nothing that began in
#    a turn and has lost its parent, as the daemons have that an agent leaves behind. A new window of an old
#    terminal, or of an old tmux, is a person's; one of a tmux that began in a turn is not, however long ago.
# By 2 and 3 the order is the user's. Else nobody can tell: it is carried out, and told with what undoes it.
# One that ends a goal or gives more freedom is told once in the sessions that it concerns, whosever it is.


DEFAULT_BUDGET: Final = Settings().max_attempts
START_PRECISION_S: Final = 0.2
"""Seconds by which the system's account of when a process began may be off."""
NAMES_SHOWN: Final = 4
"""Processes that a description names."""
ORDER_SHOWN: Final = 80
"""Characters of a condition in an undo."""
FREEING_ORDERS: Final = frozenset({"accept", "forget", "off", "trust"})
"""Orders about no goal and no budget that give an agent more freedom."""

NEVER: Final = float("inf")
Turns = Sequence[tuple[float, float]]
"""Times in which agents worked, from and to, in seconds since the epoch; one that goes on ends NEVER."""


class KnownProcesses(Struct, frozen=True, kw_only=True):
    """What is known of programs by the name of their process."""

    hands: frozenset[str]
    adopting: frozenset[str]


def judge_origin(chain: Ancestry, at_work: Collection[int], hosts: Collection[int], turns: Turns) -> Origin:
    """Say who gave an order.

    `chain`: its process and those above. `at_work`: the process ids of hosts whose agents work; `hosts`: of
    all that are known.
    """
    seen = describe_processes(chain, at_work=any(begin < end == NEVER for begin, end in turns))
    if is_below(chain, at_work):
        return Origin(Giver.AGENT, seen)
    leader = next((place for place, process in enumerate(chain) if process.pid == chain[0].leader), 0)
    hands = load_data("processes", KnownProcesses).hands
    by_hand = leader and chain[0].terminal and hands.issuperset(one.name for one in chain[1 : leader + 1])
    hangs = by_hand and not is_below(chain, hosts) and not is_stray(chain, turns)
    return Origin(Giver.USER if hangs else Giver.UNSURE, seen)


def is_stray(chain: Ancestry, turns: Turns) -> bool:
    """Whether one of these began in a turn and has lost its parent."""
    adopting = load_data("processes", KnownProcesses).adopting
    return any(
        begin - START_PRECISION_S <= one.started <= end + START_PRECISION_S
        for one, parent in itertools.pairwise(chain)
        if parent.pid == 1 or parent.name in adopting
        for begin, end in turns
    )


def frees_agent(before: Session, after: Session, settings: Settings) -> bool:
    """Whether an order ended the goal that was held, took a finding back, or gave more continuations."""
    held, now = active_goal(before), active_goal(after)
    ended = held is not None and (now is None or now.id != held.id)
    freed = ended or not set(after.held) <= set(before.held)
    return freed or continuation_budget(after, settings) > continuation_budget(before, settings)


def is_below(chain: Ancestry, hosts: Collection[int]) -> bool:
    """Whether a process is below one of these, and not one of them itself."""
    return any(process.pid in hosts for process in chain[1:])


def describe_processes(chain: Ancestry, *, at_work: bool) -> str:
    """Name the processes in a few words."""
    if not chain:
        return "a process that is gone"
    names = " < ".join(process.name for process in chain[:NAMES_SHOWN])
    where = "in a terminal" if chain[0].terminal else "without a terminal"
    return f"{names}, {where}{', while the agent worked' if at_work else ''}"


def refusal_of_agents(origin: Origin) -> str:
    """Say why an order from below a host at work is not carried out."""
    return f"only the user may do this, and it came from below the agent's own process ({origin.seen})"


def order_message(order: Order, origin: Origin, before: Session | None) -> str:
    """Return one line for the user about an order to a session."""
    return _order_message(f"{order.name} {order.text}", origin, _undo_order(order, before))


def general_order_message(name: str, about: str, origin: Origin) -> str:
    """Return the same about an order that is no session's. `about`: the folder that it is about."""
    if name in SWITCH_BACK:
        back = SWITCH_BACK[name]
        undo = f"Type in {about}: {back} --project" if about else f"Type in a shell: {back}"
    else:
        undo = UNDO.get(name, "Type in a shell: supervisor status")
    return _order_message(f"{name} {about}", origin, undo)


def _order_message(said: str, origin: Origin, undo: str) -> str:
    said = " ".join(said.split())[:ORDER_SHOWN]
    return f"Supervisor: `{said}` was ordered by {origin.seen}{origin.when}. Not you? {undo}"


def _undo_order(order: Order, before: Session | None) -> str:
    """Say what to type to undo an order."""
    goal = before.goal if before is not None else None
    if order.name == "retry":
        return f"Type /supervisor:retry {(before and before.retry) or DEFAULT_BUDGET}"
    if order.name != "goal":
        return UNDO.get(order.name, "Type in a shell: supervisor status")
    if order.word in TURN_BACK:
        return f"Type /supervisor:goal {TURN_BACK[order.word]}"
    return f"Type /supervisor:goal {' '.join(goal.condition.split()) if goal else 'clear'}"


TURN_BACK: Final = {"pause": "resume", "resume": "pause", HOLD: "unhold"}
"""What undoes a word of /supervisor:goal."""


SWITCH_BACK: Final = {"off": "supervisor on", "on": "supervisor off"}
"""What undoes a switch, for a project with `--project`."""
UNDO: Final = {
    "accept": "Take the edit back",
    "trust": "Type in a shell: supervisor trust --revoke",
    "forget": "What it removed cannot be brought back",
    "stop": "It starts again by itself",
}
"""What undoes an order that is no session's."""
