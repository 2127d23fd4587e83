"""The user's own commands around sessions and iterations, from the user's configuration alone (law 12).

Each runs in a process group of its own within a deadline, and is told what happened by variables named
SUPERVISOR_RUN_*. What they print is bounded, and masked before an agent reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.adapters import processes
from sidecar.adapters.text import middle_out, plain
from sidecar.model.iterations import Hooked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sidecar.model.settings import RunHooks
    from sidecar.ports import Environment, Mask

KEEP: Final = 16_384
"""Bytes of one hook's output."""
PRINTED: Final = 6_000
"""Characters of what the hooks of one name printed together."""
FACT: Final = 4_000
"""Characters of one variable."""


class UserHooks:
    """Implements app.iterations.Hooks."""

    def __init__(self, hooks: RunHooks, environment: Environment, mask: Mask, seconds: float) -> None:
        """`seconds`: deadline of one command."""
        self._hooks = hooks
        self._environment = environment
        self._mask = mask
        self._seconds = seconds

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[Hooked], None]) -> str:
        commands: tuple[str, ...] = getattr(self._hooks, name)
        printed = [await self._one(name, command, facts, tell) for command in commands]
        return middle_out("\n".join(filter(None, printed)), PRINTED)

    async def _one(
        self, name: str, command: str, facts: Mapping[str, str], tell: Callable[[Hooked], None]
    ) -> str:
        told = {f"SUPERVISOR_RUN_{fact.upper()}": _value(value) for fact, value in facts.items()}
        ended = await processes.run(
            command,
            cwd=facts["project"],
            environment={**self._environment, **told},
            seconds=self._seconds,
            keep=KEEP,
        )
        tell(Hooked(name=name, command=self._mask(command), exit_code=ended.exit_code, trouble=ended.reason))
        return self._mask(plain(ended.output.decode("utf-8", "replace")).strip())


def _value(text: str) -> str:
    """A text that a variable can hold."""
    return middle_out(plain(text), FACT).encode("utf-8", "replace").decode()
