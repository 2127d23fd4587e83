"""Which backend is chosen, how many workers run at once, and that the user's limits hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sidecar.kernel.settings import JudgeSettings, ModelTiers, NamedModel, Settings, WorkerSettings
from sidecar.platform.secrets import SecretForms
from sidecar.workers import backend
from sidecar.workers.backend import WorkerCost, route_model
from sidecar.workers.ports import A, WorkerError, WorkerFailure, WorkerRun, WorkerTask
from sidecar.workers.service import WorkerService, backend_order
from support.memory_stores import MemorySpending
from support.worker_agents import Answer

SETTINGS = Settings(
    models={"cheap": NamedModel(model="p/mini", tier="small"), "best": NamedModel(model="p/max")},
    tiers=ModelTiers(large="p/large"),
    workers=WorkerSettings(models={"tdd_red": "small"}, model="best", gateway_model="coder"),
)


@pytest.mark.parametrize(
    ("asked", "skill", "preset", "routed"),
    [
        ("opus", "tdd_red", "cheap", "opus"),
        ("", "tdd_red", "cheap", "small"),
        ("", "tdd_green", "cheap", "cheap"),
        ("", "tdd_green", "", "best"),
        ("self", "tdd_red", "", "self"),
    ],
)
def test_the_caller_comes_before_the_users_skill_its_own_word_and_the_default(
    asked: str, skill: str, preset: str, routed: str
) -> None:
    assert route_model(asked, skill, SETTINGS, preset=preset) == routed


@pytest.mark.parametrize(
    ("name", "claude", "opencode", "gateway"),
    [
        ("self", "", "s/own", "coder"),
        ("", "", "s/own", "coder"),
        ("cheap", "p/mini", "p/mini", "p/mini"),
        ("small", "p/mini", "p/mini", "p/mini"),
        ("medium", "sonnet", "s/own", "coder"),
        ("large", "p/large", "p/large", "p/large"),
        ("sonnet", "sonnet", "sonnet", "sonnet"),
        ("x/y", "x/y", "x/y", "x/y"),
    ],
)
def test_a_name_is_a_model_of_the_settings_a_tier_or_the_backends_own(
    name: str, claude: str, opencode: str, gateway: str
) -> None:
    assert backend.claude_model(name, SETTINGS) == claude
    assert backend.opencode_model(name, SETTINGS, "s/own") == opencode
    assert backend.gateway_model(name, SETTINGS) == gateway


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, "claude"),
        ({"OPENCODE": "1"}, "opencode"),
        ({"OPENCODE": "1", "CLAUDECODE": "1"}, "claude"),
    ],
)
def test_the_host_of_the_session_comes_first(environment: dict[str, str], first: str) -> None:
    order = backend_order(environment)
    assert order[0] == first
    assert sorted(order) == ["claude", "gateway", "opencode"]


class HeldBackend:
    """Notes who runs, and lets nobody end before `free` is set."""

    def __init__(self, absent: str = "") -> None:
        self.absent = absent
        self.running = 0
        self.started = asyncio.Semaphore(0)
        self.free = asyncio.Event()

    def absence(self, task: WorkerTask[A], settings: Settings) -> str:  # noqa: ARG002 - the port's
        return self.absent

    async def run(
        self,
        task: WorkerTask[A],
        settings: Settings,  # noqa: ARG002 - the port's
        cost: WorkerCost,
        hear: Callable[[str], None],  # noqa: ARG002 - the port's
    ) -> WorkerRun[A]:
        self.running += 1
        cost.calls, cost.tokens, cost.cents = 1, 10, 1.0
        self.started.release()
        await self.free.wait()
        self.running -= 1
        return WorkerRun(answer=task.answer(file="a", ok=True), model="m")


def task() -> WorkerTask[Answer]:
    return WorkerTask(prompt="", answer=Answer, tools=(), model="", project="/", environment={})


def service(backends: dict[str, HeldBackend], spent: MemorySpending | None = None) -> WorkerService:
    return WorkerService(backends, spent or MemorySpending(), SecretForms())


async def test_no_more_run_at_once_than_the_settings_allow() -> None:
    backend = HeldBackend()
    workers = service({"claude": backend})
    runs = [asyncio.create_task(workers.run(task(), Settings(), print)) for _ in range(5)]
    async with asyncio.timeout(30):
        for _ in range(2):
            await backend.started.acquire()
        for _ in range(20):
            await asyncio.wait(runs, timeout=0)
        assert backend.running == 2
        runs[4].cancel()
        backend.free.set()
        done = await asyncio.gather(*runs, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in done] == [False] * 4 + [True]


LIMITS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_cents_per_day": 50.0}, {}),
    ({}, {"daily_cents": 40.0}),
    ({}, {"daily_tokens": 1000}),
]


@pytest.mark.parametrize(("own", "judge"), LIMITS)
async def test_above_a_daily_limit_nothing_is_started(own: dict[str, Any], judge: dict[str, Any]) -> None:
    backend = HeldBackend()
    workers = service({"claude": backend}, MemorySpending(1000, 50.0))
    settings = Settings(workers=WorkerSettings(**own), judge=JudgeSettings(**judge))
    with pytest.raises(WorkerError) as refused:
        await workers.run(task(), settings, print)
    assert refused.value.failure is WorkerFailure.SPENT
    assert backend.started.locked()
    assert " of " in refused.value.message


async def test_the_first_backend_that_can_be_used_works_and_each_reason_is_told_where_none_can() -> None:
    there = HeldBackend()
    there.free.set()
    names = {"claude": HeldBackend("no claude"), "opencode": HeldBackend("no opencode"), "gateway": there}
    assert (await service(names).run(task(), Settings(), print)).model == "m"
    there.absent = "no gateway"
    with pytest.raises(WorkerError, match="no claude; no opencode; no gateway; install") as failed:
        await service(names).run(task(), Settings(), print)
    assert failed.value.failure is WorkerFailure.NOT_STARTED
