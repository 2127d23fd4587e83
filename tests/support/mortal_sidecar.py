"""A real sidecar that kills itself, once or always, at a named step of a stop. Started as a program by tests.

    mortal_sidecar.py STEP LIVES serve

STEP is one of STEPS. It dies as `kill -9` would have it die, while the file LIVES holds a line, and takes one
line off it each time.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sidecar.__main__ import run_sidecar
from sidecar.wiring import sidecar as wiring
from sidecar.wiring import supervision

STEPS = {
    "before reading": ("transcripts", "read", "before"),
    "before the gates": ("gates", "run", "before"),
    "after the gates": ("gates", "run", "after"),
    "before saving": ("store", "save", "before"),
    "after saving, before answering": ("store", "save", "after"),
    "before the log": ("log", "append", "before"),
    "after the log, before answering": ("log", "append", "after"),
}


class Mortal:
    """An adapter that does what the real one does, and dies at one method."""

    def __init__(self, real: object, method: str, when: str, lives: Path) -> None:
        """`when`: before or after the method."""
        self._real, self._method, self._when, self._lives = real, method, when, lives

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return self._deadly(found) if name == self._method else found

    def _deadly(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object, **named: object) -> Any:
            if self._when == "before":
                self._die()
                return method(*arguments, **named)
            answer = method(*arguments, **named)
            if hasattr(answer, "__await__"):
                return self._after(answer)
            self._die()
            return answer

        return call

    async def _after(self, answer: Any) -> Any:
        value = await answer
        self._die()
        return value

    def _die(self) -> None:
        left = self._lives.read_text(encoding="utf-8").splitlines() if self._lives.exists() else []
        if left:
            self._lives.write_text("\n".join(left[1:]), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """Serve as `supervisor serve` does, mortally."""
    step, lives = sys.argv[1], Path(sys.argv[2])
    port, method, when = STEPS[step]
    services = supervision.build_services()
    mortal = Mortal(getattr(services, port), method, when, lives)
    vars(wiring)["build_services"] = lambda: dataclasses.replace(services, **{port: mortal})  # type: ignore[arg-type]
    return run_sidecar()


if __name__ == "__main__":
    sys.exit(main())
