"""Gates that end as told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.gate_memory import GateMemory, circumstances
from sidecar.model.gate import Gate, GateRun, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ended(Struct, frozen=True, kw_only=True):
    """How a command ends. Once `released` is set where one is given."""

    outcome: Outcome = Outcome.PASSED
    exit_code: int | None = 0
    failures: tuple[str, ...] = ()
    executed: int | None = None
    reason: str = ""
    released: asyncio.Event | None = None


PASSED = Ended()
FAILED = Ended(outcome=Outcome.FAILED, exit_code=1, failures=("test_a: it failed",))


class ScriptedGates:
    """A `GateRunner` without processes. It remembers passes as the real one does.

    `runner` is what it detects. `ran` lists the commands that were really run, `cancelled` those that were
    cancelled meanwhile.
    """

    def __init__(self, runner: Gate | None = None) -> None:
        self.runner = runner
        self.ran: list[str] = []
        self.cancelled: list[str] = []
        self._memory = GateMemory()
        self._script: dict[str, list[Ended]] = {}

    def script(self, command: str, *ends: Ended) -> None:
        """Say how the next runs of a command end; the last of `ends` holds from then on."""
        self._script[command] = list(ends)

    def detect_tests(self, project: str) -> Gate | None:  # noqa: ARG002 - the port's
        return self.runner

    async def run(
        self, gate: Gate, project: str, tree: str, environment: Mapping[str, str], seconds: float
    ) -> GateRun:
        """End as told; a command that the script does not know is one that was not found."""
        at = circumstances(gate, project, tree, environment)
        known = self._memory.recall(at, gate)
        return known or self._memory.note(at, await self._ended(gate, tree, seconds))

    async def _ended(self, gate: Gate, tree: str, seconds: float) -> GateRun:
        self.ran.append(gate.command)
        blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=tree)
        end = self._next(gate.command)
        if end is None:
            return replace(blank, reason="the script has no such command")
        try:
            async with asyncio.timeout(seconds):
                await self._released(end, gate.command)
        except TimeoutError:
            return replace(blank, reason="it did not end in time")
        said = {
            name: getattr(end, name) for name in ("outcome", "exit_code", "failures", "executed", "reason")
        }
        return replace(blank, **said)

    def _next(self, command: str) -> Ended | None:
        ends = self._script.get(command, [])
        return ends.pop(0) if len(ends) > 1 else next(iter(ends), None)

    async def _released(self, end: Ended, command: str) -> None:
        try:
            if end.released is not None:
                await end.released.wait()
        except asyncio.CancelledError:
            self.cancelled.append(command)
            raise
