"""Reads what a task is verified by.

run: COMMAND                the command's exit code decides
file: PATH                  the file exists
text: PATH contains TEXT    the file holds the text
anything else               somebody judges it, and names where it shows
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from sidecar.kernel.governance import Plan

CONTAINS: Final = " contains "


class ClauseKind(StrEnum):
    """How a clause is verified."""

    RUN = "run"
    FILE = "file"
    TEXT = "text"
    JUDGED = "judged"


class Clause(Struct, frozen=True, kw_only=True):
    """One clause. `text` is all of it.

    `subject` is the command or the path, `content` the text to be found.
    """

    kind: ClauseKind
    text: str
    subject: str = ""
    content: str = ""


class ClauseResult(Struct, frozen=True, kw_only=True):
    """Whether a clause holds, None where nothing could be had that shows it, and why."""

    clause: Clause
    holds: bool | None
    why: str


def parse_clause(text: str) -> Clause:
    """Read one clause. What is not one of the forms is judged."""
    text = text.strip()
    word, _, rest = text.partition(":")
    rest = rest.strip()
    kind = word.strip().lower()
    if kind == ClauseKind.TEXT and CONTAINS in rest:
        path, _, content = rest.partition(CONTAINS)
        content = content.strip().strip("\"'`")
        return Clause(kind=ClauseKind.TEXT, text=text, subject=path.strip("\"'` "), content=content)
    if kind in {ClauseKind.RUN, ClauseKind.FILE} and rest:
        bare = rest.strip("`").strip() if kind == ClauseKind.RUN else rest.strip("\"'` ")
        return Clause(kind=ClauseKind(kind), text=text, subject=bare)
    return Clause(kind=ClauseKind.JUDGED, text=text)


def plan_clauses(plan: Plan) -> tuple[Clause, ...]:
    """Return the clauses of all tasks, in their order."""
    return tuple(parse_clause(task.verify_by) for task in plan.tasks)


def plan_faults(plan: Plan) -> tuple[str, ...]:
    """Say what is wrong with the dependencies: an unknown number, or tasks that wait for one another."""
    numbers = range(1, len(plan.tasks) + 1)
    if strange := sorted({one for pair in plan.dependencies for one in pair if one not in numbers}):
        return (f"dependencies name tasks that do not exist: {', '.join(map(str, strange))}",)
    waits = {number: {first for first, then in plan.dependencies if then == number} for number in numbers}
    while free := {number for number, before in waits.items() if not before}:
        waits = {number: before - free for number, before in waits.items() if number not in free}
    if waits:
        return (f"tasks wait for one another: {', '.join(map(str, waits))}",)
    return ()
