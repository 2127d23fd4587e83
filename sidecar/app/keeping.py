"""Keeps judged stops so that they can be played again under another rubric (app/replay.py).

It happens behind the host's back, after the ruling: nobody waits for it, and what cannot be kept is only
logged. A stop that skip rules let go is not kept, for no rubric can change how it ended; nor is one whose
judging was cut off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.app.house import House
from sidecar.model.effects import Ruling
from sidecar.model.inquiry import Inquiry
from sidecar.model.kept import Heard, KeptStop
from sidecar.policy.replays import ended
from sidecar.ports import BadInputError, Mask

SKIPPED = "skip rules"
"""The stage of a stop that nobody judged."""

S = TypeVar("S", bound=Struct)

log = logging.getLogger(__name__)


class Keeper:
    """Gives stops to the house's KeptStops, one after the other in a thread of their own.

    Not in two at once: msgspec 0.22 was seen to crash where both met a kind of Struct for the first time.
    """

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
        self._running: set[asyncio.Future[None]] = set()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeping")

    def keep(self, first: Inquiry, heard: Sequence[Heard], last: Inquiry, ruling: Ruling) -> None:
        """Keep the stop that policy knew as `first`, and as `last` when it ruled. Returns at once."""
        if not first.settings.keep_stops or not heard or last.stage == SKIPPED:
            return
        how, why = ended(ruling)
        stop = KeptStop(
            at=self._house.clock.now(),
            project=first.stop.project,
            inquiry=first,
            heard=tuple(heard),
            ended=how,
            detail=why,
            stage=last.stage,
            rule=last.rule,
        )
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._write, stop)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def idle(self) -> None:
        """Wait until everything is kept."""
        while self._running:
            await asyncio.wait(self._running)

    def _write(self, stop: KeptStop) -> None:
        mask = self._house.secrets.masker(stop.inquiry.stop.environment)
        try:
            self._house.kept.keep(masked(stop, mask))
        except (OSError, ValueError, RecursionError, BadInputError) as error:
            log.warning("%s: the stop could not be kept: %s", stop.inquiry.stop.key.id, error)


def masked(stop: KeptStop, mask: Mask) -> KeptStop:
    """The stop without its environment, and without a secret in any text of it but the project's path."""
    inquiry = replace(stop.inquiry, stop=replace(stop.inquiry.stop, environment={}))
    return replace(
        stop,
        inquiry=_masked(inquiry, mask),
        heard=tuple(Heard(one.at, _masked(one.fact, mask)) for one in stop.heard),
        detail=mask(stop.detail),
    )


def _masked(value: S, mask: Mask) -> S:
    return msgspec.convert(_through(msgspec.to_builtins(value), mask), type(value))


def _through(value: Any, mask: Mask) -> Any:  # noqa: ANN401 - what msgspec makes of a Struct
    """The mask over every text; names of fields stay."""
    match value:
        case str():
            return mask(value)
        case list() | tuple():
            return [_through(each, mask) for each in value]
        case dict():
            return {name: _through(each, mask) for name, each in value.items()}
        case _:
            return value
