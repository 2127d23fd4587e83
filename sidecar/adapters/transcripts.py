"""Every host's record of its sessions, behind one port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.adapters.markers.turns import HOST as MARKER
from sidecar.adapters.opencode.codec import HOST as OPENCODE
from sidecar.model.iterations import HOST as RUN

if TYPE_CHECKING:
    from sidecar.adapters.claude_code.transcript import ClaudeTranscripts
    from sidecar.adapters.markers.turns import MarkerTurns
    from sidecar.adapters.opencode.history import OpenCodeHistory
    from sidecar.model.events import CommandTyped, Stopped
    from sidecar.model.turn import Turn

UNRECORDED = (MARKER, RUN)
"""Hosts of whose sessions nobody records anything: what their stops tell is all."""


class HostTranscripts:
    """Implements ports.Transcripts."""

    def __init__(self, claude: ClaudeTranscripts, opencode: OpenCodeHistory, markers: MarkerTurns) -> None:
        """Ask the one that belongs to the session's host."""
        self._claude = claude
        self._opencode = opencode
        self._markers = markers

    async def read(self, stop: Stopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see ports.Transcripts."""
        if stop.key.host == OPENCODE:
            return await self._opencode.read(stop, counted_to)
        if stop.key.host in UNRECORDED:
            return await self._markers.read(stop, counted_to)
        return await self._claude.read(stop, counted_to)

    def position(self, event: CommandTyped) -> int:
        """Where the record ends now, 0 where there is none."""
        if event.key.host == OPENCODE:
            return self._opencode.position()
        if event.key.host in UNRECORDED:
            return 0
        return self._claude.size(event.transcript)

    def queued(self, stop: Stopped, position: int) -> bool:
        """Whether a human prompt waits; OpenCode tells of one by itself, and of the others' nobody knows."""
        return stop.key.host not in (OPENCODE, *UNRECORDED) and self._claude.queued(stop.transcript, position)
