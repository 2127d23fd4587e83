"""A marker as a turn.

Rules of this file (law 2: what the worker writes of itself can lower a verdict, never raise it):

- What the agent did is not known: the turn is not `readable`, and what it is said to have edited and run is
  no call. All of it together is one piece of unseen work.
- Whether there was work at all is seen here. The files differ from those at the session's last stop, or that
  is not known, or the marker claims work: each is enough. Only a stop with none of them is talk.
- With a goal set its condition is the measure: what the marker says of the user's requests is left out, for a
  judge believes requests. And its folder is the one in which a person began the work: a stop that names
  another one is not judged, for the goal's checks would run where the worker wants them to.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.skip import active_goal

if TYPE_CHECKING:
    from sidecar.model.events import Stopped
    from sidecar.model.session import SessionKey
    from sidecar.ports import SessionStore, Workspace

HOST: Final = "marker"
"""The host's name in session keys."""
REMEMBERED: Final = 1000
"""Sessions whose last tree is known."""
WORK: Final = ToolCall(id=HOST, tool=HOST, doing=Doing.DELEGATE, outcome=CallOutcome.PENDING)
"""Whatever an agent did that nobody recorded."""


class Told(Struct, frozen=True):
    """What a stop that came as a marker has for a transcript.

    `id` names the marker's file as it was found: the same one found again is the same stop. `arrived`: see
    Turn; no marker can show it, but a run of agents can, whose stops are told in the same way.
    """

    id: str
    requests: tuple[str, ...] = ()
    claims_work: bool = False
    arrived: tuple[str, ...] = ()


class _Seen(Struct, frozen=True):
    """The stop of a session that was read last: its tree, and whether there was work before it."""

    id: str
    tree: str
    worked: bool


class MarkerTurns:
    """The part of ports.Transcripts that concerns markers."""

    def __init__(self, workspace: Workspace, store: SessionStore) -> None:
        self._workspace = workspace
        self._store = store
        self._seen: OrderedDict[SessionKey, _Seen] = OrderedDict()

    async def read(self, stop: Stopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see ports.Transcripts."""
        told = msgspec.json.decode(stop.transcript, type=Told)
        position = max(counted_to, 0)
        session = self._store.load(stop.key)
        goal = session is not None and active_goal(session) is not None
        if session is not None and goal and not await _same(session.project, stop.project):
            why = f"it names another folder than its goal has, which is {session.project}"
            return Turn(last_message_id=told.id, position=position, readable=False, unfinished=why)
        worked = await self._worked(stop, told)
        return Turn(
            prompts=() if goal else told.requests,
            calls=(WORK,) if worked else (),
            calls_since_arrival=1 if worked else 0,
            last_message=stop.last_message,
            last_message_id=told.id,
            arrived=told.arrived,
            position=position,
            readable=False,
        )

    async def _worked(self, stop: Stopped, told: Told) -> bool:
        """Whether there may have been work; the same stop read again gets the same answer."""
        before = self._seen.get(stop.key)
        if before is not None and before.id == told.id:
            return before.worked
        tree = await self._workspace.fingerprint(stop.project, stop.environment)
        worked = told.claims_work or not tree or before is None or tree != before.tree
        self._seen[stop.key] = _Seen(told.id, tree, worked)
        self._seen.move_to_end(stop.key)
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return worked


async def _same(project: str, other: str) -> bool:
    """Whether two paths lead to one folder."""
    return await asyncio.to_thread(lambda: os.path.realpath(project) == os.path.realpath(other))
