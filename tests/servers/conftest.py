"""A sidecar in the test's own event loop, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pytest

from servers.bench import CODE, Bench
from sidecar.servers.control import SidecarControl
from sidecar.servers.serve import open_socket
from sidecar.servers.sidecar import BuildMethods, CallLater, Sidecar, SidecarIntervals


class Start(Protocol):
    def __call__(
        self,
        *,
        pace: SidecarIntervals | None = None,
        build: BuildMethods | None = None,
        later: CallLater | None = None,
        read_code: Callable[[], str] = CODE,
    ) -> Bench: ...


@pytest.fixture
def run_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("run")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
async def start(run_folder: Path) -> AsyncIterator[Start]:
    benches: list[Bench] = []

    def start(
        *,
        pace: SidecarIntervals | None = None,
        build: BuildMethods | None = None,
        later: CallLater | None = None,
        read_code: Callable[[], str] = CODE,
    ) -> Bench:
        bench = Bench(SidecarControl("1.2.3", run_folder / "sidecar.log"))
        sidecar = Sidecar(bench.control, build or bench.methods, pace=pace, later=later, read_code=read_code)
        bench.running = asyncio.create_task(sidecar.run(open_socket("sidecar.sock")))
        benches.append(bench)
        return bench

    yield start
    for bench in benches:
        for caller in bench.callers:
            caller.leave()
            with suppress(ConnectionError):
                await caller.writer.wait_closed()
        bench.control.stop()
        await bench.end()


@pytest.fixture
async def bench(start: Start) -> Bench:
    return start()
