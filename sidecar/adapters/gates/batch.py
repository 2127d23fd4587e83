"""How the gates of one stop are run together, whoever runs a single one.

The laws of this file:

- One batch at a time for each project. A gate's deadline counts the wait for the batch's turn.
- Gates that may run beside others go first, side by side; the others follow one by one.
- A failure is run again at once, where there is time: if it passes then, it is a flaky pass that says what
  failed. It is not run again where no command failed: nothing executed, too little coverage, a remote.
- Only passes are remembered, for the same circumstances. Not a flaky one, and not one during which the files
  moved or could not be seen, or the circumstances changed: that is a pass on nothing that anyone has seen.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.gates.memory import Circumstances, GateMemory
from sidecar.model.gate import REMOTE, Gate, GateRun, Outcome
from sidecar.ports import Progress, Site

AGAIN_S: Final = 60.0
"""A failure that took longer, in seconds, is not run again at once."""
BESIDE: Final = max(1, min(4, os.cpu_count() or 1))
"""Gates that run side by side."""

Look = Callable[[str, Mapping[str, str]], Awaitable[str]]
"""Takes a project and the session's environment; see ports.Workspace."""
Once = Callable[[Gate, Site, float], Awaitable[GateRun]]
"""Runs a gate once, within seconds."""
Key = Callable[[Gate, Site], Awaitable[Circumstances | None]]
"""What a pass depends on; None where it may not be remembered."""


class Hands(Struct, frozen=True, kw_only=True):
    """What a batch works with. `look` tells the tree as it is now; without it the caller's word holds."""

    once: Once
    key: Key
    memory: GateMemory
    look: Look | None = None


class _Ended(Struct, frozen=True):
    """A run, and what it depended on when it began."""

    run: GateRun
    key: Circumstances | None = None

    @property
    def passed_now(self) -> bool:
        return self.run.outcome is Outcome.PASSED and not self.run.cached


class Batches:
    """Runs batches, one at a time for each project."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self, gates: Sequence[Gate], at: Site, seconds: float, progress: Progress | None = None
    ) -> tuple[GateRun, ...]:
        """Run gates, after those of the same project that came before; in the order asked for."""
        if not gates:
            return ()
        batch = _Batch(self._hands, at, seconds, progress)
        turn = self._turns.setdefault(at.project, asyncio.Lock())
        try:
            async with asyncio.timeout(max(map(batch.limit, gates))):
                await turn.acquire()
        except TimeoutError:
            return tuple([await batch.told(gate, batch.late) for gate in gates])
        try:
            return await batch.run(gates)
        finally:
            turn.release()


class _Batch:
    def __init__(self, hands: Hands, at: Site, seconds: float, progress: Progress | None) -> None:
        self._hands = hands
        self._at = at
        self._seconds = seconds
        self._progress = progress
        self._clock = asyncio.get_running_loop().time
        self._asked = self._begun = self._clock()

    def limit(self, gate: Gate) -> float:
        """A gate's own deadline in seconds, else the batch's."""
        return self._seconds if gate.seconds is None else gate.seconds

    async def late(self, gate: Gate) -> GateRun:
        """What becomes of a gate whose time went by with waiting."""
        reason = f"other checks of this project took all of {self.limit(gate):g} s"
        return GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=self._at.tree, reason=reason)

    async def told(self, gate: Gate, work: Callable[[Gate], Awaitable[GateRun]]) -> GateRun:
        """Do something with a gate, and tell when it begins and when it has ended."""
        if self._progress:
            self._progress(gate, None)
        run = await work(gate)
        if self._progress:
            self._progress(gate, run)
        return run

    async def run(self, gates: Sequence[Gate]) -> tuple[GateRun, ...]:
        self._begun = self._clock()
        beside = [number for number, gate in enumerate(gates) if not gate.alone]
        alone = [number for number, gate in enumerate(gates) if gate.alone]
        ended: dict[int, GateRun] = {}
        for group in (beside, *([number] for number in alone)):
            runs = await self._side_by_side([gates[number] for number in group])
            ended |= zip(group, await self._kept(runs), strict=True)
        return tuple(ended[number] for number in range(len(gates)))

    async def _side_by_side(self, gates: Sequence[Gate]) -> list[_Ended]:
        room = asyncio.Semaphore(BESIDE)

        async def one(gate: Gate) -> _Ended:
            async with room:
                key = await self._hands.key(gate, self._at)
                return _Ended(await self.told(gate, partial(self._one, key)), key)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(gate)) for gate in gates]
        return [task.result() for task in tasks]

    async def _one(self, key: Circumstances | None, gate: Gate) -> GateRun:
        """Recall a gate's pass, else run it in what the wait for the turn has left of its time."""
        if key and (known := self._hands.memory.recall(key, gate)):
            return known
        left = self.limit(gate) - (self._begun - self._asked)
        run = await self._tried(gate, left) if left > 0 else await self.late(gate)
        return self._hands.memory.weigh(key, run) if key else run

    async def _tried(self, gate: Gate, seconds: float) -> GateRun:
        """Run a gate, and a failure once more."""
        until = self._clock() + seconds
        first = await self._hands.once(gate, self._at, seconds)
        left = until - self._clock()
        if not _by_luck(first) or left <= first.seconds:
            return first
        return settled(first, await self._hands.once(gate, self._at, left))

    async def _kept(self, ended: Sequence[_Ended]) -> list[GateRun]:
        """Look at the tree after runs of which one passed; remember the passes."""
        runs = [one.run for one in ended]
        if not any(one.passed_now for one in ended):
            return runs
        if (
            self._hands.look
            and await self._hands.look(self._at.project, self._at.environment) != self._at.tree
        ):
            return [replace(one.run, moved=True) if one.passed_now else one.run for one in ended]
        for one in ended:
            if one.passed_now and one.key and one.key == await self._hands.key(one.run.gate, self._at):
                self._hands.memory.keep(one.key, one.run)
        return runs


def _by_luck(run: GateRun) -> bool:
    """Whether a failure may go away when it is run again. Asking a remote twice tells nothing of luck."""
    if run.gate.kind in REMOTE:
        return False
    return run.outcome is Outcome.FAILED and run.exit_code != 0 and run.seconds <= AGAIN_S


def settled(first: GateRun, second: GateRun) -> GateRun:
    """What a failure and the run after it come to. One that could not be run again stays a failure."""
    seconds = first.seconds + second.seconds
    if second.outcome is Outcome.COULD_NOT_RUN:
        return first
    if second.outcome is Outcome.PASSED:
        return replace(second, seconds=seconds, flaky=True, failures=first.failures)
    return replace(second, seconds=seconds)
