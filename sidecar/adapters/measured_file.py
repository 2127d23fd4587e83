"""How often criteria were right when they were measured last: `measured.json` in the state folder."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from sidecar.adapters.files import ensure_folder, set_aside, write_whole
from sidecar.adapters.state_json import BrokenError, read_state
from sidecar.model.kept import Measured
from sidecar.policy.firing import measured

if TYPE_CHECKING:
    from sidecar.model.evaluation import Outcome
    from sidecar.model.rubric import Rubric
    from sidecar.ports import Clock

VERSION: Final = 1
NAME: Final = "measured.json"
FILE_LIMIT: Final = 256 * 1024
"""Bytes of the file."""
CRITERIA: Final = 500
"""Criteria and rules that are remembered; beyond, those go that were measured first."""

log = logging.getLogger(__name__)


class _Book(Struct, frozen=True, kw_only=True):
    """Figures by the id of the criterion or rule, those measured last at the end."""

    version: int = VERSION
    figures: dict[str, Measured] = field(default_factory=dict)


class MeasuredFile:
    """The figures in a state folder. `supervisor eval` writes them; of two at once the later one wins."""

    def __init__(self, state: Path, clock: Clock) -> None:
        self._path = state / NAME
        self._clock = clock

    def keep(self, outcomes: Iterable[Outcome], rubric: Rubric, by: str) -> None:
        """Keep what these stops say of each criterion that spoke; raises OSError. `by`: who judged."""
        today = dt.datetime.fromtimestamp(self._clock.now(), tz=dt.UTC).date().isoformat()
        new = measured(outcomes, rubric, on=today, by=by)
        try:
            known = read_state(self._path, _Book, FILE_LIMIT).figures
        except BrokenError as error:
            set_aside(self._path, error.fault, str(error))
            known = {}
        every = {name: figure for name, figure in known.items() if name not in new} | dict(new)
        ensure_folder(self._path.parent)
        book = _Book(figures=dict([*every.items()][-CRITERIA:]))
        write_whole(self._path, msgspec.json.encode(book) + b"\n")


def figures(state: Path) -> Mapping[str, Measured]:
    """What was measured last, by the id. Never raises: what cannot be read counts as nothing measured."""
    try:
        return read_state(state / NAME, _Book, FILE_LIMIT).figures
    except (BrokenError, OSError) as error:
        log.warning("%s cannot be used: %s", state / NAME, error)
        return {}
