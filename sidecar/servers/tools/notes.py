"""Tools for the notes of a session: what was learned and decided, and where the agent is stuck."""

from __future__ import annotations

from msgspec import Struct

from sidecar.kernel.journal import Note, NoteKind
from sidecar.servers.tools.listing import cut_text, flatten_text, length_per_text
from sidecar.servers.tools.tool import Tool, ToolAnswer, ToolContext, ToolInvocation
from sidecar.systems.iteration.policy.journal import add_note


class NewNote(Struct, frozen=True, kw_only=True):
    """A note to add."""

    content: str
    type: NoteKind


class NoteFilter(Struct, frozen=True, kw_only=True):
    """Which notes to list: those of one type, or all if it is None."""

    type: NoteKind | None = None


class NoteShown(Struct, frozen=True, kw_only=True):
    """A note. `at` is in seconds since the epoch."""

    id: str
    type: NoteKind
    content: str
    at: float


class NoteList(Struct, frozen=True, kw_only=True):
    """Notes, oldest first."""

    notes: tuple[NoteShown, ...]


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools `note_add` and `note_list`."""

    async def note_add(call: ToolInvocation, given: NewNote) -> ToolAnswer:
        now, content = context.clock.now(), context.checks.mask(call.session)(given.content)
        made = context.journals.change(
            call.session.key, lambda journal: add_note(journal, given.type, content, now, call.author)
        )
        return ToolAnswer(_show_note(made), _note_line(_show_note(made)))

    async def note_list(call: ToolInvocation, given: NoteFilter) -> ToolAnswer:
        notes = [one for one in context.journals.of(call.session.key).notes if given.type in (None, one.kind)]
        most = length_per_text(one.content for one in notes)
        found = tuple(_show_note(one, most) for one in notes)
        return ToolAnswer(
            NoteList(notes=found), "\n".join(map(_note_line, found)) or context.words.say("no-notes")
        )

    return (
        Tool(name="note_add", toolset="journal", takes=NewNote, gives=NoteShown, work=note_add),
        Tool(
            name="note_list", toolset="journal", takes=NoteFilter, gives=NoteList, work=note_list, reads=True
        ),
    )


def _show_note(made: Note, most: int | None = None) -> NoteShown:
    return NoteShown(id=made.id, type=made.kind, content=cut_text(made.content, most), at=made.at)


def _note_line(made: NoteShown) -> str:
    return f"{made.id} [{made.type}] {flatten_text(made.content)}"
