"""Which backend is chosen, how many workers run at once, and that the user's limits hold."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.settings import (
    JudgeSettings,
    ModelTiers,
    NamedModel,
    Settings,
    TokenUsage,
    WorkerSettings,
)
from sidecar.platform.limits import WORKED_TRIES
from sidecar.platform.secrets import SecretForms
from sidecar.wiring.headless import build_workers
from sidecar.workers import backend
from sidecar.workers.backend import WorkerCost, route_model
from sidecar.workers.budget import Budget
from sidecar.workers.ports import A, WorkerError, WorkerFailure, WorkerPlace, WorkerRun, WorkerTask
from sidecar.workers.service import WorkerService, backend_order
from support.limits import LimitRoom
from support.memory_stores import MemorySpending
from support.table import over_table
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
        ({"GEMINI_SESSION_ID": "s"}, "gemini"),
        ({"CODEX_SESSION_ID": "s"}, "codex"),
        ({"COPILOT_CLI": "1"}, "claude"),
    ],
)
def test_the_host_of_the_session_comes_first(environment: dict[str, str], first: str) -> None:
    order = backend_order(environment)
    assert order[0] == first
    assert sorted(order) == ["claude", "codex", "gateway", "gemini", "opencode"]


class HeldBackend:
    """Notes who runs, and lets nobody end before `free` is set."""

    def __init__(self, absent: str = "") -> None:
        self.absent = absent
        self.running = self.calls = 0
        self.started = asyncio.Semaphore(0)
        self.free = asyncio.Event()

    def absence(self, at: WorkerPlace, settings: Settings) -> str:  # noqa: ARG002 - the port's
        return self.absent

    def model(self, at: WorkerPlace, settings: Settings) -> str:
        return backend.gateway_model(at.model, settings)

    def tells_cost(self, settings: Settings) -> bool:  # noqa: ARG002 - the port's
        return False

    async def run(
        self,
        task: WorkerTask[A],
        settings: Settings,  # noqa: ARG002 - the port's
        cost: WorkerCost,
        hear: Callable[[str], None],  # noqa: ARG002 - the port's
    ) -> WorkerRun[A]:
        self.running += 1
        self.calls += 1
        cost.calls, cost.usage, cost.told = 1, TokenUsage(input=10), 1.0
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
    async with asyncio.timeout(60):
        for _ in range(2):
            await backend.started.acquire()
        for _ in range(20):
            await asyncio.wait(runs, timeout=0)
        assert backend.running == 2
        runs[4].cancel()
        backend.free.set()
        done = await asyncio.gather(*runs, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in done] == [False] * 4 + [True]


async def test_under_a_limit_the_first_works_alone_and_as_many_others_as_fit_in() -> None:
    held, spending = HeldBackend(), MemorySpending()
    workers = WorkerService({"claude": held}, spending, SecretForms(), Budget(spending, max_tokens=35))
    settings = Settings(workers=WorkerSettings(parallel=4))
    runs = [asyncio.create_task(workers.run(task(), settings, print)) for _ in range(5)]
    at_once = []
    async with asyncio.timeout(60):
        while not all(run.done() for run in runs):
            for _ in range(20):
                await asyncio.wait(runs, timeout=0)
            at_once.append(held.running)
            held.free.set()
            held.free = asyncio.Event()
    failed = [error.failure for run in runs if isinstance(error := run.exception(), WorkerError)]
    assert (at_once[:2], failed) == ([1, 2], [WorkerFailure.SPENT] * 2)


class LimitedBackend(HeldBackend):
    """Its service answers nothing to the first."""

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        done = await super().run(task, settings, cost, hear)
        if self.calls == 1:
            limit = ServiceLimit(account="", until=0.0, said="usage limit reached")
            raise WorkerError(WorkerFailure.LIMITED, "claude: usage limit reached", limit=limit)
        return done


@pytest.mark.parametrize("waits", [True, False])
async def test_a_limited_service_is_waited_for_where_a_person_waits(*, waits: bool) -> None:
    """In the sidecar an agent's call would wait for hours: there it ends with the words of the service."""
    backend, room, spent = LimitedBackend(), LimitRoom(), MemorySpending()
    backend.free.set()
    budget = Budget(spent, limits=room.limits() if waits else None)
    workers = WorkerService({"claude": backend}, spent, SecretForms(), budget)
    if not waits:
        with pytest.raises(WorkerError) as failed:
            await workers.run(task(), Settings(), print)
        assert failed.value.is_final()
        assert failed.value.message == "claude: usage limit reached"
        return
    done = await workers.run(task(), Settings(), print)
    assert (backend.calls, done.tokens, done.cents) == (2, 20, 2.0)
    assert [one.said for one in room.told] == ["usage limit reached"]


class WorkingLimitedBackend(HeldBackend):
    """It works each time, and then its service answers nothing."""

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        await super().run(task, settings, cost, hear)
        limit = ServiceLimit(account="", until=0.0, said="usage limit reached")
        raise WorkerError(WorkerFailure.LIMITED, "usage limit reached", limit=limit)


