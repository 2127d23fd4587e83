"""What was found out at a session's last stop, and why it ended as it did. Nothing is changed here.

The record has a line of every stop. Where the stop was kept too, it is played again as it was, which brings
back all that policy knew of it; of another stop than the record's last one nothing is told.
"""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec import Struct

from sidecar.app.house import House
from sidecar.app.keeping import SKIPPED
from sidecar.app.replay import Play
from sidecar.model.effects import Reason, Ruling
from sidecar.model.events import NO_RUBRIC, TurnRead
from sidecar.model.inquiry import Inquiry
from sidecar.model.kept import Heard, KeptStop
from sidecar.model.session import Session
from sidecar.policy.explaining import Left, Next, coming, left
from sidecar.policy.replays import ended
from sidecar.ports import Entry, Environment

STORY: Final = 100
"""Entries of the record in which a stop is looked for."""
STOPS: Final = (1, 20)
"""Kept stops of the project that are read: the last one, and all where it is another session's."""
BESIDE: Final = 5.0
"""Seconds at most between the time of a kept stop and that of its entry, which is written next."""
CUT_OFF: Final = frozenset({Reason.INTERRUPTED, Reason.SUPERSEDED, Reason.QUEUED, Reason.COMMANDED})
"""How a stop ends whose judging led to nothing."""


class Played(Struct, frozen=True, kw_only=True):
    """A kept stop, played again: what policy knew at its end, how it ruled, and what it was told."""

    inquiry: Inquiry
    ruling: Ruling
    heard: tuple[Heard, ...]


class LastStop(Struct, frozen=True, kw_only=True):
    """A stop as the record tells it, and played again where it was kept."""

    entry: Entry
    played: Played | None = None


class Outlook(Struct, frozen=True, kw_only=True):
    """What becomes of a session's next stop, and what is spent of its budget."""

    left: Left
    next_stop: Next


class Explainer:
    """Reads what the record and the kept stops say of a session."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house

    async def last(self, session: Session, *, judged: bool = False) -> LastStop | None:
        """The last stop of the session's agent, or the last that was `judged`; None where there is none."""
        for entry in reversed(self._house.record.read(session.key, STORY)):
            if entry.event == "stop" and entry.decided != Reason.SUBAGENT and (_judged(entry) or not judged):
                return LastStop(entry=entry, played=await self._played(session, entry))
        return None

    def outlook(self, session: Session) -> Outlook:
        """What becomes of the next stop, and what is left."""
        settings, _ = self._house.configuration.load()
        off = self._house.switches.off(session.project)
        return Outlook(left=left(session, settings), next_stop=coming(session, settings, off))

    async def moved(self, session: Session, entry: Entry, environment: Environment | None) -> bool | None:
        """Whether files changed since a stop; None where that cannot be told."""
        if environment is None or not entry.tree:
            return None
        tree = await self._house.workspace.fingerprint(session.project, environment)
        return tree != entry.tree if tree else None

    async def _played(self, session: Session, entry: Entry) -> Played | None:
        for number in STOPS:
            recalled = await asyncio.to_thread(self._house.kept.last, session.project, number)
            for stop in reversed(recalled.stops):
                if stop.inquiry.stop.key == session.key and _same(stop, entry):
                    return await _play(stop)
        return None


def _judged(entry: Entry) -> bool:
    return entry.stage != SKIPPED and entry.decided not in CUT_OFF


def _same(stop: KeptStop, entry: Entry) -> bool:
    return stop.ended == entry.decided and 0 <= entry.at - stop.at <= BESIDE


async def _play(stop: KeptStop) -> Played | None:
    """The stop under the rubric that it had; None where today's rules make something else of it."""
    rubric = next((one.fact.rubric for one in stop.heard if isinstance(one.fact, TurnRead)), NO_RUBRIC)
    played = await Play(stop, rubric).rule()
    if played is None or ended(played[1])[0] != stop.ended:
        return None
    return Played(inquiry=played[0], ruling=played[1], heard=stop.heard)
