"""The tool `evidence`: evidence of a session's last judged stop, and open entries of its journal.

An answer has about 2,000 tokens at most, assuming that a token has at least three bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import Evidence, Source
from sidecar.kernel.journal import Journal, NoteKind
from sidecar.kernel.masking import SecretMask
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
    evidence_from_record,
    evidence_within_size,
    stop_evidence,
)

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


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool `evidence`."""
    return (
        Tool(
            name="evidence",
            toolset="core",
            gives=StopEvidence,
            work=partial(_answer_evidence, context),
            reads=True,
        ),
    )


async def _answer_evidence(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    session, mask = call.session, context.checks.mask(call.session)
    journal = context.journals.of(session.key)
    last = await context.explainer.last(session, judged=True)
    if last is None:
        found = StopEvidence(
            open_tasks=_open_task_lines(journal, mask), stuck=_stuck_note_lines(journal, mask)
        )
        return ToolAnswer(found, _evidence_text(context, found))
    known, left_out = evidence_within_size(_evidence_of_stop(last), FACTS_BYTES)
    found = StopEvidence(
        at=last.entry.at,
        decided=last.entry.decided,
        tree=last.entry.tree,
        moved_since=await context.explainer.moved(session, last.entry, context.checks.environment(session)),
        facts=tuple(_masked_fact(one, mask) for one in known),
        left_out=left_out,
        open_tasks=_open_task_lines(journal, mask),
        stuck=_stuck_note_lines(journal, mask),
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
    return Fact(
        id=one.id,
        source=one.source,
        fact=clip_printable(mask(one.fact), len(one.fact)),
        detail=mask(one.detail),
        stale=one.stale,
        bad=one.bad,
    )


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
