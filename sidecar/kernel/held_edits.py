"""Whose edit of a file that steers Supervisor counts: a rubric, a configuration, approvals, switches (law 9).

The user's counts. One that the agent made waits until the user accepts it. One that was made while the agent
worked, by nobody knows whom, waits until the user, who was told of it, speaks again or accepts it: so no stop
profits from an edit made in the turn before it, and a person who edits a file by hand is not kept waiting.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace


class EditedText(Struct, frozen=True):
    """The path of a file, and the whole text that it had."""

    origin: str
    text: str


class EditState(Struct, frozen=True):
    """The text in force, and the edit of it that is held. `unsure`: it may as well be the user's."""

    force: EditedText
    held: EditedText | None = None
    unsure: bool = False


class EditAuthor(StrEnum):
    """Who made a change. UNSURE: it was made while an agent worked. UNKNOWN: it is not decided yet."""

    USER = "user"
    AGENT = "agent"
    UNSURE = "unsure"
    UNKNOWN = "unknown"


class AgentWrites(Struct, frozen=True):
    """What an agent may have written since the last look.

    `paths` are those it edited, absolute or relative to the project; `lines` are the shell lines it ran.
    `unseen`: it may have done more that is not known (another agent worked for it, for example). `undecided`:
    it is still at work, so it is too early to tell. `approved` are the digests of held edits of which the
    person who speaks now was told.
    """

    paths: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    unseen: bool = False
    undecided: bool = False
    approved: frozenset[str] = frozenset()


class HeldEdit(Struct, frozen=True, kw_only=True):
    """An edit in a line: what it changes (`summary`), and whether it `waits` or counts now.

    `digest` is that of the new text `now`; `before` is the text in force. `unsure`: it waits until the user
    speaks, else until the user accepts.
    """

    path: str
    digest: str
    summary: str
    before: str = ""
    now: str = ""
    waits: bool = True
    unsure: bool = False


def settle_edit(
    before: EditState, now: EditedText, author: EditAuthor, approved: frozenset[str] = frozenset()
) -> EditState:
    """Return the state after a look that found `now`."""
    if now.text == before.force.text:
        return EditState(now)
    if before.held == now:
        released = before.unsure and text_digest(now) in approved
        return EditState(now) if released else before
    if author is EditAuthor.UNKNOWN:
        return before
    if author is EditAuthor.USER:
        return EditState(now)
    return replace(before, held=now, unsure=author is EditAuthor.UNSURE)


def accept_held_edit(before: EditState) -> EditState:
    """Put the held text in force, as the user accepts it."""
    return before if before.held is None else EditState(before.held)


def text_digest(text: EditedText) -> str:
    """Return 16 hexadecimal digits by which a held text is told from another one."""
    seen = f"{text.origin}\0{text.text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(seen).hexdigest()[:16]
