"""Gates that end as told."""

from __future__ import annotations

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.gates.cache import Circumstances, describe_circumstances, may_reuse_pass
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Outcome


class ScriptedEnding(Struct, frozen=True, kw_only=True):
    """How a command ends. Once `released` is set where one is given; before, it `prints`.

    `seconds` is what it says that it took; a failure that took long is not run again at once.
    """

    outcome: Outcome = Outcome.PASSED
    exit_code: int | None = 0
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    executed: int | None = None
    skipped: int | None = None
    percent: float | None = None
    reason: str = ""
    prints: str = ""
    released: asyncio.Event | None = None


PASSED = ScriptedEnding()
FAILED = ScriptedEnding(
    outcome=Outcome.FAILED, exit_code=1, failures=("test_a: it failed",), failing=("test_a",)
)


class ScriptedGates(ProjectGates):
    """A `GateRunner` without processes. It reruns, remembers and takes turns as the real one does.

    A command that the script does not know was not found.

    `ran` lists the commands that were really run, a failure's rerun among them; `cancelled` those that were
    cancelled meanwhile.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.cancelled: list[str] = []
        self._script: dict[str, list[ScriptedEnding]] = {}

    def script(self, command: str, *ends: ScriptedEnding) -> None:
        """Say how the next runs of a command end; the last of `ends` holds from then on."""
        self._script[command] = list(ends)

    async def once(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:
        self.ran.append(gate.command)
        blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree)
        end = self._next(gate.command)
        if end is None:
            return replace(blank, reason="the script has no such command")
        if at.hear:
            at.hear(end.prints)
        try:
            async with asyncio.timeout(seconds):
                await self._released(end, gate.command)
        except TimeoutError:
            return replace(blank, reason="it did not end in time")
        return replace(blank, **{name: getattr(end, name) for name in COPIED_FIELDS})

    async def circumstances(self, gate: Gate, at: GateContext) -> Circumstances | None:
        """Only what the caller says, for nothing is looked at."""
        return describe_circumstances(gate, at) if may_reuse_pass(gate) else None

    def _next(self, command: str) -> ScriptedEnding | None:
        ends = self._script.get(command, [])
        return ends.pop(0) if len(ends) > 1 else next(iter(ends), None)

    async def _released(self, end: ScriptedEnding, command: str) -> None:
        try:
            if end.released is not None:
                await end.released.wait()
        except asyncio.CancelledError:
            self.cancelled.append(command)
            raise


COPIED_FIELDS = tuple(name for name in ScriptedEnding.__struct_fields__ if name not in ("released", "prints"))
"""What a run takes over from how it was told to end."""
