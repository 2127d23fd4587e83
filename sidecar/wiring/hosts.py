"""Builds the host adapters: a codec for each host, and one port to the transcripts of all.

Those of a host are imported when it first speaks: few users have both.
"""

# ruff: noqa: PLC0415 - see above

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts import unrecorded
from sidecar.hosts.ports import HostCodec, HostTranscripts
from sidecar.hosts.shared import OPENCODE, read_claude_steering, read_opencode_steering
from sidecar.hosts.unrecorded import RunCodec
from sidecar.kernel.events import HostEvent
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import Environment
from sidecar.platform.installation import HostError
from sidecar.platform.ports import built_on_use
from sidecar.platform.services import PlatformServices
from sidecar.platform.steering import SteeringKind, describe_edit
from sidecar.servers.control import Peer

if TYPE_CHECKING:
    from sidecar.hosts.claude_code.transcript import ClaudeTranscripts
    from sidecar.hosts.opencode.link import OpenCodeHistory, Toasts


CLAUDE_USER_SETTINGS: Final = "Claude Code's settings"
CLAUDE_SETTINGS: Final = ("settings.json", "settings.local.json")
OPENCODE_SETTINGS: Final = ("opencode.json", "opencode.jsonc")
OPENCODE_PLUGINS: Final = ("plugin/*.js", "plugin/*.ts", "plugins/*.js", "plugins/*.ts")


def user_host_settings(environment: Environment) -> dict[str, Path]:
    """Return the user's files by which hosts run our hooks and plugin or others, by short names."""
    opencode = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config", OPENCODE)
    found = {f"{OPENCODE}/{name}": opencode / name for name in (*OPENCODE_SETTINGS, *OPENCODE_PLUGINS)}
    return {**found, CLAUDE_USER_SETTINGS: Path.home().joinpath(".claude", "settings.json").resolve()}


def project_host_settings(project: Path, claude: str) -> tuple[Path, ...]:
    """Return such files of a project, and the user's settings in the folder `claude`, if one is named."""
    opencode = [project / name for name in OPENCODE_SETTINGS]
    opencode += [project / ".opencode" / name for name in (*OPENCODE_SETTINGS, *OPENCODE_PLUGINS)]
    named = [Path(claude, "settings.json").resolve()] if claude else []
    return (*(project / ".claude" / name for name in CLAUDE_SETTINGS), *opencode, *named)


def _restored_claude_settings(text: str, part: str) -> str:
    from sidecar.hosts.claude_code.plugin import restore_steering_settings

    return restore_steering_settings(text, part)


CLAUDE_KIND: Final = SteeringKind(
    read=read_claude_steering, describe=partial(describe_edit, values=False), live=True
)
HOST_KINDS: Final = {
    CLAUDE_USER_SETTINGS: replace(CLAUDE_KIND, restore=_restored_claude_settings),
    **dict.fromkeys(CLAUDE_SETTINGS, CLAUDE_KIND),
    **dict.fromkeys(OPENCODE_SETTINGS, SteeringKind(read=read_opencode_steering, live=True)),
    **dict.fromkeys(("*.js", "*.ts"), SteeringKind(live=True)),
}
"""How hosts' own settings steer: our readers have no part in it."""


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