async def test_a_worker_that_worked_and_met_a_limit_each_time_fails_with_all_that_it_took() -> None:
    backend, spent = WorkingLimitedBackend(), MemorySpending()
    backend.free.set()
    budget = Budget(spent, limits=LimitRoom().limits())
    with pytest.raises(WorkerError) as failed:
        await WorkerService({"claude": backend}, spent, SecretForms(), budget).run(task(), Settings(), print)
    assert (backend.calls, failed.value.tokens, failed.value.cents) == (WORKED_TRIES, 30, 3.0)


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


SMALL = NamedModel(model="p/mini", tier="small", input_cents=10.0, output_cents=40.0)
TIERS = ("small", "medium", "large")
COMMAND = (sys.executable, "-c", "")


def places(path: Path) -> list[WorkerPlace]:
    """Each tier, where the programs are those of a folder."""
    at = WorkerPlace(model="", project=str(path / "p"), environment={"PATH": str(path)})
    return [replace(at, model=tier) for tier in TIERS]


GATEWAY = Settings(
    models={"cheap": SMALL},
    workers=WorkerSettings(backend="gateway", gateway_url="http://localhost:1", gateway_model="coder"),
)


@over_table(
    "settings,limited,models",
    [
        (Settings(), False, {"small": "haiku", "medium": "sonnet", "large": "opus"}),
        (Settings(workers=WorkerSettings(backend="opencode")), False, dict.fromkeys(TIERS, "self")),
        (
            Settings(workers=WorkerSettings(backend="command", command=COMMAND)),
            False,
            dict.fromkeys(TIERS, "self"),
        ),
        (
            Settings(workers=WorkerSettings(backend="command", command=(*COMMAND, "-m{model}"))),
            False,
            {"small": "haiku", "medium": "sonnet", "large": "opus"},
        ),
        (GATEWAY, False, {"small": "p/mini", "medium": "coder", "large": "coder"}),
        (GATEWAY, True, {"small": "p/mini"}),
        (replace(GATEWAY, workers=replace(GATEWAY.workers, gateway_model="")), False, {"small": "p/mini"}),
    ],
)
def test_a_rung_is_a_model_that_a_worker_would_really_run_on(
    tmp_path: Path, settings: Settings, models: dict[str, str], *, limited: bool
) -> None:
    for host in ("claude", "opencode"):
        (tmp_path / host).write_text("#!/bin/sh")
        (tmp_path / host).chmod(0o755)
    workers = build_workers(tmp_path, MemorySpending(), SecretForms())
    assert workers.models(places(tmp_path), settings, limited=limited) == models


@over_table(
    "workers,spent,limited,told",
    [
        ({}, 0.0, False, "`claude` is not on the session's PATH; `opencode` is not"),
        ({"backend": "command", "command": ("./no-such-program",)}, 0.0, False, "no program that can be run"),
        (
            {"backend": "command", "command": COMMAND, "max_cents_per_day": 5.0},
            5.0,
            False,
            "5 of 5 cents today",
        ),
        (
            {"backend": "command", "command": COMMAND, "max_cents_per_day": 5.0},
            0.0,
            False,
            "no price of self",
        ),
        ({"backend": "command", "command": COMMAND}, 0.0, True, "no price of self"),
        (
            {"backend": "gateway", "gateway_url": "http://localhost:1", "gateway_model": "m"},
            0.0,
            True,
            'set [price."m"]',
        ),
    ],
)
def test_what_no_model_can_mend_is_told_before_anything_is_started(
    tmp_path: Path, workers: dict[str, Any], spent: float, told: str, *, limited: bool
) -> None:
    settings, spending = Settings(workers=WorkerSettings(**workers)), MemorySpending(1, spent)
    built = build_workers(tmp_path, spending, SecretForms())
    with pytest.raises(WorkerError, match=re.escape(told)) as refused:
        built.models(places(tmp_path), settings, limited=limited)
    assert refused.value.is_final()


def test_the_same_failure_twice_is_final_and_another_is_not() -> None:
    def exited(output: str) -> WorkerError:
        return WorkerError(WorkerFailure.EXITED, "it ended with exit code 1", output)

    assert exited("12:01 no licence").is_final(exited("12:00 no licence"))
    assert not exited("no licence").is_final(exited("disk full"))
    assert not exited("no licence").is_final()


async def test_the_first_backend_that_can_be_used_works_and_each_reason_is_told_where_none_can() -> None:
    there = HeldBackend()
    there.free.set()
    absent = {name: HeldBackend(f"no {name}") for name in ("claude", "opencode", "gemini", "codex")}
    names = {**absent, "gateway": there}
    assert (await service(names).run(task(), Settings(), print)).model == "m"
    there.absent = "no gateway"
    with pytest.raises(
        WorkerError, match="no claude; no opencode; no gemini; no codex; no gateway; install"
    ) as failed:
        await service(names).run(task(), Settings(), print)
    assert failed.value.failure is WorkerFailure.NOT_STARTED
