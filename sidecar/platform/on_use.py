"""Builds an object when it is first used.

A sidecar answers its first event sooner, and holds less while nobody works, if it does not import what
neither needs: most of what it could import judges stops, runs checks, reads their reports, and serves tools.
The function that builds such an object imports its module.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar, cast

T = TypeVar("T")


def built_on_use(build: Callable[[], T]) -> T:
    """Return what stands for the object of `build`, which is called once, when an attribute is first read."""
    return cast("T", _BuiltOnUse(build))


class _BuiltOnUse(Generic[T]):
    def __init__(self, build: Callable[[], T]) -> None:
        self._build: Callable[[], T] | None = build
        self._built: T | None = None
        self._building = RLock()

    def __getattr__(self, name: str) -> object:
        """Called for the names that this object does not have: those of the other."""
        with self._building:
            if self._build is not None:
                self._built = self._build()
                self._build = None
        return getattr(self._built, name)
