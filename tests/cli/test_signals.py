"""Ctrl-C ends a command's work, and a second one cuts its ending short."""

from __future__ import annotations

import asyncio
import signal

import pytest

from sidecar.cli.signals import work_until_signal

LIMIT_S = 60.0
"""Bound of every wait here, in seconds."""


@pytest.mark.parametrize("presses", [1, 2])
async def test_an_interrupt_lets_work_end_tidily_and_a_second_one_does_not(presses: int) -> None:
    ended: list[str] = []

    async def work() -> str:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if presses == 2:
                signal.raise_signal(signal.SIGINT)
                await asyncio.Event().wait()
            ended.append("tidily")
            raise
        return "done"

    async with asyncio.timeout(LIMIT_S) as limit:
        assert await work_until_signal(work()) is None
    assert not limit.expired()
    assert ended == ["tidily"] * (2 - presses)
