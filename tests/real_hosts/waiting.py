"""Waiting for what nobody tells of: look, and look again. A long bound costs nothing where all is well."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

WAIT_LIMIT_S: Final = 180.0
"""Longest time, in seconds, of a wait; two cores may have several hosts to run."""
LOOK_EVERY_S: Final = 0.05

_T = TypeVar("_T")


class Decides(Protocol):
    """A host under supervision."""

    def stops(self) -> list[str]:
        """What was decided at each stop, oldest first."""


def until(look: Callable[[], _T], lack: str) -> _T:
    """Look until something true is found, and return it; raises `TimeoutError`."""
    pause, end = threading.Event(), time.monotonic() + WAIT_LIMIT_S
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"{lack} within {WAIT_LIMIT_S:g} s")
        pause.wait(LOOK_EVERY_S)
    return found


def decided(under: Decides, word: str) -> None:
    """Wait until a stop was decided so (a regular expression)."""
    until(lambda: any(re.fullmatch(word, one) for one in under.stops()), f"no stop was decided {word}")
