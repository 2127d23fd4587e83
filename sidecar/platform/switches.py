"""Off switches: switches.json in the state folder.

The nearest listed folder decides. A file that cannot be read may have contained an "off": Supervisor counts
as off, with the reason (law 4), until the user switches something.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.files import ensure_folder, write_whole
from sidecar.platform.paths import real_project_path
from sidecar.platform.state import BrokenStateError, read_state, read_usable_state
from sidecar.platform.steering import UNHELD, FilesInForce

VERSION: Final = 1
SWITCH_FILE: Final = "switches.json"
SWITCH_FILE_LIMIT: Final = 1024 * 1024
"""Maximum size of the file in bytes: enough for about ten thousand projects."""


class _Switches(Struct, frozen=True, kw_only=True):
    """`projects_on` are exceptions: folders below one of `projects_off`."""

    version: int = VERSION
    user_off: bool = False
    projects_off: tuple[str, ...] = ()
    projects_on: tuple[str, ...] = ()


class SwitchFile:
    """Implements `SwitchStore` in a state folder."""

    def __init__(self, folder: Path, files: FilesInForce = UNHELD) -> None:
        self._path = folder / SWITCH_FILE
        self._files = files

    def off(self, project: str) -> str:
        try:
            switches = read_state(self._files.path_in_force(self._path), _Switches, SWITCH_FILE_LIMIT)
        except (BrokenStateError, OSError) as error:
            return f"off: {self._path} cannot be used ({error}); `supervisor on` or `off` writes it anew"
        if switches.user_off:
            return "off for you"
        listed = _nearest_listed_folder(project, switches)
        return "off for this project" if listed in switches.projects_off else ""

    def turn(self, *, on: bool, project: str | None) -> None:
        """Raises BadInputError for a path that cannot be a project's, OSError."""
        ensure_folder(self._path.parent)
        in_force = self._files.path_in_force(self._path)
        switches = read_usable_state(self._path, _Switches, SWITCH_FILE_LIMIT, in_force=in_force)
        changed = _apply_switch(switches, project, on=on)
        write_whole(self._path, msgspec.json.encode(changed) + b"\n", durable=True)
        self._files.vouch(self._path)


def _apply_switch(switches: _Switches, project: str | None, *, on: bool) -> _Switches:
    if project is None:
        return msgspec.structs.replace(switches, user_off=not on)
    real = real_project_path(project)
    off = tuple(place for place in switches.projects_off if place != real)
    exceptions = tuple(place for place in switches.projects_on if place != real)
    if not on:
        off = (*off, real)
    changed = msgspec.structs.replace(switches, projects_off=off, projects_on=exceptions)
    if on and _nearest_listed_folder(real, changed) in off:
        return msgspec.structs.replace(changed, projects_on=(*exceptions, real))
    return changed


def _nearest_listed_folder(project: str, switches: _Switches) -> str:
    """The closest listed folder that is the project or contains it, "" if there is none."""
    listed = {*switches.projects_off, *switches.projects_on}
    try:
        real = Path(real_project_path(project) if listed else "")
    except BadInputError:
        return ""
    return next((str(place) for place in (real, *real.parents) if str(place) in listed), "")
