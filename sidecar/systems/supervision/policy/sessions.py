"""How sessions begin, continue and fork, what one does at this moment, and which calls need no approval."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import (
    AskJudge,
    Effect,
    NoReply,
    ReadProjectState,
    ReadTurn,
    RestReason,
    RunGates,
    RunOldChecks,
    ToolCallReply,
    TryChecks,
)
from sidecar.kernel.events import ToolCalled
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.log import StopJudged
from sidecar.kernel.loop import LOOP_HOST, loop_command
from sidecar.kernel.runs import RUN_HOST, run_command
from sidecar.kernel.session import (
    MAX_CONTINUATIONS,
    THIS_TURN,
    Session,
    SessionKey,
    active_goal,
    reached_goal_limit,
)
from sidecar.kernel.settings import Settings

CARRIED_OVER = frozenset({GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED})
"""Statuses of a goal that a forked session copies."""

TAKEN_UP: Final = frozenset({GoalStatus.STALLED, GoalStatus.EXHAUSTED})
"""Statuses of a goal that goes on when a person types a prompt, within its budget."""
GO_ON: Final = {
    GoalStatus.UNVERIFIED: "/supervisor:goal resume, when it can run",
    GoalStatus.JUDGED: '/supervisor:goal and the condition again with --check "command", to have it proved',
    GoalStatus.STALLED: "what may help the agent",
    GoalStatus.EXHAUSTED: "a prompt",
    GoalStatus.IMPOSSIBLE: "/supervisor:goal and another condition",
    GoalStatus.PAUSED: "/supervisor:goal resume",
}
"""What the person types to go on with a goal that is not enforced, while there is a budget for it."""
RUN_ON: Final = {**dict.fromkeys(GO_ON, ""), GoalStatus.JUDGED: "--goal GOAL --check COMMAND "} | {
    GoalStatus.IMPOSSIBLE: "--goal GOAL "
}
"""The options with which `supervisor run` goes on with such a goal; no host of it takes a prompt."""

TOUCHED_FIELDS = frozenset(
    {"active_from", "active_since", "ended", "environment", "host_process", "project", "revision"}
    | {"seen_at", "transcript"}
)
"""Fields of a session that events change which void no judging."""


def reset_after_prompt(session: Session, at: float, awake: float | None = None) -> Session:
    """Reset what was counted in a row, because a person spoke. `at` and `awake`: see Clock."""
    pending = session.pending if session.pending and session.pending.for_goal else None
    session = replace(mark_agent_active(session, at, awake), unasked=0, stalls=0, streak=0)
    return replace(session, pending=pending, waited_for=(), notified_idle=False)


def take_up_goal(session: Session, settings: Settings) -> Session:
    """Go on with a goal that came to rest, because a person spoke: with what is left of its budget."""
    goal = session.goal
    if goal is None or goal.status not in TAKEN_UP or reached_goal_limit(goal, session, settings):
        return session
    return replace(session, goal=replace(goal, status=GoalStatus.ACTIVE), movement=None)


def way_on(session: Session, settings: Settings) -> str:
    """Return what a person types so that the session's goal goes on; "" where it is active or reached.

    A spent budget of continuations can be raised, other limits are the goal's.
    """
    goal, name, run = session.goal, session.key.id, session.key.host == RUN_HOST
    if goal is None or goal.status not in GO_ON:
        return ""
    if session.key.host == LOOP_HOST:
        return loop_command(name)
    spent = goal.status in TAKEN_UP and reached_goal_limit(goal, session, settings)
    if not spent and not (run and goal.status is GoalStatus.EXHAUSTED):
        return run_command(name, RUN_ON[goal.status]) if run else GO_ON[goal.status]
    more = min(max(1, 2 * goal.spent.continuations), MAX_CONTINUATIONS)
    if reached_goal_limit(goal, replace(session, retry=more), settings):
        return run_command(name, "--goal GOAL ") if run else "/supervisor:goal and the condition again"
    return run_command(name, f"--max-iterations {more + 1} ") if run else f"/supervisor:retry {more}"


def prompt_way(session: Session) -> str:
    """Say what a person types so that an active goal goes on."""
    run = session.key.host == RUN_HOST
    return f"to go on, type: {run_command(session.key.id)}" if run else "type a prompt to go on"


def answer_way(session: Session) -> str:
    """Say where a person answers the session's agent."""
    if session.key.host == LOOP_HOST:
        return f"To let an agent go on, type: {loop_command(session.key.id)} --give-back"
    run = session.key.host == RUN_HOST
    way = f"To go on, type: {run_command(session.key.id, '--extra ANSWER ')}"
    return way if run else "Type your answer, and the goal goes on."


