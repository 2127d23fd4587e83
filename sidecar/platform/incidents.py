"""What happened to Supervisor's own files that no order explains, until a person was told of it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Final

from sidecar.kernel.session import SessionKey

LOOK: Final = "Type in a shell: supervisor events"
"""What a line says at its end, where only a look can tell more."""
MAX_INCIDENTS: Final = 100
"""Incidents that wait to be told; older ones are in the log alone."""

log = logging.getLogger(__name__)


class Incidents:
    """Lines for people, each told once: to the session that it is about, or to the next one that asks."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self._waiting: OrderedDict[tuple[str, SessionKey | None], None] = OrderedDict()

    def report(self, line: str, key: SessionKey | None = None) -> None:
        """Keep one line to be told; `key` is the only session that it is about."""
        log.warning("%s", line)
        self._waiting[line, key] = None
        while len(self._waiting) > MAX_INCIDENTS:
            self._waiting.popitem(last=False)

    def take(self, key: SessionKey) -> tuple[str, ...]:
        """Return what this session's user is to be told, and forget it."""
        mine = [entry for entry in self._waiting if entry[1] in (None, key)]
        for entry in mine:
            del self._waiting[entry]
        return tuple(line for line, _ in mine)
