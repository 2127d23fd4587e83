"""Builds the one file that OpenCode gets: hooks/opencode.js with all it needs of this installation built in.

Rules of this file:

- It needs no other file: commands and the judge's prompt are in it, so it survives a moved checkout.
- Its first line says that it is ours and holds a digest of the rest. So our file differs from others', and
  one that a person changed from one that an older version of us wrote.
- The same installation builds the same bytes.

This file does not know where the plugin file goes and what is there already.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.opencode.link import JUDGE_AGENT
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.installation import HostError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


OWN_PYTHON: Final = {"PYTHONPATH": "", "PYTHONSAFEPATH": "1"}
"""Keeps a server that the host starts in a project from importing modules of the project."""
COMMAND_PREFIX: Final = "supervisor:"
"""Prefix of each command's name, as in Claude Code for those of the plugin `supervisor`."""
TEXT_LIMIT: Final = 64 * 1024
"""Bytes of a command or a prompt."""
FILE_LIMIT: Final = 1 << 20
"""Bytes of a plugin file; ours has about 30,000."""
DIGEST_DIGITS: Final = 16
"""Hexadecimal digits of the SHA-256 of what follows the first line."""

_SETUP = re.compile(r"^const SETUP = \{\}.*$", re.MULTILINE)
_FRONT = re.compile(r"---\n(?P<front>.*?)\n---\n(?P<body>.*)", re.DOTALL)
_HEAD = (
    "// Written by `supervisor install opencode`, version {version}, digest {digest}. Changes here get lost."
)
_MINE = re.compile(
    r"// Written by `supervisor install opencode`, version (?P<version>[^\s,]{1,64}), "
    r"digest (?P<digest>[0-9a-f]{16})\."
)


class InstallationInfo(Struct, frozen=True):
    """What this installation offers a host.

    `command` starts the runtime: an absolute path, or a name on PATH if others read the file too. `verbs` are
    the subcommands it knows; a server is offered only if its subcommand is there.
    """

    command: str
    version: str
    verbs: Collection[str]


class PluginFileInfo(Struct, frozen=True):
    """What a file of ours says about itself. `changed`: its content is not what was written."""

    version: str
    changed: bool


class _Front(Struct, frozen=True):
    description: str


# --- Building the file --------------------------------------------------------------------------------------


def bake_plugin_file(source: str, root: Path, offers: InstallationInfo) -> str:
    """Build the file for this installation. `source` is hooks/opencode.js, `root` the plugin's folder.

    Raises HostError if the installation is incomplete.
    """
    return _bake(source, root / "hooks" / "opencode.js", _plugin_setup(root, offers), offers.version)


def _bake(source: str, place: Path, setup: dict[str, Any], version: str) -> str:
    told = msgspec.json.format(msgspec.json.encode(setup), indent=2).decode()
    if len(_SETUP.findall(source)) != 1:
        raise _broken_install_error(f"{place} has no place for the commands")
    body = _SETUP.sub(lambda _: f"const SETUP = {told}", source)
    return _HEAD.format(version=version, digest=_body_digest(body)) + "\n" + body


def bake_plugin_from_root(root: Path, offers: InstallationInfo) -> str:
    """Build the file from the hooks/opencode.js of `root`. Raises HostError."""
    return bake_plugin_file(_read_plugin_text(root / "hooks" / "opencode.js", FILE_LIMIT), root, offers)


def bake_status_file(root: Path, offers: InstallationInfo) -> str:
    """Build the plugin of the status line from the hooks/opencode-status.js of `root`. Raises HostError."""
    place = root / "hooks" / "opencode-status.js"
    source = _read_plugin_text(place, FILE_LIMIT)
    return _bake(source, place, {"command": offers.command}, offers.version)


def _plugin_setup(root: Path, offers: InstallationInfo) -> dict[str, Any]:
    """Return what the plugin adds to the host's configuration, by section.

    `lsp` is kept apart: setting it where the user did not would switch on all of the host's own servers.
    """
    config: dict[str, Any] = {"command": _read_commands(root), "agent": {JUDGE_AGENT: _judge_agent(root)}}
    if "mcp" in offers.verbs:
        tools = {"type": "local", "command": [offers.command, "mcp"], "enabled": True}
        config["mcp"] = {"supervisor": {**tools, "environment": {**OWN_PYTHON, "CLAUDE_PROJECT_DIR": ""}}}
    setup = {"version": offers.version, "config": config}
    if "lsp" in offers.verbs:
        server = {"command": [offers.command, "lsp"], "extensions": [".md"], "env": OWN_PYTHON}
        setup["lsp"] = {"supervisor-rubric": server}
    return setup


def _read_commands(root: Path) -> dict[str, dict[str, str]]:
    found = sorted((root / "commands").glob("*.md"))
    if not found:
        raise _broken_install_error(f"{root / 'commands'} holds no command")
    return {f"{COMMAND_PREFIX}{path.stem}": _read_command(path) for path in found}


def _read_command(path: Path) -> dict[str, str]:
    description, template = _read_described_text(path)
    return {"description": description, "template": template}


def _judge_agent(root: Path) -> dict[str, Any]:
    description, prompt = _read_described_text(root / "rubric" / "opencode-judge.md")
    return {
        "mode": "subagent",
        "hidden": True,
        "description": description,
        "prompt": prompt,
        "permission": {"*": "deny"},
    }


def _read_described_text(path: Path) -> tuple[str, str]:
    """Return the description at the head of a text, and the text."""
    parts = _FRONT.fullmatch(_read_plugin_text(path, TEXT_LIMIT))
    if parts is None:
        raise _broken_install_error(f"{path} does not begin with its description")
    try:
        return msgspec.yaml.decode(parts["front"], type=_Front).description, parts["body"].strip()
    except msgspec.DecodeError as error:
        raise _broken_install_error(f"{path} does not begin with its description: {error}") from None


def _read_plugin_text(path: Path, limit: int) -> str:
    try:
        return read_whole(path, limit, follow=True).decode()
    except (OSError, UnusableFileError, UnicodeDecodeError) as error:
        raise _broken_install_error(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None


def _broken_install_error(why: str) -> HostError:
    return HostError(why, "install the package whole: uv tool install supervisor-sidecar")


# --- Recognizing the file -----------------------------------------------------------------------------------


def identify_plugin_file(path: Path) -> PluginFileInfo | None:
    """Return what the file at `path` says about itself.

    Returns None if it is not ours, or not a plain file.
    """
    try:
        text = read_whole(path, FILE_LIMIT).decode()
    except (OSError, UnusableFileError, UnicodeDecodeError):
        return None
    head, _, body = text.partition("\n")
    found = _MINE.match(head)
    return PluginFileInfo(found["version"], found["digest"] != _body_digest(body)) if found else None


def _body_digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:DIGEST_DIGITS]
