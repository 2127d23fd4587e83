"""Chooses the backend that the settings name; `auto` takes the first that works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.model.events import Judged, JudgeFailed
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.model.effects import Case
    from sidecar.model.settings import Settings
    from sidecar.ports import Judge


class ChosenJudge:
    """Implements `Judge` by asking another one, or nobody where rules alone are wanted."""

    def __init__(self, claude: Judge) -> None:
        """`claude`: the host's own model."""
        self._claude = claude

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:
        """The one that the settings name."""
        if settings.judge.backend == "rules":
            return Chosen("", "judge.backend = rules")
        return self._claude.chosen(environment, settings)

    async def ask(
        self, case: Case, environment: Mapping[str, str], settings: Settings
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        if settings.judge.backend == "rules":
            return JudgeFailed("no judge model is configured (judge.backend = rules)")
        return await self._claude.ask(case, environment, settings)
