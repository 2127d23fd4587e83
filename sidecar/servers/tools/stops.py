"""The tools `evidence` and `explain`: what was known at the last judged stop, and what was decided by it.

They change nothing, and reveal neither a judge's confidence nor a threshold. An answer of `evidence` has
about 2,000 tokens at most, assuming that a token has at least three bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, RestReason
from sidecar.kernel.evidence import ClaimStatus, Evidence, Source
from sidecar.kernel.journal import Journal, NoteKind
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.servers.tools.tool import (
    AgentTool,
    NoArguments,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.supervision.decisions import LastStop
from sidecar.systems.supervision.policy.decision_story import (
    Left,
    Next,
    Point,
    contradicted_claims,
    evidence_from_record,
    evidence_within_size,
    missing_points,
    stop_evidence,
)

# --- evidence -----------------------------------------------------------------------------------------------


FACTS_BYTES: Final = 4200
"""Maximum size in bytes of all facts together."""
TASK_LIMIT: Final = 8
"""Maximum number of open tasks that are named."""
STUCK_LIMIT: Final = 3
"""Maximum number of notes of type stuck that are listed, the latest ones."""
SHORT_LENGTH: Final = 100
"""Maximum length in characters of a task or a note."""
TREE_DIGITS: Final = 12
"""Digits of a tree ID that the text shows."""


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact. `stale`: files changed after it was seen. `bad`: it speaks against the work being done."""

    id: str
    source: Source
    fact: str
    detail: str = ""
    stale: bool = False
    bad: bool = False


class StopEvidence(Struct, frozen=True, kw_only=True):
    """The evidence of the last judged stop.

    `at`: seconds since the epoch, None if no stop was judged. `decided`: "continue" or why the agent was let
    stop. `tree`: ID of the files at that time. `moved_since`: whether they have changed, None if unknown.
    `left_out`: number of facts that did not fit. `open_tasks`, `stuck`: from the journal as it is now.
    """

    at: float | None = None
    decided: str = ""
    tree: str = ""
    moved_since: bool | None = None
    facts: tuple[Fact, ...] = ()
    left_out: int = 0
    open_tasks: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools `evidence` and `explain`."""
    make = partial(AgentTool, toolset="core", reads=True)
    return (
        make(name="evidence", gives=StopEvidence, work=partial(_answer_evidence, context)),
        make(name="explain", gives=LastVerdict, work=partial(_answer_explain, context)),
    )


async def _answer_evidence(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    session, mask = call.session, context.checks.mask(call.session)
    journal = context.journals.of(session.key)
    found = StopEvidence(open_tasks=_open_task_lines(journal, mask), stuck=_stuck_note_lines(journal, mask))
    if (last := await context.explainer.last(session, judged=True)) is not None:
        known, left_out = evidence_within_size(_evidence_of_stop(last), FACTS_BYTES)
        environment = context.checks.environment(session)
        found = replace(
            found,
            at=last.entry.at,
            decided=last.entry.decided,
            tree=last.entry.tree,
            moved_since=await context.explainer.moved(session, last.entry, environment),
            facts=tuple(_masked_fact(one, mask) for one in known),
            left_out=left_out,
        )
    return ToolAnswer(found, _evidence_text(context, found))


def _evidence_of_stop(last: LastStop) -> tuple[Evidence, ...]:
    entry = last.entry
    return (
        stop_evidence(last.played.inquiry)
        if last.played
        else evidence_from_record(entry.gates, entry.findings, entry.claims)
    )


def _masked_fact(one: Evidence, mask: SecretMask) -> Fact:
    masked = replace(one, fact=clip_printable(mask(one.fact), len(one.fact)), detail=mask(one.detail))
    return msgspec.convert(masked, Fact, from_attributes=True)


def _open_task_lines(journal: Journal, mask: SecretMask) -> tuple[str, ...]:
    named = [
        f"{task.id} {clip_printable(mask(task.content), SHORT_LENGTH)}" for task in journal.tasks if task.open
    ]
    more = (f"... {len(named) - TASK_LIMIT}",) if len(named) > TASK_LIMIT else ()
    return (*named[:TASK_LIMIT], *more)


def _stuck_note_lines(journal: Journal, mask: SecretMask) -> tuple[str, ...]:
    notes = [note for note in journal.notes if note.kind is NoteKind.STUCK]
    return tuple(
        f"{note.id} {clip_printable(mask(note.content), SHORT_LENGTH)}" for note in notes[-STUCK_LIMIT:]
    )


def _evidence_text(context: ToolContext, found: StopEvidence) -> str:
    say = context.words.say
    files = {True: "evidence-moved", False: "evidence-unmoved", None: "evidence-unknown"}[found.moved_since]
    parts = (
        say("evidence-none") if found.at is None else _head_line(context, found, found.at),
        say(files) if found.at is not None else "",
        *(_fact_line(fact) for fact in found.facts),
        say("evidence-left-out", number=str(found.left_out)) if found.left_out else "",
        say("evidence-open", tasks="\n".join(found.open_tasks)) if found.open_tasks else "",
        say("evidence-stuck", notes="\n".join(found.stuck)) if found.stuck else "",
    )
    return "\n".join(filter(None, parts))


def _head_line(context: ToolContext, found: StopEvidence, at: float) -> str:
    ago = max(0, int(context.clock.now() - at))
    return context.words.say(
        "evidence-head", seconds=str(ago), decided=found.decided, tree=found.tree[:TREE_DIGITS] or "unknown"
    )


def _fact_line(fact: Fact) -> str:
    marks = [name for name, holds in (("against", fact.bad), ("stale", fact.stale)) if holds]
    said = f"{fact.id} ({', '.join((fact.source, *marks))}): {fact.fact}"
    return said + "".join(f"\n  {line}" for line in fact.detail.splitlines() if line.strip())


# --- explain ------------------------------------------------------------------------------------------------


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
        return replace(ended, missing=missing, contradicted=_clip_lines(wrong, str))  # masked when written
    step = played.ruling.feedback.next_step if isinstance(played.ruling, Continue) else ""
    return replace(
        ended,
        missing=tuple(
            Point(clip_printable(mask(one.text), VERDICT_LINE_LENGTH), one.criterion)
            for one in missing_points(played.ruling, played.facts)[:VERDICT_LINES]
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
