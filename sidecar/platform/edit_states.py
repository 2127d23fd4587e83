"""Stores which text of a file that steers Supervisor is in force: one JSON file per subject in a folder.

A file is written whole or not at all. One that cannot be used is set aside, and its subject counts as never
looked at. The process that writes remembers what it wrote: a file that says something else is written again
and reported.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from sidecar.kernel.held_edits import EditState
from sidecar.platform.files import ensure_folder, remove_stale_temporaries, write_whole
from sidecar.platform.incidents import Incidents
from sidecar.platform.paths import project_digest
from sidecar.platform.state import BrokenStateError, read_state, read_usable_state

VERSION: Final = 1
FILES: Final = 500
"""Subjects that are remembered.

Beyond that, those unchanged for the longest time are removed, but none with a held edit.
"""
DROPPED: Final = 50
"""Subjects that are removed at once."""

log = logging.getLogger(__name__)


class _StateDocument(Struct, frozen=True, kw_only=True):
    """The content of one file. `project`, the subject's path, is for people who look into it."""

    version: int = VERSION
    project: str = ""
    state: EditState | None = field(default=None, name="standing")


class EditStateFiles:
    """The states in a folder, which is created when it is needed. A subject is named by an absolute path.

    `limit`: bytes of one file.
    """

    def __init__(self, folder: Path, limit: int, incidents: Incidents | None = None) -> None:
        """Without `incidents` nothing is remembered: others write here too."""
        self._folder = folder
        self._limit = limit
        self._incidents = incidents
        self._written: OrderedDict[Path, EditState] = OrderedDict()
        self._swept = False

    def read(self, subject: str) -> EditState | None:
        """Return the stored state of this subject, None if none can be read. Never raises."""
        path = self._path(subject)
        if path is None:
            return None
        found = self._read(path)
        known = self._written.get(path)
        if known is None or found == known or self._incidents is None:
            return found
        self._incidents.report(
            f"Supervisor: {path} was {'removed' if found is None else 'changed'}, and not by Supervisor. "
            "What was in force is restored."
        )
        try:
            self.write(subject, known)
        except OSError as error:
            log.warning("%s could not be restored: %s", path, error)
        return known

    def _read(self, path: Path) -> EditState | None:
        try:
            return read_usable_state(path, _StateDocument, self._limit).state
        except OSError as error:
            log.warning("%s cannot be read: %s", path, error)
            return None

    def write(self, subject: str, state: EditState) -> None:
        """Store a state. Raises OSError.

        Stores nothing for a subject whose path is not valid UTF-8.
        """
        path = self._path(subject)
        if path is None:
            return
        ensure_folder(self._folder)
        if not self._swept:
            remove_stale_temporaries(self._folder)
            self._swept = True
        if not path.exists():
            self._make_room()
        try:
            data = msgspec.json.encode(_StateDocument(project=os.path.realpath(subject), state=state))
        except UnicodeEncodeError:
            return
        write_whole(path, data + b"\n", durable=state.held is not None)
        self._written[path] = state
        while len(self._written) > FILES:
            self._written.popitem(last=False)

    def _path(self, subject: str) -> Path | None:
        """Return the subject's file, None if its path is not absolute or not valid UTF-8."""
        mark = project_digest(subject)
        return self._folder / f"{mark}.json" if mark else None

    def _make_room(self) -> None:
        files = list(self._folder.glob("*.json"))
        if len(files) < FILES:
            return
        for path in sorted(files, key=lambda file: file.stat().st_mtime)[:DROPPED]:
            if not self._holds(path):
                path.unlink(missing_ok=True)
                self._written.pop(path, None)

    def _holds(self, path: Path) -> bool:
        try:
            state = read_state(path, _StateDocument, self._limit).state
        except (BrokenStateError, OSError):
            return False
        return state is not None and state.held is not None
