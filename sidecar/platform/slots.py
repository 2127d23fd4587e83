"""Slots for heavy work: the checks of all processes of one user wait for one another.

- A ticket is a file that its process holds locked while it waits and while it works, from when it is not
  empty. The kernel drops the lock when the process ends, however that happens; who looks next removes the
  file.
- At most `[gates] at_once` are at work, 0 for no limit, and in one project one.
- First come, first served, but a person's session goes before unattended work.
- What a holder starts inherits the name of its ticket, and waits for nothing: the holder waits for it.
- Where the folder cannot be used, nobody waits.

Of the libraries, filelock knows one holder, portalocker several; neither knows an order.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from sidecar.kernel.session import Environment
from sidecar.kernel.text import counted
from sidecar.platform.files import ensure_folder, exclusively, hold_lock
from sidecar.platform.ports import Clock, Configuration

HELD_VARIABLE: Final = "SUPERVISOR_CHECK_SLOT"
"""Names the ticket of whoever started a command, in its environment."""
LOOK_S: Final = 0.2
"""Seconds between two looks at the queue."""
LIGHT_S: Final = 2.0
"""Seconds up to which work needs no slot."""

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Caller:
    """For whom work is done: whether a person waits, who hears of a wait, and seconds waited so far."""

    attended: bool = True
    tell: Callable[[str], None] = log.info
    waited: float = 0.0

    @property
    def excuse(self) -> str:
        """What is added where time ran out; "" where the machine was free."""
        said = f"; the machine was busy: {self.waited:.0f} s went by in the queue of other checks"
        return said if self.waited >= 1 else ""


CALLER: Final[ContextVar[Caller]] = ContextVar("caller")
"""Set by whoever begins work for somebody, for all that it starts."""
HELD: Final[ContextVar[str]] = ContextVar("held", default="")
"""The ticket by which the slot is held in which this runs; "" for none."""


class WorkSlots:
    """The slots of one user. Nothing is created before the first is asked for."""

    def __init__(self, folder: Path, configuration: Configuration, clock: Clock) -> None:
        """`folder`: where tickets are."""
        self._folder, self._configuration, self._clock = folder, configuration, clock

    @asynccontextmanager
    async def hold(self, environment: Environment, project: str = "") -> AsyncIterator[float]:
        """Wait for a slot and hold it; yields the seconds waited.

        `environment`: of whoever asks. `project`: the work is alone in it, "" where it need not be.
        """
        asked, ticket = self._clock.awake(), Path(environment.get(HELD_VARIABLE) or "-").name
        with ExitStack() as held:
            try:
                if not (self._folder / ticket).exists() or not _is_held(self._folder / ticket):
                    ticket = await self._wait(project, held)
            except OSError as error:
                log.warning("checks begin without a slot: %s", error)
            held.callback(HELD.reset, HELD.set(ticket))
            yield self._clock.awake() - asked

    async def _wait(self, project: str, held: ExitStack) -> str:
        """Draw a ticket, and return its name when its work may begin."""
        ensure_folder(self._folder)
        caller, told = CALLER.get(Caller()), 0
        order = f"{1 if caller.attended else 2}-{int(self._clock.awake() * 1e6):016d}-{os.getpid()}"
        ticket = self._folder / f"{order}-{id(held):x}{project and f'.{crc32(os.fsencode(project)):x}'}"
        while True:
            with exclusively(self._folder):  # for about a millisecond
                if not ticket.exists():
                    held.enter_context(hold_lock(ticket))
                    held.callback(ticket.unlink, missing_ok=True)
                if not (ahead := self._count_ahead(ticket)):
                    ticket.write_bytes(b"at work")
            if ahead != told:
                caller.tell(f"waiting for {counted(ahead, 'other check')}" if ahead else "the checks begin")
            if not ahead:
                return ticket.name
            told = ahead
            await self._clock.pause(LOOK_S)
            caller.waited += LOOK_S

    def _count_ahead(self, mine: Path) -> int:
        """Count the tickets before this one; 0 where its work may begin. Remove those of the dead."""
        at_work, waiting = list[str](), list[Path]()
        for path in sorted(self._folder.glob("?-*")):
            with suppress(FileNotFoundError):  # its work ended just now
                if not _is_held(path):
                    path.unlink()
                elif path.stat().st_size:
                    at_work.append(path.suffix or path.name)
                else:
                    waiting.append(path)
        queue, limit = waiting[: waiting.index(mine) + 1], self._configuration.load()[0].gates.at_once
        ahead = len(at_work) + len(queue) - 1
        for path in queue:
            begins = path.suffix not in at_work and not 0 < limit <= len(at_work)
            at_work += [path.suffix or path.name] if begins else []
        return 0 if begins else ahead


def _is_held(ticket: Path) -> bool:
    """Whether the process of this ticket lives."""
    with hold_lock(ticket) as free:
        return not free
