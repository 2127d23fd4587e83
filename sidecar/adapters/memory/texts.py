"""A rubric that was given, and wordings without words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sidecar.adapters.phrasebook import plain_continuation, plain_goal_context
from sidecar.adapters.rubric import LAST_RESORT

if TYPE_CHECKING:
    from sidecar.model.effects import Feedback
    from sidecar.model.rubric import Rubric
    from sidecar.ports import Environment, Writes


class FixedRubrics:
    """Rubrics that always answer with the same one; what is held in it can be accepted.

    `looks` are the writes of which each look was told.
    """

    def __init__(self, rubric: Rubric = LAST_RESORT) -> None:
        self.looks: list[Writes | None] = []
        self._rubric = rubric

    def load(
        self,
        project: str,  # noqa: ARG002 - the port's
        environment: Environment,  # noqa: ARG002 - the port's
        writes: Writes | None = None,
    ) -> Rubric:
        self.looks.append(writes)
        return self._rubric

    def accept(self, project: str, environment: Environment) -> str:  # noqa: ARG002 - the port's
        held, self._rubric = self._rubric.held, replace(self._rubric, held=None)
        return f"in force now: {held.path}: {held.summary}" if held else "nothing is held"

    def begin(self, project: str) -> tuple[str, bool]:  # noqa: ARG002 - the port's
        return self._rubric.origin, False


class PlainPhrasebook:
    """The Phrasebook that PhrasebookFiles falls back to: labels and data."""

    def continuation(self, feedback: Feedback) -> str:
        return plain_continuation(feedback)

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        return plain_goal_context(condition, checks, budget)
