"""The tool `explain`: the last verdict on a session's work, its reasons, what is missing, and what is next.

It changes nothing, and it reveals neither a judge's confidence nor a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, RestReason
from sidecar.kernel.evidence import ClaimStatus
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.servers.tools.tool import (
    NoArguments,
    Tool,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.supervision.explaining import LastStop
from sidecar.systems.supervision.policy.explaining import (
    Left,
    Next,
    Point,
    contradicted_claims,
    missing_points,
)

VERDICT_LINE_LENGTH: Final = 500
"""Maximum length in characters of each line in an answer."""
VERDICT_LINES: Final = 20
"""Maximum number of lines of one kind in an answer."""
CONDITION_LENGTH: Final = 1000
"""Maximum length in characters of a goal's condition."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a stop ended.

    `decided` is "continue", or the reason why the agent was allowed to stop. `at`: seconds since the epoch.
    `stage` is "skip rules", "rules", "gates", "advice" or "judge"; `rule` and `judge` name who decided there.
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
    """The last stop, None if there was none, and what will happen at the next one.

    `pending` is the ID of a continuation that was sent and has not yet been seen to arrive.
    """

    stop: Ended | None
    goal: str
    goal_status: str
    pending: str
    left: Left
    next_stop: Next


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool `explain`."""
    return (
        Tool(
            name="explain",
            toolset="core",
            gives=LastVerdict,
            work=partial(_answer_explain, context),
            reads=True,
        ),
    )


async def _answer_explain(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    session, mask = call.session, context.checks.mask(call.session)
    last = await context.explainer.last(session)
    outlook, goal = context.explainer.outlook(session), session.goal
    found = LastVerdict(
        stop=_describe_stop(last, mask) if last else None,
        goal=clip_printable(mask(goal.condition), CONDITION_LENGTH) if goal else "",
        goal_status=goal.status.value if goal else "none",
        pending=session.pending.id if session.pending else "",
        left=outlook.left,
        next_stop=outlook.next_stop,
    )
    return ToolAnswer(found, _verdict_text(context, found))


def _describe_stop(last: LastStop, mask: SecretMask) -> Ended:
    entry, played = last.entry, last.played
    ended = Ended(
        decided=entry.decided,
        at=entry.at,
        stage=entry.stage,
        rule=entry.rule,
        judge=entry.judge,
        why=clip_printable(mask(entry.detail), VERDICT_LINE_LENGTH),
        gates=_clip_lines(entry.gates, mask),
        changed_checks=_clip_lines(entry.findings, mask),
    )
    if played is None:
        wrong = [line for line in entry.claims if line.endswith(ClaimStatus.CONTRADICTED)]
        missing = (Point(ended.why),) if entry.decided == CONTINUE_DECISION else ()
        return replace(ended, missing=missing, contradicted=_clip_lines(wrong, mask))
    step = played.ruling.feedback.next_step if isinstance(played.ruling, Continue) else ""
    return replace(
        ended,
        missing=tuple(
            Point(clip_printable(mask(one.text), VERDICT_LINE_LENGTH), one.criterion)
            for one in missing_points(played.ruling, played.heard)[:VERDICT_LINES]
        ),
        next_step=clip_printable(mask(step), VERDICT_LINE_LENGTH),
        contradicted=_clip_lines(contradicted_claims(played.inquiry), mask),
    )


def _clip_lines(lines: Sequence[str], mask: SecretMask) -> tuple[str, ...]:
    return tuple(clip_printable(mask(line), VERDICT_LINE_LENGTH) for line in lines[:VERDICT_LINES])


def _verdict_text(context: ToolContext, found: LastVerdict) -> str:
    say, stop, left = context.words.say, found.stop, found.left
    parts = (
        *([say("explain-never")] if stop is None else _stop_lines(context, stop)),
        say("explain-pending", id=found.pending) if found.pending else "",
        say(
            f"explain-next-{found.next_stop}",
            goal=clip_printable(found.goal),
            left=str(max(0, left.continuations_of - left.continuations)),
            of=str(left.continuations_of),
        ),
    )
    return "\n".join(filter(None, parts))


def _stop_lines(context: ToolContext, stop: Ended) -> Iterator[str]:
    say = context.words.say
    ago = str(max(0, int(context.clock.now() - stop.at)))
    known = (
        stop.decided if stop.decided in {CONTINUE_DECISION, *RestReason} else "other"
    )  # a record of another version may contain other values
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
