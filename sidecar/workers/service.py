"""Runs workers: chooses the backend, waits for a free place, holds the user's limits, masks secrets.

What every worker spent is added to the user's spending of the day, however it ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec.structs import replace

from sidecar.hosts.opencode.link import get_session_context
from sidecar.kernel.log import WorkerRan
from sidecar.kernel.session import Environment, reached_worker_limit
from sidecar.kernel.settings import Settings
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.ports import SecretDetector
from sidecar.workers.backend import Backend, WorkerCost
from sidecar.workers.ports import A, WorkerError, WorkerFailure, WorkerRun, WorkerTask

log = logging.getLogger(__name__)


class WorkerService:
    """Implements `Workers`."""

    def __init__(
        self, backends: Mapping[str, Backend], spending: DailySpending, secrets: SecretDetector
    ) -> None:
        """`backends`: by their names in the settings."""
        self._backends = backends
        self._spending = spending
        self._secrets = secrets
        self._running = 0
        self._ended = asyncio.Condition()

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        task = replace(task, seconds=task.seconds or float(settings.workers.seconds))
        mask, cost = self._secrets.masker(task.environment), WorkerCost()
        async with self._place(settings.workers.parallel):
            self._check_limit(settings)
            name = self._choose(task, settings)
            backend, started, failure = self._backends[name], asyncio.get_running_loop().time(), "cancelled"
            try:
                done = await backend.run(task, settings, cost, lambda text: hear(mask(text)))
                failure = ""
            except WorkerError as error:
                failure = error.failure
                raise WorkerError(
                    error.failure,
                    mask(error.message),
                    mask(error.output),
                    tokens=cost.tokens,
                    cents=cost.cents,
                ) from None
            except OSError as error:
                failure = WorkerFailure.NOT_STARTED
                raise WorkerError(failure, f"the worker could not be started: {error}") from None
            finally:
                self._log_end(
                    WorkerRan(
                        backend=name,
                        model=task.model,
                        tokens=cost.tokens,
                        cents=cost.cents,
                        calls=cost.calls,
                        seconds=asyncio.get_running_loop().time() - started,
                        failure=failure,
                        meanwhile=cost.meanwhile,
                    )
                )
        return replace(done, tokens=cost.tokens, cents=cost.cents, output=mask(done.output))

    def _choose(self, task: WorkerTask[A], settings: Settings) -> str:
        """Return the backend that the settings name, or the first that can be used. Raises WorkerError."""
        wanted = settings.workers.backend
        names = backend_order(task.environment) if wanted == "auto" else (wanted,)
        reasons = []
        for name in names:
            if not (why := self._backends[name].absence(task, settings)):
                return name
            reasons.append(why)
        advice = "install one of these programs, or set [workers] in the settings"
        said = f"no agent can be started: {'; '.join(reasons)}; {advice}"
        raise WorkerError(WorkerFailure.NOT_STARTED, said)

    def _check_limit(self, settings: Settings) -> None:
        if reached := reached_worker_limit(self._spending.today(), settings):
            way = "raise the limit in the settings, or go on tomorrow"
            raise WorkerError(WorkerFailure.SPENT, f"no worker is started today: {reached}; {way}")

    def _log_end(self, ran: WorkerRan) -> None:
        try:
            self._spending.add_worker(ran)
        except OSError as error:
            log.warning("the end of a worker could not be written down: %s", error)

    @asynccontextmanager
    async def _place(self, parallel: int) -> AsyncIterator[None]:
        """Wait until fewer than `parallel` workers run."""
        async with self._ended:
            await self._ended.wait_for(lambda: self._running < parallel)
            self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            await asyncio.shield(asyncio.create_task(self._notify()))

    async def _notify(self) -> None:
        async with self._ended:
            self._ended.notify_all()


def backend_order(environment: Environment) -> tuple[str, ...]:
    """Return the backends of `auto`: the host that the session runs in comes first."""
    named = "CLAUDECODE" not in environment and "OPENCODE" in environment
    in_opencode = named or get_session_context() is not None
    hosts = ("opencode", "claude") if in_opencode else ("claude", "opencode")
    return (*hosts, "gateway")
