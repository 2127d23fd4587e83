"""Builds the host adapters: a codec for each host, and one port to the transcripts of all."""

from __future__ import annotations

import os

from msgspec import Raw, Struct

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts.claude_code.codec import ClaudeCodeCodec
from sidecar.hosts.claude_code.transcript import ClaudeTranscripts
from sidecar.hosts.markers import codec as markers
from sidecar.hosts.opencode import codec as opencode
from sidecar.hosts.opencode import link
from sidecar.hosts.opencode.link import OpenCodeHistory
from sidecar.hosts.ports import HostCodec
from sidecar.hosts.runs import RunCodec
from sidecar.hosts.transcripts import HostTranscripts
from sidecar.kernel.runs import RUN_HOST
from sidecar.platform.services import PlatformServices
from sidecar.servers.control import Peer, PeerError


class PeerHost:
    """Makes a peer of the socket a host that can be asked. Implements link.HostConnection."""

    def __init__(self, peer: Peer) -> None:
        """Ask this peer."""
        self._peer = peer

    async def ask(self, method: str, params: Struct) -> Raw:
        try:
            return await self._peer.ask(method, params)
        except PeerError as error:
            raise link.HostRequestError(str(error)) from error


def build_codecs() -> dict[str, HostCodec]:
    """Build one codec per host, by the host's name."""
    return {
        "claude-code": ClaudeCodeCodec(),
        opencode.HOST: opencode.OpenCodeCodec(),
        markers.HOST: markers.MarkerCodec(os.environ),
        RUN_HOST: RunCodec(),
    }


def build_transcripts(platform: PlatformServices, evidence: EvidenceServices) -> HostTranscripts:
    """Build the port to the transcripts of all hosts."""
    return HostTranscripts(
        ClaudeTranscripts(platform.clock.pause),
        OpenCodeHistory(platform.clock.now),
        markers.MarkerTurns(evidence.workspace, platform.store),
    )