def mark_agent_active(session: Session, at: float | None, awake: float | None = None) -> Session:
    """Note that the agent is set to work, by a prompt or because something in the background ended."""
    return replace(session, active_since=at, active_from=awake)


def resume_session(session: Session, settings: Settings) -> Session:
    """Resume a session: an active goal continues with new counters, within its lifetime."""
    goal = session.goal
    if goal is None or goal.status is not GoalStatus.ACTIVE:
        return replace(session, active_since=None)
    status = GoalStatus.PAUSED if settings.resume_paused else GoalStatus.ACTIVE
    renewed = replace(_reset_goal_counters(goal), status=status)
    return replace(session, goal=renewed, stalls=0, streak=0, movement=None, active_since=None)


def fork_session(parent: Session, key: SessionKey, project: str) -> Session:
    """Create a session that branched off, with a copy of the goal; the parent's goal is not touched.

    The host copies the parent's transcript too; its cost was charged before.
    """
    goal = parent.goal
    copy = _reset_goal_counters(goal) if goal is not None and goal.status in CARRIED_OVER else None
    return Session(key=key, project=project, goal=copy, retry=parent.retry, counted_to=THIS_TURN)


def mark_agent_idle(session: Session) -> Session:
    """Note that the agent is no longer at work: the turn failed or the session was closed."""
    return replace(session, active_since=None)


def rebase_ruling(began: Session, ruled: Session, now: Session) -> Session | None:
    """Return what is to be saved for a ruling on `began`, where `now` is stored meanwhile.

    None where more than a touch came in between: then the ruling is about a state that is gone.
    """
    changed = {name for name in Session.__struct_fields__ if getattr(began, name) != getattr(now, name)}
    if changed - TOUCHED_FIELDS:
        return None
    kept = {name: getattr(now, name) for name in changed if name != "seen_at"}
    return replace(ruled, **kept | {"revision": now.revision})


def _reset_goal_counters(goal: Goal) -> Goal:
    return replace(goal, spent=GoalSpending(), asked_to_run=(), unjudged="")


# --- Approval of calls of our own tools ---------------------------------------------------------------------


JOURNAL_TOOLSET: Final = "journal"
"""The toolset in which an agent writes for itself."""


def needs_no_approval(toolset: str, *, reads: bool, asks: bool) -> bool:
    """Whether a tool needs no approval; `reads` and `asks` are the tool's own flags."""
    return (reads or toolset == JOURNAL_TOOLSET) and not asks


def answer_tool_call(call: ToolCalled, spare: bool | None) -> ToolCallReply | NoReply:  # noqa: FBT001 - it has three values
    """Answer a tool call. `spare`: whether the tool needs no approval; None for one that is not ours."""
    if spare is None:
        return NoReply()
    return ToolCallReply(session=call.key.id, spared=spare and call.certain)


# --- What a session does at this moment, for people ---------------------------------------------------------


STEP_WORDING: Final[dict[type[Effect], str]] = {
    ReadTurn: "reading the turn",
    ReadProjectState: "reading what changed",
    RunGates: "running the checks",
    RunOldChecks: "running the old checks on the new code",
    TryChecks: "trying whether the checks could fail",
    AskJudge: "asking the judge",
}
"""What a judging does while it carries out an effect."""
WAITING_REASONS: Final = frozenset({RestReason.WAITING, RestReason.QUESTION, RestReason.BACKGROUND})
CLEARED_BY_USER: Final = "clear"
"""Claude Code's reason for the end of a session that /clear left."""
OPEN_STATUSES: Final = CARRIED_OVER | {GoalStatus.UNVERIFIED}
"""Statuses of a goal that a resumed session may go on with."""

