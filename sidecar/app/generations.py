"""Newer events void older work (law 1: the user wins)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from sidecar.model.effects import Reason
from sidecar.model.session import SessionKey

T = TypeVar("T")


class SupersededError(Exception):
    """Something newer happened to the session while its stop was being judged. `reason` says what."""

    def __init__(self, reason: Reason) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason


class Generations:
    """At most one judging per session; raising the generation ends it.

    In memory only: a sidecar that dies takes its judgings with it.
    """

    def __init__(self) -> None:
        """Nothing is being judged."""
        self._running: dict[SessionKey, asyncio.Task[Any]] = {}
        self._why: dict[asyncio.Task[Any], Reason] = {}

    def supersede(self, key: SessionKey, reason: Reason = Reason.SUPERSEDED) -> None:
        """End the judging of this session's stop, if there is one; its outcome is void."""
        task = self._running.pop(key, None)
        if task is not None:
            self._why[task] = reason
            task.cancel()

    def judging(self, key: SessionKey) -> bool:
        """Whether a stop of this session is being judged."""
        return key in self._running

    async def judge(self, key: SessionKey, work: Coroutine[Any, Any, T]) -> T:
        """Run the work as the session's newest; raises SupersededError when something newer came.

        Being cancelled from outside (the host let go) cancels the work and waits for its clean-up.
        """
        self.supersede(key)
        task = asyncio.create_task(work)
        self._running[key] = task
        try:
            outcome = await task
        except asyncio.CancelledError:
            if task in self._why:
                raise SupersededError(self._why[task]) from None
            raise
        else:
            if task in self._why:  # it had ended, but its outcome had not been taken yet
                raise SupersededError(self._why[task])
            return outcome
        finally:
            self._why.pop(task, None)
            if self._running.get(key) is task:
                del self._running[key]
