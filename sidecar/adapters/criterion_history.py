"""How often a criterion spoke in a project lately, and how often it was right when it was measured.

For a process that asks again and again, such as the language server: a file is read once, for kept stops do
not change; a folder is listed again when something in it changed.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from sidecar.adapters.files import stamp
from sidecar.adapters.kept_stops import KeptStopFiles, UnreadableError, read
from sidecar.adapters.measured_file import NAME, figures
from sidecar.model.kept import Fired, History, Measured
from sidecar.policy.firing import Firing, firing, tally

REMEMBERED: Final = 400
"""Files of kept stops of which the firings are remembered: 20 projects."""

log = logging.getLogger(__name__)


class CriterionHistory:
    """Reads the state folder, and writes nothing. Not for several threads at once."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._stops = KeptStopFiles(state)
        self._firings: dict[Path, Firing | None] = {}
        self._project: tuple[object, dict[str, Fired], int] = (None, {}, 0)
        self._measured: tuple[object, dict[str, Measured]] = (None, {})

    def of(self, project: str, criterion_id: str) -> History:
        """What is known of a criterion, by its id. Never raises: what cannot be read says nothing."""
        fired, stops = self._fired(project)
        mine = fired.get(criterion_id, Fired())
        known = self._figures().get(criterion_id)
        return History(
            fired=mine.times,
            stops=stops,
            last=mine.last,
            measured_right=known.right if known else 0,
            measured_of=known.of if known else 0,
            measured_on=known.on if known else "",
            measured_by=known.by if known else "",
        )

    def _fired(self, project: str) -> tuple[dict[str, Fired], int]:
        folder = self._stops.folder(project)
        now = (folder, _stamp(folder) if folder else ())
        if self._project[0] != now:
            firings = [one for path in self._stops.paths(project) if (one := self._firing(path))]
            self._project = (now, dict(tally(firings)), len(firings))
        return self._project[1], self._project[2]

    def _firing(self, path: Path) -> Firing | None:
        """What spoke at the stop of this file, None where it cannot be read."""
        if path not in self._firings:
            try:
                self._firings[path] = firing(read(path))
            except (UnreadableError, OSError) as error:
                log.info("%s cannot be read: %s", path, error)
                self._firings[path] = None
            if len(self._firings) > REMEMBERED:
                del self._firings[next(iter(self._firings))]
        return self._firings[path]

    def _figures(self) -> dict[str, Measured]:
        now = _stamp(self._state / NAME)
        if self._measured[0] != now:
            self._measured = (now, dict(figures(self._state)) if now else {})
        return self._measured[1]


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes when the file or folder does; nothing where there is none."""
    try:
        return stamp(path)
    except OSError:
        return ()
