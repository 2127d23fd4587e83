"""What asyncio lacks for work that runs side by side, or that must not be cut short."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")
T = TypeVar("T")


class Deadline:
    """What is kept of requests: the time left, and as `trouble` the last fault met by trying again."""

    def __init__(self, seconds: float) -> None:
        self.trouble = ""
        self._until = asyncio.get_running_loop().time() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._until - asyncio.get_running_loop().time()

    def begin(self) -> None:
        """Note a request that is sent."""

    def refused(self) -> None:
        """Note that it was refused and costs nothing."""


async def gather_or_cancel(*work: Coroutine[object, object, T]) -> list[T]:
    """Run coroutines concurrently. The first exception is raised once the others are cancelled and over."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def run_with_limit(
    items: Iterable[Item], work: Callable[[Item], Awaitable[T]], at_once: int
) -> tuple[T, ...]:
    """Run `work` for every item, at most `at_once` at a time; return the results in item order.

    An exception in one of them cancels the others and is raised. Cancelling this call cancels the running
    tasks.
    """
    free = asyncio.Semaphore(max(1, at_once))

    async def one(item: Item) -> T:
        async with free:
            return await work(item)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item)) for item in items]
    return tuple(task.result() for task in tasks)


async def run_to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for work to its end, also where this task is cancelled meanwhile; then raise that."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()