STUCK_STATUSES: Final = TAKEN_UP | {GoalStatus.UNVERIFIED}
"""Statuses of a goal that goes on only when a person does something."""


MISSED_STOP: Final = "its turn ended and the host reported no stop, so nothing was judged; are its hooks off?"
"""What is said of a session whose record shows the end of a turn that nobody reported."""


def missed_stop_message(session: Session) -> str:
    """Tell of such a session."""
    said = f"{MISSED_STOP} Type in a shell: supervisor doctor. Then type a prompt there"
    return f"Supervisor: the agent of session {session.key.id[:8]} is not held to its goal: {said}"


class JudgingStep(Struct, frozen=True, kw_only=True):
    """What the judging of a stop does, and since when, in seconds since the epoch.

    `output`: the end of what its checks print.
    """

    doing: str
    since: float
    output: str = ""


class WorkingNote(Struct, frozen=True):
    """Whose stops are judged, by session id, and what is done for each: "running `npm test`, 8 s"."""

    judging: dict[str, str]


class Activity(Struct, frozen=True, kw_only=True):
    """What a session does, since when, in seconds since the epoch, and what is to be said about it.

    `output`: the end of what the checks that run now print.
    """

    state: Literal["judging", "working", "waiting", "resting", "closed"]
    since: float
    detail: str = ""
    output: str = ""


def find_activity(
    session: Session,
    judging: JudgingStep | None,
    last: StopJudged | None,
    *,
    running: bool,
    missed: float = 0.0,
) -> Activity:
    """Return what a session does. `last` is its last judged stop; `running`: its host may still run.

    `missed`: when its turn ended, where no stop was reported.
    """
    if judging is not None:
        return Activity(state="judging", since=judging.since, detail=judging.doing, output=judging.output)
    if session.ended or not running:
        left = "left by /clear" if session.ended == CLEARED_BY_USER else MISSED_STOP if missed else ""
        resumable = session.goal is not None and session.goal.status in OPEN_STATUSES
        way = f"resume session {session.key.id} in the host"
        way = f"type `{run_command(session.key.id)}`" if session.key.host == RUN_HOST else way
        back = f"its goal goes on when you {way}" if resumable else ""
        return Activity(state="closed", since=session.seen_at, detail="; ".join(filter(None, (left, back))))
    if missed:
        return Activity(state="waiting", since=missed, detail=MISSED_STOP)
    if session.active_since is not None:
        return Activity(state="working", since=session.active_since)
    if last is not None and last.decided in WAITING_REASONS and active_goal(session) is not None:
        return Activity(state="waiting", since=session.seen_at, detail=last.detail)
    return Activity(state="resting", since=session.seen_at)


def describe_step(step: JudgingStep, at: float) -> str:
    """Describe what a judging does, and for how long. `at`: the present, in seconds since the epoch."""
    return f"{step.doing}, {describe_age(at - step.since)}"


def describe_activity(activity: Activity, at: float) -> str:
    """Describe it in a line. `at`: the present, in seconds since the epoch."""
    detail = f": {activity.detail}" if activity.detail else ""
    wording = {"waiting": "waiting for you", "closed": "the session is closed"}
    return f"{wording.get(activity.state, activity.state)}{detail}, {describe_age(at - activity.since)}"


def describe_age(seconds: float) -> str:
    """Describe how long something has been so: "8 s", "5 min", "3 h", "2 days"."""
    whole = max(0, int(seconds))
    for size, unit in ((86_400, " days"), (3600, " h"), (60, " min")):
        if whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole} s"


def standing(session: Session, does: Activity) -> tuple[str, str]:
    """Return the status of a session's goal, "" for none, and what it does, as `needs_person` takes them."""
    return session.goal.status if session.goal else "", does.state


def needs_person(status: str, state: str) -> bool:
    """Whether a session goes on only when a person does something."""
    return state == "waiting" or (status in STUCK_STATUSES and state != "closed")


def goal_runs(session: Session, activity: Activity) -> bool:
    """Whether a goal is held at this moment."""
    return active_goal(session) is not None and activity.state != "closed"
