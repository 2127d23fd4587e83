"""The interface of a judge model, and the backend that was chosen for it."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings


class ChosenBackend(Struct, frozen=True):
    """Which backend judges, or "" if none can, and the reason in one line."""

    backend: str
    why: str


class Judge(Protocol):
    """Asks a model about a case."""

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:
        """Return which backend would be asked now, without asking it."""

    async def ask(
        self, case: JudgeCase, environment: Environment, settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        """Ask once. A broken backend raises nothing: JudgeFailed says why. Cancelling ends the request."""
