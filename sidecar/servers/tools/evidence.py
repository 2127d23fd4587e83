"""The numbered evidence of a session's last judged stop, and what its journal says is open.

An answer has about 2,000 tokens at most: three bytes are at least one token.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import Struct

from sidecar.app.explaining import LastStop
from sidecar.model.evidence import Evidence, Source
from sidecar.model.journal import Journal, NoteKind
from sidecar.policy.explaining import bounded, facts, of_record
from sidecar.ports import Mask
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, Tool, shown

ROOM: Final = 4200
"""Bytes of all facts together."""
TASKS: Final = 8
"""Open tasks that are named."""
STUCK: Final = 3
"""Notes of type stuck that are told, the last ones."""
SHORT: Final = 100
"""Characters of a task or a note."""
TREE: Final = 12
"""Digits of a tree that a text names."""


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact. `stale`: files moved after it was seen. `bad`: it speaks against being done."""

    id: str
    source: Source
    fact: str
    detail: str = ""
    stale: bool = False
    bad: bool = False


class Found(Struct, frozen=True, kw_only=True):
    """What was known at the last judged stop.

    `at`: seconds since the epoch, None where no stop was judged. `decided`: "continue" or why the agent was
    let rest. `tree`: what the files were then. `moved_since`: whether they changed, None where it is not
    known. `left_out`: facts there was no room for. `open_tasks`, `stuck`: of the journal as it is now.
    """

    at: float | None = None
    decided: str = ""
    tree: str = ""
    moved_since: bool | None = None
    facts: tuple[Fact, ...] = ()
    left_out: int = 0
    open_tasks: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tool `evidence`."""
    return (
        Tool(
            name="evidence",
            toolset="core",
            takes=Nothing,
            gives=Found,
            work=partial(_evidence, reach),
            reads=True,
            repeats=True,
        ),
    )


async def _evidence(reach: Reach, call: Call, _given: Nothing) -> Answer:
    session, mask = call.session, reach.checks.mask(call.session)
    journal = reach.journals.of(session.key)
    last = await reach.explainer.last(session, judged=True)
    if last is None:
        found = Found(open_tasks=_open(journal, mask), stuck=_stuck(journal, mask))
        return Answer(found, _text(reach, found))
    known, left_out = bounded(_known(last), ROOM)
    found = Found(
        at=last.entry.at,
        decided=last.entry.decided,
        tree=last.entry.tree,
        moved_since=await reach.explainer.moved(session, last.entry, reach.checks.environment(session)),
        facts=tuple(_fact(one, mask) for one in known),
        left_out=left_out,
        open_tasks=_open(journal, mask),
        stuck=_stuck(journal, mask),
    )
    return Answer(found, _text(reach, found))


def _known(last: LastStop) -> tuple[Evidence, ...]:
    entry = last.entry
    return facts(last.played.inquiry) if last.played else of_record(entry.gates, entry.findings, entry.claims)


def _fact(one: Evidence, mask: Mask) -> Fact:
    return Fact(
        id=one.id,
        source=one.source,
        fact=shown(mask(one.fact), len(one.fact)),
        detail=mask(one.detail),
        stale=one.stale,
        bad=one.bad,
    )


def _open(journal: Journal, mask: Mask) -> tuple[str, ...]:
    named = [f"{task.id} {shown(mask(task.content), SHORT)}" for task in journal.tasks if task.open]
    more = (f"... {len(named) - TASKS}",) if len(named) > TASKS else ()
    return (*named[:TASKS], *more)


def _stuck(journal: Journal, mask: Mask) -> tuple[str, ...]:
    notes = [note for note in journal.notes if note.kind is NoteKind.STUCK]
    return tuple(f"{note.id} {shown(mask(note.content), SHORT)}" for note in notes[-STUCK:])


def _text(reach: Reach, found: Found) -> str:
    say = reach.words.say
    files = {True: "evidence-moved", False: "evidence-unmoved", None: "evidence-unknown"}[found.moved_since]
    parts = (
        say("evidence-none") if found.at is None else _head(reach, found, found.at),
        say(files) if found.at is not None else "",
        *(_line(fact) for fact in found.facts),
        say("evidence-left-out", number=str(found.left_out)) if found.left_out else "",
        say("evidence-open", tasks="\n".join(found.open_tasks)) if found.open_tasks else "",
        say("evidence-stuck", notes="\n".join(found.stuck)) if found.stuck else "",
    )
    return "\n".join(filter(None, parts))


def _head(reach: Reach, found: Found, at: float) -> str:
    ago = max(0, int(reach.clock.now() - at))
    return reach.words.say(
        "evidence-head", seconds=str(ago), decided=found.decided, tree=found.tree[:TREE] or "unknown"
    )


def _line(fact: Fact) -> str:
    marks = [name for name, holds in (("against", fact.bad), ("stale", fact.stale)) if holds]
    said = f"{fact.id} ({', '.join((fact.source, *marks))}): {fact.fact}"
    return said + "".join(f"\n  {line}" for line in fact.detail.splitlines() if line.strip())
