"""Builds the socket methods of the iteration system."""

from __future__ import annotations

import msgspec

from sidecar.kernel.runs import RunStatusQuery
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods
from sidecar.servers.run_status import RunStatusReader
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.ports import Services


def iteration_methods(services: Services, journals: SessionJournals) -> Methods:
    """Build its methods of the socket, by name."""
    statuses = RunStatusReader(services, journals)

    async def standing(look: RunStatusQuery) -> bytes:
        return msgspec.json.encode(statuses.of(look))

    return {"standing": struct_handler(RunStatusQuery, standing)}
