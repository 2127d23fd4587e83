"""Reports the steps of a long call, again and again while it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from sidecar.platform.ports import Clock
from sidecar.servers.tools.tool import ToolInvocation

BEAT_S: Final = 10.0
"""Seconds between two progress reports; hosts give up on a call from which they hear nothing."""

T = TypeVar("T")


async def with_steps(
    clock: Clock, call: ToolInvocation, work: Callable[[Callable[[str], None]], Awaitable[T]]
) -> T:
    """Do the work, which is given a function that tells each step."""
    steps = [""]

    async def report() -> None:
        while True:
            await call.report(float(len(steps)), float(len(steps) + 1), steps[-1])
            await clock.pause(BEAT_S)

    reporting = asyncio.create_task(report())
    try:
        return await work(steps.append)
    finally:
        reporting.cancel()
