"""The hosts that `supervisor install` puts Supervisor into, in the order in which doctor checks them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sidecar.hosts.claude_code.install import ClaudeCodeInstaller
from sidecar.hosts.codex.install import CodexInstaller
from sidecar.hosts.copilot.install import CopilotInstaller
from sidecar.hosts.gemini.install import GeminiInstaller
from sidecar.hosts.installing import HostInstaller
from sidecar.hosts.opencode.install import OpenCodeInstaller

KINDS: Final[tuple[type[HostInstaller], ...]] = (
    ClaudeCodeInstaller,
    OpenCodeInstaller,
    CodexInstaller,
    CopilotInstaller,
    GeminiInstaller,
)
INSTALLERS: Final = {kind.name: kind for kind in KINDS}
"""By the hosts' names."""


def build_installers(environment: Mapping[str, str], project: Path) -> dict[str, HostInstaller]:
    """Build all of them, by the hosts' names."""
    return {name: kind(environment, project) for name, kind in INSTALLERS.items()}
