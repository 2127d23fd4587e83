"""Past decisions: what came after a stop that was sent back, and figures of many stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.gate import Outcome
from sidecar.kernel.log import StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.kernel.stop_history import CONTINUE_DECISION, StopFigures
from sidecar.kernel.text import counted

DAY_S: Final = 86_400
CUT_OFF: Final = frozenset(
    {RestReason.SUBAGENT, RestReason.INTERRUPTED, RestReason.SUPERSEDED, RestReason.COMMANDED}
)
"""Endings of stops that say nothing about what the agent did before."""


class FollowUp(StrEnum):
    """What the session's next stop shows of one that was sent back. The first two say that it was right."""

    REPAIRED = "repaired"
    """A check that failed passes."""
    CHANGED = "changed"
    """Files changed."""
    NOTHING = "nothing"
    """The files are as they were."""
    UNKNOWN = "unknown"
    """There was no later stop, or one whose files were not read."""


class Decision(Struct, frozen=True, kw_only=True):
    """One stop of the log. `at` is in seconds since the epoch, `day` the local one ("2026-11-22").

    `what` is "" for a stop; a task, a loop, a phase and the like are decisions in the same form. `followed`
    is None for a stop that was let rest, except in shadow mode. `position` is that of its event. `machine`
    and `person` are those of a team's log.
    """

    at: float
    day: str
    session: SessionKey
    project: str
    stop: StopJudged
    followed: FollowUp | None = None
    position: int = 0
    what: str = ""
    machine: str = ""
    person: str = ""

    @property
    def sent_back(self) -> bool:
        """Whether the agent was sent back."""
        return self.stop.decided == CONTINUE_DECISION

    @property
    def in_shadow(self) -> bool:
        """Whether it would have been sent back, but for shadow mode."""
        return self.stop.decided == RestReason.SHADOW


