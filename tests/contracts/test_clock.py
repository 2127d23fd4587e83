"""What every Clock does."""

from __future__ import annotations

import asyncio

import pytest

from sidecar.platform.ports import Clock, SystemClock
from support.memory_stores import ManualClock

WRITTEN = 1_700_000_000
"""Seconds since the epoch, a day before this test was written."""
BOUND = 60
"""Seconds after which a wait is given up."""


@pytest.fixture(params=(SystemClock, ManualClock))
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


def test_time_is_in_seconds_since_the_epoch(clock: Clock) -> None:
    now = clock.now()
    assert isinstance(now, float)
    assert WRITTEN < now < 100 * WRITTEN


async def test_a_pause_of_no_time_ends_at_once(clock: Clock) -> None:
    await asyncio.wait_for(clock.pause(0), BOUND)
