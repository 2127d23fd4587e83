"""The analysis of rubrics that the server uses: flaws, context, history of criteria, and replays."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from sidecar.judging.labelled_stops import MEASURED_FILE_NAME, read_measured_figures
from sidecar.judging.replays import CriteriaFiring, count_firings, fired_criteria
from sidecar.kernel.rubric import Flaw, RubricContext, RubricOutline
from sidecar.kernel.stop_history import CriterionStats, FiringCount, MeasuredPrecision
from sidecar.platform.clock import SystemClock
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.files import stamp_or_empty
from sidecar.platform.log_readings import STOPS_PER_PROJECT, StopHistory
from sidecar.rubric.files import RejectedRubricError
from sidecar.rubric.reader import parse_rubric
from sidecar.servers.rubric_language.checking import RubricCheck

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


class RubricAnalysis(Protocol):
    """Analyses rubrics. `path` is that of the file, `text` the editor's content, saved or not."""

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:
        """Return all flaws of the text; None if the file is not a rubric."""

    def outline(self, path: str, text: str) -> RubricOutline | None:
        """Return what the judge reads in the text; None if the file is not a rubric."""

    def around(self, path: str) -> RubricContext:
        """Return what the rubric can refer to, as far as it is known, without waiting."""

    def refresh(self, path: str) -> bool:
        """Read the project again; return whether something changed. Slow, so call it in a thread."""

    def beginning(self, path: str) -> str:
        """Return the text of a new rubric."""

    def history(self, path: str, criterion: str) -> CriterionStats | None:
        """Return the statistics of a criterion in the project; `stops` is set even for an unknown ID."""

    def replay(self, path: str, text: str) -> str:
        """Return what the text would have changed at the last stops, in one line. Slow, so use a thread."""


# --- how often a criterion was reported in a project lately, and its measured precision ---------------------
# Made for a process that asks repeatedly, such as the language server: a kept stop is read only once.


CACHED_PROJECTS: Final = 20
"""Maximum number of projects whose criteria are cached."""

log = logging.getLogger(__name__)


class CriterionHistory:
    """Reads the state folder and writes nothing. Not thread-safe."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._stops = StopHistory(EventLogFile(state, SystemClock()))
        self._firings: dict[str, tuple[int, tuple[CriteriaFiring, ...]]] = {}
        self._measured: tuple[object, dict[str, MeasuredPrecision]] = (None, {})

    def of(self, project: str, criterion_id: str) -> CriterionStats:
        """Return the statistics of a criterion. Never raises: unreadable files are ignored."""
        firings = self._fired(project)
        mine = dict(count_firings(firings)).get(criterion_id, FiringCount())
        known = self._figures().get(criterion_id)
        return CriterionStats(
            fired=mine.times,
            stops=len(firings),
            last=mine.last,
            measured_right=known.right if known else 0,
            measured_of=known.of if known else 0,
            measured_on=known.on if known else "",
            measured_by=known.by if known else "",
        )

    def _fired(self, project: str) -> tuple[CriteriaFiring, ...]:
        """Return the criteria reported at each of the project's last stops."""
        position, known = self._firings.pop(project, (0, ()))
        try:
            loaded, position = self._stops.after(project, position)
        except OSError as error:
            log.info("the log cannot be read: %s", error)
            return known
        known = (*known, *map(fired_criteria, loaded.stops))[-STOPS_PER_PROJECT:]
        self._firings[project] = position, known
        if len(self._firings) > CACHED_PROJECTS:
            del self._firings[next(iter(self._firings))]
        return known

    def _figures(self) -> dict[str, MeasuredPrecision]:
        now = stamp_or_empty(self._state / MEASURED_FILE_NAME)
        if self._measured[0] != now:
            self._measured = (now, dict(read_measured_figures(self._state)) if now else {})
        return self._measured[1]


# --- the implementation of RubricAnalysis -------------------------------------------------------------------


class RubricEditorCheck(RubricCheck):
    """A RubricCheck with history and replays. `state` is the state folder of Supervisor."""

    def __init__(self, default: Path, own: Environment, state: Path) -> None:
        super().__init__(default, own, state)
        self._state_folder = state
        self._history: CriterionHistory | None = None

    def history(self, path: str, criterion: str) -> CriterionStats | None:
        """Return a criterion's statistics in the project of the rubric at `path`; None without a project."""
        project = self.project(path)
        if not project:
            return None
        if self._history is None:
            self._history = CriterionHistory(self._state_folder)
        return self._history.of(project, criterion)

    def replay(self, path: str, text: str) -> str:
        """Return in one line what the text would have changed; calls no judge. Slow, so use a thread."""
        from sidecar.judging.replays import summarize_replays  # noqa: PLC0415 - policy and all is heavy
        from sidecar.systems.supervision.replay import replay_stops  # noqa: PLC0415 - as above

        project = self.project(path)
        if not project:
            return "there is no stop to replay: this rubric belongs to no project"
        try:
            rubric = parse_rubric(text)
        except RejectedRubricError as error:
            return f"this text cannot serve: {error}"
        kept = StopHistory(EventLogFile(self._state_folder, SystemClock()))
        stops = kept.last(project, STOPS_PER_PROJECT).stops
        return summarize_replays(asyncio.run(replay_stops(stops, rubric)))
