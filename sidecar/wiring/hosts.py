"""The hosts: how each one's adapter is built, and which files steer it. A new host is a row of HOSTS.

Those of a host are imported when it first speaks: few users have more than one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts import unrecorded
from sidecar.hosts.ports import HostCodec, HostTranscripts, Transcripts
from sidecar.hosts.record_files import RecordFiles
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


def _on_call(place: str) -> Callable[..., Any]:
    """Return what calls `MODULE:NAME` of sidecar.hosts, and imports the module only then."""
    module, _, name = place.partition(":")
    return lambda *given: getattr(import_module(f"sidecar.hosts.{module}"), name)(*given)  # noqa: PLW0108 - later


def _files(module: str) -> Callable[[EvidenceServices], Transcripts]:
    """Return what builds the reader of a host's files, whose RECORD is in this module."""
    return lambda services: RecordFiles(import_module(f"sidecar.hosts.{module}").RECORD, services.clock.pause)


def _stops(services: EvidenceServices) -> Transcripts:
    return unrecorded.MarkerTurns(services.workspace, services.store)


HOSTS: Final = {
    "claude-code": Host(
        _on_call("claude_code.codec:ClaudeCodeCodec"),
        _files("claude_code.record"),
        CLAUDE_STEERING,
        lambda event: _on_call("claude_code.settings:altered_plugin")(event.environment),
    ),
    OPENCODE: Host(
        _on_call("opencode.codec:OpenCodeCodec"),
        lambda services: _on_call("opencode.record:OpenCodeHistory")(services.clock.now),
        OPENCODE_STEERING,
        lambda event: _on_call("opencode.plugin_file:altered_plugin")(event.environment, Path(event.project)),
    ),
    "codex": Host(
        _on_call("codex.codec:CodexCodec"),
        _files("codex.record"),
        CODEX_STEERING,
        lambda event: _on_call("codex.install:altered_plugin")(event.environment),
    ),
    COPILOT: Host(
        _on_call("copilot.codec:CopilotCodec"),
        _files("copilot.record"),
        COPILOT_STEERING,
        lambda event: _on_call("claude_code.settings:altered_plugin")(event.environment),
    ),
    "gemini": Host(
        _on_call("gemini.codec:GeminiCodec"),
        _files("gemini.record"),
        GEMINI_STEERING,
        lambda _: _on_call("gemini.install:altered_extension")(),
    ),
    ACP: Host(
        _on_call("acp.codec:AcpCodec"),
        lambda services: _on_call("acp.record:AcpTurns")(services.clock.now),
    ),
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
    toasts: Toasts = built_on_use(_on_call("opencode.link:Toasts"))
    return toasts


def remember_opencode(peer: Peer, event: bytes, toasts: Toasts) -> None:
    """Let what this task does reach the OpenCode that sent the event."""
    from sidecar.hosts.opencode import link  # noqa: PLC0415 - see above

    link.set_session_context(peer, event)
    toasts.remember()
