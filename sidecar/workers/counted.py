"""Counts what several workers of one piece of work took together."""

from __future__ import annotations

from collections.abc import Callable

from sidecar.kernel.settings import Settings
from sidecar.workers.ports import A, WorkerError, WorkerRun, Workers, WorkerTask


class CountedWorkers:
    """Implements `Workers` on others. A worker that failed counts as well."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.tokens = 0
        self.known_cents = 0.0
        self._priced = True

    @property
    def cents(self) -> float | None:
        """What all took, None where a price is unknown."""
        return self.known_cents if self._priced else None

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        try:
            done = await self._workers.run(task, settings, hear)
        except WorkerError as error:
            self._add(error.tokens, error.cents)
            raise
        self._add(done.tokens, done.cents)
        return done

    def _add(self, tokens: int, cents: float | None) -> None:
        self.tokens += tokens
        self.known_cents += cents or 0.0
        self._priced = self._priced and (cents is not None or not tokens)
