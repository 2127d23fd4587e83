"""Which session an event belongs to, and where a session that nobody knows came from.

Hosts resume, branch and fork sessions without saying what belongs together; the host's process tells. A
session that appears in a process is a fork of the one seen there before, unless the host announced it as
fresh. What is remembered here is lost with the sidecar: a fork right after that starts without a goal.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from sidecar.app.house import House
from sidecar.model.events import HostEvent, Origin, SessionStarted
from sidecar.model.session import Session, SessionKey
from sidecar.policy import sessions
from sidecar.ports import BadInputError

PROCESSES = 1000
"""Host processes remembered."""

log = logging.getLogger(__name__)


class Family:
    """Knows which session each host process spoke of last."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
        self._latest: OrderedDict[int, SessionKey] = OrderedDict()
        self._resuming: set[SessionKey] = set()

    def announce(self, event: SessionStarted) -> None:
        """The host announced a session; a resumed one counts anew at its next event, not before.

        (Claude Code announces the parent's id when it forks: then the parent must stay as it was.)
        """
        known = self._house.store.load(event.key) is not None
        if event.origin is Origin.RESUME and not known and event.host_pid in self._latest:
            return
        if event.origin is Origin.RESUME and known:
            self._resuming.add(event.key)
        self._remember(event)

    def session_of(self, event: HostEvent) -> Session:
        """The state this event belongs to, made where there is none."""
        session = self._house.store.load(event.key)
        parent = self._latest.get(event.host_pid) if event.host_pid else None
        self._remember(event)
        if session is None:
            return self._new(event, parent)
        if event.key in self._resuming:
            self._resuming.discard(event.key)
            settings, _ = self._house.configuration.load()
            return sessions.resumed(session, settings)
        return session

    def _new(self, event: HostEvent, parent: SessionKey | None) -> Session:
        known = self._house.store.load(parent) if parent is not None and parent != event.key else None
        if known is None:
            return Session(key=event.key, project=event.project)
        self._resuming.discard(known.key)
        self._copy_journal(known.key, event.key)
        return sessions.forked(known, event.key, event.project)

    def _copy_journal(self, parent: SessionKey, child: SessionKey) -> None:
        """What the agent remembers of its tasks, it finds under the new name too."""
        journals = self._house.journals
        try:
            if journals.load(child) is None and (journal := journals.load(parent)) is not None:
                journals.save(child, journal)
        except (OSError, BadInputError) as error:
            log.warning("%s: the journal of %s could not be copied: %s", child.id, parent.id, error)

    def _remember(self, event: HostEvent) -> None:
        if not event.host_pid:
            return
        self._latest[event.host_pid] = event.key
        self._latest.move_to_end(event.host_pid)
        while len(self._latest) > PROCESSES:
            self._latest.popitem(last=False)
