"""The project as it was when work began: what later states are compared with.

A goal's base is kept before the agent hears of the goal. How its advisory gates stood then is found out in
the background, and counts only if no file moved meanwhile. With no goal, the base is that of the last human
prompt.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from sidecar.app.house import House
from sidecar.model.events import NO_RUBRIC, HostEvent, Surveyed
from sidecar.model.goal import Goal
from sidecar.model.inspection import Base
from sidecar.model.session import SessionKey
from sidecar.policy import gates
from sidecar.policy.skip import active_goal
from sidecar.ports import BadInputError, Site

REMEMBERED = 200
"""Sessions without a goal whose last base is known."""
KEEPING = 10.0
"""Seconds in which a base must be kept: a typed goal waits for it."""
TOO_SLOW = Base(unseen=f"the files could not be kept within {KEEPING:g} seconds")
NOTHING_KEPT = "nothing was kept when the work began"

log = logging.getLogger(__name__)


_Change = Callable[[Goal], Goal]


class _Begun(Struct, frozen=True):
    """What was kept at a prompt, and of which project."""

    project: str
    keeping: asyncio.Task[Base]


class Bases:
    """Keeps bases, one for each session."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
        self._turns: OrderedDict[SessionKey, _Begun] = OrderedDict()
        self._baselines: dict[SessionKey, asyncio.Task[None]] = {}

    def begin_turn(self, event: HostEvent) -> None:
        """Keep the present state in the background; the one kept at the prompt before is given back.

        A goal has a base of its own; one that was set in a shell, where the session's environment is not
        known, gets it here.
        """
        self.end(event.key)
        if (goal := self._goal(event.key)) is not None:
            if goal.base == Base():
                self._baselines[event.key] = asyncio.create_task(self.begin_goal(event))
            return
        keeping = asyncio.create_task(self._keep(event.project, event.environment))
        self._turns[event.key] = _Begun(event.project, keeping)
        if len(self._turns) > REMEMBERED:
            self.end(next(iter(self._turns)))

    async def of_turn(self, key: SessionKey) -> Base:
        """What was kept at the last human prompt."""
        begun = self._turns.get(key)
        return await asyncio.shield(begun.keeping) if begun else Base(unseen=NOTHING_KEPT)

    async def begin_goal(self, event: HostEvent) -> None:
        """Keep the state in which a new goal begins, then see in the background how its gates stand."""
        goal = self._goal(event.key)
        if goal is None or goal.base != Base() or not event.environment:
            return
        base = await self._keep(event.project, event.environment)
        self._save(event.key, goal.id, lambda now: replace(now, base=base))
        if base.tree:
            work = self._baseline(event, replace(goal, base=base))
            self._baselines[event.key] = asyncio.create_task(work)

    def rest(self, key: SessionKey) -> None:
        """Stop looking how gates stood: something newer happened, and the files may have moved."""
        running = self._baselines.pop(key, None)
        if running is not None:
            running.cancel()

    def end(self, key: SessionKey) -> None:
        """Give back what was kept for a turn."""
        self.rest(key)
        begun = self._turns.pop(key, None)
        if begun is None:
            return
        if not begun.keeping.done():
            begun.keeping.cancel()
        elif not begun.keeping.cancelled():
            self._house.workspace.forget(begun.keeping.result(), begun.project)

    async def _keep(self, project: str, environment: Mapping[str, str]) -> Base:
        try:
            async with asyncio.timeout(KEEPING):
                return await self._house.workspace.remember(project, environment)
        except TimeoutError:
            return TOO_SLOW

    async def _baseline(self, event: HostEvent, goal: Goal) -> None:
        house, tree = self._house, goal.base.tree
        catalog = await house.catalog.list(event.project, event.environment)
        advice = gates.advisory(goal, Surveyed(tree=tree, rubric=NO_RUBRIC, catalog=catalog))
        if not advice:
            return
        site = Site(project=event.project, tree=tree, environment=event.environment)
        runs = await house.gates.run(advice, site, catalog.settings.advisory_seconds)
        if await house.workspace.fingerprint(event.project, event.environment) != tree:
            return
        known = gates.baseline(runs)
        self._save(event.key, goal.id, lambda now: replace(now, baseline=known))

    def _goal(self, key: SessionKey) -> Goal | None:
        try:
            session = self._house.store.load(key)
        except (BadInputError, OSError):
            return None
        return active_goal(session) if session is not None else None

    def _save(self, key: SessionKey, name: str, change: _Change) -> None:
        """Change the goal if it is still the same; what cannot be saved is missing at the stop, and said."""
        try:
            session = self._house.store.load(key)
            if session is not None and session.goal is not None and session.goal.id == name:
                self._house.store.save(replace(session, goal=change(session.goal)))
        except (BadInputError, OSError) as error:
            log.warning("%s: what the goal begins with could not be saved: %s", key.id, error)
