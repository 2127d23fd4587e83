"""Watches rubrics and configuration files, and notifies their users of changes, once and soon.

Rules of this module:

- Where no agent is at work on a project, what was saved there is the person's and counts from then on. While
  one is at work, changes are only reported and not decided. See
  sidecar/systems/supervision/steering.py.
- Every session at work with the file is notified. What a host cannot show at once is part of the next note.
- A project is watched from its first event on; earlier changes are not reported.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.kernel.events import AgentStopped, FileSaved, HostEvent
from sidecar.kernel.rubric import AgentWrites, ConfigurationContents, Rubric
from sidecar.kernel.session import Environment, SessionKey
from sidecar.platform.ports import FileWatcher, remember_newest
from sidecar.rubric.policy import (
    GuidanceFiles,
    RubricObservation,
    changed_rubric_path,
    rubric_save_notices,
    settings_save_notices,
)
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.steering import SteeringWatch

MAX_PROJECTS_WATCHED: Final = 20
"""Maximum number of watched projects, those seen last."""
MAX_SESSIONS_NOTIFIED: Final = 20
"""Maximum number of notified sessions of one project, those seen last."""
MAX_READ_ATTEMPTS: Final = 10
"""Attempts to read a file that is being written, before it is left to the next change."""
SETTLING_S: Final = 0.1
"""Seconds between two attempts."""
CALM_S: Final = 1.0
"""Seconds before watching begins, in which whoever started the sidecar is answered."""
GLANCE_S: Final = 20.0
"""Seconds in which a host may still show or queue a line; it drops another one meanwhile."""

ShowText = Callable[[SessionKey, str], Awaitable[bool]]
"""Shows a text to a person now; returns whether it could."""
WatchFactory = Callable[[Callable[[], None]], FileWatcher]
"""Creates a watcher that calls back from a thread of its own."""

log = logging.getLogger(__name__)


class _WatchedProject(Struct):
    """A project as its sessions see it, and the contents of its files when they were last read."""

    project: str
    environment: Environment
    paths: tuple[str, ...]
    settings: tuple[ConfigurationContents, ...]
    rubric: Rubric | None = None
    sessions: dict[SessionKey, None] = {}


class SavedFileWatch:
    """Tracks which sessions work where, and what the files there contain."""

    def __init__(self, services: Services, rubrics: SteeringWatch, guides: GuidanceFiles) -> None:
        """Use these services."""
        self._services = services
        self._rubrics = rubrics
        self._guides = guides
        self._desks: OrderedDict[tuple[str, ...], _WatchedProject] = OrderedDict()
        self._glanced: OrderedDict[SessionKey, float] = OrderedDict()
        self._stirred = asyncio.Event()

    def met(self, event: HostEvent) -> None:
        """Remember where a session works. Events of the command line have no environment and are ignored."""
        if not event.environment or self._services.switches.off(event.project):
            return
        paths = self._guides.paths(event.project, event.environment)
        desk = self._desks.pop(paths, None) or self._opened(event, paths)
        self.end(event.key)
        desk.sessions.pop(event.key, None)
        desk.sessions[event.key] = None
        for old in list(desk.sessions)[:-MAX_SESSIONS_NOTIFIED]:
            del desk.sessions[old]
        remember_newest(self._desks, paths, desk, MAX_PROJECTS_WATCHED)

    def end(self, key: SessionKey) -> None:
        """Forget a session that is over."""
        for desk in self._desks.values():
            desk.sessions.pop(key, None)

    def paths(self, key: SessionKey) -> tuple[str, ...]:
        """Return the files that matter to a session."""
        return next((desk.paths for desk in self._desks.values() if key in desk.sessions), ())

    def look(self, key: SessionKey | None = None) -> bool:
        """Notify users of what was saved where this session works, or anywhere.

        Returns whether to look again, because a file is just being written.
        """
        desks = [desk for desk in self._desks.values() if desk.sessions and key in (None, *desk.sessions)]
        unsettled = [self._look(desk) for desk in desks]
        return any(unsettled)

    def glance(self, key: SessionKey) -> str:
        """Return one line for a host that shows it for some seconds, "" for none. The others stay queued."""
        now = self._services.clock.now()
        if now - self._glanced.get(key, -GLANCE_S) < GLANCE_S:
            return ""
        lines = self._rubrics.take_lines(key)
        if not lines:
            return ""
        self._rubrics.owe(key, lines[1:])
        remember_newest(self._glanced, key, now, MAX_PROJECTS_WATCHED * MAX_SESSIONS_NOTIFIED)
        return lines[0]

    def stopped(self, stop: AgentStopped) -> None:
        """Look for saved files at a stop; the stop itself decides and reports what counts of its own rubric.

        What the agent left in other projects is seen while it is still known to have been at work.
        """
        for desk in self._desks.values():
            if desk.sessions:
                self._look(desk, stop.key if stop.key in desk.sessions else None)

    async def run(self, watching: WatchFactory, show: ShowText) -> None:
        """Watch the files, until cancelled."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._stirred.set)

        watch = watching(wake)
        await self._services.clock.pause(CALM_S)
        self._rubrics.recall()  # not in a thread: a state that is saved meanwhile would look torn
        log.info("saved files are watched")
        try:
            while True:
                paths = [path for desk in self._desks.values() if desk.sessions for path in desk.paths]
                folders = {Path(path).parent for path in paths}
                await asyncio.to_thread(watch.look_at, folders)  # a network folder may hang
                try:
                    await self._noticed(show)
                except Exception:
                    log.exception("what was saved could not be told")
                await self._stirred.wait()
                self._stirred.clear()
        finally:
            watch.close()

    async def _noticed(self, show: ShowText) -> None:
        for _ in range(MAX_READ_ATTEMPTS):
            if not self.look():
                break
            await self._services.clock.pause(SETTLING_S)
        for key in [key for desk in self._desks.values() for key in desk.sessions]:
            if lines := self._rubrics.take_lines(key):
                shown = False
                try:
                    shown = await show(key, "\n".join(lines))
                finally:
                    if not shown:
                        self._rubrics.owe(key, lines)

    def _opened(self, event: HostEvent, paths: tuple[str, ...]) -> _WatchedProject:
        self._stirred.set()
        project, environment = event.project, event.environment
        rubric = self._guides.rubric(project, environment)
        if isinstance(event, FileSaved):  # the change was made before anybody watched
            force = self._services.rubrics.load(project, environment)
            rubric = rubric if force.held else force
        return _WatchedProject(project, environment, paths, self._guides.settings(project), rubric)

    def _look(self, desk: _WatchedProject, stops: SessionKey | None = None) -> bool:
        if self._services.switches.off(desk.project):
            return False
        now = self._guides.rubric(desk.project, desk.environment)
        settings = self._guides.settings(desk.project)
        self._rubrics.saved(desk.project)
        undecided = frozenset(
            file.path
            for file in settings
            if not self._rubrics.at_rest(desk.project, alone=file.path.startswith(f"{desk.project}/"))
        )
        words = settings_save_notices(desk.project, desk.settings, settings, undecided)
        desk.settings = settings
        rubric = () if now is None else self._rubric(desk, now, decides=stops is None)
        for key in desk.sessions:
            self._rubrics.owe(key, words if key == stops else (*words, *rubric))
        return now is None

    def _rubric(self, desk: _WatchedProject, now: Rubric, *, decides: bool) -> tuple[str, ...]:
        """Return the notices about the rubrics, after deciding whose a change is where that is possible."""
        before, desk.rubric = desk.rubric or now, now
        if now == before:
            return ()
        own = Path(changed_rubric_path(desk.paths, before.origin, now.origin)).is_relative_to(desk.project)
        at_rest = decides and self._rubrics.at_rest(desk.project, alone=own)
        if not (own or at_rest):
            self._rubrics.shared(desk.project, desk.environment, desk.sessions)
        force = self._services.rubrics.load(
            desk.project, desk.environment, AgentWrites() if at_rest else None
        )
        return rubric_save_notices(
            RubricObservation(desk.project, desk.paths, before, now, force, at_rest=at_rest)
        )
