"""Puts Supervisor into Gemini CLI: one file, which names the folder of our extension.

`gemini extensions link` writes the same file, but asks questions, trusts the folder in which it runs for
good, and takes some 10 s. Seen in 0.61.0 and 0.34.0: the host reads the file at its next start, and asks
nothing. It has no extensions of a project.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

import msgspec
from msgspec import Struct

from sidecar.hosts import installing
from sidecar.hosts.command import TRUSTED
from sidecar.hosts.gemini.codec import HOST, HOST_TITLE
from sidecar.hosts.installing import DoctorFinding, HostFindings, HostInstaller, InstallOrder, Steps
from sidecar.hosts.steering import GEMINI_EXTENSIONS, SETTINGS_LIMIT, gemini_folder
from sidecar.kernel.decoding import read_json
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.platform.installation import (
    REINSTALL,
    altered_notice,
    altered_plugin_files,
    plugin_root,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")

EXTENSION: Final = ".gemini-extension"
"""The extension's folder in the plugin's."""
NAME: Final = "supervisor"
"""The extension's name, by which the host switches it on and off."""
TRUST_FILE: Final = "trustedFolders.json"
PARENT, DISTRUSTED = "TRUST_PARENT", "DO_NOT_TRUST"


class _Switch(Struct, frozen=True):
    """Where an extension is on: paths that end with `*`; off where one begins with `!`. The last counts."""

    overrides: tuple[str, ...] = ()


class _HooksConfig(Struct, frozen=True):
    enabled: bool = True


class _FolderTrust(Struct, frozen=True):
    enabled: bool = True


class _Security(Struct, frozen=True, rename="camel"):
    folder_trust: _FolderTrust = _FolderTrust()


class _Settings(Struct, frozen=True, rename="camel"):
    """The settings that can keep our hooks from running."""

    hooks_config: _HooksConfig = _HooksConfig()
    security: _Security = _Security()


def altered_extension() -> str:
    """Tell of files of ours that are not what was installed; "" for none. Raises HostError, OSError."""
    root = plugin_root()
    return altered_notice(root, altered_plugin_files(root), REINSTALL)


def _write_file(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def _read_file(path: Path, kind: type[T]) -> T | None:
    """Return what a file of the host holds, None where it has another form or is not there."""
    try:
        return read_json(read_whole(path, SETTINGS_LIMIT, follow=True), kind)
    except (OSError, UnusableFileError):
        return None


class GeminiInstaller(HostInstaller):
    """Implements hosts.installing.HostInstaller."""

    name = HOST
    title = HOST_TITLE
    command = "gemini"
    get = update = "npm install -g @google/gemini-cli"
    tested = "0.34.0"
    probed = ("-p", "/supervisor:retry")
    probe_variables = TRUSTED
    refused: ClassVar[Mapping[str, str]] = {
        installing.RUBRIC_EDITOR: "it has no language servers",
        installing.STATUS_LINE: "no extension can show a line there",
    }

    @property
    def folder(self) -> Path:
        """The user's folder of the host."""
        return gemini_folder(self.environment)

    @property
    def link(self) -> Path:
        """The file that names the folder of our extension."""
        return self.folder / "extensions" / GEMINI_EXTENSIONS[1]

    def put(self, order: InstallOrder, steps: Steps) -> None:
        """Write the file, and switch the extension on."""
        self.needs_user_scope(order.scope)
        with installing.report_write_errors(self.folder):
            text = self._text()
            if not steps.print_only:
                order.prepare()
            steps.do(f"write {self.link}: it names {plugin_root() / EXTENSION}", _write_file, self.link, text)
            self._forget_switch(steps)

    def take(self, scope: str, steps: Steps) -> bool:
        """Remove the file with its folder."""
        self.needs_user_scope(scope)
        with installing.report_write_errors(self.folder):
            if self.present():
                steps.do(f"remove {self.link.parent}", shutil.rmtree, self.link.parent)
                self._forget_switch(steps)
            else:
                steps.say(f"nothing of ours is in {self.folder}")
            if not steps.print_only:
                with suppress(OSError):  # others are there
                    self.link.parents[1].rmdir()
        return True

    def present(self) -> bool:
        """Return whether the file is there."""
        return self.link.is_file()

    def _text(self) -> bytes:
        return msgspec.json.encode({"source": str(plugin_root() / EXTENSION), "type": "link"})

    def _forget_switch(self, steps: Steps) -> None:
        """Take what is said of our extension out of the host's file of switches."""
        path = self.folder / "extensions" / GEMINI_EXTENSIONS[0]
        switches = _read_file(path, dict[str, msgspec.Raw]) or {}
        if switches.pop(NAME, None) is not None:
            steps.do(f"take {NAME} out of {path}", _write_file, path, msgspec.json.encode(switches))

    # --- what doctor finds ---

    async def examine(self, *, needed: bool) -> HostFindings:
        """Check version, extension, and what keeps its hooks from running."""
        lines = [await self.version_finding()]
        if not self.present():
            return HostFindings((*lines, self._problem("the extension is not installed", "", needed=needed)))
        trouble = tuple(self._troubles(needed=needed))
        lines += trouble or (installing.ok_finding(f"extension {self.link.parent}"),)
        lines += self._trust_findings()
        if not self.program.path or trouble:
            return HostFindings(tuple(lines))
        server = installing.tools_command(plugin_root())
        return HostFindings(tuple(lines), self.probe, server, self.title)

    def _troubles(self, *, needed: bool) -> Iterator[DoctorFinding]:
        if _read_file(self.link, dict[str, str]) != msgspec.json.decode(self._text()):
            said = f"{self.link} names another folder than this version of Supervisor installs"
            yield installing.warning_finding(said, self.install_command)
        switch = _read_file(self.folder / "extensions" / GEMINI_EXTENSIONS[0], dict[str, _Switch]) or {}
        if not self._is_on(switch.get(NAME, _Switch())):
            enable = f"gemini extensions enable {NAME}"
            yield self._problem("the extension is disabled here", enable, needed=needed)
        if not self._settings().hooks_config.enabled:
            said = f"hooksConfig.enabled is false in {self.folder}/settings.json: no hook runs"
            yield self._problem(said, "gemini, then /hooks enable-all", needed=needed)

    def _problem(self, what: str, remedy: str, *, needed: bool) -> DoctorFinding:
        said = f"{self.title}: {what}"
        return installing.problem_finding(said, remedy or self.install_command, needed=needed)

    def _is_on(self, switch: _Switch) -> bool:
        places = {str(place) for place in (self.project, *self.project.parents)}
        rules = [rule for rule in switch.overrides if rule.lstrip("!").rstrip("*").rstrip("/") in places]
        return not rules or not rules[-1].startswith("!")

    def _settings(self) -> _Settings:
        return _read_file(self.folder / "settings.json", _Settings) or _Settings()

    def _trust_findings(self) -> Iterator[DoctorFinding]:
        """Whether `gemini -p` works here; in a terminal the host asks."""
        rules = _read_file(self.folder / TRUST_FILE, dict[str, str]) or {}
        known = {str(Path(path).parent) if rule == PARENT else path: rule for path, rule in rules.items()}
        found = (known[str(place)] for place in (self.project, *self.project.parents) if str(place) in known)
        asked = (
            self._settings().security.folder_trust.enabled and not TRUSTED.items() <= self.environment.items()
        )
        if asked and next(found, DISTRUSTED) == DISTRUSTED:
            said = f"{self.project} is not trusted, so `gemini -p` refuses to work there"
            remedy = "gemini, and trust the folder; or add --skip-trust to gemini -p"
            yield installing.warning_finding(said, remedy)
