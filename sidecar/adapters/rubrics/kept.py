"""Which text of which project's rubric is in force: `rubrics/` in the state folder, a file for each project.

A file says one project's Standing, whole or not at all. One that cannot be used is set aside, and the project
is one that was never looked at. Projects are the folders that they resolve to. Sidecar and command line both
write, each at one stroke; the later one wins, and the next look puts right what it finds.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.files import ensure_folder, set_aside, sweep, write_whole
from sidecar.adapters.paths import mark_of
from sidecar.adapters.state_json import BrokenError, read_state
from sidecar.policy.rubrics import Standing

VERSION: Final = 1
FILE_LIMIT: Final = 256 * 1024
"""Bytes of one file: two texts of 8 KiB, each byte of which may need six."""
FILES: Final = 500
"""Projects that are remembered; beyond, those go that stayed the same for longest, but none that is held."""
DROPPED: Final = 50
"""Projects that go at once."""

log = logging.getLogger(__name__)


class _Kept(Struct, frozen=True, kw_only=True):
    """One file. `project` is for people who look into it."""

    version: int = VERSION
    project: str = ""
    standing: Standing | None = None


class KeptRubrics:
    """The Standings in a folder, which is made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._swept = False

    def read(self, project: str) -> Standing | None:
        """What was kept of this project, None where nothing can be read. Never raises."""
        path = self._path(project)
        if path is None:
            return None
        try:
            return read_state(path, _Kept, FILE_LIMIT).standing
        except BrokenError as error:
            log.warning("%s is set aside: %s", path, error)
            self._set_aside(path, error)
        except OSError as error:
            log.warning("%s cannot be read: %s", path, error)
        return None

    def write(self, project: str, standing: Standing) -> None:
        """Keep it; raises OSError. A project whose path has no text is not kept."""
        path = self._path(project)
        if path is None:
            return
        ensure_folder(self._folder)
        if not self._swept:
            sweep(self._folder)
            self._swept = True
        if not path.exists():
            self._make_room()
        try:
            data = msgspec.json.encode(_Kept(project=os.path.realpath(project), standing=standing))
        except UnicodeEncodeError:
            return
        write_whole(path, data + b"\n", durable=standing.held is not None)

    def _path(self, project: str) -> Path | None:
        """The project's file, None for what is no folder or has no name in UTF-8."""
        mark = mark_of(project)
        return self._folder / f"{mark}.json" if mark else None

    def _set_aside(self, path: Path, error: BrokenError) -> None:
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
            standing = read_state(path, _Kept, FILE_LIMIT).standing
        except (BrokenError, OSError):
            return False
        return standing is not None and standing.held is not None
