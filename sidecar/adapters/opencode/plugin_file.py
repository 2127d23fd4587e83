"""The one file that OpenCode gets: hooks/opencode.js with all that it needs of this installation baked in.

The laws of this file:

- It needs nothing beside it: commands and the judge's prompt are in it, and it outlives a moved checkout.
- Its first line says whose it is and what the rest was when it was written; so ours is told from others', and
  what a person changed in it from what an older version of us wrote.
- The same installation bakes the same bytes.

What it does not know: where the file goes, and what is there already.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.adapters.files import UnfitError, read_whole
from sidecar.adapters.opencode.link import AGENT
from sidecar.adapters.plugin import HostError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

OWN_PYTHON: Final = {"PYTHONPATH": "", "PYTHONSAFEPATH": "1"}
"""So that a server that the host starts in a project imports nothing of the project's."""
PREFIX: Final = "supervisor:"
"""Before the name of each command, as Claude Code names those of the plugin `supervisor`."""
TEXT_LIMIT: Final = 64 * 1024
"""Bytes of a command or a prompt."""
FILE_LIMIT: Final = 1 << 20
"""Bytes of a plugin file; ours has some 30,000."""
DIGEST: Final = 16
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


class Offers(Struct, frozen=True):
    """What this installation offers a host.

    `command` starts the runtime: an absolute path, or a name for the PATH where others read the file too.
    `verbs` are those the command knows; a server is offered only where its verb is there.
    """

    command: str
    version: str
    verbs: Collection[str]


class Mine(Struct, frozen=True):
    """What a file of ours says of itself. `changed`: it is not what was written."""

    version: str
    changed: bool


class _Front(Struct, frozen=True):
    description: str


# --- writing ------------------------------------------------------------------------------------------------


def bake(source: str, root: Path, offers: Offers) -> str:
    """The file for this installation. `source` is hooks/opencode.js, `root` the plugin's folder.

    Raises HostError where the installation is not whole.
    """
    setup = msgspec.json.format(msgspec.json.encode(_setup(root, offers)), indent=2).decode()
    if len(_SETUP.findall(source)) != 1:
        raise _broken(f"{root / 'hooks' / 'opencode.js'} has no place for the commands")
    body = _SETUP.sub(lambda _: f"const SETUP = {setup}", source)
    return _HEAD.format(version=offers.version, digest=_digest(body)) + "\n" + body


def baked(root: Path, offers: Offers) -> str:
    """The same, from the hooks/opencode.js of `root`."""
    return bake(_text(root / "hooks" / "opencode.js", FILE_LIMIT), root, offers)


def _setup(root: Path, offers: Offers) -> dict[str, Any]:
    """What the plugin adds to the host's configuration, by section.

    `lsp` stands apart: whoever sets it where the user did not switches on all of the host's own servers.
    """
    config: dict[str, Any] = {"command": _commands(root), "agent": {AGENT: _judge(root)}}
    if "mcp" in offers.verbs:
        tools = {"type": "local", "command": [offers.command, "mcp"], "enabled": True}
        config["mcp"] = {"supervisor": {**tools, "environment": {**OWN_PYTHON, "CLAUDE_PROJECT_DIR": ""}}}
    setup = {"version": offers.version, "config": config}
    if "lsp" in offers.verbs:
        server = {"command": [offers.command, "lsp"], "extensions": [".md"], "env": OWN_PYTHON}
        setup["lsp"] = {"supervisor-rubric": server}
    return setup


def _commands(root: Path) -> dict[str, dict[str, str]]:
    found = sorted((root / "commands").glob("*.md"))
    if not found:
        raise _broken(f"{root / 'commands'} holds no command")
    return {f"{PREFIX}{path.stem}": _command(path) for path in found}


def _command(path: Path) -> dict[str, str]:
    description, template = _described(path)
    return {"description": description, "template": template}


def _judge(root: Path) -> dict[str, Any]:
    description, prompt = _described(root / "rubric" / "opencode-judge.md")
    return {
        "mode": "subagent",
        "hidden": True,
        "description": description,
        "prompt": prompt,
        "permission": {"*": "deny"},
    }


def _described(path: Path) -> tuple[str, str]:
    """The description at the head of a text, and the text."""
    parts = _FRONT.fullmatch(_text(path, TEXT_LIMIT))
    if parts is None:
        raise _broken(f"{path} does not begin with its description")
    try:
        return msgspec.yaml.decode(parts["front"], type=_Front).description, parts["body"].strip()
    except msgspec.DecodeError as error:
        raise _broken(f"{path} does not begin with its description: {error}") from None


def _text(path: Path, limit: int) -> str:
    try:
        return read_whole(path, limit, follow=True).decode()
    except (OSError, UnfitError, UnicodeDecodeError) as error:
        raise _broken(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _broken(why: str) -> HostError:
    return HostError(why, "install the package whole: uv tool install supervisor-sidecar")


# --- knowing it again ---------------------------------------------------------------------------------------


def mine(path: Path) -> Mine | None:
    """What the file at `path` says of itself; None where it is not ours, or where no plain file is."""
    try:
        text = read_whole(path, FILE_LIMIT).decode()
    except (OSError, UnfitError, UnicodeDecodeError):
        return None
    head, _, body = text.partition("\n")
    found = _MINE.match(head)
    return Mine(found["version"], found["digest"] != _digest(body)) if found else None


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:DIGEST]
