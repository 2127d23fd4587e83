"""Tools about a session: where it stands, by what it is judged, and what its last stop showed and came to.

They change nothing, and reveal neither a judge's confidence nor a threshold. An answer of `evidence` has
about 2,000 tokens at most, assuming that a token has at least three bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, RestReason
from sidecar.kernel.evidence import ClaimStatus, Evidence, Source
from sidecar.kernel.journal import Note, NoteKind, Task
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.rubric import Criterion
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.rubric.policy import describe_rubric
from sidecar.servers.tools.tool import (
    AgentTool,
    NoArguments,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.supervision.decisions import LastStop
from sidecar.systems.supervision.people import SessionSelector
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


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools `rubric`, `status`, `evidence` and `explain`."""
    make = partial(AgentTool, toolset="core", reads=True)
    return (
        make(name="rubric", gives=RubricInForce, work=partial(_answer_rubric, context)),
        make(name="status", gives=SessionStatus, work=partial(_answer_status, context)),
        make(name="evidence", gives=StopEvidence, work=partial(_answer_evidence, context)),
        make(name="explain", gives=LastVerdict, work=partial(_answer_explain, context)),
    )


# --- where a session stands, and by what it is judged -------------------------------------------------------


class SessionStatus(Struct, frozen=True, kw_only=True):
    """The status of a session. `exit_code`: see ExitCode."""

    session: str
    host: str
    status: str
    exit_code: int
    text: str


class RubricInForce(Struct, frozen=True, kw_only=True):
    """The rubric in force, and a text that describes it."""

    file: str
    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...]
    text: str


async def _answer_status(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    key = call.session.key
    report = context.people.report(SessionSelector(session=key.id, host=key.host))
    report = replace(report, text=context.checks.mask(call.session)(report.text))
    found = msgspec.convert(report, SessionStatus, from_attributes=True)
    return ToolAnswer(found, found.text)


async def _answer_rubric(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    project = call.session.project
    loaded = context.rubrics.load(project, {})
    text = "\n".join(describe_rubric(loaded, project))
    kinds = {name: getattr(loaded, name) for name in ("patterns", "antipatterns", "legitimate")}
    lines = {name: _criteria_lines(criteria) for name, criteria in kinds.items()}
    said = context.words.say("rubric-text", described=text, **lines)
    return ToolAnswer(RubricInForce(file=loaded.origin, text=text, **kinds), said)


def _criteria_lines(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(
        f"- {one.id} ({one.severity}): {' '.join(f'{one.name}: {one.text}'.split())}" for one in criteria
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


async def _answer_evidence(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    session, mask = call.session, context.checks.mask(call.session)
    journal = context.journals.of(session.key)
    tasks = _short_lines((task for task in journal.tasks if task.open), mask)
    more = (f"... {len(tasks) - TASK_LIMIT}",) if len(tasks) > TASK_LIMIT else ()
    stuck = _short_lines((note for note in journal.notes if note.kind is NoteKind.STUCK), mask)
    found = StopEvidence(open_tasks=(*tasks[:TASK_LIMIT], *more), stuck=stuck[-STUCK_LIMIT:])
    if (last := await context.explainer.last(session, judged=True)) is not None:
        entry = last.entry
        seen = (
            stop_evidence(last.played.inquiry)
            if last.played
            else evidence_from_record(entry.gates, entry.findings, entry.claims)
        )
        known, left_out = evidence_within_size(seen, FACTS_BYTES)
        environment = context.checks.environment(session)
        found = replace(
            found,
            at=entry.at,
            decided=entry.decided,
            tree=entry.tree,
            moved_since=await context.explainer.moved(session, entry, environment),
            facts=tuple(_masked_fact(one, mask) for one in known),
            left_out=left_out,
        )
    return ToolAnswer(found, _evidence_text(context, found))


def _masked_fact(one: Evidence, mask: SecretMask) -> Fact:
    masked = replace(one, fact=clip_printable(mask(one.fact), len(one.fact)), detail=mask(one.detail))
    return msgspec.convert(masked, Fact, from_attributes=True)


def _short_lines(entries: Iterable[Task | Note], mask: SecretMask) -> tuple[str, ...]:
    return tuple(f"{one.id} {clip_printable(mask(one.content), SHORT_LENGTH)}" for one in entries)


def _evidence_text(context: ToolContext, found: StopEvidence) -> str:
    say = context.words.say
    head = say("evidence-none")
    if found.at is not None:
        ago, tree = max(0, int(context.clock.now() - found.at)), found.tree[:TREE_DIGITS] or "unknown"
        head = say("evidence-head", seconds=str(ago), decided=found.decided, tree=tree)
    files = {True: "evidence-moved", False: "evidence-unmoved", None: "evidence-unknown"}[found.moved_since]
    parts = (
        head,
        say(files) if found.at is not None else "",
        *(_fact_line(fact) for fact in found.facts),
        say("evidence-left-out", number=str(found.left_out)) if found.left_out else "",
        say("evidence-open", tasks="\n".join(found.open_tasks)) if found.open_tasks else "",
        say("evidence-stuck", notes="\n".join(found.stuck)) if found.stuck else "",
    )
    return "\n".join(filter(None, parts))


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
