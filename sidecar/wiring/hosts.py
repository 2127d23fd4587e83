"""Builds the host adapters: a codec for each host, and one port to the transcripts of all.

Those of a host are imported when it first speaks: few users have both.
"""

# ruff: noqa: PLC0415 - see above

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts import unrecorded
from sidecar.hosts.ports import HostCodec, HostTranscripts
from sidecar.hosts.shared import OPENCODE
from sidecar.hosts.unrecorded import RunCodec
from sidecar.kernel.events import HostEvent
from sidecar.kernel.runs import RUN_HOST
from sidecar.platform.installation import HostError
from sidecar.platform.ports import built_on_use
from sidecar.platform.services import PlatformServices
from sidecar.servers.control import Peer

if TYPE_CHECKING:
    from sidecar.hosts.claude_code.transcript import ClaudeTranscripts
    from sidecar.hosts.opencode.link import OpenCodeHistory, Toasts


def build_codecs() -> dict[str, HostCodec]:
    """Build one codec per host, by the host's name."""
    return {
        "claude-code": built_on_use(_claude_code_codec),
        OPENCODE: built_on_use(_opencode_codec),
        unrecorded.HOST: unrecorded.MarkerCodec(os.environ),
        RUN_HOST: RunCodec(),
    }


def build_transcripts(shared: EvidenceServices) -> HostTranscripts:
    """Build the port to the transcripts of all hosts."""
    return HostTranscripts(
        built_on_use(partial(_claude_transcripts, shared)),
        built_on_use(partial(_opencode_history, shared)),
        unrecorded.MarkerTurns(shared.workspace, shared.store),
    )


def altered_plugin(host: str, event: HostEvent) -> str:
    """Tell of a file of our plugin in this host that is not what was installed; "" for none. Never raises."""
    from sidecar.hosts.claude_code import plugin
    from sidecar.hosts.opencode import plugin_file

    with contextlib.suppress(OSError, HostError):
        if host == OPENCODE:
            return plugin_file.altered_plugin(event.environment, Path(event.project))
        return plugin.altered_plugin(event.environment)
    return ""


def build_toasts() -> Toasts:
    """Build what shows messages in OpenCode that answer no event."""
    return built_on_use(_toasts)


def remember_opencode(peer: Peer, event: bytes, toasts: Toasts) -> None:
    """Let what this task does reach the OpenCode that sent the event."""
    from sidecar.hosts.opencode import link

    link.set_session_context(peer, event)
    toasts.remember()


def _claude_code_codec() -> HostCodec:
    from sidecar.hosts.claude_code.codec import ClaudeCodeCodec

    return ClaudeCodeCodec()


def _claude_transcripts(platform: PlatformServices) -> ClaudeTranscripts:
    from sidecar.hosts.claude_code.transcript import ClaudeTranscripts

    return ClaudeTranscripts(platform.clock.pause)


def _opencode_codec() -> HostCodec:
    from sidecar.hosts.opencode.codec import OpenCodeCodec

    return OpenCodeCodec()


def _opencode_history(platform: PlatformServices) -> OpenCodeHistory:
    from sidecar.hosts.opencode.link import OpenCodeHistory

    return OpenCodeHistory(platform.clock.now)


def _toasts() -> Toasts:
    from sidecar.hosts.opencode.link import Toasts

    return Toasts()
