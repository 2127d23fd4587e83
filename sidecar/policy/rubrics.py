"""Which rubric counts when its file was edited, and what a person is told of it.

- What the user writes counts from the next look on.
- What the agent may have written is held: the text from before stays in force until the user accepts it.
- Whose edit it was can be told only by who knows what the agent did since the last look. Who does not know
  changes nothing.
- A later edit of the user on top of a held one puts the whole file in force: it was open before the user, an
  editor keeps one text, and to hold back what a person just saved would be steering by the agent too.
- Every change of what is in force is told, whoever made it: nobody steers unseen, not even by a way that is
  not recognized as the agent's.

This file knows no files: whether a text can serve, and who may have touched it, comes from outside.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.rubric import Criterion, Rubric

NAMES: Final = 3
"""Criteria that a summary names of each kind."""
NAME_LIMIT: Final = 40
"""Characters of a criterion's name in a summary."""
COMMAND: Final = "/supervisor:rubric accept"
OF_PROJECT: Final = (".supervisor/rubric.md", ".reflection/rubric.md")
"""Where a project's own rubric is."""


class Text(Struct, frozen=True):
    """A rubric as its file said it: the path, and the whole text."""

    origin: str
    text: str


class Standing(Struct, frozen=True):
    """What is in force, and what the agent made of it meanwhile."""

    force: Text
    held: Text | None = None


class Hand(StrEnum):
    """Who may have made what is different. UNKNOWN: nobody says what the agent did."""

    USER = "user"
    AGENT = "agent"
    UNKNOWN = "unknown"


def settled(before: Standing, now: Text, hand: Hand) -> Standing:
    """What stands after a look that found `now`."""
    if now.text == before.force.text:
        return Standing(now)
    if before.held is not None and now == before.held:
        return before
    if hand is Hand.UNKNOWN:
        return before
    return replace(before, held=now) if hand is Hand.AGENT else Standing(now)


def accepted(before: Standing) -> Standing:
    """The user accepts what is held."""
    return before if before.held is None else Standing(before.held)


# --- what is said -------------------------------------------------------------------------------------------


def summary(before: Rubric, after: Rubric) -> str:
    """What differs between two rubrics, in one line."""
    sections = (
        ("pattern", before.patterns, after.patterns),
        ("antipattern", before.antipatterns, after.antipatterns),
        ("legitimate stop", before.legitimate, after.legitimate),
    )
    parts = [part for kind, old, new in sections for part in _parts(kind, old, new)]
    return "; ".join(parts) or "its criteria stay as they are"


def _parts(kind: str, old: tuple[Criterion, ...], new: tuple[Criterion, ...]) -> list[str]:
    was, now = {one.id: one for one in old}, {one.id: one for one in new}
    groups = (
        ("gone", [one for one in old if one.id not in now]),
        ("added", [one for one in new if one.id not in was]),
        ("changed", [one for one in new if one.id in was and one != was[one.id]]),
    )
    return [f"{len(found)} {kind}{'' if len(found) == 1 else 's'} {word} ({_names(found)})"
            for word, found in groups if found]  # fmt: skip


def _names(found: list[Criterion]) -> str:
    shown = ", ".join(plain(one.name)[:NAME_LIMIT] for one in found[:NAMES])
    return shown + (", ..." if len(found) > NAMES else "")


def plain(text: str) -> str:
    """The text in one line, without what would steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))


def told(rubric: Rubric) -> str:
    """One line for the user about what is held, "" where nothing is."""
    held = rubric.held
    if held is None:
        return ""
    return (
        f"Supervisor: the agent edited the rubric, {plain(held.path)} ({held.summary}). "
        f"It is held until you type {COMMAND}"
    )


def told_change(rubric: Rubric) -> str:
    """One line for the user about a change that counts, "" where there is none."""
    return f"Supervisor: the rubric in force changed: {rubric.changed}" if rubric.changed else ""


def described(rubric: Rubric, project: str) -> str:
    """What is in force and why, what was passed over, and what is held."""
    counts = (
        f"{len(rubric.patterns)} patterns, {len(rubric.antipatterns)} antipatterns, "
        f"{len(rubric.legitimate)} legitimate stops"
    )
    lines = [
        f"Supervisor: rubric in force: {plain(rubric.origin)} ({_why(rubric.origin, project)}; {counts})"
    ]
    lines += [f"passed over: {plain(line)}" for line in rubric.rejected]
    if rubric.held is None:
        return "\n".join([*lines, "Nothing is held."])
    return "\n".join([*lines, f"held: {plain(rubric.held.path)}: {rubric.held.summary}. Type {COMMAND}"])


def _why(origin: str, project: str) -> str:
    if project and any(origin == f"{project.rstrip('/')}/{place}" for place in OF_PROJECT):
        return "the project's own"
    if origin.endswith("/supervisor/rubric.md"):
        return "yours; the project has none that serves"
    return "the default; neither project nor user has one that serves"
