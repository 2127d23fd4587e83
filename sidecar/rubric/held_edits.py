"""Keeps the rubric text that is in force per project, and holds edits that are not the user's for sure.

What follows from a change is decided in kernel/rubric.py. `order` are the paths at which the project's
rubric may be, the first by precedence first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from sidecar.kernel.rubric import (
    AgentWrites,
    EditAuthor,
    EditedText,
    EditState,
    HeldEdit,
    Rubric,
    accept_held_edit,
    settle_edit,
    text_digest,
)
from sidecar.platform.held_edits import EditStateFiles, edit_author
from sidecar.platform.state import Incidents
from sidecar.rubric.files import is_being_written
from sidecar.rubric.policy import NOTHING_HELD, changed_rubric_path, summarize_rubric_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE_LIMIT: Final = 256 * 1024
"""Bytes of one file: two texts of 8 KiB, each byte of which may need six."""
RUBRIC_STEMS: Final = ("rubric", ".supervisor", ".reflection")
"""Words by which a line refers to a rubric."""

log = logging.getLogger(__name__)


# --- Choosing the text in force -----------------------------------------------------------------------------


class ServingRubric(NamedTuple):
    """The rubric that would serve by the present files, its file's text, and which files were passed over."""

    rubric: Rubric
    text: str
    passed_over: tuple[str, ...] = ()

    @property
    def known(self) -> EditedText:
        """The same in the form that is stored."""
        return EditedText(self.rubric.origin, self.text)


class RubricEditGuard:
    """Stores its state in `folder`.

    `parse` makes a rubric of a text that could serve once, None if it no longer can.
    """

    def __init__(
        self,
        folder: Path,
        parse: Callable[[EditedText], Rubric | None],
        incidents: Incidents | None = None,
    ) -> None:
        self._kept = EditStateFiles(folder, STATE_LIMIT, incidents)
        self._parse = parse

    def look(
        self, project: str, order: Sequence[str], serving: Iterator[ServingRubric], writes: AgentWrites | None
    ) -> Rubric:
        """Return the rubric in force.

        `serving` yields the rubric that serves now, then those that would serve without it; at least one.
        """
        now = next(serving)
        kept = self._kept.read(project)
        before = kept or _initial_status(now, serving, writes, project)
        approved = writes.approved if writes else frozenset[str]()
        after = settle_edit(before, now.known, _edit_author(before, now.known, writes, project), approved)
        if after != kept:
            try:
                self._kept.write(project, after)
            except OSError as error:
                log.warning("%s: what is in force could not be kept: %s", project, error)
        return self._rubric(order, now, before, after)

    def accept(self, project: str, order: Sequence[str]) -> str:
        """Put the held edit in force; return a message about it. Raises OSError."""
        kept = self._kept.read(project)
        held = self._held(order, kept) if kept else None
        if kept is None or held is None:
            return NOTHING_HELD
        self._kept.write(project, accept_held_edit(kept))
        return f"in force now: {held.path}: {held.summary}"

    def _rubric(
        self, order: Sequence[str], now: ServingRubric, before: EditState, after: EditState
    ) -> Rubric:
        rubric = now.rubric
        if after.force != now.known and (kept := self._parse(after.force)) is not None:
            rubric = replace(kept, rejected=rubric.rejected, broken=kept.origin in now.passed_over)
        if after.held is not None:
            return replace(rubric, held=self._held(order, after))
        if after.force.text == before.force.text:
            return rubric
        was = self._parse(before.force) or rubric
        path = changed_rubric_path(order, before.force.origin, after.force.origin)
        return replace(rubric, changed=f"{path}: {summarize_rubric_changes(was, rubric)}")

    def _held(self, order: Sequence[str], state: EditState) -> HeldEdit | None:
        force, held = state.force, state.held
        if held is None:
            return None
        was, would = self._parse(force), self._parse(held)
        said = summarize_rubric_changes(was, would) if was and would else "it cannot be compared"
        path = changed_rubric_path(order, force.origin, held.origin)
        return HeldEdit(
            path=path,
            digest=text_digest(held),
            summary=said,
            before=force.text,
            now=held.text,
            unsure=state.unsure,
        )


def _edit_author(before: EditState, now: EditedText, writes: AgentWrites | None, project: str) -> EditAuthor:
    """Return whose edit a difference is.

    For an edit that is just being saved it is UNKNOWN; the next look decides.
    """
    if now in (before.force, before.held):
        return EditAuthor.UNKNOWN
    files = [Path(text.origin) for text in (before.force, now) if text.text]
    author = edit_author(writes, files, project, RUBRIC_STEMS)
    if author is not EditAuthor.AGENT and is_being_written(Path(before.force.origin)):
        return EditAuthor.UNKNOWN
    return author


def _initial_status(
    now: ServingRubric, serving: Iterator[ServingRubric], writes: AgentWrites | None, project: str
) -> EditState:
    """Return the first state of a project of which nothing is stored.

    The present text counts, unless the agent is known to have just written it.
    """
    if writes is None or not now.text:
        return EditState(now.known)
    named = replace(writes, unseen=False)
    author = edit_author(named, [Path(now.rubric.origin)], project, RUBRIC_STEMS)
    then = next(serving, None) if author is EditAuthor.AGENT else None
    return EditState(then.known, now.known) if then is not None else EditState(now.known)
