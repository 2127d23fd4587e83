"""Sees rubrics and configuration files saved, and has their users told, once and as soon as it can be.

The laws of this file:

- Where no agent is at work on a project, what was saved there is the person's and counts from here on; while
  one is at work nothing is decided, only told. See sidecar/app/rubrics.py.
- Every session at work with the file is told. What a host cannot show at once stands in the next note.
- A project is seen from its first event on: what was there before is no news.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.app.house import House
from sidecar.app.rubrics import RubricWatch
from sidecar.model.events import FileSaved, HostEvent, Stopped
from sidecar.model.rubric import Rubric
from sidecar.model.saved import Configured
from sidecar.model.session import SessionKey
from sidecar.policy.saved import Seen, blamed, rubric_lines, settings_lines
from sidecar.ports import Environment, Guides, Watch, Writes

DESKS: Final = 20
"""Projects that are watched, those seen last."""
SESSIONS: Final = 20
"""Sessions of one project that are told, those seen last."""
LOOKS: Final = 10
"""Looks at a file that is being written, before it is left to the next change."""
SETTLING_S: Final = 0.1
"""Seconds between two of them."""
CALM_S: Final = 1.0
"""Seconds in which whoever started the sidecar is answered, before it begins to watch."""
GLANCE_S: Final = 20.0
"""Seconds in which a host may still show a line, or have it wait; it drops another one meanwhile."""

Show = Callable[[SessionKey, str], Awaitable[bool]]
"""Shows a person a text now; whether it could."""
Watching = Callable[[Callable[[], None]], Watch]
"""Makes a watch that calls back from a thread of its own."""

log = logging.getLogger(__name__)


class _Desk(Struct):
    """A project as its sessions see it, and what its files said at the last look."""

    project: str
    environment: Environment
    paths: tuple[str, ...]
    settings: tuple[Configured, ...]
    rubric: Rubric | None = None
    sessions: dict[SessionKey, None] = {}


class SavedFiles:
    """Knows who works where, and what the files there say."""

    def __init__(self, house: House, rubrics: RubricWatch, guides: Guides) -> None:
        """Live in `house`."""
        self._house = house
        self._rubrics = rubrics
        self._guides = guides
        self._desks: OrderedDict[tuple[str, ...], _Desk] = OrderedDict()
        self._glanced: OrderedDict[SessionKey, float] = OrderedDict()
        self._stirred = asyncio.Event()

    def met(self, event: HostEvent) -> None:
        """Remember where a session works. An order of the command line names no environment."""
        if not event.environment or self._house.switches.off(event.project):
            return
        paths = self._guides.paths(event.project, event.environment)
        desk = self._desks.pop(paths, None) or self._opened(event, paths)
        self.end(event.key)
        desk.sessions.pop(event.key, None)
        desk.sessions[event.key] = None
        for old in list(desk.sessions)[:-SESSIONS]:
            del desk.sessions[old]
        self._desks[paths] = desk
        while len(self._desks) > DESKS:
            self._desks.popitem(last=False)

    def end(self, key: SessionKey) -> None:
        """The session is over."""
        for desk in self._desks.values():
            desk.sessions.pop(key, None)

    def paths(self, key: SessionKey) -> tuple[str, ...]:
        """The files that matter to a session."""
        return next((desk.paths for desk in self._desks.values() if key in desk.sessions), ())

    def look(self, key: SessionKey | None = None) -> bool:
        """Have people told what was saved where this session works, or any.

        Returns whether to look again, as a file is just being written.
        """
        desks = [desk for desk in self._desks.values() if desk.sessions and key in (None, *desk.sessions)]
        unsettled = [self._look(desk) for desk in desks]
        return any(unsettled)

    def glance(self, key: SessionKey) -> str:
        """One line for a host that shows one for some seconds, "" for none. The others are owed on."""
        now = self._house.clock.now()
        if now - self._glanced.get(key, -GLANCE_S) < GLANCE_S:
            return ""
        first, *rest = self._rubrics.note(key).split("\n")
        self._rubrics.owe(key, rest)
        if first:
            self._glanced[key] = now
            while len(self._glanced) > DESKS * SESSIONS:
                self._glanced.popitem(last=False)
        return first

    def stopped(self, stop: Stopped) -> None:
        """A session is at a stop, which decides what counts of its rubric and tells it: not here too.

        What it left elsewhere is seen while it is still known to have been at work.
        """
        for desk in self._desks.values():
            if desk.sessions:
                self._look(desk, stop.key if stop.key in desk.sessions else None)

    async def run(self, watching: Watching, show: Show) -> None:
        """Watch the files, until cancelled."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._stirred.set)

        watch = watching(wake)
        await self._house.clock.pause(CALM_S)
        self._rubrics.recall()  # not in a thread: a state that is saved meanwhile would look torn
        log.info("saved files are watched")
        try:
            while True:
                paths = [path for desk in self._desks.values() if desk.sessions for path in desk.paths]
                folders = {Path(path).parent for path in paths}
                await asyncio.to_thread(watch.look_at, folders)  # a folder of a network may hang
                try:
                    await self._noticed(show)
                except Exception:
                    log.exception("what was saved could not be told")
                await self._stirred.wait()
                self._stirred.clear()
        finally:
            watch.close()

    async def _noticed(self, show: Show) -> None:
        for _ in range(LOOKS):
            if not self.look():
                break
            await self._house.clock.pause(SETTLING_S)
        for key in [key for desk in self._desks.values() for key in desk.sessions]:
            if text := self._rubrics.note(key):
                shown = False
                try:
                    shown = await show(key, text)
                finally:
                    if not shown:
                        self._rubrics.owe(key, text.split("\n"))

    def _opened(self, event: HostEvent, paths: tuple[str, ...]) -> _Desk:
        self._stirred.set()
        project, environment = event.project, event.environment
        rubric = self._guides.rubric(project, environment)
        if isinstance(event, FileSaved):  # that was before there was anybody to see it
            force = self._house.rubrics.load(project, environment)
            rubric = rubric if force.held else force
        return _Desk(project, environment, paths, self._guides.settings(project), rubric)

    def _look(self, desk: _Desk, stops: SessionKey | None = None) -> bool:
        if self._house.switches.off(desk.project):
            return False
        now = self._guides.rubric(desk.project, desk.environment)
        settings = self._guides.settings(desk.project)
        words = settings_lines(desk.project, desk.settings, settings)
        desk.settings = settings
        rubric = () if now is None else self._rubric(desk, now, decides=stops is None)
        for key in desk.sessions:
            self._rubrics.owe(key, words if key == stops else (*words, *rubric))
        return now is None

    def _rubric(self, desk: _Desk, now: Rubric, *, decides: bool) -> tuple[str, ...]:
        """What is to be told of the rubrics, which is decided first where that can be."""
        before, desk.rubric = desk.rubric or now, now
        if now == before:
            return ()
        own = Path(blamed(desk.paths, before, now)).is_relative_to(desk.project)
        at_rest = decides and self._rubrics.at_rest(desk.project, alone=own)
        if not (own or at_rest):
            self._rubrics.shared(desk.project, desk.environment, desk.sessions)
        force = self._house.rubrics.load(desk.project, desk.environment, Writes() if at_rest else None)
        return rubric_lines(Seen(desk.project, desk.paths, before, now, force, at_rest=at_rest))
