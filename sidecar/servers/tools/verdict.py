"""The last verdict on a session's work: what was decided and why, what is missing, and what comes next.

It changes nothing, and it names neither the sureness of a judge nor a threshold (see policy/explaining.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.app.explaining import LastStop
from sidecar.model.claim import Standing
from sidecar.model.effects import Continue, Reason
from sidecar.model.evaluation import CONTINUE
from sidecar.policy.explaining import Left, Next, Point, contradicted, points
from sidecar.ports import Mask
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, Tool, shown

LINE: Final = 500
"""Characters of each line that an answer repeats."""
LINES: Final = 20
"""Lines of one kind that an answer repeats."""
CONDITION: Final = 1000
"""Characters of a goal's condition."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a stop ended.

    `decided` is "continue", or the reason why the agent was let rest. `at`: seconds since the epoch. `stage`
    is "skip rules", "rules", "gates", "advice" or "judge"; `rule` and `judge` are who decided there.
    """

    decided: str
    at: float
    stage: str
    rule: str = ""
    judge: str = ""
    why: str = ""
    missing: tuple[Point, ...] = ()
    next_step: str = ""
    contradicted: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    changed_checks: tuple[str, ...] = ()


class LastVerdict(Struct, frozen=True, kw_only=True):
    """The last stop, None where none was seen, and what becomes of the next one.

    `pending` is the id of a continuation that was said and not seen to arrive yet.
    """

    stop: Ended | None
    goal: str
    goal_status: str
    pending: str
    left: Left
    next_stop: Next


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tool `explain`."""
    return (
        Tool(
            name="explain",
            toolset="core",
            takes=Nothing,
            gives=LastVerdict,
            work=partial(_explain, reach),
            reads=True,
            repeats=True,
        ),
    )


async def _explain(reach: Reach, call: Call, _given: Nothing) -> Answer:
    session, mask = call.session, reach.checks.mask(call.session)
    last = await reach.explainer.last(session)
    outlook, goal = reach.explainer.outlook(session), session.goal
    found = LastVerdict(
        stop=_ended(last, mask) if last else None,
        goal=shown(mask(goal.condition), CONDITION) if goal else "",
        goal_status=goal.status.value if goal else "none",
        pending=session.pending.id if session.pending else "",
        left=outlook.left,
        next_stop=outlook.next_stop,
    )
    return Answer(found, _text(reach, found))


def _ended(last: LastStop, mask: Mask) -> Ended:
    entry, played = last.entry, last.played
    ended = Ended(
        decided=entry.decided,
        at=entry.at,
        stage=entry.stage,
        rule=entry.rule,
        judge=entry.judge,
        why=shown(mask(entry.detail), LINE),
        gates=_lines(entry.gates, mask),
        changed_checks=_lines(entry.findings, mask),
    )
    if played is None:
        wrong = [line for line in entry.claims if line.endswith(Standing.CONTRADICTED)]
        missing = (Point(ended.why),) if entry.decided == CONTINUE else ()
        return replace(ended, missing=missing, contradicted=_lines(wrong, mask))
    step = played.ruling.feedback.next_step if isinstance(played.ruling, Continue) else ""
    return replace(
        ended,
        missing=tuple(
            Point(shown(mask(one.text), LINE), one.criterion)
            for one in points(played.ruling, played.heard)[:LINES]
        ),
        next_step=shown(mask(step), LINE),
        contradicted=_lines(contradicted(played.inquiry), mask),
    )


def _lines(lines: Sequence[str], mask: Mask) -> tuple[str, ...]:
    return tuple(shown(mask(line), LINE) for line in lines[:LINES])


def _text(reach: Reach, found: LastVerdict) -> str:
    say, stop, left = reach.words.say, found.stop, found.left
    parts = (
        *([say("explain-never")] if stop is None else _told(reach, stop)),
        say("explain-pending", id=found.pending) if found.pending else "",
        say(
            f"explain-next-{found.next_stop}",
            goal=shown(found.goal),
            left=str(max(0, left.continuations_of - left.continuations)),
            of=str(left.continuations_of),
        ),
    )
    return "\n".join(filter(None, parts))


def _told(reach: Reach, stop: Ended) -> Iterator[str]:
    say = reach.words.say
    ago = str(max(0, int(reach.clock.now() - stop.at)))
    known = stop.decided if stop.decided in {CONTINUE, *Reason} else "other"  # of another version's record
    yield say(f"explain-{known}", seconds=ago, why=stop.why or "-", stage=stop.stage or "-")
    for point in stop.missing:
        kind = "explain-missing-by" if point.criterion else "explain-missing"
        yield say(kind, point=point.text, criterion=point.criterion)
    for line in stop.contradicted:
        yield say("explain-contradicted", claim=line)
    if stop.gates:
        yield say("explain-gates", gates="; ".join(stop.gates))
    for line in stop.changed_checks:
        yield say("explain-changed", change=line)
    if stop.next_step:
        yield say("explain-next-step", step=stop.next_step)
