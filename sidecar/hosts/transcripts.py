"""Combines the session records of all hosts behind one port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.hosts.markers.codec import HOST as MARKER
from sidecar.hosts.names import OPENCODE
from sidecar.kernel.runs import RUN_HOST as RUN

if TYPE_CHECKING:
    from sidecar.hosts.claude_code.transcript import ClaudeTranscripts
    from sidecar.hosts.markers.codec import MarkerTurns
    from sidecar.hosts.opencode.link import OpenCodeHistory
    from sidecar.kernel.events import AgentStopped, CommandTyped, HostEvent
    from sidecar.kernel.turn import Turn


UNRECORDED_HOSTS = (MARKER, RUN)
"""Hosts whose sessions nobody records: all that is known is what their stops report."""


class HostTranscripts:
    """Implements hosts.ports.Transcripts."""

    def __init__(self, claude: ClaudeTranscripts, opencode: OpenCodeHistory, markers: MarkerTurns) -> None:
        """Take one reader per kind of host; each call goes to that of the session's host."""
        self._claude = claude
        self._opencode = opencode
        self._markers = markers

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see hosts.ports.Transcripts."""
        if stop.key.host == OPENCODE:
            return await self._opencode.read(stop, counted_to)
        if stop.key.host in UNRECORDED_HOSTS:
            return await self._markers.read(stop, counted_to)
        return await self._claude.read(stop, counted_to)

    def position(self, event: CommandTyped) -> int:
        """Return where the record ends now, 0 if there is none."""
        if event.key.host == OPENCODE:
            return self._opencode.position()
        if event.key.host in UNRECORDED_HOSTS:
            return 0
        return self._claude.size(event.transcript)

    def unanswered(self, event: HostEvent) -> bool:
        """Return whether a tool call of the agent runs, as far as the host's record shows it.

        OpenCode speaks for itself over its own connection, so nobody asks.
        """
        if event.key.host in (OPENCODE, *UNRECORDED_HOSTS):
            return False
        return self._claude.unanswered(event.key, getattr(event, "transcript", ""))

    def queued(self, stop: AgentStopped, position: int) -> bool:
        """Return whether a human prompt waits.

        OpenCode reports such prompts itself, and for hosts without a record it is not known.
        """
        return stop.key.host not in (OPENCODE, *UNRECORDED_HOSTS) and self._claude.queued(
            stop.transcript, position
        )
