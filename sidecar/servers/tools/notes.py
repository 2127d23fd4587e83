"""Notes of a session: what was learned and decided, and where the agent is stuck."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.journal import Note, NoteKind
from sidecar.policy.journal import note
from sidecar.servers.tools.listing import cut, flat, share
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Tool


class Written(Struct, frozen=True, kw_only=True):
    """A note to add."""

    content: str
    type: NoteKind


class Kinds(Struct, frozen=True, kw_only=True):
    """Which notes to list: those of one type, or all."""

    type: NoteKind | None = None


class NoteShown(Struct, frozen=True, kw_only=True):
    """A note; `at` is seconds since the epoch."""

    id: str
    type: NoteKind
    content: str
    at: float


class Notes(Struct, frozen=True, kw_only=True):
    """Notes, the oldest first."""

    notes: tuple[NoteShown, ...]


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tools `note_add` and `note_list`."""

    async def note_add(call: Call, given: Written) -> Answer:
        now = reach.clock.now()
        made = reach.journals.change(
            call.session.key, lambda journal: note(journal, given.type, given.content, now)
        )
        return Answer(_shown(made), _line(_shown(made)))

    async def note_list(call: Call, given: Kinds) -> Answer:
        notes = [one for one in reach.journals.of(call.session.key).notes if given.type in (None, one.kind)]
        most = share(one.content for one in notes)
        found = tuple(_shown(one, most) for one in notes)
        return Answer(Notes(notes=found), "\n".join(map(_line, found)) or reach.words.say("no-notes"))

    return (
        Tool(name="note_add", toolset="journal", takes=Written, gives=NoteShown, work=note_add),
        Tool(
            name="note_list",
            toolset="journal",
            takes=Kinds,
            gives=Notes,
            work=note_list,
            reads=True,
            repeats=True,
        ),
    )


def _shown(made: Note, most: int | None = None) -> NoteShown:
    return NoteShown(id=made.id, type=made.kind, content=cut(made.content, most), at=made.at)


def _line(made: NoteShown) -> str:
    return f"{made.id} [{made.type}] {flat(made.content)}"
