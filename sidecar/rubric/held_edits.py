"""Keeps the rubric text that is in force per project, and holds an agent's edits until they are accepted.

What follows from a change is decided in rubric/policy.py. `order` are the paths at which the project's rubric
may be, the first by precedence first.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import HeldRubricEdit, Rubric
from sidecar.platform.files import ensure_folder, remove_stale_temporaries, set_aside, write_whole
from sidecar.platform.paths import project_digest
from sidecar.platform.state import BrokenStateError, read_state
from sidecar.rubric.files import is_being_written
from sidecar.rubric.policy import (
    EditAuthor,
    RubricState,
    RubricText,
    accept_held_edit,
    settle_rubric,
    summarize_rubric_changes,
)
from sidecar.rubric.ports import AgentWrites
from sidecar.rubric.written_by_agent import may_have_written

if TYPE_CHECKING:
    from collections.abc import Iterator


# --- Stored states: the folder `rubrics/` in the state folder, with one file per project --------------------
# A file holds one project's RubricState and is written whole or not at all. A file that cannot be used is set
# aside, and its project counts as one that was never looked at. Projects are identified by the folders to
# which they resolve. Both the sidecar and the command line write, each atomically; the later write wins, and
# the next look corrects the state from what it finds.


VERSION: Final = 1
FILE_LIMIT: Final = 256 * 1024
"""Bytes of one file: two texts of 8 KiB, each byte of which may need six."""
FILES: Final = 500
"""Projects that are remembered.

Beyond that, those unchanged for the longest time are removed, but none with a held edit.
"""
DROPPED: Final = 50
"""Projects that are removed at once."""

log = logging.getLogger(__name__)


class _StatusDocument(Struct, frozen=True, kw_only=True):
    """The content of one file. `project` is for people who look into it."""

    version: int = VERSION
    project: str = ""
    standing: RubricState | None = None


class RubricStatusFiles:
    """The RubricState files in a folder, which is created when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._swept = False

    def read(self, project: str) -> RubricState | None:
        """Return the stored state of this project, None if none can be read. Never raises."""
        path = self._path(project)
        if path is None:
            return None
        try:
            return read_state(path, _StatusDocument, FILE_LIMIT).standing
        except BrokenStateError as error:
            log.warning("%s is set aside: %s", path, error)
            self._set_aside(path, error)
        except OSError as error:
            log.warning("%s cannot be read: %s", path, error)
        return None

    def write(self, project: str, standing: RubricState) -> None:
        """Store a state. Raises OSError.

        Stores nothing for a project whose path is not valid UTF-8.
        """
        path = self._path(project)
        if path is None:
            return
        ensure_folder(self._folder)
        if not self._swept:
            remove_stale_temporaries(self._folder)
            self._swept = True
        if not path.exists():
            self._make_room()
        try:
            data = msgspec.json.encode(_StatusDocument(project=os.path.realpath(project), standing=standing))
        except UnicodeEncodeError:
            return
        write_whole(path, data + b"\n", durable=standing.held is not None)

    def _path(self, project: str) -> Path | None:
        """Return the project's file, None if its path is not absolute or not valid UTF-8."""
        mark = project_digest(project)
        return self._folder / f"{mark}.json" if mark else None

    def _set_aside(self, path: Path, error: BrokenStateError) -> None:
        try:
            set_aside(path, error.fault, str(error))
        except OSError as trouble:
            log.warning("%s cannot be set aside: %s", path, trouble)

    def _make_room(self) -> None:
        files = list(self._folder.glob("*.json"))
        if len(files) < FILES:
            return
        for path in sorted(files, key=lambda file: file.stat().st_mtime)[:DROPPED]:
            if not self._holds(path):
                path.unlink(missing_ok=True)

    def _holds(self, path: Path) -> bool:
        try:
            standing = read_state(path, _StatusDocument, FILE_LIMIT).standing
        except (BrokenStateError, OSError):
            return False
        return standing is not None and standing.held is not None


# --- Choosing the text in force -----------------------------------------------------------------------------


