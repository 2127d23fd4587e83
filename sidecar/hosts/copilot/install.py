"""What Supervisor puts into Copilot CLI: two entries of the user's settings.

What this file knows of the host, each point seen in 1.0.102:

- A marketplace that is a folder is read where it is, nothing is copied, and its plugins need no trust. So the
  plugin is always the one of this installation, and an upgrade has nothing to renew.
- The plugin's manifest is looked for in `.plugin/` before `.claude-plugin/`: the folder is a plugin of both.
- The host's own `plugin uninstall` would leave one of the entries behind.
- `disableAllHooks` does not hold for the hooks of plugins.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from msgspec import Raw

from sidecar.hosts.installing import (
    RUBRIC_EDITOR,
    STATUS_LINE,
    DoctorFinding,
    HostFindings,
    HostInstaller,
    InstallOrder,
    Steps,
    ok_finding,
    tools_command,
    warning_finding,
)
from sidecar.hosts.shared import COPILOT
from sidecar.hosts.steering import (
    PLUGIN_IDS,
    PLUGINS,
    change_settings,
    copilot_user_folder,
    decode_settings,
    encode_settings,
    put_or_drop,
    read_settings,
)
from sidecar.platform.files import UnusableFileError
from sidecar.platform.installation import plugin_root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLUGIN_ID: Final = PLUGIN_IDS[0]
MARKETPLACES: Final = "extraKnownMarketplaces"
MARKETPLACE: Final = "supervisor"


def edit_settings(text: bytes, root: Path | None) -> bytes:
    """Return the settings with the plugin in the folder `root`, or without it. Raises DecodeError."""
    settings = decode_settings(text)
    source = {"source": {"source": "directory", "path": str(root)}}
    for table, name, entry in ((PLUGINS, PLUGIN_ID, True), (MARKETPLACES, MARKETPLACE, source)):
        part = decode_settings(bytes(settings.get(table, b"")))
        put_or_drop(part, name, entry if root is not None else None)
        put_or_drop(settings, table, part)
    return encode_settings(settings, text)


class CopilotInstaller(HostInstaller):
    """Implements hosts.installing.HostInstaller."""

    name = COPILOT
    title = "Copilot CLI"
    command = "copilot"
    get = "npm install -g @github/copilot"
    tested = "1.0.102"
    update = "copilot update"
    probed = ("-p", "/supervisor:retry")
    refused: ClassVar[Mapping[str, str]] = {
        RUBRIC_EDITOR: "the second plugin is Claude Code's",
        STATUS_LINE: "it takes none from a plugin",
    }

    @property
    def _settings(self) -> Path:
        return (copilot_user_folder(self.environment) / "settings.json").resolve()

    def put(self, order: InstallOrder, steps: Steps) -> None:
        """Name our plugin in the user's settings."""
        root = plugin_root()
        self.needs_user_scope(order.scope)
        if not steps.print_only:
            order.prepare()
        by_hand = (f"copilot plugin marketplace add {root}", f"copilot plugin install {PLUGIN_ID}")
        told = f"have {self._settings} name the plugin in {root}"
        steps.do(told, change_settings, self._settings, partial(edit_settings, root=root), by_hand)

    def take(self, scope: str, steps: Steps) -> bool:
        """Take our entries out of the settings."""
        if scope != "user" or not self.present():
            steps.say(f"the plugin is not installed in the scope {scope}")
        else:
            told = f"take the plugin out of {self._settings}"
            steps.do(told, self._remove)
        return not self.present() or steps.print_only

    def _remove(self) -> None:
        by_hand = (
            f"copilot plugin uninstall {PLUGIN_ID}",
            f"copilot plugin marketplace remove {MARKETPLACE}",
        )
        change_settings(self._settings, partial(edit_settings, root=None), by_hand)
        if not decode_settings(read_settings(self._settings)):
            self._settings.unlink()

    def present(self) -> bool:
        """Return whether the settings name our plugin."""
        with suppress(OSError, UnusableFileError, msgspec.DecodeError):
            plugins = decode_settings(read_settings(self._settings)).get(PLUGINS, b"")
            return decode_settings(bytes(plugins)).get(PLUGIN_ID) == Raw(b"true")
        return False

    async def examine(self, *, needed: bool) -> HostFindings:
        """Check version and plugin."""
        lines = (await self.version_finding(), self._plugin_finding(needed=needed))
        if not self.present() or not self.program.path:
            return HostFindings(lines)
        return HostFindings(lines, self.probe, tools_command(plugin_root()), self.title)

    def version_line(self, said: str) -> str:
        """Return the first line: below it is how to update."""
        return said.partition("\n")[0]

    def _plugin_finding(self, *, needed: bool) -> DoctorFinding:
        if not self.present():
            return self.missing_finding(needed=needed)
        text, root = read_settings(self._settings), plugin_root()
        if msgspec.json.decode(text) != msgspec.json.decode(edit_settings(text, root)):
            return warning_finding(f"Copilot CLI does not read the plugin from {root}", self.install_command)
        return ok_finding(f"plugin {PLUGIN_ID}, read from {root}")
