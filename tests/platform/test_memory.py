"""What the adapters in memory do beyond their ports: they move only when told."""

from __future__ import annotations

import asyncio

from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Settings
from support.memory_stores import FixedConfiguration, FixedRubrics, ManualClock, MemorySessionStore


def test_a_manual_clock_stands_still_until_told() -> None:
    clock = ManualClock(100.0)
    assert [clock.now(), clock.now()] == [100.0, 100.0]
    clock.advance(1.5)
    assert clock.now() == 101.5
    clock.advance(-10)
    assert clock.now() == 91.5


async def test_a_pause_ends_when_the_clock_was_moved_so_far() -> None:
    clock = ManualClock()
    pause = asyncio.create_task(clock.pause(5))
    for seconds in (0, 4.5):
        clock.advance(seconds)
        done, _ = await asyncio.wait([pause], timeout=0)
        assert not done
    clock.advance(0.5)
    await asyncio.wait_for(pause, 10)


def test_a_fixed_configuration_may_have_errors() -> None:
    configuration = FixedConfiguration(Settings(max_attempts=1), ("mode: wrong",))
    assert configuration.load() == (Settings(max_attempts=1), ("mode: wrong",))


def test_fixed_rubrics_answer_with_the_one_they_were_given() -> None:
    rubric = Rubric(patterns=(Criterion("a", "b"),), antipatterns=(Criterion("c", "d"),), origin="test")
    assert FixedRubrics(rubric).load("/anywhere", {"HOME": "/x"}) is rubric


def test_a_record_in_memory_may_pretend_that_a_state_was_set_aside() -> None:
    record = MemorySessionStore()
    record.pretend_aside(SessionKey("opencode", "s1"), "edited-1: by hand")
    assert record.set_aside(SessionKey("opencode", "s1")) == ("edited-1: by hand",)
    assert record.set_aside(SessionKey("opencode", "s2")) == ()