class ServingRubric(NamedTuple):
    """The rubric that would serve by the present files, and its file's text."""

    rubric: Rubric
    text: str

    @property
    def known(self) -> RubricText:
        """The same in the form that is stored."""
        return RubricText(self.rubric.origin, self.text)


class RubricEditGuard:
    """Stores its state in `folder`.

    `parse` makes a rubric of a text that could serve once, None if it no longer can.
    """

    def __init__(self, folder: Path, parse: Callable[[RubricText], Rubric | None]) -> None:
        self._kept = RubricStatusFiles(folder)
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
        after = settle_rubric(before, now.known, _edit_author(before, now.known, writes, project))
        if after != kept:
            try:
                self._kept.write(project, after)
            except OSError as error:
                log.warning("%s: what is in force could not be kept: %s", project, error)
        return self._rubric(order, now, before, after)

    def accept(self, project: str, order: Sequence[str], digest: str) -> str:
        """Put the held edit in force; return a message about it.

        Raises OSError; BadInputError if `digest` is given and is not that of the held edit.
        """
        standing = self._kept.read(project)
        held = self._held(order, standing) if standing else None
        if standing is None or held is None:
            return "nothing is held"
        if digest not in ("", held.digest):
            raise BadInputError("what is held has changed since it was shown; look at it again")
        self._kept.write(project, accept_held_edit(standing))
        return f"in force now: {held.path}: {held.summary}"

    def texts(self, project: str) -> tuple[str, str] | None:
        """Return the text in force and the held one, None if nothing is held."""
        standing = self._kept.read(project)
        return (standing.force.text, standing.held.text) if standing and standing.held else None

    def _rubric(
        self, order: Sequence[str], now: ServingRubric, before: RubricState, after: RubricState
    ) -> Rubric:
        rubric = now.rubric
        if after.force != now.known and (kept := self._parse(after.force)) is not None:
            rubric = replace(kept, rejected=rubric.rejected)
        if after.held is not None:
            return replace(rubric, held=self._held(order, after))
        if after.force.text == before.force.text:
            return rubric
        was = self._parse(before.force) or rubric
        path = _path_to_blame(order, before.force, after.force)
        return replace(rubric, changed=f"{path}: {summarize_rubric_changes(was, rubric)}")

    def _held(self, order: Sequence[str], standing: RubricState) -> HeldRubricEdit | None:
        force, held = standing.force, standing.held
        if held is None:
            return None
        was, would = self._parse(force), self._parse(held)
        said = summarize_rubric_changes(was, would) if was and would else "it cannot be compared"
        seen = hashlib.sha256(f"{held.origin}\0{held.text}".encode("utf-8", "surrogatepass")).hexdigest()
        return HeldRubricEdit(path=_path_to_blame(order, force, held), digest=seen[:16], summary=said)


def _edit_author(
    before: RubricState, now: RubricText, writes: AgentWrites | None, project: str
) -> EditAuthor:
    """Return whose edit a difference is.

    For an edit that is just being saved it is UNKNOWN; the next look decides.
    """
    if writes is None or now in (before.force, before.held):
        return EditAuthor.UNKNOWN
    files = [Path(text.origin) for text in (before.force, now) if text.text]
    if may_have_written(writes, files, project):
        return EditAuthor.AGENT
    return EditAuthor.UNKNOWN if is_being_written(Path(before.force.origin)) else EditAuthor.USER


def _initial_status(
    now: ServingRubric, serving: Iterator[ServingRubric], writes: AgentWrites | None, project: str
) -> RubricState:
    """Return the first state of a project of which nothing is stored.

    The present text counts, unless the agent is known to have just written it.
    """
    if writes is None or not now.text:
        return RubricState(now.known)
    named = replace(writes, unseen=False)
    then = next(serving, None) if may_have_written(named, [Path(now.rubric.origin)], project) else None
    return RubricState(then.known, now.known) if then is not None else RubricState(now.known)


def _path_to_blame(order: Sequence[str], before: RubricText, after: RubricText) -> str:
    """Return the file because of which `after` serves, not `before`: it is new, changed or gone."""
    ranks = {path: rank for rank, path in enumerate(order)}
    return min(before.origin, after.origin, key=lambda path: ranks.get(path, len(ranks)))
