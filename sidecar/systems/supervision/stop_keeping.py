"""Stores judged stops, so that a changed rubric can be tried on them (evaluation.py).

Storing happens in the background after the ruling: nobody waits for it, and failures are only logged. A stop
that skip rules let go is not stored, because no rubric can change how it ended; nor is one whose judging was
cut off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Inquiry, Ruling
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import Fact, TurnRead
from sidecar.kernel.masking import SecretMask, mask_texts, mask_turn
from sidecar.kernel.stop_history import RecordedStop, TimedFact, ruling_outcome
from sidecar.platform.data import json_decoder
from sidecar.systems.supervision.ports import Services

SKIPPED_STAGE = "skip rules"
"""The stage of a stop that was skipped."""

S = TypeVar("S", bound=Struct)

log = logging.getLogger(__name__)


class StopHistoryWriter:
    """Writes stops to the StopHistory port, one after the other, in a thread of its own."""

    def __init__(self, services: Services) -> None:
        """Use these services."""
        self._services = services
        self._running: set[asyncio.Future[None]] = set()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeping")

    def keep(
        self, at: float, first: Inquiry, heard: Sequence[TimedFact], last: Inquiry, ruling: Ruling
    ) -> None:
        """Store the stop that policy knew as `first`, and as `last` when it ruled. Returns at once.

        `at`: when it was ruled, not after its entry of the record, by which it is found.
        """
        if not first.settings.keep_stops or not heard or last.stage == SKIPPED_STAGE:
            return
        how, why = ruling_outcome(ruling)
        stop = RecordedStop(
            at=at,
            project=first.stop.project,
            inquiry=first,
            facts=tuple(heard),
            ended=how,
            detail=why,
            stage=last.stage,
            rule=last.rule,
        )
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._write, stop)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def idle(self) -> None:
        """Wait until everything is stored."""
        while self._running:
            await asyncio.wait(self._running)

    def _write(self, stop: RecordedStop) -> None:
        mask = self._services.secrets.masker(stop.inquiry.stop.environment)
        try:
            self._services.stop_history.keep(mask_recorded_stop(stop, mask))
        except (OSError, ValueError, RecursionError, BadInputError) as error:
            log.warning("%s: the stop could not be kept: %s", stop.inquiry.stop.key.id, error)


def mask_recorded_stop(stop: RecordedStop, mask: SecretMask) -> RecordedStop:
    """Return the stop without its environment, with secrets masked in every text but two.

    The project's path and the session's key stay: by them the stop is found and forgotten. A host's own id
    looks drawn at random, and Gemini CLI puts it into the environment.
    """
    inquiry = replace(stop.inquiry, stop=replace(stop.inquiry.stop, environment={}))
    masked, key = _mask_struct(inquiry, mask), inquiry.stop.key
    return replace(
        stop,
        inquiry=replace(masked, session=replace(masked.session, key=key), stop=replace(masked.stop, key=key)),
        facts=tuple(
            TimedFact(one.at, _mask_struct(_mask_turn_of(one.fact, mask), mask)) for one in stop.facts
        ),
        detail=mask(stop.detail),
    )


def _mask_turn_of(fact: Fact, mask: SecretMask) -> Fact:
    """Mask a turn as a whole: that a word is a secret may be told by the one before it."""
    return replace(fact, turn=mask_turn(fact.turn, mask)) if isinstance(fact, TurnRead) else fact


def _mask_struct(value: S, mask: SecretMask) -> S:
    json_decoder(type(value))  # which builds the type for `convert`, in one thread at a time
    return msgspec.convert(mask_texts(msgspec.to_builtins(value), mask), type(value))
