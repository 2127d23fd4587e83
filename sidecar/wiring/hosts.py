"""The hosts: how each one's adapter is built, and which files steer it. A new host is a row of HOSTS.

Those of a host are imported when it first speaks: few users have more than one.
"""

# ruff: noqa: PLC0415 - see above

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts import unrecorded
from sidecar.hosts.ports import HostCodec, HostTranscripts, Transcripts
from sidecar.hosts.shared import ACP, COPILOT, OPENCODE
from sidecar.hosts.steering import (
    CLAUDE_STEERING,
    CODEX_STEERING,
    COPILOT_STEERING,
    GEMINI_STEERING,
    OPENCODE_STEERING,
    HostSteering,
)
from sidecar.hosts.unrecorded import RunCodec
from sidecar.kernel.events import HostEvent
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import Environment
from sidecar.platform.installation import HostError
from sidecar.platform.ports import built_on_use
from sidecar.servers.control import Peer

if TYPE_CHECKING:
    from sidecar.hosts.opencode.link import Toasts


class Host(Struct, frozen=True):
    """One host.

    `altered` takes the begin of a session and tells of a file of our plugin that is not what was installed;
    "" for none. It raises OSError and HostError.
    """

    codec: Callable[[], HostCodec]
    record: Callable[[EvidenceServices], Transcripts]
    steering: HostSteering | None = None
    altered: Callable[[HostEvent], str] = lambda _: ""


def _claude_code_codec() -> HostCodec:
    from sidecar.hosts.claude_code.codec import ClaudeCodeCodec

    return ClaudeCodeCodec()


def _claude_code_record(services: EvidenceServices) -> Transcripts:
    from sidecar.hosts.claude_code.record import RECORD
    from sidecar.hosts.record_files import RecordFiles

    return RecordFiles(RECORD, services.clock.pause)


def _altered_in_claude_code(event: HostEvent) -> str:
    from sidecar.hosts.claude_code.settings import altered_plugin

    return altered_plugin(event.environment)


def _codex_codec() -> HostCodec:
    from sidecar.hosts.codex.codec import CodexCodec

    return CodexCodec()


def _codex_record(services: EvidenceServices) -> Transcripts:
    from sidecar.hosts.codex.record import ROLLOUT
    from sidecar.hosts.record_files import RecordFiles

    return RecordFiles(ROLLOUT, services.clock.pause)


def _altered_in_codex(event: HostEvent) -> str:
    from sidecar.hosts.codex.install import altered_plugin

    return altered_plugin(event.environment)


def _opencode_codec() -> HostCodec:
    from sidecar.hosts.opencode.codec import OpenCodeCodec

    return OpenCodeCodec()


def _opencode_record(services: EvidenceServices) -> Transcripts:
    from sidecar.hosts.opencode.record import OpenCodeHistory

    return OpenCodeHistory(services.clock.now)


def _altered_in_opencode(event: HostEvent) -> str:
    from sidecar.hosts.opencode.plugin_file import altered_plugin

    return altered_plugin(event.environment, Path(event.project))


def _copilot_codec() -> HostCodec:
    from sidecar.hosts.copilot.codec import CopilotCodec

    return CopilotCodec()


def _copilot_record(services: EvidenceServices) -> Transcripts:
    from sidecar.hosts.copilot.record import RECORD
    from sidecar.hosts.record_files import RecordFiles

    return RecordFiles(RECORD, services.clock.pause)


def _gemini_codec() -> HostCodec:
    from sidecar.hosts.gemini.codec import GeminiCodec

    return GeminiCodec()


def _gemini_record(services: EvidenceServices) -> Transcripts:
    from sidecar.hosts.gemini.record import RECORD
    from sidecar.hosts.record_files import RecordFiles

    return RecordFiles(RECORD, services.clock.pause)


def _altered_in_gemini(_event: HostEvent) -> str:
    from sidecar.hosts.gemini.install import altered_extension

    return altered_extension()


def _acp_codec() -> HostCodec:
    from sidecar.hosts.acp.codec import AcpCodec

    return AcpCodec()


def _acp_record(services: EvidenceServices) -> Transcripts:
    from sidecar.hosts.acp.record import AcpTurns

    return AcpTurns(services.clock.now)


def _stops(services: EvidenceServices) -> Transcripts:
    return unrecorded.MarkerTurns(services.workspace, services.store)


HOSTS: Final = {
    "claude-code": Host(_claude_code_codec, _claude_code_record, CLAUDE_STEERING, _altered_in_claude_code),
    OPENCODE: Host(_opencode_codec, _opencode_record, OPENCODE_STEERING, _altered_in_opencode),
    "codex": Host(_codex_codec, _codex_record, CODEX_STEERING, _altered_in_codex),
    COPILOT: Host(_copilot_codec, _copilot_record, COPILOT_STEERING, _altered_in_claude_code),
    "gemini": Host(_gemini_codec, _gemini_record, GEMINI_STEERING, _altered_in_gemini),
    ACP: Host(_acp_codec, _acp_record),
    unrecorded.HOST: Host(lambda: unrecorded.MarkerCodec(os.environ), _stops),
    RUN_HOST: Host(RunCodec, _stops),
}
"""The hosts by the name that their sessions have. The sessions of clients have no stops, so no row either."""
STEERING: Final = tuple(host.steering for host in HOSTS.values() if host.steering is not None)
HOST_KINDS: Final = {name: kind for one in STEERING for name, kind in one.kinds.items()}
"""How hosts' own settings steer."""
HOST_VARIABLES: Final = tuple(name for one in STEERING for name in one.variables)
"""The environment variables that move such settings."""


def user_host_settings(environment: Environment) -> dict[str, Path]:
    """Return the user's files by which hosts run our hooks and plugin or others, by short names."""
    return {name: path for one in STEERING for name, path in one.user(environment).items()}


def project_host_settings(project: Path, environment: Environment) -> tuple[Path, ...]:
    """Return such files of a project, and those that the environment names."""
    return tuple(path for one in STEERING for path in one.project(project, environment))


def build_codecs() -> dict[str, HostCodec]:
    """Build one codec per host, by the host's name."""
    return {name: built_on_use(host.codec) for name, host in HOSTS.items()}


def build_transcripts(shared: EvidenceServices) -> HostTranscripts:
    """Build the port to the records of all hosts."""
    return HostTranscripts({name: built_on_use(partial(host.record, shared)) for name, host in HOSTS.items()})


def altered_plugin(host: str, event: HostEvent) -> str:
    """Tell of a file of our plugin in this host that is not what was installed; "" for none. Never raises."""
    with contextlib.suppress(OSError, HostError):
        return HOSTS[host].altered(event)
    return ""


def build_toasts() -> Toasts:
    """Build what shows messages in OpenCode that answer no event."""
    return built_on_use(_toasts)


def remember_opencode(peer: Peer, event: bytes, toasts: Toasts) -> None:
    """Let what this task does reach the OpenCode that sent the event."""
    from sidecar.hosts.opencode import link

    link.set_session_context(peer, event)
    toasts.remember()


def _toasts() -> Toasts:
    from sidecar.hosts.opencode.link import Toasts

    return Toasts()
