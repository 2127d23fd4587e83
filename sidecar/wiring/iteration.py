"""Builds the socket methods of the iteration system."""

from __future__ import annotations

import msgspec

from sidecar.hosts.names import checked_session_id
from sidecar.kernel.runs import RUN_HOST, RunStatusQuery
from sidecar.kernel.session import SessionKey
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods
from sidecar.servers.run_status import RunStatusReader
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.overseer import RunNote
from sidecar.systems.supervision.ports import Services


def iteration_methods(services: Services, journals: SessionJournals) -> Methods:
    """Build its methods of the socket, by name."""
    statuses = RunStatusReader(services, journals)

    async def standing(look: RunStatusQuery) -> bytes:
        return msgspec.json.encode(statuses.of(look))

    async def run_note(note: RunNote) -> bytes:
        key = SessionKey(RUN_HOST, checked_session_id(note.session))
        journals.note(key, note.event, note.project)
        return b"null"

    return {
        "run_note": struct_handler(RunNote, run_note),
        "standing": struct_handler(RunStatusQuery, standing),
    }
