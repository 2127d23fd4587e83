"""Runs workers: chooses the backend, waits for a free place, holds the user's limits, masks secrets.

What every worker spent is added to the user's spending of the day, however it ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from msgspec.structs import replace

from sidecar.hosts.limits import account_name
from sidecar.hosts.opencode.link import get_session_context
from sidecar.hosts.shared import AGENT_SIGNS, HOST_ALIASES
from sidecar.kernel.log import WorkerRan
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings, TokenUsage, answer_price_cents, model_prices
from sidecar.platform.limits import WORKED_TRIES
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.ports import SecretDetector
from sidecar.workers.backend import Backend, WorkerCost
from sidecar.workers.budget import Budget
from sidecar.workers.ports import A, WorkerError, WorkerFailure, WorkerPlace, WorkerRun, WorkerTask


class WorkerService:
    """Implements `Workers`."""

    def __init__(
        self,
        backends: Mapping[str, Backend],
        spending: DailySpending,
        secrets: SecretDetector,
        budget: Budget | None = None,
    ) -> None:
        """`backends`: by their names in the settings. `budget`: of the session whose workers these are."""
        self._backends = backends
        self._budget = budget or Budget(spending)
        self._secrets = secrets
        self._running = 0
        self._ended = asyncio.Condition()

    def models(self, wanted: Iterable[WorkerPlace], settings: Settings, *, limited: bool) -> dict[str, str]:
        found, failed = {}, None
        for at in wanted:
            try:
                found[at.model] = self._choose(at, settings, limited=limited)[1].model
            except WorkerError as error:
                failed = error
        if failed and not found:
            raise failed
        return found

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        """Run one; where its service is limited, it waits, and is run again. What all took counts.

        It fails as any other when it met a limit WORKED_TRIES times after it had worked.
        """
        if (limits := self._budget.limits) is None:
            return await self._run(task, settings, hear)
        name, tokens, cents = self._choose(task, settings)[0], 0, 0.0
        program = settings.workers.command[0] if name == "command" else name
        account, worked = account_name(program, task.environment), 0
        while True:
            try:
                async with limits.turn(account):
                    done = await self._run(task, settings, hear)
            except WorkerError as error:
                tokens, cents = tokens + error.tokens, cents + (error.cents or 0.0)
                worked += error.tokens > 0
                if error.limit is None or worked == WORKED_TRIES:
                    error.tokens, error.cents = tokens, None if error.cents is None else cents
                    raise
                limits.meet(account, error.limit)
            else:
                spent = None if done.cents is None else done.cents + cents
                return replace(done, tokens=done.tokens + tokens, cents=spent)

    async def _run(
        self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        task = replace(task, seconds=task.seconds or float(settings.workers.seconds))
        mask = self._secrets.masker(task.environment)
        async with self._place(settings):
            name, cost = self._choose(task, settings)
            backend, started, failure = self._backends[name], asyncio.get_running_loop().time(), "cancelled"
            try:
                done = await backend.run(task, settings, cost, lambda text: hear(mask(text)))
                failure = ""
            except WorkerError as error:
                failure = error.failure
                told, tokens = (mask(error.message), mask(error.output)), cost.usage.tokens
                limit, cents = error.limit, cost.cents
                raise WorkerError(error.failure, *told, tokens=tokens, cents=cents, limit=limit) from None
            except OSError as error:
                failure = WorkerFailure.NOT_STARTED
                raise WorkerError(failure, f"the worker could not be started: {error}") from None
            finally:
                self._budget.settle(
                    WorkerRan(
                        backend=name,
                        model=cost.model,
                        tokens=cost.usage.tokens,
                        cents=cost.cents,
                        calls=cost.calls,
                        seconds=asyncio.get_running_loop().time() - started,
                        failure=failure,
                        meanwhile=cost.meanwhile,
                    ),
                    settings,
                )
        taken = {"tokens": cost.usage.tokens, "cents": cost.cents, "meanwhile": cost.meanwhile}
        return replace(done, output=mask(done.output), **taken)

    def _choose(
        self, at: WorkerPlace, settings: Settings, *, limited: bool = False
    ) -> tuple[str, WorkerCost]:
        """Return the backend that the settings name, or the first that can be used, and what counts its cost.

        Raises WorkerError.
        """
        if obstacle := self._budget.obstacle(0, settings):
            raise WorkerError(WorkerFailure.SPENT, f"no worker is started: {obstacle.text}")
        wanted = settings.workers.backend
        names = backend_order(at.environment) if wanted == "auto" else (wanted,)
        limited = limited or bool(settings.workers.max_cents_per_day or self._budget.max_cents)
        reasons = []
        for name in names:
            backend = self._backends[name]
            if not (why := backend.absence(at, settings)):
                model, prices = backend.model(at, settings), model_prices(settings)
                priced = answer_price_cents(model, TokenUsage(), prices) is not None
                if priced or not limited or backend.tells_cost(settings):
                    return name, WorkerCost(model=model, prices=prices)
                why = f'a limit in cents is set, and no price of {model} ({name}): set [price."{model}"]'
            reasons.append(why)
        advice = "install one of these programs, or set [workers] in the settings"
        said = f"no agent can be started: {'; '.join(reasons)}; {advice}"
        raise WorkerError(WorkerFailure.NOT_STARTED, said)

    @asynccontextmanager
    async def _place(self, settings: Settings) -> AsyncIterator[None]:
        """Wait until a place is free, and another worker fits into the budget beside those that run."""

        def free() -> bool:
            now, most = self._running, settings.workers.parallel
            return not now or (now < most and not self._budget.obstacle(now, settings))

        async with self._ended:
            await self._ended.wait_for(free)
            self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            await asyncio.shield(asyncio.create_task(self._notify()))

    async def _notify(self) -> None:
        async with self._ended:
            self._ended.notify_all()


AUTO: Final = ("claude", "opencode", "gemini", "codex")
"""The hosts of `auto`, in its order."""


def backend_order(environment: Environment) -> tuple[str, ...]:
    """Return the backends of `auto`: the host that the session runs in comes first."""
    signs = {name: AGENT_SIGNS[HOST_ALIASES.get(name, name)] for name in AUTO}
    named = (name for name in AUTO if not environment.keys().isdisjoint(signs[name]))
    own = "opencode" if get_session_context() is not None else next(named, "claude")
    return (own, *(name for name in AUTO if name != own), "gateway")
