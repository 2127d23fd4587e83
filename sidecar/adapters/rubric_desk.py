"""All that an editor can learn of a rubric: what is wrong with it, and what it did and would have done."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.adapters.rubric import parsed
from sidecar.adapters.rubric_check import RubricCheck
from sidecar.adapters.rubrics.places import RejectedError

if TYPE_CHECKING:
    from sidecar.adapters.criterion_history import CriterionHistory
    from sidecar.model.kept import History
    from sidecar.ports import Environment


class RubricDesk(RubricCheck):
    """A RubricCheck that remembers. `state` is the folder of what Supervisor remembers."""

    def __init__(self, default: Path, own: Environment, state: Path) -> None:
        super().__init__(default, own, state)
        self._state_folder = state
        self._history: CriterionHistory | None = None

    def history(self, path: str, criterion: str) -> History | None:
        """What became of a criterion in the project of the rubric at `path`; None where it has no project."""
        project = self.project(path)
        if not project:
            return None
        if self._history is None:
            from sidecar.adapters.criterion_history import CriterionHistory  # noqa: PLC0415 - when it is asked for

            self._history = CriterionHistory(self._state_folder)
        return self._history.of(project, criterion)

    def replay(self, path: str, text: str) -> str:
        """What this text would have changed at the last stops, in one line. Nobody is asked. In a thread."""
        from sidecar.adapters.kept_stops import STOPS, KeptStopFiles  # noqa: PLC0415 - policy and all is heavy
        from sidecar.app.replay import replay  # noqa: PLC0415 - as above
        from sidecar.policy.replays import summary  # noqa: PLC0415 - as above

        project = self.project(path)
        if not project:
            return "there is no stop to replay: this rubric belongs to no project"
        try:
            rubric = parsed(text)
        except RejectedError as error:
            return f"this text cannot serve: {error}"
        stops = KeptStopFiles(self._state_folder).last(project, STOPS).stops
        return summary(asyncio.run(replay(stops, rubric)))
