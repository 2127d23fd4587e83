"""Where the user switched Supervisor off: `switches.json` in the state folder.

The nearest folder that is listed decides. A file that cannot be read may have held a "no": it counts as off,
with the reason (law 4), until the user switches something.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.files import ensure_folder, set_aside, write_whole
from sidecar.adapters.state_json import BrokenError, read_state
from sidecar.ports import BadInputError

VERSION: Final = 1
FILE_LIMIT: Final = 1024 * 1024
"""Bytes of a file that is read: some ten thousand projects."""
SHOWN: Final = 40
"""Characters of a refused path that its message repeats."""


class _Switches(Struct, frozen=True, kw_only=True):
    """`projects_on` are folders below one of `projects_off`."""

    version: int = VERSION
    user_off: bool = False
    projects_off: tuple[str, ...] = ()
    projects_on: tuple[str, ...] = ()


class SwitchFile:
    """The Switches of a state folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "switches.json"

    def off(self, project: str) -> str:
        try:
            switches = read_state(self._path, _Switches, FILE_LIMIT)
        except (BrokenError, OSError) as error:
            return f"off: {self._path} cannot be used ({error}); `supervisor on` or `off` writes it anew"
        if switches.user_off:
            return "off for you"
        return "off for this project" if _nearest(project, switches) in switches.projects_off else ""

    def turn(self, *, on: bool, project: str | None) -> None:
        """Raises BadInputError for a path that cannot be one, OSError."""
        ensure_folder(self._path.parent)
        try:
            switches = read_state(self._path, _Switches, FILE_LIMIT)
        except BrokenError as error:
            set_aside(self._path, error.fault, str(error))
            switches = _Switches()
        changed = _turned(switches, project, on=on)
        write_whole(self._path, msgspec.json.encode(changed) + b"\n", durable=True)


def _turned(switches: _Switches, project: str | None, *, on: bool) -> _Switches:
    if project is None:
        return msgspec.structs.replace(switches, user_off=not on)
    real = _real(project)
    off = tuple(place for place in switches.projects_off if place != real)
    exceptions = tuple(place for place in switches.projects_on if place != real)
    if not on:
        off = (*off, real)
    changed = msgspec.structs.replace(switches, projects_off=off, projects_on=exceptions)
    if on and _nearest(real, changed) in off:
        return msgspec.structs.replace(changed, projects_on=(*exceptions, real))
    return changed


def _nearest(project: str, switches: _Switches) -> str:
    """The listed folder that holds the project and is closest to it, "" where none does."""
    try:
        real = Path(_real(project))
    except BadInputError:
        return ""
    listed = {*switches.projects_off, *switches.projects_on}
    return next((str(place) for place in (real, *real.parents) if str(place) in listed), "")


def _real(project: str) -> str:
    try:
        real = os.path.realpath(project)
        real.encode()
    except (ValueError, OSError) as error:
        raise BadInputError(f"{project[:SHOWN]!r} is no path of a project: {error}") from error
    if not Path(project).is_absolute():
        raise BadInputError(f"{project[:SHOWN]!r} is no absolute path of a project")
    return real
