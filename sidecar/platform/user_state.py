"""Two files of the user's state: spending on judging (spending.json) and off switches (switches.json)."""

from __future__ import annotations

import datetime as dt
import fcntl
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import Spending, add_spending
from sidecar.platform.files import ensure_folder, set_aside, write_whole
from sidecar.platform.incidents import Incidents
from sidecar.platform.state import BrokenStateError, read_state
from sidecar.platform.steering import UNHELD, FilesInForce

if TYPE_CHECKING:
    from sidecar.platform.ports import Clock


VERSION: Final = 1
SPENDING_FILE_LIMIT: Final = 64 * 1024
"""Maximum size of the file in bytes."""
DAYS_KEPT: Final = 31
"""Number of days that are kept."""

log = logging.getLogger(__name__)


class _SpendingDocument(Struct, frozen=True, kw_only=True):
    """The spending of each day, newest last."""

    version: int = VERSION
    days: tuple[Spending, ...] = ()


class SpendingFile:
    """Implements `SpendingStore`. The sidecar and `supervisor eval` may write the file at the same time."""

    def __init__(self, folder: Path, clock: Clock, incidents: Incidents | None = None) -> None:
        self._path = folder / "spending.json"
        self._clock = clock
        self._incidents = incidents
        self._most = Spending(day="")

    def today(self) -> Spending:
        """What was spent today; never less than this process has seen (law 9)."""
        day = self._day()
        try:
            book = read_state(self._path, _SpendingDocument, SPENDING_FILE_LIMIT)
        except (BrokenStateError, OSError) as error:
            log.warning("%s cannot be used: %s", self._path, error)
            book = _SpendingDocument()
        return self._at_least_seen(
            next((spent for spent in book.days if spent.day == day), Spending(day=day))
        )

    def _at_least_seen(self, spent: Spending) -> Spending:
        """Return what was spent on a day, which is never less than this process has seen; report it if so."""
        if self._most.day == spent.day and spent.tokens < self._most.tokens:
            if self._incidents is not None:
                said = f"{self._path} says less than was spent today. What was spent counts"
                self._incidents.report(f"Supervisor: {said}.")
            return self._most
        self._most = spent
        return spent

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        ensure_folder(self._path.parent)
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._add(tokens, cents, calls)

    def _add(self, tokens: int, cents: float | None, calls: int) -> None:
        try:
            book = read_state(self._path, _SpendingDocument, SPENDING_FILE_LIMIT)
        except BrokenStateError as error:
            set_aside(self._path, error.fault, str(error))
            book = _SpendingDocument()
        day = self._day()
        spent = self._at_least_seen(next((one for one in book.days if one.day == day), Spending(day=day)))
        others = tuple(one for one in book.days if one.day != day)
        self._most = add_spending(spent, tokens, cents, calls)
        days = (*others, self._most)[-DAYS_KEPT:]
        write_whole(self._path, msgspec.json.encode(replace(book, days=days)) + b"\n", durable=True)

    def _day(self) -> str:
        return dt.datetime.fromtimestamp(self._clock.now(), tz=dt.UTC).date().isoformat()


# --- Off switches: `switches.json` in the state folder ------------------------------------------------------
# The nearest listed folder decides. A file that cannot be read may have contained an "off": Supervisor counts
# as off, with the reason (law 4), until the user switches something.

SWITCH_FILE: Final = "switches.json"
SWITCH_FILE_LIMIT: Final = 1024 * 1024
"""Maximum size of the file in bytes: enough for about ten thousand projects."""
REFUSED_PATH_SHOWN: Final = 40
"""Maximum characters of a refused path that its message repeats."""


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
        return (
            "off for this project"
            if _nearest_listed_folder(project, switches) in switches.projects_off
            else ""
        )

    def turn(self, *, on: bool, project: str | None) -> None:
        """Raises BadInputError for a path that cannot be a project's, OSError."""
        ensure_folder(self._path.parent)
        try:
            switches = read_state(self._files.path_in_force(self._path), _Switches, SWITCH_FILE_LIMIT)
        except BrokenStateError as error:
            set_aside(self._path, error.fault, str(error))
            switches = _Switches()
        changed = _apply_switch(switches, project, on=on)
        write_whole(self._path, msgspec.json.encode(changed) + b"\n", durable=True)
        self._files.vouch(self._path)


def _apply_switch(switches: _Switches, project: str | None, *, on: bool) -> _Switches:
    if project is None:
        return msgspec.structs.replace(switches, user_off=not on)
    real = _real_project_path(project)
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
    try:
        real = Path(_real_project_path(project))
    except BadInputError:
        return ""
    listed = {*switches.projects_off, *switches.projects_on}
    return next((str(place) for place in (real, *real.parents) if str(place) in listed), "")


def _real_project_path(project: str) -> str:
    try:
        real = os.path.realpath(project)
        real.encode()
    except (ValueError, OSError) as error:
        raise BadInputError(f"{project[:REFUSED_PATH_SHOWN]!r} is no path of a project: {error}") from error
    if not Path(project).is_absolute():
        raise BadInputError(f"{project[:REFUSED_PATH_SHOWN]!r} is no absolute path of a project")
    return real
