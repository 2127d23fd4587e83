"""The goal of a session, what was spent on it, and the daily cost of judging."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import Outcome

CONDITION_LIMIT = 4000
"""Maximum characters of a goal's condition; the limit of Claude Code's own /goal."""

LIFETIME_CONTINUATIONS = 100
"""Maximum continuations over a goal's whole life, so that a script cannot resume it forever."""


class GoalStatus(StrEnum):
    """The status of a goal. Only an ACTIVE goal is judged."""

    ACTIVE = "active"
    PAUSED = "paused"
    ACHIEVED = "achieved"
    JUDGED = "judged"
    """By a judge's word alone: no check that ran shows it."""
    COMPLETED = "completed"
    UNVERIFIED = "unverified"
    CLEARED = "cleared"
    EXHAUSTED = "exhausted"
    STALLED = "stalled"
    IMPOSSIBLE = "impossible"


class GoalSpending(Struct, frozen=True, kw_only=True):
    """What a goal has used since it was set or resumed.

    `seconds` is the time the agent was active, `tokens` uncached input plus output of the agent.
    """

    continuations: int = 0
    tokens: int = 0
    seconds: float = 0.0
    judge_tokens: int = 0
    judge_cents: float = 0.0


class GateBaseline(Struct, frozen=True, kw_only=True):
    """The result of a gate when the goal was set. `failing` is as in GateRun."""

    gate: str
    command: str
    outcome: Outcome
    failing: tuple[str, ...] = ()


class GoalTerms(Struct, frozen=True, kw_only=True):
    """The terms of a goal: its condition, the shell lines of --check, and limits in seconds and tokens.

    `tasks_alone`: the condition says no more than that planned tasks are done.
    """

    condition: str
    checks: tuple[str, ...] = ()
    max_seconds: int | None = None
    max_tokens: int | None = None
    tasks_alone: bool = False


class Goal(GoalTerms, frozen=True, kw_only=True):
    """A goal of one session.

    `checks` are shell lines that the user typed after --check, so they are approved. `set_at` is seconds
    since the epoch. `max_seconds` and `max_tokens` are None where the limits of the settings apply.
    `lifetime` counts delivered continuations and survives a resume. `unjudged` is the reason why the last
    stop could not be judged, empty when it was. `prompt_id` is the host's id of the prompt that set it, empty
    where none did. `asked_to_run` lists required gates that the agent was asked
    once to make runnable. `tasks_alone`: it holds where the planned tasks are done. `seen_red` are the
    gates, as a sentence names them, that Supervisor saw fail at an earlier stop of this goal. `gates` are
    the digests of the gates that the project had when it was set. `agents`: its words are an agent's own,
    which no change of a check is asked for by.
    """

    id: str
    prompt_id: str = ""
    status: GoalStatus = GoalStatus.ACTIVE
    set_at: float = 0.0
    spent: GoalSpending = GoalSpending()
    lifetime: int = 0
    last_reason: str = ""
    unjudged: str = ""
    asked_to_run: tuple[str, ...] = ()
    asked_about: tuple[str, ...] = ()
    seen_red: tuple[str, ...] = ()
    base: FileBaseline = FileBaseline()
    baseline: tuple[GateBaseline, ...] = ()
    gates: tuple[str, ...] = ()
    agents: bool = False


# --- Cost of judging ----------------------------------------------------------------------------------------


class Spending(Struct, frozen=True, kw_only=True):
    """What was spent on judging and workers in one day.

    `day` is a calendar date in UTC, "2026-11-22". `tokens` are uncached input plus output. `cents` is the
    cost of the calls with a known price, `unpriced` the number of calls without one. `worker_calls`,
    `worker_tokens` and `worker_cents` are the part that workers took. `refused` says why a team lets nothing
    more be spent, "" where it does.
    """

    day: str = ""
    calls: int = 0
    tokens: int = 0
    cents: float = 0.0
    unpriced: int = 0
    worker_calls: int = 0
    worker_tokens: int = 0
    worker_cents: float = 0.0
    refused: str = ""


def add_spending(spent: Spending, tokens: int, cents: float | None, calls: int) -> Spending:
    """Add the cost of one judgement to the day."""
    return replace(
        spent,
        calls=spent.calls + calls,
        tokens=spent.tokens + tokens,
        cents=spent.cents + (cents or 0.0),
        unpriced=spent.unpriced + (calls if cents is None else 0),
    )


class ExitCode(IntEnum):
    """Exit codes of `supervisor goal status --exit-code`."""

    ACHIEVED = 0
    NOT_ACHIEVED = 1
    UNVERIFIED = 2
    NO_GOAL = 3
    JUDGED = 4
