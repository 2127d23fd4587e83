"""A judge that answers as told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sidecar.model.events import Judged, JudgeFailed
from sidecar.model.verdict import Judgement, Verdict
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.model.effects import Case
    from sidecar.model.settings import Settings


class ScriptedJudge:
    """A `Judge` without a model.

    It gives its answers in order and fails when they are used up. `cases` is what it was asked, `cancelled`
    counts the questions that were taken back. While `released` is not set, it thinks.
    """

    def __init__(self, *answers: Verdict | Judged | JudgeFailed) -> None:
        self._answers = list(answers)
        self.cases: list[Case] = []
        self.cancelled = 0
        self.released = asyncio.Event()
        self.released.set()

    def script(self, *answers: Verdict | Judged | JudgeFailed) -> None:
        """Say more answers."""
        self._answers += answers

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        """Itself."""
        return Chosen("scripted", "a script answers")

    async def ask(
        self,
        case: Case,
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
        settings: Settings,  # noqa: ARG002 - the port's
    ) -> Judged | JudgeFailed:
        """Give the next answer."""
        self.cases.append(case)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        answer = self._answers.pop(0) if self._answers else JudgeFailed("the script has no answer left")
        if isinstance(answer, Judged | JudgeFailed):
            return answer
        return Judged(Judgement(verdict=answer, backend="scripted"))