def add_follow_ups(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Say what the session's next stop shows of one that was, or would have been, sent back. Oldest first."""
    later: dict[SessionKey, StopJudged] = {}
    known: list[Decision] = []
    for one in reversed(tuple(decisions)):
        after = later.get(one.session)
        told = one.sent_back or one.in_shadow
        known.append(replace(one, followed=_follow_up(one.stop, after)) if told else one)
        if one.stop.decided not in CUT_OFF:
            later[one.session] = one.stop
    return tuple(reversed(known))


def _follow_up(before: StopJudged, after: StopJudged | None) -> FollowUp:
    if after is None:
        return FollowUp.UNKNOWN
    outcomes = gate_outcomes(after)
    failed = (gate for gate, outcome in gate_outcomes(before).items() if outcome == Outcome.FAILED)
    if any(outcomes.get(gate) == Outcome.PASSED for gate in failed):
        return FollowUp.REPAIRED
    if not (before.tree and after.tree):
        return FollowUp.UNKNOWN
    return FollowUp.NOTHING if before.tree == after.tree else FollowUp.CHANGED


def gate_outcomes(stop: StopJudged) -> Mapping[str, str]:
    """Return the outcome of each gate by its id; an id may contain ": "."""
    parts = (line.partition(" (")[0].rpartition(": ") for line in stop.gates)
    return {gate: outcome for gate, _, outcome in parts}


# --- Figures ----------------------------------------------------------------------------------------------


class CheckFigures(Struct, frozen=True, kw_only=True):
    """Figures of one check. `seconds` is the mean of its runs, without those answered from memory."""

    name: str
    runs: int
    failed: int
    seconds: float
    slowest: float


GROUPINGS: Final[Mapping[str, Callable[[Decision], str]]] = {
    "day": lambda one: one.day,
    "project": lambda one: one.project,
    "host": lambda one: one.session.host,
    "session": lambda one: f"{one.session.host}:{one.session.id}",
    "all": lambda _: "all",
}
"""By what stops may be grouped."""


def stop_figures(decisions: Iterable[Decision], by: str) -> tuple[StopFigures, ...]:
    """Return the figures of each group, in the order of their first stops."""
    groups: dict[str, list[Decision]] = {}
    for one in decisions:
        if one.stop.decided != RestReason.SUBAGENT:
            groups.setdefault(GROUPINGS[by](one), []).append(one)
    return tuple(_figures(name, found) for name, found in groups.items())


def _figures(name: str, found: Sequence[Decision]) -> StopFigures:
    real, shadow = ([one for one in found if getattr(one, kind)] for kind in ("sent_back", "in_shadow"))
    asked = [one.stop for one in found if one.stop.judge_tokens or one.stop.judge]
    return StopFigures(
        name=name,
        stops=len(found),
        sent_back=sum(one.sent_back for one in found),
        right=sum(one.followed in (FollowUp.REPAIRED, FollowUp.CHANGED) for one in real),
        nothing=sum(one.followed is FollowUp.NOTHING for one in real),
        would_send_back=len(shadow),
        would_be_right=sum(one.followed is FollowUp.REPAIRED for one in shadow),
        achieved=sum(one.stop.decided == RestReason.ACHIEVED for one in found),
        judged=sum(one.stop.decided == RestReason.JUDGED for one in found),
        seconds=round(sum(one.stop.seconds for one in found), 1),
        tokens=sum(stop.judge_tokens for stop in asked),
        cents=round(sum(stop.judge_cents or 0.0 for stop in asked), 2),
        unpriced=sum(stop.judge_cents is None for stop in asked),
    )


TO_END_SHADOW: Final = "Type in a shell: supervisor on"
SHADOW_DAYS: Final = 7
SHADOW_STOPS: Final = 50
"""Shadow mode is summed up after so many days, or so many stops."""


def describe_shadow(decisions: Sequence[Decision], now: float) -> str:
    """Say what shadow mode is; later, what it would have done since an agent was really sent back.

    `decisions` come oldest first, `now` is in seconds since the epoch.
    """
    last = max((place for place, one in enumerate(decisions, 1) if one.sent_back), default=0)
    stops = decisions[last:]
    days = int((now - stops[0].at) // DAY_S) if stops else 0
    if days < SHADOW_DAYS and len(stops) < SHADOW_STOPS:
        return f"Supervisor: shadow mode: nothing is sent back, only recorded. {TO_END_SHADOW}"
    found = _figures("", stops)
    would = f"{counted(found.stops, 'stop')} in {counted(max(days, 1), 'day')}, {found.would_send_back}"
    right = f"{found.would_be_right} of them shown to be right: a check that failed passed later"
    return f"Supervisor: shadow mode: {would} would have been sent back, {right}. {TO_END_SHADOW}"


def gate_runs(stop: StopJudged) -> Iterable[tuple[str, str, float]]:
    """Return each gate of a stop with its outcome and seconds, 0 where it was answered from memory."""
    outcomes = gate_outcomes(stop)
    times = (*stop.gate_seconds, *(0.0 for _ in outcomes))
    return ((gate, outcome, took) for (gate, outcome), took in zip(outcomes.items(), times, strict=False))


def flaky_checks(decisions: Iterable[Decision]) -> frozenset[str]:
    """Return the checks that failed and passed on the same files, at one stop or at several."""
    stops = tuple(one.stop for one in decisions)
    seen = {(gate, stop.tree, outcome) for stop in stops if stop.tree for gate, outcome, _ in gate_runs(stop)}
    both = {
        gate for gate, tree, how in seen if how == Outcome.FAILED and (gate, tree, Outcome.PASSED) in seen
    }
    return frozenset(both.union(*(stop.flaky for stop in stops)))


def check_figures(decisions: Iterable[Decision]) -> tuple[CheckFigures, ...]:
    """Return the figures of each check that ran, the slowest first."""
    times: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    for one in decisions:
        for gate, outcome, seconds in gate_runs(one.stop):
            if seconds:
                times.setdefault(gate, []).append(seconds)
                failed[gate] = failed.get(gate, 0) + (outcome == Outcome.FAILED)
    figures = (
        CheckFigures(
            name=gate,
            runs=len(taken),
            failed=failed[gate],
            seconds=round(sum(taken) / len(taken), 1),
            slowest=round(max(taken), 1),
        )
        for gate, taken in times.items()
    )
    return tuple(sorted(figures, key=lambda one: -one.seconds))
